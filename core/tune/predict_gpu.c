/* Formulas that predict the times of ops on a GPU. */
#include "core/tune/predict.h"

#include <math.h>

#include "core/plan/work.h"

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

/* For wgmma kernels except dw, measured with model dcgan64-paper (docs/cuda.md). A multiprocessor adds JOIN_BYTES bytes
 * of partial sums per clock. A block spends BEGIN_CLOCKS clocks per warp outside of its main loop. */
enum { JOIN_BYTES = 85, BEGIN_CLOCKS = 100, CACHE_BYTES = 24 };

/* Kernels with wgmma load patches and partial sums at m.cache, the rate of the cache under load. In the data
 * gradient a block fills a multiprocessor, so an incomplete wave takes as long as a full wave. The formulas for
 * mma.sync and for the forward pass with wgmma assume the boost clock. */
double dg_rule_us(const dg_op *op)
{
    dg_machine m;
    if (dg_machine_find("h100", DG_F32, &m)) return 0;
    dg_work w = dg_work_of(op, DG_F32);
    const double cache = CACHE_BYTES * m.units * (w.warpgroups ? m.costs.ghz : lanes_ghz(&m));
    const bool cluster = w.warpgroups && op->kind != DG_OP_conv_dw;
    double fixed = 0;
    if (cluster) fixed += ceil(w.blocks / m.units) * w.threads / 32 * BEGIN_CLOCKS / m.costs.ghz * 1e-3;
    if (w.split > 1) {
        const double joined = (w.split - 1) * w.moved / (2 * w.blocks * w.split);
        fixed += m.costs.last_us + (cluster ? joined / JOIN_BYTES / m.costs.ghz : w.moved / cache) * 1e-3;
    }
    w.warpgroups = w.warpgroups && op->kind == DG_OP_conv_dx;
    const double blocks = w.warpgroups ? ceil(w.blocks / m.units) * m.units : w.blocks;
    return most(arithmetic_us(&w, op->tune.math, &m), blocks * w.loads / cache * 1e-3) + fixed;
}
