/* Losses of a GAN besides cross entropy: a few dozen numbers a step, so one block; every thread makes the terms of its
 * logits, one thread adds them in index order, as the CPU does.
 *
 * Tile: one block, a thread every blockDim'th logit. Shared memory: 2 KB of terms. Registers: 42 to 44. Bound by:
 * latency. real: type of logits. */
#include "kernels/dev/cuda.cuh"

static constexpr int THREADS = 256;

/* NaN stays NaN in all of these. */
static __device__ __forceinline__ double half_square(double v) { return v * v / 2; }
static __device__ __forceinline__ double above_zero(double v) { return v <= 0 ? 0 : v; }
static __device__ __forceinline__ double from_0_to_1(double v) { return v < 0 ? 0 : v > 1 ? 1 : v; }

static __device__ __forceinline__ double loss_of(const dg_gan_loss_args &a, double d)
{
    if (a.form == DG_GAN_SQUARES) return half_square(d - a.target);
    return a.form == DG_GAN_HINGE ? above_zero(1 - a.target * d) : -a.target * d;
}

/* Of the loss by its logit, times n; shift: what the other half adds to all alike. */
static __device__ __forceinline__ double slope_of(const dg_gan_loss_args &a, double d, double shift)
{
    if (a.form == DG_GAN_SQUARES) return d - a.target + shift;
    const double margin = 1 - a.target * d;
    return a.form == DG_GAN_SCORE || margin > 0 ? -a.target : above_zero(margin);
}

/* Whole block: the mean of term(0) to term(n - 1) in all threads. room: THREADS doubles. */
template <class function> static __device__ __forceinline__ double mean_of(int n, double *room, function term)
{
    double sum = 0;
    for (int first = 0; first < n; first += THREADS) {
        const int i = first + (int)threadIdx.x, some = n - first < THREADS ? n - first : THREADS;
        if (i < n) room[threadIdx.x] = term(i);
        __syncthreads();
        for (int k = 0; k < some && threadIdx.x == 0; k++) sum += room[k];
        __syncthreads();
    }
    if (threadIdx.x == 0) room[0] = sum / n;
    __syncthreads();
    const double mean = room[0];
    __syncthreads();
    return mean;
}

template <class real> static __global__ void gan_loss_kernel(const dg_gan_loss_args a)
{
    DEV_CHECK(blockDim.x == THREADS);
    SHARED(double, room, [THREADS]);
    const real *const logit = (const real *)a.logit, *const other = (const real *)a.other;
    real *const dlogit = (real *)a.dlogit;
    double ours = 0, theirs = 0, shift = 0, more = 0;
    if (other) {
        ours = mean_of(a.n, room, [=](int i) { return (double)logit[i]; });
        theirs = mean_of(a.n, room, [=](int i) { return (double)other[i]; });
        shift = ours - theirs - a.target;
    }
    const double prob = mean_of(a.n, room,
                                [=](int i) { return from_0_to_1(((double)logit[i] - theirs - a.low) / (1 - a.low)); });
    const double loss = mean_of(a.n, room, [=](int i) { return loss_of(a, (double)logit[i] - theirs); });
    if (a.both) more = mean_of(a.n, room, [=](int i) { return half_square((double)other[i] - ours + a.target); });
    for (int i = (int)threadIdx.x; i < a.n; i += THREADS)
        dlogit[i] = (real)(slope_of(a, (double)logit[i] - theirs, shift) / a.n);
    if (threadIdx.x == 0) {
        dg_metrics *row = &a.ring[a.state->step % DG_RING];
        row->value[a.loss] = loss + more;
        row->value[a.prob] = prob;
    }
}

template <class real> void dg_cuda_gan_loss(const dg_gan_loss_args *a, const dg_tune *tune, cudaStream_t stream)
{
    (void)tune;
    KLAUNCH(gan_loss_kernel<real>, dim3(1), dim3(THREADS), 0, stream, *a);
}
DG_INSTANTIATE(gan_loss, gan_loss)
