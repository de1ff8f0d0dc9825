/* Times and limits of a CUDA device, for `dcgan profile` and `tune`: events in the stream, and kernels of our own that
 * do nothing but arithmetic, memory or waiting. No counters, which would need rights. */
#ifndef DG_CUDA_TIME_CUH
#define DG_CUDA_TIME_CUH

#include "kernels/dev/dev.cuh"
extern "C" {
#include "core/base/err.h"
#include "core/tune/machine.h"
}

/* Time n pieces of work in the stream, each by a pair of events. They are enqueued while the device is held up, so that
 * the host's launches are not what is timed: one after another as in a plan, or (cold) each behind an overwriting of
 * the cache. piece() enqueues number i; when it fails *failed is its error and nothing is timed. */
typedef struct {
    cudaStream_t stream;
    void *cache; /* memory of more than the cache's size, allocated when it is first wanted */
    size_t bytes;
} dg_cuda_timer;
cudaError_t dg_cuda_time(dg_cuda_timer *t, int n, bool cold, dg_err (*piece)(void *, int), void *context, double *ms,
                         dg_err *failed);
void dg_cuda_timer_free(dg_cuda_timer *t);

/* backend->measure. *what: the call that failed, static text. */
cudaError_t dg_cuda_limits(cudaStream_t stream, int device, dg_type real, dg_machine *m, int rounds, const char **what);

#endif
