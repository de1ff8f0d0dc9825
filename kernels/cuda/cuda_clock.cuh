/* Measures kernel times and hardware limits of a CUDA device. CUDA events are used, because hardware counters require
 * privileges. */
#pragma once

#include "kernels/dev/dev.cuh"
extern "C" {
#include "core/base/err.h"
#include "core/tune/machine.h"
}

/* Calls piece(context, i) for i < n. Sets ms[i] to the GPU time of the work that piece(context, i) enqueues. The times
 * exclude the host's launch overhead. If `cold`, the L2 cache is overwritten before each call. If piece() fails,
 * *failed is its error, and ms is not set. */
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
