/* Ops of a batch that is divided into shards: one thread per value of a sum, per channel, or one thread.
 * Bound by: memory (shard_sum), the connection of the GPUs (messages), the launch (others). */
#include "kernels/cuda/nccl.cuh"

/* Node l is the sum of 2^l shards. A shard that completes a pair of nodes is added at once, as in a binary counter. */
template <class real> static __global__ void sum_kernel(const dg_shard_sum_args a)
{
    const int64_t i = dg_thread();
    if (i >= a.n) return;
    real *const g = (real *)a.g + i;
    real node[7], last = 0;
    for (int s = 0; s < a.shards; s++) {
        last = g[s * a.n];
#pragma unroll
        for (int level = 0; level < 7; level++) {
            const bool pairs = (s + 1) % (2 << level) == 0; /* bits 0 to `level` of s are set */
            if (pairs) last = node[level] + last;
            else if ((s + 1) % (1 << level) == 0) node[level] = last;
        }
    }
    *g = (real)a.factor * last;
}

template <class real> void dg_cuda_shard_sum(const dg_shard_sum_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH(sum_kernel<real>, dg_grid(a->n, tune->block), dim3(tune->block), 0, stream, *a);
}
DG_INSTANTIATE(shard_sum, shard_sum)

template <class real> static __global__ void running_kernel(const dg_shard_running_args a)
{
    const int c = (int)dg_thread();
    if (c >= a.C) return;
    const double keep = 1 - a.momentum, unbias = (double)a.count / (a.count - 1);
    real *const running_mean = (real *)a.running_mean + c, *const running_var = (real *)a.running_var + c;
    for (int g = 0; g < a.groups; g++) {
        double mean = 0, var = 0;
        for (int k = 0; k < a.shards; k++) {
            const real *x = (const real *)a.x + (int64_t)k * a.each + a.at + g * a.C + c;
            const double rstd = (double)x[a.groups * a.C];
            mean += (double)x[0];
            var += fmax(0.0, 1 / (rstd * rstd) - a.eps);
        }
        *running_mean = (real)(keep * (double)*running_mean + a.momentum * mean / a.shards);
        *running_var = (real)(keep * (double)*running_var + a.momentum * unbias * var / a.shards);
    }
}

template <class real>
void dg_cuda_shard_running(const dg_shard_running_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH(running_kernel<real>, dg_grid(a->C, tune->block), dim3(tune->block), 0, stream, *a);
}
DG_INSTANTIATE(shard_running, shard_running)

template <class real> static __global__ void collect_kernel(const dg_shard_collect_args a)
{
    const int i = (int)threadIdx.x;
    if (i >= a.n || i >= DG_METRICS_MAX) return;
    if (a.taken >> i & 1) ((real *)a.x)[i] = (real)a.ring[a.state->step % DG_RING].value[i];
    if (a.cleared >> i & 1) ((real *)a.x)[i] = 0;
}

template <class real> void dg_cuda_shard_collect(const dg_shard_collect_args *a, const dg_tune *, cudaStream_t stream)
{
    KLAUNCH(collect_kernel<real>, dim3(1), dim3(32), 0, stream, *a);
}
DG_INSTANTIATE(shard_collect, shard_collect)

template <class real> static __global__ void metrics_kernel(const dg_shard_metrics_args a)
{
    const int i = (int)threadIdx.x;
    if (i >= DG_METRICS_MAX || !((a.means | a.sums) >> i & 1)) return;
    double sum = 0;
    for (int k = 0; k < a.shards; k++) sum += (double)((const real *)a.x)[(int64_t)k * a.each + i];
    double *const value = &a.ring[a.state->step % DG_RING].value[i];
    if (a.sums >> i & 1) *value = sum;
    if (a.means >> i & 1) *value = sum / a.shards;
}

template <class real> void dg_cuda_shard_metrics(const dg_shard_metrics_args *a, const dg_tune *, cudaStream_t stream)
{
    KLAUNCH(metrics_kernel<real>, dim3(1), dim3(32), 0, stream, *a);
}
DG_INSTANTIATE(shard_metrics, shard_metrics)

template <class real> static __global__ void copy_kernel(real *x, const real *g, int64_t n)
{
    const int64_t i = dg_thread();
    if (i < n) x[i] = g[i]; /* ranks = 1 */
}

template <class real>
void dg_cuda_shard_exchange(const dg_shard_message_args *a, const dg_tune *tune, cudaStream_t stream)
{
    if (a->ranks > 1) dg_nccl_exchange(a->group, a->x, a->g, (size_t)a->n * sizeof(real), stream);
    else
        KLAUNCH(copy_kernel<real>, dg_grid(a->n, tune->block), dim3(tune->block), 0, stream, (real *)a->x,
                (const real *)a->g, a->n);
}
DG_INSTANTIATE(shard_exchange, shard_message)

template <class real> void dg_cuda_shard_share(const dg_shard_message_args *a, const dg_tune *tune, cudaStream_t stream)
{
    if (a->ranks > 1) dg_nccl_share(a->group, a->x, (size_t)a->n * sizeof(real), stream);
    else
        KLAUNCH(copy_kernel<real>, dg_grid(a->n, tune->block), dim3(tune->block), 0, stream, (real *)a->x,
                (const real *)a->x, a->n);
}
DG_INSTANTIATE(shard_share, shard_message)
