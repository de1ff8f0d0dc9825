/* Predicted times: a GPU's half. */
#include "core/tune/predict.h"

#include <math.h>

#include "core/plan/work.h"

/* A thread that has `outputs` results in registers reads about 2 sqrt(outputs) operands from shared memory for as
 * many products: 8 x 8 results reach three quarters of the peak, one result a quarter. */
static double inner_loop(double outputs) { return 1 / (1 + 2.6 / sqrt(outputs)); }

/* Products of a few warps do not hide one another's latency: with one for each of the four schedulers of a
 * multiprocessor two thirds of the rate are left. */
static double hidden(double warps) { return warps / (warps + 2); }

/* On tensor cores a warp's 64 x 32 results take as many clocks as reading their factors from shared memory does. */
#define MMA 0.5

/* A warpgroup's products read their factors while others are made. Those of 64 x 64 results and more are bound by the
 * tensor cores, smaller ones by shared memory. m->bf16 is what mma.sync reaches. */
#define WGMMA (0.9 / DG_MMA_ON_HOPPER)

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }

/* Clocks that its multiply-adds are given by. */
static double lanes_ghz(const dg_machine *m) { return m->all / (2.0 * m->units * dg_arch_lanes(m->arch)); }

static double arithmetic_us(const dg_work *w, dg_math math, const dg_machine *m)
{
    const double rounds = ceil(w->blocks / m->units); /* blocks of the busiest multiprocessor */
    double resident = least(rounds, floor((double)dg_arch_threads(m->arch) / w->threads));
    if (w->shared > 0) resident = least(resident, floor((double)m->shared / w->shared));
    double warps = most(resident, 1) * w->threads / 32;
    /* their threads have more than half of 256 registers each */
    if (math != DG_MATH_FP32 && !w->warpgroups) warps = least(warps, 8);
    if (w->clocks > 0) { /* one of the two is what everybody waits for; registers for 16 warps */
        const double ghz = lanes_ghz(m), rate = (math == DG_MATH_TF32 ? m->tf32 : m->bf16) / m->units;
        return rounds * most(w->products * 2 / rate, w->clocks / ghz) /
               hidden(least(most(resident, 1) * w->threads / 32, 16)) * 1e-3;
    }
    const double wide = w->outputs >= 32 ? WGMMA : WGMMA * 2 / 3; /* results of a thread, a 128th of its warpgroup's */
    const double mma[] = {[DG_MATH_FP32] = m->all * inner_loop(w->outputs),
                          [DG_MATH_TF32] = m->tf32 * MMA,
                          [DG_MATH_BF16] = m->bf16 * MMA,
                          [DG_MATH_FP16] = m->fp16 * MMA};
    const double peak = w->warpgroups ? m->bf16 * wide : mma[math];
    const double rate = peak / m->units * hidden(warps); /* of a multiprocessor */
    return rounds * w->products * 2 / rate * 1e-3;
}

dg_prediction dg_predict_gpu(const dg_op *op, double bytes, const dg_machine *m)
{
    const dg_work w = dg_work_of(op, m->real);
    dg_prediction r = {.kernels = w.kernels,
                       .launch_us = w.kernels * m->launch_us,
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

/* By warpgroups: bytes of other blocks' sums that a multiprocessor adds up in a clock, and clocks that a block's warp
 * takes from it before and behind its loop. As counted in steps of dcgan64-paper (docs/cuda.md). */
enum { JOIN_BYTES = 85, BEGIN_CLOCKS = 100 };

/* Warpgroups wait for their patches and parts, which come as fast as the cost model has it of the cache under load. mma
 * has the balance of products and cache that its tiles were judged by, both at the boost clock, and so has the way
 * forward by warpgroups. A block of a data gradient has a multiprocessor for itself, and of the cache its
 * share: fewer blocks load no faster. */
double dg_rule_us(const dg_op *op)
{
    dg_machine m;
    if (dg_machine_find("h100", DG_F32, &m)) return 0; /* it is in the list */
    dg_work w = dg_work_of(op, DG_F32);
    const double cache = w.warpgroups ? m.cache : m.cache * lanes_ghz(&m) / m.costs.ghz;
    const bool cluster = w.warpgroups && op->kind != DG_OP_conv_dw;
    double fixed = 0;
    if (cluster) fixed += ceil(w.blocks / m.units) * w.threads / 32 * BEGIN_CLOCKS / m.costs.ghz * 1e-3;
    if (w.split > 1) {
        const double joined = (w.split - 1) * w.moved / (2 * w.blocks * w.split); /* bytes of a block */
        fixed += m.costs.last_us + (cluster ? joined / JOIN_BYTES / m.costs.ghz : w.moved / cache) * 1e-3;
    }
    w.warpgroups = w.warpgroups && op->kind == DG_OP_conv_dx;
    const double blocks = w.warpgroups ? ceil(w.blocks / m.units) * m.units : w.blocks;
    return most(arithmetic_us(&w, op->tune.math, &m), blocks * w.loads / cache * 1e-3) + fixed;
}
