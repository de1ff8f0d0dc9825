/* Predicted time of an op, from its work and the machine's limits:
 *   us = launch + max(arithmetic, memory)
 * Bound and estimate of a GPU's fused launch follow from counts (cost.h) and belong to the main op; the launch's other
 * ops have no time (bound: fused). For unfused ops, and for launches without counts, formulas predict three terms.
 * launch: number of the op's kernels, times the time of an empty kernel in a chain (machine.launch_us).
 * arithmetic: number of products / (the machine's peak rate * the efficiency of the variant's inner loop). On a GPU,
 * the multiprocessor with the most tiles determines the time (wave quantisation), and fewer warps lower the rate. On
 * the CPU, Winograd's own products and transforms are counted.
 * memory: the larger of two times: reading and writing the operands once, from memory or, if they fit, from the last
 *   cache; and the loads of all blocks through that cache, because tiles re-read operands.
 * The efficiencies are a few constants in core/tune/predict_cpu.c and
 * core/tune/predict_gpu.c; they are not fitted op by op. `dcgan profile` prints predicted and measured times. */
#ifndef DG_PREDICT_H
#define DG_PREDICT_H

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

/* Returns the predicted time in us from which the rule chooses a convolution's tile. The time is always that of an
 * H100, so that every GPU uses the same tile and sums in the same order. */
double dg_rule_us(const dg_op *op);

#endif
