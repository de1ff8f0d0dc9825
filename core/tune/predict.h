/* What an op should take: a model of what it has to do, against what the machine can do at most.
 *
 *     us = launch + max(arithmetic, memory)
 *
 * A fused launch of a GPU is what its counts say (cost.h): bound and estimate. All of it is put down to its main op;
 * the others take no time of their own (bound: fused). What has no counts, ops by themselves and arithmetics that
 * nobody counted, has formulas:
 *
 * launch      kernels of the op, one after another, times what an empty one costs in a chain (machine.launch_us).
 * arithmetic  products over the machine's peak, at the efficiency of the variant's inner loop. On a GPU the
 *             products are those of whole tiles, spread over the multiprocessors: the one with most blocks decides
 *             (wave quantisation), and one that holds few warps runs slower. Minimal filtering on the CPU counts the
 *             products that it really does and its transforms.
 * memory      the larger of: what the op must read and write once, from memory, or from the last cache when all of
 *             it fits there; and what all blocks together load through that cache, tiles re-reading their operands.
 *
 * The efficiencies are few constants, in core/tune/predict_cpu.c and core/tune/predict_gpu.c, each with its reason;
 * they were not fitted op by op. A measured time far from the prediction is where to look: `dcgan profile` prints both.
 */
#ifndef DG_PREDICT_H
#define DG_PREDICT_H

#include "core/plan/plan.h"
#include "core/tune/cost.h"
#include "core/tune/machine.h"

typedef enum { DG_BOUND_LAUNCH, DG_BOUND_ARITHMETIC, DG_BOUND_MEMORY, DG_BOUND_FUSED, DG_BOUNDS } dg_bound;

/* Where a time comes from: counts of what is launched, counts of something like it, a formula. */
typedef enum { DG_FROM_COUNTS, DG_FROM_NEAR, DG_FROM_FORMULA } dg_from;

typedef struct {
    double us;       /* all together: the estimate */
    double bound_us; /* what it cannot be quicker than; of a formula what it has beside the launch */
    double launch_us, arithmetic_us, memory_us;
    int kernels;    /* that wait for one another; on the CPU 1 */
    double blocks;  /* of the main kernel; 0 where it is not known */
    dg_bound bound; /* by the largest of the three */
    dg_from from;
} dg_prediction;

/* The formulas, for one op that moves `bytes`. */
dg_prediction dg_predict_cpu(const dg_op *op, double bytes, const dg_machine *m);
dg_prediction dg_predict_gpu(const dg_op *op, double bytes, const dg_machine *m);

/* What the rule compares choices for a convolution by: us of the op among fused ones on an H100, on every GPU alike, so
 * that sums have the same order on each. Others have more or fewer multiprocessors, but much the same bytes a
 * product. */
double dg_rule_us(const dg_op *op);

#endif
