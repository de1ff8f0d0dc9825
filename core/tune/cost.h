/* The cost model of a GPU's launches, the only one: what is printed as expected (predict.h), which tile a convolution
 * gets and how an update is divided ask the same rows.
 *
 * A launch is parts, blocks of one kind each (kernels/fused/predict_plan.h). What a block of a kind issues, multiplies
 * and moves was counted in real steps by the executor of PTX: once a block, and for each step of its main loop. Those
 * counts are core/tune/counts.csv, which `scripts/ptx-count --renew` writes. From them and the machine's rates follow
 *
 *     bound      the largest of the least times: of each pipe, of the first cache and of the tensor cores on the
 *                multiprocessor that has most blocks (whole waves), of the L2 cache, of memory where the launch does
 *                not fit the cache, and of the longest block, which is a launch's tail
 *     estimate   the same with the parts of those rates that so few warps reach, and what a launch costs */
#ifndef DG_COST_H
#define DG_COST_H

#include "core/plan/plan.h"
#include "core/tune/machine.h"

/* Blocks of a launch that do the same. The first three words of `kind` are direction, kernel and tile; others are what
 * is around. */
typedef struct dg_cost_part {
    char kind[80];
    int kernel;         /* of the launch's, counted from 0 */
    double blocks;      /* of this kind */
    double steps, most; /* of a block's main loop, on average; of the longest block's */
    double rest; /* what else a block does as often, in parts of one: its share of a tile, of images, of weights */
    const struct dg_counted *counted; /* its row, where that has been found; NULL: by its kind */
    double merged;                    /* parts of sums that the block which comes last adds up */
} dg_cost_part;

enum { DG_COST_PARTS = 32 }; /* of a launch, at most */

/* What blocks of a kind were counted to do: X(name), of warp instructions, of clocks of a multiprocessor's pipe, cache
 * or tensor cores, and of bytes. */
#define DG_COUNTS(X)                                                             \
    X(instructions) /* of all pipes; a multiprocessor issues four a clock */     \
    X(alu)          /* clocks */                                                 \
    X(fma)          /* clocks, with multiply-adds of integers */                 \
    X(xu)           /* clocks */                                                 \
    X(f64)          /* clocks, where there is one lane for two of fp32 */        \
    X(l1)           /* wavefronts of shared memory, the first cache, shuffles */ \
    X(products)     /* multiply-adds of tensor cores */                          \
    X(l2)           /* bytes, what a block loads again not counted */
enum {
#define X(name) DG_COUNT_##name,
    DG_COUNTS(X)
#undef X
        DG_COUNT_KINDS
};
typedef struct dg_counted {
    const char *kind;
    int threads, resident; /* of a block; blocks a multiprocessor */
    double block[DG_COUNT_KINDS], step[DG_COUNT_KINDS], rest[DG_COUNT_KINDS];
    double longest[4]; /* instructions of the longest block: fixed, a step, of the rest, for each part merged */
} dg_counted;

extern const dg_counted dg_counts[]; /* ends with a kind of NULL */

/* The row of a kind; where there is none, the nearest of the same first three words; else NULL. */
const dg_counted *dg_counted_find(const char *kind, bool *near);

typedef enum {
    DG_LIMIT_ISSUE,
    DG_LIMIT_PIPE,
    DG_LIMIT_L1,
    DG_LIMIT_TENSOR,
    DG_LIMIT_BLOCK,
    DG_LIMIT_L2,
    DG_LIMIT_MEMORY,
    DG_LIMITS
} dg_limit;
const char *dg_limit_name(dg_limit l);

typedef struct {
    double bound_us, us;                        /* us: the estimate, a launch's own cost included */
    double launch_us, arithmetic_us, memory_us; /* of the estimate: what it is the largest of */
    double blocks;
    dg_limit limit; /* which is the bound */
    bool near;      /* some kind was not counted, but one like it */
} dg_cost;

/* Of the parts of one kernel, which all together move `bytes` of memory; false: a kind was not counted. */
bool dg_cost_of(const dg_cost_part *part, int parts, double bytes, const dg_machine *m, dg_cost *out);

/* ns of one block of this kind among as many as there is room for. */
double dg_block_ns(const dg_counted *c, double steps, const dg_machine *m);

#endif
