/* Formulas that predict the times of ops on a GPU. */
#include "core/tune/predict.h"

#include <math.h>

#include "core/plan/work.h"
#include "core/tune/conv_tiles.h"

/* Returns the fraction of the peak rate that the inner loop reaches, such as 3/4 with 8 x 8 results per thread. A
 * thread reads about 2 sqrt(outputs) operands from shared memory for `outputs` products. */
static double inner_loop(double outputs) { return 1 / (1 + 2.6 / sqrt(outputs)); }

/* Returns the fraction of the peak rate that `warps` warps per multiprocessor reach, such as 2/3 with four warps. */
static double hidden(double warps) { return warps / (warps + 2); }

/* Efficiency of mma.sync. A warp with 64 x 32 results multiplies half of the time and reads operands half of the
 * time. */
#define MMA 0.5

/* Efficiency of wgmma, relative to m->bf16, the rate of mma.sync. Tensor cores limit the rate of tiles of at least 64 x
 * 64. Shared memory limits the rate of smaller tiles. */
#define WGMMA (0.9 / DG_MMA_ON_HOPPER)

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }

static double lanes_ghz(const dg_machine *m) { return m->all / (2.0 * m->units * dg_arch_lanes(m->arch)); }

static double arithmetic_us(const dg_work *w, dg_math math, const dg_machine *m)
{
    const double rounds = ceil(w->blocks / m->units);
    double resident = least(rounds, floor((double)dg_arch_threads(m->arch) / w->threads));
    if (w->shared > 0) resident = least(resident, floor((double)m->shared / w->shared));
    double warps = most(resident, 1) * w->threads / 32;
    /* kernels that use mma.sync have only 8 warps per multiprocessor, because of their registers */
    if (math != DG_MATH_FP32 && !w->warpgroups) warps = least(warps, 8);
    const double wide = w->outputs >= 32 ? WGMMA : WGMMA * 2 / 3;
    const double mma[] = {[DG_MATH_FP32] = m->all * inner_loop(w->outputs),
                          [DG_MATH_BF16] = m->bf16 * MMA,
                          [DG_MATH_FP16] = m->fp16 * MMA};
    const double peak = w->warpgroups ? m->bf16 * wide : mma[math];
    const double rate = peak / m->units * hidden(warps);
    return rounds * w->products * 2 / rate * 1e-3;
}

dg_prediction dg_predict_gpu(const dg_op *op, double bytes, const dg_machine *m)
{
    const dg_work w = dg_work_of(op, m->real);
    dg_prediction r = {.kernels = w.kernels,
                       .launch_us = w.kernels * (m->launch_us + m->costs.wave_us),
                       .blocks = w.blocks,
                       .from = DG_FROM_FORMULA};
    if (m->all > 0)
        r.arithmetic_us = w.products > 0 ? arithmetic_us(&w, op->tune.math, m) : dg_op_flops(op) / m->all * 1e-3;
    const double all = bytes + w.moved;
    const double rate = all <= m->cache_mb * 1e6 && m->cache > 0 ? m->cache : m->triad;
    if (rate > 0) r.memory_us = all / rate * 1e-3;
    if (m->cache > 0) r.memory_us = most(r.memory_us, w.blocks * w.loads / m->cache * 1e-3);
    return r;
}

/* Instructions of a warp of variant wgmma in fused launches, rounded from core/tune/counts.csv: per block, per result
 * of a thread, per chunk of channels, and per unit of weights that a thread copies in a chunk. */
enum { WARP_BLOCK = 300, WARP_RESULT = 5, WARP_CHUNK = 400, WARP_UNIT = 5 };

/* Returns the predicted time of a forward pass or data gradient with wgmma. Its latency determines the time of a small
 * convolution: instructions, the once-part of each wave of blocks, and the exchange of partial sums in clusters. Fused
 * kernels load values of 2 bytes. */
static double warpgroups_us(const dg_op *op, const dg_work *w, const dg_machine *m)
{
    const dg_machine_costs *c = &m->costs;
    const bool dx = op->kind == DG_OP_conv_dx;
    const double tile = (double)op->tune.tile_m * op->tune.tile_n, results = tile * (dx ? 4 : 1) / w->threads,
                 chunks = w->products / (tile * 16 * DG_MMA_CHUNK), us = 1e-3 / c->ghz;
    const double placed = ceil(w->blocks / dg_machine_cluster_units(m->units, w->split));
    const bool two = !dx && !dg_mma_is_small(&op->u.conv) && w->threads == 256; /* blocks per multiprocessor */
    const double waves = ceil(placed / (two ? 2 : 1)), units = 16.0 * 2 * op->tune.tile_n / w->threads;
    const double instructions = WARP_BLOCK + WARP_RESULT * results + (WARP_CHUNK + WARP_UNIT * units) * chunks;
    const double issue = instructions / c->issued[0] * us;
    const double join = (1 - 1.0 / w->split) * results * w->threads * 4 / c->join * us;
    const double tensor = placed * w->products * 2 * m->units / (m->bf16 * WGMMA) * 1e-3;
    const double cache = w->blocks * w->loads / 2 / (m->cache * c->l2) * 1e-3;
    return most(most(waves * (c->wave_us + issue + join), tensor), cache);
}

/* The formulas for mma.sync assume the boost clock and CACHE_BYTES bytes of L2 per clock. */
enum { CACHE_BYTES = 24 };

double dg_rule_us(const dg_op *op)
{
    dg_machine m;
    if (dg_machine_find("h100", DG_F32, &m)) return 0;
    dg_work w = dg_work_of(op, DG_F32);
    if (w.warpgroups && op->kind != DG_OP_conv_dw) return warpgroups_us(op, &w, &m);
    w.warpgroups = false;
    const double cache = CACHE_BYTES * m.units * lanes_ghz(&m);
    const double joined = w.split > 1 ? m.costs.last_us + w.moved / cache * 1e-3 : 0;
    return most(arithmetic_us(&w, op->tune.math, &m), w.blocks * w.loads / cache * 1e-3) + joined;
}
