/* The cost model of a GPU's launches, which predicts times (predict.h) and selects the tiles of convolutions and of
 * weight updates.
 *
 * A launch consists of parts. All blocks of a part are of one kind (kernels/fused/predict_plan.h). For each kind of
 * block, core/tune/counts.csv has the instructions and bytes per block and per step of the main loop.
 * `scripts/ptx-count --renew` writes counts.csv with a PTX interpreter.
 *
 * The bound is the largest of these times: the longest block, L2, memory, and the issue slots, pipes, L1 and tensor
 * cores of the multiprocessor with the most blocks. Memory counts the bytes that exceed the cache. The estimate adds to
 * the time of instructions, which warps issue at a low rate, a once-part per wave of blocks, the sums that the blocks
 * of a cluster exchange, and the cost of a launch. */
#pragma once

#include "core/plan/plan.h"
#include "core/tune/machine.h"

/* A part of a launch: all blocks that do equal work. The words of `kind` are direction, kernel, tile, prologue and
 * epilogue. */
typedef struct dg_cost_part {
    char kind[80];
    int kernel;
    double blocks;
    double steps, most; /* steps of the main loop in an average block, and in the longest block */
    double rest;        /* factor of dg_counted.rest: a block's share of its tile, of the images or of the weights */
    const struct dg_counted *counted; /* counts of this kind of block; NULL before the first look-up */
    double merged;                    /* number of partial sums that the last block adds */
    int cluster;                      /* blocks per cluster; 0: no clusters */
    double joined;                    /* bytes that a block loads from the other blocks of its cluster */
} dg_cost_part;

enum { DG_COST_PARTS = 32 };

/* Counts per block, as X(name), in warp instructions, clocks of a multiprocessor, or bytes. */
#define DG_COUNTS(X)                                          \
    X(instructions) /* of all pipes; max 4 per clock */       \
    X(alu)                                                    \
    X(fma) /* clocks, including integer multiply-adds */      \
    X(xu)                                                     \
    X(f64) /* clocks, at one fp64 lane per two fp32 lanes */  \
    X(l1)  /* wavefronts of shared memory, L1 and shuffles */ \
    X(products)                                               \
    X(l2) /* bytes that a block loads, each byte once */
enum {
#define X(name) DG_COUNT_##name,
    DG_COUNTS(X)
#undef X
        DG_COUNT_KINDS
};
typedef struct dg_counted {
    const char *kind;
    int threads, resident;
    double block[DG_COUNT_KINDS], step[DG_COUNT_KINDS], rest[DG_COUNT_KINDS];
    double longest[4]; /* instructions of the longest block: fixed, per step, per unit of `rest`, per partial sum */
} dg_counted;

extern const dg_counted dg_counts[]; /* the last entry has kind NULL */

/* Returns the counts of a kind of block. If the kind is missing, returns the counts of the most similar kind whose
 * first three words are equal, or NULL. */
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
    double bound_us, us; /* us: estimated time, including the launch's cost */
    double launch_us, arithmetic_us, memory_us;
    double blocks, waves;
    double instructions; /* instructions that a warp slot executes in the launch, one block after another */
    dg_limit limit;
    bool near; /* a kind of block has no counts, so counts of a similar kind were used */
} dg_cost;

/* Computes the cost of a kernel from its parts, which move `bytes` bytes of memory in total. Returns false if a kind of
 * block has neither counts nor a similar kind. */
bool dg_cost_of(const dg_cost_part *part, int parts, double bytes, const dg_machine *m, dg_cost *out);

/* Returns the time after which `slots` multiprocessors have finished all runs of equal blocks. A multiprocessor starts
 * its next block when the previous block ends, in the order of the runs. */
typedef struct {
    double each;
    int blocks;
} dg_cost_run;
double dg_cost_makespan(const dg_cost_run *run, int runs, int slots);

/* Returns the time in ns of a weight gradient's block with counts c and `steps` steps, with its once-part. */
double dg_block_ns(const dg_counted *c, double steps, const dg_machine *m);
