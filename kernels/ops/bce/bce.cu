/* Binary cross entropy on logits: a few dozen numbers a step, so one block; every thread makes the terms of its
 * logits, one thread adds them in index order, as the CPU does.
 *
 * Tile: one block, a thread every blockDim'th logit. Shared memory: 4 KB of terms. Registers: 47. Bound by: latency.
 * real: type of logits. */
#include "kernels/ops/bce/bce.cuh"

static constexpr int THREADS = 256;

template <class real> static __global__ void bce_kernel(const dg_bce_args a)
{
    DEV_CHECK(blockDim.x == THREADS);
    SHARED(double, loss_of, [THREADS]);
    SHARED(double, prob_of, [THREADS]);
    const real *logit = (const real *)a.logit;
    real *dlogit = (real *)a.dlogit;
    double loss = 0, prob = 0;
    for (int first = 0; first < a.n; first += THREADS) {
        const int i = first + (int)threadIdx.x;
        if (i < a.n) {
            const dg_bce_term term = dg_bce_of((double)logit[i], a.target);
            loss_of[threadIdx.x] = term.loss;
            prob_of[threadIdx.x] = term.prob;
            dlogit[i] = (real)(term.slope / a.n);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            const int n = a.n - first < THREADS ? a.n - first : THREADS;
            for (int k = 0; k < n; k++) {
                loss += loss_of[k];
                prob += prob_of[k];
            }
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        dg_metrics *row = &a.ring[a.state->step % DG_RING];
        row->value[a.loss] = loss / a.n;
        row->value[a.prob] = prob / a.n;
    }
}

template <class real> void dg_cuda_bce(const dg_bce_args *a, const dg_tune *tune, cudaStream_t stream)
{
    (void)tune;
    KLAUNCH(bce_kernel<real>, dim3(1), dim3(THREADS), 0, stream, *a);
}
DG_INSTANTIATE(bce, bce)
