/* What is known of a variant, one way in which an op can run, without running it: one row a variant, in a plain C file
 * beside its kernel (kernels/ops/conv/cuda/conv_thin.c beside conv_thin.cu). An op's row lists those that it has
 * (op_info.h); op->tune.variant points to the one that was chosen. The rule, tuning files, the cost model, placing and
 * fusing read the row; nobody compares names. */
#ifndef DG_VARIANT_H
#define DG_VARIANT_H

#include <stdbool.h>

#include "core/plan/ops.h"

/* What the rules look at. */
typedef struct dg_gpu {
    int arch;      /* 90 for sm_90 */
    size_t shared; /* bytes of shared memory that a block may have */
    dg_math math;  /* what factors of convolutions are rounded to: --precision */
    bool wgmma;    /* it has products of warpgroups, and this build code for them */
} dg_gpu;

/* The kernels of fused launches that do what a variant does; DENSE has no variant: a product's shape is enough. */
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
    const char *name; /* in tuning files and tables */
    /* Fills in what t leaves open; NULL, or why the op cannot run so (dg_variant_no()). NULL: not of a GPU. */
    const char *(*check)(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu);
    /* The rule's numbers for an op that check takes; NULL: what check fills in. */
    void (*choose)(const dg_op *op, dg_tune *t, const dg_gpu *gpu);
    /* What is launched, as far as time depends on it (core/plan/work.h); NULL: a kernel that moves the operands. */
    void (*work)(const dg_op *op, struct dg_work *w);
    /* Bytes of operand `scratch`; NULL: what the op's row says. */
    size_t (*scratch)(const dg_op *op, dg_type real);
    /* CPU: operations that take as long, at the peak rate, as the op does; NULL: the op's row counts what is done. */
    double (*arithmetic)(const dg_op *op);
    dg_fused_family fused;
    bool by_row;    /* rows of a tuning file take it, the rule never does */
    bool exclusive; /* two of it may not run side by side */
} dg_variant;

/* Of ops that sweep over their operands once: a thread a value, or 16 bytes (core/tune/variants.c). */
extern const dg_variant dg_direct, dg_vector;

#endif
