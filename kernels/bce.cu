/* Binary cross entropy on logits: a few dozen numbers a step, so one block; every thread makes the terms of its
 * logits, one thread adds them in index order, as the CPU does. */
#include "cuda.cuh"

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
            const double l = (double)logit[i], e = exp(-fabs(l));
            const double p = (l < 0 ? e : 1) / (1 + e), q = (l < 0 ? 1 : e) / (1 + e); /* sigmoid(l), sigmoid(-l) */
            loss_of[threadIdx.x] = (l > 0 ? l : 0) - l * a.target + log1p(e);
            prob_of[threadIdx.x] = p;
            dlogit[i] = (real)((p * (1 - a.target) - q * a.target) / a.n);
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
