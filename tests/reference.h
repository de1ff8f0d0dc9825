/* The reference computes all ops by simple loops in double. dg_case_run runs an op on a backend for comparison.
 * Operands that ops.h calls real are arrays of double in host memory. */
#pragma once

#include <stdbool.h>
#include "core/plan/backend.h"
#include "tests/all_ops.h"

void dg_ref_run(const dg_op *op);

#define X(kind, member, cpu) void dg_ref_##kind(const dg_##member##_args *a);
DG_OPS(X)
#undef X

/* Sets the number and type of operand i's elements. The type is DG_F64 for reals and DG_U8 for bytes and structs. */
void dg_ref_operand(const dg_op *op, int i, size_t *count, dg_type *type);

void **dg_ref_pointer(const dg_op *op, int i);

/* Runs op on backend b. Operands are converted to b's types and stored between guard bytes, not aligned to vectors.
 * Outputs are filled with NaN before the op runs. Results are converted back into the caller's arrays. Operands with
 * equal pointers share one copy. Returns NULL, or an error other than wrong values. */
const char *dg_case_run(dg_backend *b, const dg_op *op);

/* These functions for dg_case_run are in reference_cpu.c and case_cuda.cu. dg_case_guard is the number of guard bytes.
 * dg_case_offset returns true if real operands start one value after an aligned address. dg_case_choose returns NULL,
 * or why the op cannot run. dg_case_note is called for each result, and with NULL after the operands are released. It
 * returns NULL or an error. */
void *dg_case_memory(dg_backend *b, size_t bytes);
void dg_case_release(dg_backend *b, void *p);
extern const size_t dg_case_guard;
bool dg_case_offset(void);
const char *dg_case_choose(dg_backend *b, dg_op *op);
const char *dg_case_note(const void *result, size_t bytes);

/* Opens backend number i of all pairs of instruction set and real type that this machine supports. Returns false if i
 * is too large. */
bool dg_case_open(int i, int threads, dg_backend **b);

/* Returns 0 on real hardware, 1 in the CUDA simulator, and 2 in the simulator with a sanitizer. Slow tests use fewer
 * and smaller cases. */
int dg_case_slowness(void);

/* Adds operands and attributes from tests/kernels/ops/op_rows.h to `op`, of which only the shape is set. `expected` has
 * equal inputs and its own outputs, which the reference computes. */
void dg_any_make(dg_op *op, dg_op *expected);

/* Returns a copy of `op` with its own outputs, initialised with the values of op's outputs. */
dg_op dg_any_own(const dg_op *op);

/* True if all outputs of `got` are within the op's tolerance. Prints wrong outputs. */
bool dg_any_right(const dg_backend *b, const dg_op *got, const dg_op *expected, const char *name);

/* Returns half the distance between 1 and the next number of backend b's type. */
double dg_case_eps(const dg_backend *b);

/* dg_case_numbers returns an array of n scaled and shifted numbers in (-1, 1) that are exact as float. dg_case_copy
 * copies an array of n numbers. dg_case_free frees all arrays. */
double *dg_case_numbers(size_t n, double scale, double shift);
double *dg_case_copy(const double *x, size_t n);
void dg_case_free(void);

/* Returns the largest |a - b| / (|b| + floor) over n numbers, or infinity if a or b has a NaN. */
double dg_case_error(const double *a, const double *b, size_t n, double floor);
