#include "kernels/cuda/cuda_internal.cuh"

#include <stdlib.h>

/* Keeps the stream busy for about 20 ns per turn, while the host enqueues launches. */
static __global__ void hold_kernel(float *out, int turns)
{
    float x = (float)turns;
    for (int i = 0; i < turns; i++)
#pragma unroll
        for (int k = 0; k < 8; k++) x = x * 0.75f + 0.25f;
    if (x < 0) *out = x;
}

static constexpr int HOLD = 800; /* number of turns of hold_kernel that take longer than one call of piece() */

/* Allocates twice the size of the L2 cache, so that writing this memory evicts all other data. */
static cudaError_t make_cache(dg_cuda_timer *t)
{
    if (t->cache) return cudaSuccess;
    int device = 0;
    cudaDeviceProp p;
    cudaError_t e = cudaGetDevice(&device);
    if (e == cudaSuccess) e = cudaGetDeviceProperties(&p, device);
    if (e == cudaSuccess) t->bytes = 2 * (size_t)p.l2CacheSize + (1 << 20);
    return e == cudaSuccess ? cudaMalloc(&t->cache, t->bytes) : e;
}

void dg_cuda_timer_free(dg_cuda_timer *t)
{
    if (t->cache) (void)cudaFree(t->cache);
    t->cache = nullptr;
}

static cudaError_t enqueue(dg_cuda_timer *t, int n, bool cold, dg_err (*piece)(void *, int), void *context,
                           cudaEvent_t *event, dg_err *failed)
{
    cudaError_t e = cudaSuccess;
    if (!cold) KLAUNCH(hold_kernel, dim3(1), dim3(1), 0, t->stream, (float *)t->cache, n * HOLD);
    for (int i = 0; i < n && e == cudaSuccess && !*failed; i++) {
        if (cold) e = cudaMemsetAsync(t->cache, i, t->bytes, t->stream);
        if (e == cudaSuccess && (cold || i == 0)) e = cudaEventRecord(event[2 * i], t->stream);
        if (e == cudaSuccess) *failed = piece(context, i);
        if (e == cudaSuccess) e = cudaEventRecord(event[2 * i + 1], t->stream);
    }
    const cudaError_t done = cudaStreamSynchronize(t->stream);
    return e == cudaSuccess ? done : e;
}

cudaError_t dg_cuda_time(dg_cuda_timer *t, int n, bool cold, dg_err (*piece)(void *, int), void *context, double *ms,
                         dg_err *failed)
{
    *failed = DG_OK;
    cudaError_t e = make_cache(t);
    if (e != cudaSuccess) return e;
    cudaEvent_t *event = (cudaEvent_t *)calloc((size_t)n * 2, sizeof *event);
    if (!event) return cudaErrorMemoryAllocation;
    for (int i = 0; i < 2 * n && e == cudaSuccess; i++) e = cudaEventCreate(&event[i]);
    if (e == cudaSuccess) e = enqueue(t, n, cold, piece, context, event, failed);
    for (int i = 0; i < n && e == cudaSuccess && !*failed; i++) {
        float elapsed = 0;
        const cudaEvent_t from = cold || i == 0 ? event[2 * i] : event[2 * i - 1];
        e = cudaEventElapsedTime(&elapsed, from, event[2 * i + 1]);
        ms[i] = (double)elapsed;
    }
    for (int i = 0; i < 2 * n; i++)
        if (event[i]) (void)cudaEventDestroy(event[i]);
    free(event);
    return e;
}

typedef struct {
    gpu *c;
    const dg_op *op;
    const dg_plan *plan;
} timed;

static dg_err enqueue_timed(void *context, int i)
{
    const timed *t = (const timed *)context;
    return t->op ? dg_gpu_enqueue(t->c, t->op, t->c->timer.stream)
                 : dg_gpu_enqueue_piece(t->c, t->plan, i, t->c->timer.stream);
}

static dg_err time_pieces(timed *t, int n, double *ms)
{
    gpu *c = t->c;
    ENTER(c);
    dg_err failed = t->plan ? dg_gpu_round(c, t->plan) : DG_OK;
    if (failed) return failed;
    c->timer.stream = c->stream[DG_COMPUTE];
    const cudaError_t e = dg_cuda_time(&c->timer, n, t->op != nullptr, enqueue_timed, t, ms, &failed);
    if (failed) return failed;
    return e == cudaSuccess ? DG_OK : dg_gpu_report(c, t->op ? t->op->name : t->plan->name, "timing", e);
}

/* Sets ms[i] to the time of the launch whose main op is op i, or to 0 if there is no such launch. The loop runs
 * backwards, so that it reads each launch's time before overwriting it. */
static dg_err cuda_time_plan(dg_backend *b, struct dg_plan *p, double *ms)
{
    timed t = {(gpu *)b, nullptr, p};
    const dg_err e = time_pieces(&t, dg_plan_pieces(p), ms);
    for (int i = p->launches, end = p->ops; !e && i-- > 0; end = p->launch[i].first) {
        const double its = ms[i];
        for (int k = p->launch[i].first; k < end; k++) ms[k] = 0;
        ms[p->launch[i].main] = its;
    }
    return e;
}

static dg_err cuda_time_op(dg_backend *b, const dg_op *op, int n, double *ms)
{
    timed t = {(gpu *)b, op, nullptr};
    return time_pieces(&t, n, ms);
}

static cudaError_t replay(gpu *c, const captured *g, int n, float *elapsed)
{
    const cudaStream_t stream = c->stream[DG_COMPUTE];
    cudaError_t e = cudaGraphLaunch(g->graph, stream);
    if (e == cudaSuccess) e = cudaEventRecord(c->from, stream);
    for (int i = 0; i < n && e == cudaSuccess; i++) e = cudaGraphLaunch(g->graph, stream);
    if (e == cudaSuccess) e = cudaEventRecord(c->to, stream);
    if (e == cudaSuccess) e = cudaEventSynchronize(c->to);
    return e == cudaSuccess ? cudaEventElapsedTime(elapsed, c->from, c->to) : e;
}

static dg_err cuda_time_graph(dg_backend *b, struct dg_plan *p, int launches, int runs, int n, double *ms)
{
    gpu *c = (gpu *)b;
    ENTER(c);
    captured *g;
    float elapsed = 0;
    dg_err e = dg_gpu_round(c, p);
    if (!e) e = dg_gpu_capture(c, p, launches, runs, &g);
    if (e) return e;
    const cudaError_t error = replay(c, g, n, &elapsed);
    dg_gpu_drop_graph(c);
    *ms = (double)elapsed / n / runs;
    return error == cudaSuccess ? DG_OK : dg_gpu_report(c, p->name, "timing a graph", error);
}

static dg_err cuda_measure(dg_backend *b, dg_machine *m, int rounds)
{
    gpu *c = (gpu *)b;
    ENTER(c);
    const char *what;
    const cudaError_t e = dg_cuda_limits(c->stream[DG_COMPUTE], c->device, b->real, m, rounds, &what);
    return e == cudaSuccess ? DG_OK : dg_gpu_report(c, "measuring the device", what, e);
}

void dg_gpu_time_functions(dg_backend *b)
{
    b->time_plan = cuda_time_plan;
    b->time_op = cuda_time_op;
    b->time_graph = cuda_time_graph;
    b->measure = cuda_measure;
}
