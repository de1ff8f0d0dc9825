/* Divides a fused update (fused.h) among blocks. Each block of the first launch (a producer) computes a partial sum of
 * one tile of a weight gradient. Each block of the second launch (a consumer) adds the partial sums of consecutive
 * weights and applies Adam. */
#pragma once

#include "kernels/fused/fused.h"

enum {
    DG_UPDATE_BITS = 8,
    DG_UPDATE_THREADS = 1 << DG_UPDATE_BITS,
    DG_UPDATE_GROUPS = 2,
    DG_UPDATE_GEMV_COLS = 1024, /* weights per block, for one channel of y */
    DG_UPDATE_DENSE_ROWS = 128,
    DG_UPDATE_DENSE_COLS = 32,
    DG_UPDATE_DENSE_IMAGES = 32,
    DG_UPDATE_PARTS = 1024,
    DG_UPDATE_RANGES = 2 * DG_UPDATE_JOBS + 1
};

/* Counters of finished consumer blocks, and of weights that are not finite. */
enum { DG_UPDATE_DONE, DG_UPDATE_BAD, DG_UPDATE_COUNTERS };

/* Number of pipeline stages of weight gradients on tensor cores. With fp16, two stages fill Turing's 64 KB of shared
 * memory. */
#define DG_UPDATE_STAGES(scaled) ((scaled) ? 2 : 4)

typedef struct {
    dg_conv_args conv;
    dg_prologue x, y; /* kind is `plain` for jobs on tensor cores, which read rounded operands */
    int kind, channels;
    int groups, per_group;
    int rows, cols;
    int units, parts;
    int first, producers;
    int64_t scratch;
    int64_t offset, count;
} dg_update_work;

typedef struct {
    int64_t from, count;
    int work;
    int halvings;
    int first, blocks, width;
} dg_update_range;

typedef struct {
    int jobs, ranges, producers, consumers;
    dg_update_work job[DG_UPDATE_JOBS];
    dg_update_range range[DG_UPDATE_RANGES];
    dg_adam_args adam;
    dg_advance_args advance;
    dg_rounded rounded;
    float *scratch;
    unsigned *counters;
} dg_update_layout;

void dg_update_layout_of(const dg_fused_update *u, dg_update_layout *out);

dg_update_work dg_update_work_of(const dg_update_job *j);

/* Writes the indices of the jobs (weight gradients) to `place`, in descending order of the time per block. */
void dg_update_order(const dg_fused_update *u, const dg_update_work *work, int *place);

const char *dg_prologue_name(const dg_prologue *s);

struct dg_cost_part;
void dg_update_part(const dg_update_work *w, dg_math math, struct dg_cost_part *out);
void dg_update_adam_part(const dg_update_work *work, int jobs, int64_t n, dg_math math, struct dg_cost_part *out);

/* The parts of a sum are divided among slots of threads. Returns log2 of the number of slots. */
static inline int dg_update_halvings(int parts)
{
    int halvings = 0;
    while (parts > 8 << halvings && halvings < 6) halvings++;
    return halvings;
}

size_t dg_update_shared(const dg_fused_update *u);

static inline bool dg_update_has_factors(dg_fused_family kind)
{
    return kind == DG_FUSED_MMA || kind == DG_FUSED_WGMMA;
}

static inline bool dg_update_rounds(dg_fused_family kind)
{
    return dg_update_has_factors(kind) || kind == DG_FUSED_THIN_MMA;
}

bool dg_update_by_warpgroups(const dg_fused_update *u);

dg_math dg_update_math(const dg_fused_update *u);
