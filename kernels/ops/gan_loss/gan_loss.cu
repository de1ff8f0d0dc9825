/* GAN losses of a few dozen logits per step. One thread adds the terms of the logits in index order, as the CPU does.
 * Grid: one block. Shared memory: 4 KB of terms. Bound by: latency */
#include "kernels/ops/gan_loss/cross_entropy.cuh"

#define INLINE static __device__ __forceinline__
#include "kernels/ops/gan_loss/gan_loss.h"

static constexpr int THREADS = 256;

struct two {
    double x, y;
    __device__ __forceinline__ void operator+=(const two &other) { x += other.x, y += other.y; }
};

/* Returns the mean of the n terms term(0) .. term(n - 1) to all threads of the block. `room` has THREADS elements. */
template <class function> static __device__ __forceinline__ two mean_of(int n, two *room, function term)
{
    const two sum = dg_sum_in_order<THREADS>(n, room, term);
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
        const dg_loss_term t = term_of(&a, (double)logit[i], other ? (double)other[i] : 0, half.x, half.y);
        dlogit[i] = (real)(t.slope / a.n);
        return two{t.loss, t.prob};
    });
    if (other && a.both)
        more = mean_of(a.n, room, [=](int i) {
                   return two{other_of(&a, (double)logit[i], (double)other[i], half.x), 0};
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
