/* How a fused update (fused.h) is divided among the blocks of its launch: what the kernel is given, made by
 * fused_update.c. Internal to kernels/; plain C.
 *
 * The producers are one launch: each makes one part of the sums of one tile of one weight gradient. Behind it the
 * consumers are another, each with a few weights in a row: they add their job's parts up and do Adam. */
#ifndef DG_FUSED_UPDATE_H
#define DG_FUSED_UPDATE_H

#include "kernels/fused/fused.h"

enum {
    DG_UPDATE_BITS = 8, /* of a thread's number */
    DG_UPDATE_THREADS = 1 << DG_UPDATE_BITS,
    DG_UPDATE_GROUPS = 2,       /* of a batch, at most */
    DG_UPDATE_GEMV_COLS = 1024, /* weights of a block, of one channel of y */
    DG_UPDATE_DENSE_ROWS = 128,
    DG_UPDATE_DENSE_COLS = 32,   /* channels of y, weights of each */
    DG_UPDATE_DENSE_IMAGES = 32, /* in shared memory at a time */
    DG_UPDATE_PARTS = 1024,      /* of a sum, at most */
    DG_UPDATE_RANGES = 2 * DG_UPDATE_JOBS + 1
};

/* Counters: consumers that are done, weights that are not finite. */
enum { DG_UPDATE_DONE, DG_UPDATE_BAD, DG_UPDATE_COUNTERS };

/* Pieces that tensor-core jobs have in shared memory: with two of tf32 it is full, and Turing has 64 KB for a block. */
#define DG_UPDATE_STAGES(scaled, unit) ((scaled) || (unit) == 4 ? 2 : 4)

typedef struct {
    dg_conv_args conv;     /* of gemv and dense flat (conv_tiles.h); w: where the gradient goes */
    dg_prologue x, y;      /* on tensor cores plain: of factors, in the place of floats */
    int kind, channels;    /* dg_fused_family; of x, where conv is flat */
    int groups, per_group; /* of the batch; images of one */
    int rows, cols;        /* tiles of channels of y, and of the other side */
    int units, parts;      /* into so many parts the sum over pieces, tiles of pixels or images is divided */
    int first, producers;  /* its blocks */
    int64_t scratch;       /* values before its first part there; one part goes to conv.w */
    int64_t offset, count; /* its weights, in adam.p */
} dg_update_work;

typedef struct {
    int64_t from, count;      /* weights */
    int work;                 /* whose they are; -1: nobody's, their gradient is in adam.g */
    int halvings;             /* dg_update_halvings() of its parts */
    int first, blocks, width; /* consumers, counted from 0; weights that one has at a time */
} dg_update_range;

typedef struct {
    int jobs, ranges, producers, consumers;
    dg_update_work job[DG_UPDATE_JOBS]; /* longest blocks first */
    dg_update_range range[DG_UPDATE_RANGES];
    dg_adam_args adam;
    dg_advance_args advance;
    dg_rounded rounded;
    float *scratch;
    unsigned *counters;
} dg_update_layout;

void dg_update_layout_of(const dg_fused_update *u, dg_update_layout *out);

/* A job's tiles and units of its sum, and in how many parts tune.split has that made. */
dg_update_work dg_update_work_of(const dg_update_job *j);

/* fused_update_split.c: the places of jobs in their order: those whose blocks are longest come first. */
void dg_update_order(const dg_fused_update *u, const dg_update_work *work, int *place);

/* As kinds of blocks are called in the cost model: "plain", "norm", "norm_dx". */
const char *dg_prologue_name(const dg_prologue *s);

/* What its blocks are to the cost model (core/tune/cost.h): producers of a job; consumers of so many jobs and of all n
 * weights. */
struct dg_cost_part;
void dg_update_part(const dg_update_work *w, dg_math math, struct dg_cost_part *out);
void dg_update_adam_part(const dg_update_work *work, int jobs, int64_t n, dg_math math, struct dg_cost_part *out);

/* The parts of a sum are divided among two to the power of so many slots of threads. */
static inline int dg_update_halvings(int parts)
{
    int halvings = 0;
    while (parts > 8 << halvings && halvings < 6) halvings++;
    return halvings;
}

/* Bytes of dynamic shared memory. */
size_t dg_update_shared(const dg_fused_update *u);

/* Does a job of this kind multiply factors that were rounded before? */
static inline bool dg_update_has_factors(dg_fused_family kind)
{
    return kind == DG_FUSED_MMA || kind == DG_FUSED_WGMMA;
}

/* Does a job of this kind round its operands? */
static inline bool dg_update_rounds(dg_fused_family kind)
{
    return dg_update_has_factors(kind) || kind == DG_FUSED_THIN_MMA;
}

/* Do its jobs on tensor cores multiply by warpgroups? */
bool dg_update_by_warpgroups(const dg_fused_update *u);

/* What rounds the factors of its jobs on tensor cores; fp32: it has none. */
dg_math dg_update_math(const dg_fused_update *u);

#endif
