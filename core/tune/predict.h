/* Predicted time of an op, from its work and the machine's limits:
 *   us = launch + max(arithmetic, memory)
 * The time of a GPU's fused launch is computed from counts (cost.h) and assigned to the main op of the launch. For
 * unfused ops, and for launches without counts, formulas predict three terms.
 *   Launch time is the number of the op's kernels times the time of an empty kernel in a chain (machine.launch_us) and,
 * on a GPU, the once-part of a wave of blocks (cost.h).
 *   Arithmetic time is the number of products / (the machine's peak rate * the efficiency of the variant's inner loop).
 * On a GPU, the multiprocessor with the most tiles determines the time (wave quantisation), and fewer warps lower the
 * rate. On the CPU, the products and transforms of Winograd's algorithm are counted.
 *   Memory time is the time for reading and writing all operands once, from the last cache if they fit, else from
 * memory. On a GPU, memory time is at least the time of all blocks' loads through the last cache.
 * The efficiencies are constants in core/tune/predict_cpu.c and core/tune/predict_gpu.c. `dcgan profile` prints
 * predicted and measured times. */
#pragma once

#include "core/plan/plan.h"
#include "core/tune/cost.h"
#include "core/tune/machine.h"

typedef enum { DG_BOUND_LAUNCH, DG_BOUND_ARITHMETIC, DG_BOUND_MEMORY, DG_BOUND_FUSED, DG_BOUNDS } dg_bound;

/* Source of a predicted time: counts of the launch, counts of a similar launch, or a formula. */
typedef enum { DG_FROM_COUNTS, DG_FROM_NEAR, DG_FROM_FORMULA } dg_from;

typedef struct {
    double us;
    double bound_us;
    double launch_us, arithmetic_us, memory_us;
    int kernels; /* dependent kernels; CPU: 1 */
    double blocks;
    dg_bound bound;
    dg_from from;
} dg_prediction;

dg_prediction dg_predict_cpu(const dg_op *op, double bytes, const dg_machine *m);
dg_prediction dg_predict_gpu(const dg_op *op, double bytes, const dg_machine *m);

/* Returns a convolution's predicted time in us on an H100. Without a tuning row, this time decides the tile on every
 * GPU, so that all GPUs use equal tiles and sum in one order. */
double dg_rule_us(const dg_op *op);
