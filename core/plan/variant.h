/* A variant is an implementation of an op. A C file of the op defines each dg_variant, for example conv_thin.c in
 * kernels/ops/conv/cuda. dg_op_info lists the variants of an op, and op->tune.variant points to the chosen variant.
 * Code must read the members of dg_variant and never compare variant names. */
#pragma once

#include <stdbool.h>

#include "core/plan/ops.h"

typedef struct dg_gpu {
    int arch;
    size_t shared;
    dg_math math; /* rounding of convolutions' operands (--precision) */
    bool wgmma;   /* the GPU supports wgmma, and the build has code for it */
} dg_gpu;

/* Kernel families of fused launches. An op's variant determines its family, but family DENSE depends on the shape. */
typedef enum {
    DG_FUSED_NONE,
    DG_FUSED_MMA,
    DG_FUSED_WGMMA,
    DG_FUSED_THIN,
    DG_FUSED_THIN_MMA,
    DG_FUSED_GEMV,
    DG_FUSED_DENSE
} dg_fused_family;

struct dg_work;

typedef struct dg_variant {
    const char *name;
    /* Replaces the zeros in t by defaults. Returns NULL, or the reason why the op cannot run with t (dg_variant_no()).
     * check is NULL for CPU variants. */
    const char *(*check)(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu);
    /* Sets the launch parameters in t for an op that check() accepts and that has no tuning row. If choose is NULL, the
     * launch parameters are the defaults of check(). */
    void (*choose)(const dg_op *op, dg_tune *t, const dg_gpu *gpu);
    /* Counts the launch's work for predictions (core/plan/work.h). If work is NULL, one memory-bound kernel is
     * assumed. */
    void (*work)(const dg_op *op, struct dg_work *w);
    /* Returns the bytes of operand `scratch`. If scratch is NULL, the op's dg_op_info.scratch applies. */
    size_t (*scratch)(const dg_op *op, dg_type real);
    /* For CPUs, returns the op's expected time in operations at the peak rate. If arithmetic is NULL, dg_op_flops
     * applies. */
    double (*arithmetic)(const dg_op *op);
    dg_fused_family fused;
    bool by_row; /* the variant is used only if a tuning file selects it */
    bool exclusive;
} dg_variant;

/* Variants of elementwise ops. A thread of dg_direct computes one value. A thread of dg_vector computes 16 bytes. */
extern const dg_variant dg_direct, dg_vector;
