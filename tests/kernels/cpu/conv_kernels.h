/* The convolution kernels of every instruction set that this build has, for tests and benchmarks. */
#ifndef DG_CONV_KERNELS_H
#define DG_CONV_KERNELS_H

#include "kernels/cpu/cpu.h"
#include "kernels/ops/conv/variants.h"

#define DG_CONV_DECLARE(isa, fp)                                                                           \
    void dg_cpu_conv_fwd_##isa##_f##fp(const dg_conv_args *a, const dg_tune *tune);                        \
    void dg_cpu_conv_dx_##isa##_f##fp(const dg_conv_args *a, const dg_tune *tune);                         \
    void dg_cpu_conv_dw_##isa##_f##fp(const dg_conv_args *a, const dg_tune *tune);                         \
    size_t dg_cpu_conv_scratch_##isa##_f##fp(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune); \
    const dg_variant *dg_cpu_conv_variant_##isa##_f##fp(dg_op_kind kind, const dg_conv_args *a,            \
                                                        const dg_variant *asked);

typedef struct {
    const char *name;
    int supported;
    dg_type real;
    void (*run[3])(const dg_conv_args *a, const dg_tune *tune); /* fwd, dx, dw */
    size_t (*scratch)(dg_op_kind kind, const dg_conv_args *a, const dg_tune *tune);
    const dg_variant *(*variant)(dg_op_kind kind, const dg_conv_args *a, const dg_variant *asked);
} conv_kernels;

#define DG_CONV_ROW(isa, fp, supported)                                                                   \
    {                                                                                                     \
#isa " f" #fp, supported, DG_F##fp,                                                               \
            {dg_cpu_conv_fwd_##isa##_f##fp, dg_cpu_conv_dx_##isa##_f##fp, dg_cpu_conv_dw_##isa##_f##fp }, \
             dg_cpu_conv_scratch_##isa##_f##fp, dg_cpu_conv_variant_##isa##_f##fp                         \
    }

DG_CONV_DECLARE(base, 32)
DG_CONV_DECLARE(base, 64)
#ifdef DG_HAVE_avx512 /* in a build with all instruction sets */
DG_CONV_DECLARE(avx2, 32)
DG_CONV_DECLARE(avx2, 64)
DG_CONV_DECLARE(avx512, 32)
DG_CONV_DECLARE(avx512, 64)
#endif

enum { CONV_KERNELS = 6 };

/* Fills table, returns how many rows. */
__attribute__((unused)) static int conv_kernel_table(conv_kernels table[CONV_KERNELS])
{
    int n = 0;
    table[n++] = (conv_kernels)DG_CONV_ROW(base, 32, 1);
    table[n++] = (conv_kernels)DG_CONV_ROW(base, 64, 1);
#ifdef DG_HAVE_avx512
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    int avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512vl");
    table[n++] = (conv_kernels)DG_CONV_ROW(avx2, 32, avx2);
    table[n++] = (conv_kernels)DG_CONV_ROW(avx2, 64, avx2);
    table[n++] = (conv_kernels)DG_CONV_ROW(avx512, 32, avx512);
    table[n++] = (conv_kernels)DG_CONV_ROW(avx512, 64, avx512);
#endif
    return n;
}

#endif
