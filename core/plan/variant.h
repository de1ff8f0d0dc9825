/* Static description of a variant, an implementation of an op: one row per variant, in a plain C file next to its
 * kernel (kernels/ops/conv/cuda/conv_thin.c and conv_thin.cu). An op's row lists its variants (op_info.h);
 * op->tune.variant points to the chosen one. The code that chooses, tunes, predicts, places or fuses reads the row; no
 * code compares names. */
#ifndef DG_VARIANT_H
#define DG_VARIANT_H

#include <stdbool.h>

#include "core/plan/ops.h"

typedef struct dg_gpu {
    int arch;
    size_t shared;
    dg_math math; /* how operands of convolutions are rounded (--precision) */
    bool wgmma;   /* the GPU has warpgroup products (wgmma), and the build has code for them */
} dg_gpu;

/* Kernel families of fused launches. The family of an op follows from its variant; DENSE follows from its shape. */
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
    /* Fills in the members of t that are 0. Returns NULL, or the reason why the op cannot run with t (dg_variant_no()).
     * NULL for CPU variants. */
    const char *(*check)(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu);
    /* Sets the launch parameters in t for an op that check() accepts and that has no tuning row. If choose is NULL, the
     * parameters are those that check() fills in. */
    void (*choose)(const dg_op *op, dg_tune *t, const dg_gpu *gpu);
    /* Counts the launch's work for predictions (core/plan/work.h). If NULL, one kernel only moves operands. */
    void (*work)(const dg_op *op, struct dg_work *w);
    /* Returns the bytes of operand `scratch`. If NULL, dg_op_info.scratch of the op applies. */
    size_t (*scratch)(const dg_op *op, dg_type real);
    /* CPU: returns the op's expected time as a number of operations at the peak rate. NULL: dg_op_flops. */
    double (*arithmetic)(const dg_op *op);
    dg_fused_family fused;
    bool by_row; /* only a tuning row chooses this variant, which is never the default */
    bool exclusive;
} dg_variant;

/* Variants of elementwise ops: a thread of dg_direct computes one value, a thread of dg_vector 16 bytes
 * (core/tune/variants.c). */
extern const dg_variant dg_direct, dg_vector;

#endif
