/* GAN losses of a few dozen logits per step. One thread adds the terms of the logits in index order, as the CPU does.
 * Grid: one block. Shared memory: 4 KB of terms. Bound by: latency */
#include "kernels/ops/gan_loss/cross_entropy.cuh"

static constexpr int THREADS = 256;

/* half_square() and above_zero() return NaN if v is NaN. */
static __device__ __forceinline__ double half_square(double v) { return v * v / 2; }
static __device__ __forceinline__ double above_zero(double v) { return v <= 0 ? 0 : v; }
static __device__ __forceinline__ double from_0_to_1(double v) { return v < 0 ? 0 : v > 1 ? 1 : v; }
static __device__ __forceinline__ double share_of(const dg_gan_loss_args &a, double d)
{
    return from_0_to_1((d - a.low) / (1 - a.low));
}

/* Like term_of() in gan_loss.c, where `other`, `ours` and `theirs` are described. */
static __device__ __forceinline__ dg_loss_term term_of(const dg_gan_loss_args &a, double l, double other, double ours,
                                                       double theirs)
{
    switch (a.form) {
    case DG_GAN_CROSS: return dg_cross_entropy_of(l, a.target);
    case DG_GAN_SQUARES: return {half_square(l - a.target), share_of(a, l), l - a.target};
    case DG_GAN_HINGE: {
        const double margin = 1 - a.target * l;
        return {above_zero(margin), share_of(a, l), margin > 0 ? -a.target : above_zero(margin)};
    }
    case DG_GAN_SCORE: return {-a.target * l, share_of(a, l), -a.target};
    case DG_GAN_AVERAGE: {
        const double d = l - theirs;
        return {half_square(d - a.target), share_of(a, d), d - a.target + (ours - theirs - a.target)};
    }
    case DG_GAN_PAIRS: {
        const dg_loss_term t = dg_cross_entropy_of(l - other, (1 + a.target) / 2);
        return {t.loss / 2, t.prob, t.slope};
    }
    }
    return {NAN, NAN, NAN};
}

static __device__ __forceinline__ double other_of(const dg_gan_loss_args &a, double l, double other, double ours)
{
    switch (a.form) {
    case DG_GAN_AVERAGE: return half_square(other - ours + a.target);
    case DG_GAN_PAIRS: return dg_cross_entropy_of(l - other, (1 + a.target) / 2).loss / 2;
    case DG_GAN_CROSS:
    case DG_GAN_SQUARES:
    case DG_GAN_HINGE:
    case DG_GAN_SCORE: break;
    }
    return 0;
}

struct two {
    double x, y;
};

/* Returns the mean of the n terms term(0) .. term(n - 1) to all threads of the block. `room` has THREADS elements. */
template <class function> static __device__ __forceinline__ two mean_of(int n, two *room, function term)
{
    two sum = {0, 0};
    for (int first = 0; first < n; first += THREADS) {
        const int i = first + (int)threadIdx.x, some = n - first < THREADS ? n - first : THREADS;
        if (i < n) room[threadIdx.x] = term(i);
        __syncthreads();
        for (int k = 0; k < some && threadIdx.x == 0; k++) sum.x += room[k].x, sum.y += room[k].y;
        __syncthreads();
    }
    if (threadIdx.x == 0) room[0] = {sum.x / n, sum.y / n};
    __syncthreads();
    const two mean = room[0];
    __syncthreads();
    return mean;
}

template <class real> static __global__ void gan_loss_kernel(const dg_gan_loss_args a)
{
    DEV_CHECK(blockDim.x == THREADS);
    SHARED(two, room, [THREADS]);
    const real *const logit = (const real *)a.logit, *const other = (const real *)a.other;
    real *const dlogit = (real *)a.dlogit;
    two half = {0, 0};
    double more = 0;
    if (other) half = mean_of(a.n, room, [=](int i) { return two{(double)logit[i], (double)other[i]}; });
    const two mean = mean_of(a.n, room, [=](int i) {
        const dg_loss_term t = term_of(a, (double)logit[i], other ? (double)other[i] : 0, half.x, half.y);
        dlogit[i] = (real)(t.slope / a.n);
        return two{t.loss, t.prob};
    });
    if (other && a.both)
        more = mean_of(a.n, room, [=](int i) {
                   return two{other_of(a, (double)logit[i], (double)other[i], half.x), 0};
               }).x;
    if (threadIdx.x == 0) {
        dg_metrics *row = &a.ring[a.state->step % DG_RING];
        row->value[a.loss] = mean.x + more;
        row->value[a.prob] = mean.y;
    }
}

template <class real> void dg_cuda_gan_loss(const dg_gan_loss_args *a, const dg_tune *, cudaStream_t stream)
{
    KLAUNCH(gan_loss_kernel<real>, dim3(1), dim3(THREADS), 0, stream, *a);
}
DG_INSTANTIATE(gan_loss, gan_loss)
