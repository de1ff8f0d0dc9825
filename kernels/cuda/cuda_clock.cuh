/* Measures times and limits of a CUDA device for `dcgan profile` and `dcgan tune`, with events and small kernels.
 * Hardware counters would require privileges. */
#ifndef DG_CUDA_TIME_CUH
#define DG_CUDA_TIME_CUH

#include "kernels/dev/dev.cuh"
extern "C" {
#include "core/base/err.h"
#include "core/tune/machine.h"
}

/* Measures the time of n pieces of work, enqueued by piece(), with two events per piece. The device is blocked while
 * the host enqueues the pieces, so the times exclude the host's launch overhead. cold: the cache is overwritten before
 * each piece. If piece() fails, *failed is its error and nothing is timed. */
typedef struct {
    cudaStream_t stream;
    void *cache;
    size_t bytes;
} dg_cuda_timer;
cudaError_t dg_cuda_time(dg_cuda_timer *t, int n, bool cold, dg_err (*piece)(void *, int), void *context, double *ms,
                         dg_err *failed);
void dg_cuda_timer_free(dg_cuda_timer *t);

/* Implements backend->measure(). After an error, *what is the name of the failed CUDA call (static text). */
cudaError_t dg_cuda_limits(cudaStream_t stream, int device, dg_type real, dg_machine *m, int rounds, const char **what);

#endif
