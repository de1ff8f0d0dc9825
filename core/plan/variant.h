/* Static description of a variant, an implementation of an op: one row per variant, in a plain C file next to its
 * kernel (kernels/ops/conv/cuda/conv_thin.c and conv_thin.cu). An op's row lists its variants (op_info.h);
 * op->tune.variant points to the chosen one. The rule, tuning files, the cost model, placing and fusing read the row;
 * no code compares names. */
#ifndef DG_VARIANT_H
#define DG_VARIANT_H

#include <stdbool.h>

#include "core/plan/ops.h"

typedef struct dg_gpu {
    int arch;
    size_t shared;
    dg_math math; /* how operands of convolutions are rounded (--precision) */
    bool wgmma;   /* uses warpgroup products, and this build has code for them */
} dg_gpu;

/* Kernel families of fused launches. The variant of an op determines the family; only DENSE is chosen by the shape. */
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
    /* Sets the rule's numbers for an op that check accepts. If NULL, the rule uses the numbers of check. */
    void (*choose)(const dg_op *op, dg_tune *t, const dg_gpu *gpu);
    /* Counts the launch's work, for time predictions (core/plan/work.h). If NULL, the work is one kernel that moves the
     * operands. */
    void (*work)(const dg_op *op, struct dg_work *w);
    /* Returns the bytes of operand `scratch`. If NULL, the op's row has a function for this. */
    size_t (*scratch)(const dg_op *op, dg_type real);
    /* CPU: returns how many operations at the peak rate take as long as the op. If NULL, the op's row counts. */
    double (*arithmetic)(const dg_op *op);
    dg_fused_family fused;
    bool by_row; /* only a tuning row chooses this variant, never the rule */
    bool exclusive;
} dg_variant;

/* Variants of elementwise ops: a thread of dg_direct computes one value, a thread of dg_vector 16 bytes
 * (core/tune/variants.c). */
extern const dg_variant dg_direct, dg_vector;

#endif
