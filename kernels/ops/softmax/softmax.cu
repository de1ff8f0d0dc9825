/* Softmax and its cross entropy, in three passes over the logits. The last block adds the losses in index order, as the
 * CPU does.
 * Warp tile: a row, one logit per thread at a time. Shared memory: 2 KB.
 * Bound by: exponentials in double; with a few dozen rows, latency */
#include "kernels/fused/fuse.cuh"

/* `top`: index of the first of the largest logits. `others`: sum of exp(logit - largest) over all logits except `top`.
 * The largest term, 1, is not in `others`, so that small terms keep their precision. */
struct row_sum {
    double largest, others;
    int top;
};

/* Returns the sums of a row to all threads of the warp. */
template <class real> static __device__ __forceinline__ row_sum sum_of_row(const real *l, int C, int lane)
{
    row_sum s;
    real best = l[lane < C ? lane : 0];
    s.top = lane < C ? lane : 0;
    for (int c = lane + 32; c < C; c += 32)
        if (l[c] > best) best = l[c], s.top = c;
    for (int d = 16; d > 0; d /= 2) {
        const real its = __shfl_xor_sync(0xffffffffu, best, d);
        const int at = __shfl_xor_sync(0xffffffffu, s.top, d);
        if (its > best || (its == best && at < s.top)) best = its, s.top = at;
    }
    /* if a logit is NaN, threads may differ in `top`, but all results of the row are NaN */
    s.top = __shfl_sync(0xffffffffu, s.top, 0);
    s.largest = (double)__shfl_sync(0xffffffffu, best, 0);
    s.others = s.largest - s.largest;
    for (int c = lane; c < C; c += 32)
        if (c != s.top) s.others += exp((double)l[c] - s.largest);
    s.others = dg_sum_of_warp(s.others);
    return s;
}

template <class real>
static __device__ __forceinline__ double loss_of_row(const dg_softmax_args &a, const real *l, const row_sum &s,
                                                     int label, int lane)
{
    double below = 0; /* sum of the logits' distances from the largest logit */
    if (a.smoothing > 0) {
        for (int c = lane; c < a.C; c += 32) below += s.largest - (double)l[c];
        below = dg_sum_of_warp(below);
    }
    return log1p(s.others) + (1 - a.smoothing) * (s.largest - (double)l[label]) + a.smoothing / a.C * below;
}

template <class real>
static __device__ __forceinline__ void shares_of_row(const dg_softmax_args &a, int64_t row, const real *l,
                                                     const row_sum &s, int lane)
{
    real *const p = a.p ? (real *)a.p + row * a.C : nullptr;
    real *const dlogit = a.dlogit ? (real *)a.dlogit + row * a.C : nullptr;
    const int label = dlogit ? a.label[row] : -1;
    const double sum = 1 + s.others, smooth = a.smoothing / a.C;
    for (int c = lane; c < a.C; c += 32) {
        const double e = c == s.top ? 1 : exp((double)l[c] - s.largest);
        if (p) p[c] = (real)(e / sum);
        if (!dlogit) continue;
        /* p - 1 is computed as minus the sum of the other terms, so that the gradient of a confident row is exact */
        const double most = c == s.top ? s.others : sum - e;
        dlogit[c] = (real)((c == label ? a.smoothing - most / sum - smooth : e / sum - smooth) / a.N);
    }
}

/* Called by the last block. Adds the losses of all rows and resets the counter of correct rows to 0. */
static __device__ __forceinline__ void add_losses(const dg_softmax_args &a)
{
    static constexpr int MOST = 256;
    SHARED(double, loss_of, [MOST]);
    const double *const each = (const double *)a.scratch;
    const double loss = dg_sum_in_order<MOST>(a.N, (double *)loss_of, [=](int i) { return each[i]; });
    if (threadIdx.x) return;
    dg_metrics *now = &a.ring[a.state->step % DG_RING];
    now->value[a.loss] = loss / a.N;
    now->value[a.right] = (double)atomicExch(a.counters + 1, 0u) / a.N;
}

template <class real> static __global__ void __launch_bounds__(1024) softmax_kernel(const dg_softmax_args a)
{
    DEV_CHECK(blockDim.x % 32 == 0);
    const int64_t row = dg_thread() / 32;
    const int lane = (int)threadIdx.x % 32;
    if (row < a.N) {
        const real *l = (const real *)a.logit + row * a.C;
        const row_sum s = sum_of_row(l, a.C, lane);
        shares_of_row(a, row, l, s, lane);
        const int label = a.label ? a.label[row] : 0;
        const double loss = a.label ? loss_of_row(a, l, s, label, lane) : 0;
        if (lane == 0 && a.each) ((real *)a.each)[row] = (real)loss;
        if (lane == 0 && a.ring) {
            ((double *)a.scratch)[row] = loss;
            if (s.top == label && s.others == s.others) atomicAdd(a.counters + 1, 1u);
        }
    }
    if (a.ring && dg_comes_last(a.counters, gridDim.x)) add_losses(a);
}

template <class real> void dg_cuda_softmax(const dg_softmax_args *a, const dg_tune *tune, cudaStream_t stream)
{
    KLAUNCH(softmax_kernel<real>, dg_grid((int64_t)a->N * 32, tune->block), dim3(tune->block), 0, stream, *a);
}
DG_INSTANTIATE(softmax, softmax)
