/* Interface of the CPU kernels. Every kernel file is compiled once for each pair of instruction set (DG_ISA) and real
 * type (DG_FP). The macro DG_CPU(name) appends DG_ISA and DG_FP to a name, as in dg_cpu_conv_fwd_avx512_f32.
 *
 * How a kernel divides its work depends on shapes only, never on the number of OpenMP threads. Partial sums are added
 * in a fixed order. */
#pragma once

#include "core/base/err.h"
#include "core/plan/variant.h"

#define DG_PASTE_(a, b, c) a##_##b##_f##c
#define DG_PASTE(a, b, c) DG_PASTE_(a, b, c)
#define DG_CPU(name) DG_PASTE(name, DG_ISA, DG_FP)

#define INLINE static inline __attribute__((always_inline))

#ifdef DG_FP
#if DG_FP == 64
typedef double real;
#else
typedef float real;
#endif
#endif

typedef struct {
#define X(kind, member, cpu) void (*kind)(const dg_##member##_args *a, const dg_tune *tune);
    DG_OPS(X)
#undef X
    size_t (*scratch[DG_OP_KINDS])(const dg_op *op);
    void (*choose_conv)(dg_op *op, const dg_variant *asked);

    /* Functions that `dcgan bench` measures. `fma` runs in the calling thread and returns the number of operations.
     * `triad` computes out = left + right / 2 in all threads. `read` returns the sum of `in` and runs in all threads.
     * The array size n must be a multiple of 4096. */
    double (*fma)(int64_t loops, double *sink);
    void (*triad)(void *out, const void *left, const void *right, int64_t n);
    double (*read)(const void *in, int64_t n);
} dg_cpu_table;

/* Returns the kernel table of CPU backend b, or NULL if b is another backend. */
struct dg_backend;
const dg_cpu_table *dg_cpu_table_of(const struct dg_backend *b);

struct dg_machine;
dg_err dg_cpu_measure(struct dg_backend *b, const dg_cpu_table *table, struct dg_machine *m, int rounds);

#ifdef DG_FP
/* The head of the function that computes an op. */
#define DG_CPU_OP(kind, member) \
    void DG_CPU(dg_cpu_##kind)(const dg_##member##_args *a, __attribute__((unused)) const dg_tune *tune)
#define X(kind, member, cpu) DG_CPU_OP(kind, member);
DG_OPS(X)
#undef X
double DG_CPU(dg_cpu_fma)(int64_t loops, double *sink);
void DG_CPU(dg_cpu_triad)(void *out, const void *left, const void *right, int64_t n);
double DG_CPU(dg_cpu_read)(const void *in, int64_t n);

void DG_CPU(dg_cpu_choose_conv)(dg_op *op, const dg_variant *asked);
size_t DG_CPU(dg_cpu_scratch_conv)(const dg_op *op);
size_t DG_CPU(dg_cpu_scratch_group)(const dg_op *op);
size_t DG_CPU(dg_cpu_scratch_norm)(const dg_op *op);
size_t DG_CPU(dg_cpu_scratch_bias)(const dg_op *op);
size_t DG_CPU(dg_cpu_scratch_plain)(const dg_op *op);
#endif
