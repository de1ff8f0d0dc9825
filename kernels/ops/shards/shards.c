/* Ops of a batch that is divided into shards. */
#include <math.h>

#include "core/group/group.h"
#include "kernels/cpu/cpu.h"

enum { LANES = 64, LEVELS = 7, MANY = 1 << 14 };

/* Node l is the sum of 2^l shards. A shard that completes a pair of nodes is added at once, as in a binary counter. */
static void sum(real *g, int64_t stride, int shards, real factor, int n)
{
    real node[LEVELS][LANES], last[LANES] = {0};
    for (int s = 0; s < shards; s++) {
        int level = 0;
#pragma omp simd
        for (int i = 0; i < n; i++) last[i] = g[s * stride + i];
        for (; s >> level & 1; level++)
#pragma omp simd
            for (int i = 0; i < n; i++) last[i] = node[level][i] + last[i];
#pragma omp simd
        for (int i = 0; i < n; i++) node[level][i] = last[i];
    }
#pragma omp simd
    for (int i = 0; i < n; i++) g[i] = factor * last[i];
}

DG_CPU_OP(shard_sum, shard_sum)
{
#pragma omp parallel for schedule(static) if (a->n * a->shards > MANY)
    for (int64_t at = 0; at < a->n; at += LANES)
        sum((real *)a->g + at, a->n, a->shards, (real)a->factor, a->n - at < LANES ? (int)(a->n - at) : LANES);
}

DG_CPU_OP(shard_running, shard_running)
{
    const double keep = 1 - a->momentum, unbias = (double)a->count / (a->count - 1);
    real *running_mean = a->running_mean, *running_var = a->running_var;
    for (int g = 0; g < a->groups; g++)
        for (int c = 0; c < a->C; c++) {
            double mean = 0, var = 0;
            for (int k = 0; k < a->shards; k++) {
                const real *x = (const real *)a->x + (int64_t)k * a->each + a->at + g * a->C + c;
                const double rstd = (double)x[a->groups * a->C];
                mean += (double)x[0];
                var += fmax(0, 1 / (rstd * rstd) - a->eps);
            }
            running_mean[c] = (real)(keep * (double)running_mean[c] + a->momentum * mean / a->shards);
            running_var[c] = (real)(keep * (double)running_var[c] + a->momentum * unbias * var / a->shards);
        }
}

DG_CPU_OP(shard_collect, shard_collect)
{
    const dg_metrics *now = &a->ring[a->state->step % DG_RING];
    real *x = a->x;
    for (int i = 0; i < a->n && i < DG_METRICS_MAX; i++) {
        if (a->taken >> i & 1) x[i] = (real)now->value[i];
        if (a->cleared >> i & 1) x[i] = 0;
    }
}

DG_CPU_OP(shard_metrics, shard_metrics)
{
    dg_metrics *now = &a->ring[a->state->step % DG_RING];
    for (int i = 0; i < DG_METRICS_MAX; i++) {
        if (!((a->means | a->sums) >> i & 1)) continue;
        double sum = 0;
        for (int k = 0; k < a->shards; k++) sum += (double)((const real *)a->x)[(int64_t)k * a->each + i];
        if (a->sums >> i & 1) now->value[i] = sum;
        if (a->means >> i & 1) now->value[i] = sum / a->shards;
    }
}

/* The group keeps an error, which dg_job_steps returns. */
DG_CPU_OP(shard_exchange, shard_message)
{
    (void)dg_group_all_to_all(a->group, a->g, a->x, (size_t)a->n * sizeof(real));
}

DG_CPU_OP(shard_share, shard_message) { (void)dg_group_all_gather(a->group, a->x, (size_t)a->n * sizeof(real)); }
