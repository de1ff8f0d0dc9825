/* The CUDA backend's memory: allocation, synchronous and asynchronous copies, and the events that order its two
 * streams. */
#include "kernels/cuda/cuda_internal.cuh"

#include <string.h>

static dg_err wait_for(gpu *c, cudaEvent_t event)
{
    const cudaError_t e = cudaEventSynchronize(event);
    if (e == cudaSuccess) return DG_OK;
    return dg_gpu_report(c, "", "waiting for the device", e);
}

static dg_err memory(dg_backend *b, size_t *free_bytes, size_t *total)
{
    gpu *c = (gpu *)b;
    ENTER(c);
    TRY(c, "", cudaMemGetInfo(free_bytes, total));
    return DG_OK;
}

static cudaError_t clear(gpu *c, void *p, size_t bytes)
{
    const cudaError_t e = cudaMemsetAsync(p, 0, bytes, c->stream[DG_COMPUTE]);
    return e == cudaSuccess ? cudaStreamSynchronize(c->stream[DG_COMPUTE]) : e;
}

static dg_err alloc(dg_backend *b, size_t bytes, void **mem)
{
    gpu *c = (gpu *)b;
    *mem = nullptr;
    ENTER(c);
    size_t free_bytes = 0, total = 0;
    TRY(c, "", cudaMemGetInfo(&free_bytes, &total));
    void *p = nullptr;
    const cudaError_t e = cudaMalloc(&p, bytes ? bytes : 1);
    if (e == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return dg_fail(DG_DEVICE,
                       "out of memory on %s: %.1f MB needed at once, %.1f MB free of %.1f MB; use a smaller {batch}, "
                       "a smaller model, or close other programs on this GPU",
                       b->name, (double)bytes / 1e6, (double)free_bytes / 1e6, (double)total / 1e6);
    }
    if (e != cudaSuccess) return dg_gpu_report(c, "", "cudaMalloc", e);
    const cudaError_t cleared = clear(c, p, bytes ? bytes : 1);
    if (cleared != cudaSuccess) {
        (void)cudaFree(p);
        return dg_gpu_report(c, "", "clearing new memory", cleared);
    }
    *mem = p;
    return DG_OK;
}

static dg_err alloc_host(dg_backend *b, size_t bytes, void **mem)
{
    gpu *c = (gpu *)b;
    *mem = nullptr;
    ENTER(c);
    const cudaError_t e = cudaHostAlloc(mem, bytes ? bytes : 1, cudaHostAllocDefault);
    if (e == cudaSuccess) return DG_OK;
    *mem = nullptr;
    if (e != cudaErrorMemoryAllocation) return dg_gpu_report(c, "", "cudaHostAlloc", e);
    (void)cudaGetLastError();
    return dg_fail(DG_DEVICE, "out of memory: cannot allocate %.1f MB of host memory that %s can access",
                   (double)bytes / 1e6, b->name);
}

static void wait_for_all(gpu *c)
{
    (void)cudaSetDevice(c->device);
    for (int i = 0; i < DG_STREAMS; i++) (void)cudaStreamSynchronize(c->stream[i]);
}

static void release(dg_backend *b, void *mem)
{
    gpu *c = (gpu *)b;
    if (c->broken || !mem) return;
    wait_for_all(c);
    (void)cudaFree(mem);
}

static void release_host(dg_backend *b, void *mem)
{
    gpu *c = (gpu *)b;
    if (c->broken || !mem) return;
    wait_for_all(c);
    (void)cudaFreeHost(mem);
}

static size_t piece_at(size_t bytes, size_t at) { return bytes - at < STAGE_BYTES ? bytes - at : STAGE_BYTES; }

static dg_err take_stage(gpu *c, int *k)
{
    *k = c->next_stage;
    c->next_stage = (*k + 1) % STAGES;
    return wait_for(c, c->staged[*k]);
}

/* On return, the caller may overwrite `host`, although the copy to the device may still run. */
static dg_err put(dg_backend *b, void *dst, const void *host, size_t bytes)
{
    gpu *c = (gpu *)b;
    ENTER(c);
    c->written++;
    for (size_t at = 0; at < bytes; at += STAGE_BYTES) {
        const size_t n = piece_at(bytes, at);
        int k;
        const dg_err e = take_stage(c, &k);
        if (e) return e;
        memcpy(c->stage[k], (const char *)host + at, n);
        TRY(c, "copying to the device",
            cudaMemcpyAsync((char *)dst + at, c->stage[k], n, cudaMemcpyHostToDevice, c->stream[DG_COMPUTE]));
        TRY(c, "copying to the device", cudaEventRecord(c->staged[k], c->stream[DG_COMPUTE]));
    }
    return DG_OK;
}

static dg_err start_piece(gpu *c, const char *src, size_t n, int *k)
{
    const dg_err e = take_stage(c, k);
    if (e) return e;
    TRY(c, "copying from the device",
        cudaMemcpyAsync(c->stage[*k], src, n, cudaMemcpyDeviceToHost, c->stream[DG_COMPUTE]));
    TRY(c, "copying from the device", cudaEventRecord(c->staged[*k], c->stream[DG_COMPUTE]));
    return DG_OK;
}

/* The device writes one pinned buffer while the host reads another. */
static dg_err get(dg_backend *b, void *host, const void *src, size_t bytes)
{
    gpu *c = (gpu *)b;
    ENTER(c);
    int now = 0, next = 0;
    dg_err e = bytes ? start_piece(c, (const char *)src, piece_at(bytes, 0), &next) : DG_OK;
    for (size_t at = 0; !e && at < bytes; at += STAGE_BYTES) {
        const size_t n = piece_at(bytes, at);
        now = next;
        if (at + n < bytes) e = start_piece(c, (const char *)src + at + n, piece_at(bytes, at + n), &next);
        if (!e) e = wait_for(c, c->staged[now]);
        if (!e) memcpy((char *)host + at, c->stage[now], n);
    }
    return e;
}

static dg_err start_put(dg_backend *b, dg_stream stream, void *dst, const void *host, size_t bytes)
{
    gpu *c = (gpu *)b;
    ENTER(c);
    TRY(c, "copying to the device", cudaMemcpyAsync(dst, host, bytes, cudaMemcpyHostToDevice, c->stream[stream]));
    return DG_OK;
}

static dg_err start_get(dg_backend *b, dg_stream stream, void *host, const void *src, size_t bytes)
{
    gpu *c = (gpu *)b;
    ENTER(c);
    TRY(c, "copying from the device", cudaMemcpyAsync(host, src, bytes, cudaMemcpyDeviceToHost, c->stream[stream]));
    return DG_OK;
}

static dg_err record(dg_backend *b, dg_stream stream, int event)
{
    gpu *c = (gpu *)b;
    ENTER(c);
    TRY(c, "", cudaEventRecord(c->event[event], c->stream[stream]));
    return DG_OK;
}

static dg_err wait_event(dg_backend *b, dg_stream stream, int event)
{
    gpu *c = (gpu *)b;
    ENTER(c);
    TRY(c, "", cudaStreamWaitEvent(c->stream[stream], c->event[event], 0));
    return DG_OK;
}

static dg_err query(dg_backend *b, int event, bool wait, bool *yes)
{
    gpu *c = (gpu *)b;
    *yes = false;
    ENTER(c);
    if (!wait) {
        const cudaError_t e = cudaEventQuery(c->event[event]);
        if (e == cudaErrorNotReady) return DG_OK;
        if (e != cudaSuccess) return wait_for(c, c->event[event]);
    } else {
        const dg_err e = wait_for(c, c->event[event]);
        if (e) return e;
    }
    *yes = true;
    return DG_OK;
}

void dg_gpu_memory_functions(dg_backend *b)
{
    b->memory = memory;
    b->alloc = alloc;
    b->release = release;
    b->alloc_host = alloc_host;
    b->release_host = release_host;
    b->put = put;
    b->get = get;
    b->start_put = start_put;
    b->start_get = start_get;
    b->record = record;
    b->wait = wait_event;
    b->query = query;
}

dg_err dg_gpu_memory_open(gpu *c)
{
    for (int i = 0; i < DG_STREAMS; i++) TRY(c, "", cudaStreamCreateWithFlags(&c->stream[i], cudaStreamNonBlocking));
    for (int i = 0; i < DG_EVENTS; i++) TRY(c, "", cudaEventCreateWithFlags(&c->event[i], cudaEventDisableTiming));
    for (int i = 0; i < STAGES; i++) {
        TRY(c, "", cudaHostAlloc(&c->stage[i], STAGE_BYTES, cudaHostAllocDefault));
        TRY(c, "", cudaEventCreateWithFlags(&c->staged[i], cudaEventDisableTiming));
    }
    return DG_OK;
}

void dg_gpu_memory_close(gpu *c)
{
    for (int i = 0; i < DG_STREAMS; i++)
        if (c->stream[i]) (void)cudaStreamSynchronize(c->stream[i]);
    for (int i = 0; i < STAGES; i++) {
        if (c->stage[i]) (void)cudaFreeHost(c->stage[i]);
        if (c->staged[i]) (void)cudaEventDestroy(c->staged[i]);
    }
    for (int i = 0; i < DG_EVENTS; i++)
        if (c->event[i]) (void)cudaEventDestroy(c->event[i]);
    for (int i = 0; i < DG_STREAMS; i++)
        if (c->stream[i]) (void)cudaStreamDestroy(c->stream[i]);
}
