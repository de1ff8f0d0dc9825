/* The ops as plain loops in double (convolution: reference_conv.h), and functions that run the same op on a backend. In
 * both, every operand that ops.h calls real is an array of double in host memory. */
#ifndef DG_REFERENCE_H
#define DG_REFERENCE_H

#include <stdbool.h>
#include "core/plan/backend.h"
#include "tests/all_ops.h"

void dg_ref_run(const dg_op *op);

/* The reference of each op: reference.c, reference_conv.c, and reference_gan.c for the ops of ops_gan.h. */
#define X(kind, member, cpu) void dg_ref_##kind(const dg_##member##_args *a);
DG_OPS(X)
#undef X

/* Number and type of the elements of operand i; DG_F64 means real, DG_U8 means bytes and structs. */
void dg_ref_operand(const dg_op *op, int i, size_t *count, dg_type *type);

void **dg_ref_pointer(const dg_op *op, int i);

/* Runs op on b. Operands are converted to b's types and stored between guard bytes, not aligned to vectors. Outputs are
 * first filled with NaN, and results are converted back into the caller's arrays. Two operands with the same pointer
 * share one copy. Returns NULL, or an error other than wrong values. */
const char *dg_case_run(dg_backend *b, const dg_op *op);

/* What dg_case_run needs from reference_cpu.c or case_cuda.cu: memory, the number of guard bytes, whether real operands
 * start one value after an aligned address, and the choice of a variant (NULL, or the reason why the op cannot run).
 * dg_case_note receives each result, and NULL when the operands are released; it returns NULL or an error. */
void *dg_case_memory(dg_backend *b, size_t bytes);
void dg_case_release(dg_backend *b, void *p);
extern const size_t dg_case_guard;
bool dg_case_offset(void);
const char *dg_case_choose(dg_backend *b, dg_op *op);
const char *dg_case_note(const void *result, size_t bytes);

/* Opens backend number i of all (instruction set, float or double) pairs that this machine can run. False after the
 * last one. */
bool dg_case_open(int i, int threads, dg_backend **b);

/* Slowness of ops: 0 on real hardware, 1 in the CUDA simulator, 2 in the simulator with a sanitizer. Slow tests use
 * fewer and smaller cases. */
int dg_case_slowness(void);

/* Any op (tests/kernels/ops/op_rows.h). Adds operands and attributes to `op`, which has a shape; `expected` gets the
 * same inputs and separate outputs, which the reference computes. */
void dg_any_make(dg_op *op, dg_op *expected);

/* Returns a copy of `op` with separate outputs, which start with the values of `op`. */
dg_op dg_any_own(const dg_op *op);

/* True if all outputs of `got` are within the op's tolerance; prints those that are not. */
bool dg_any_right(const dg_backend *b, const dg_op *got, const dg_op *expected, const char *name);

/* Half the distance between 1 and the next number of b's type. */
double dg_case_eps(const dg_backend *b);

/* dg_case_numbers returns n numbers in (-1, 1), scaled and shifted, that are exact as float. dg_case_copy copies such
 * an array, and dg_case_free frees it. */
double *dg_case_numbers(size_t n, double scale, double shift);
double *dg_case_copy(const double *x, size_t n);
void dg_case_free(void);

/* Largest |a - b| / (|b| + floor) over n numbers; infinite where either is NaN. */
double dg_case_error(const double *a, const double *b, size_t n, double floor);

#endif
