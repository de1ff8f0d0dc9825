/* Calls of a group of processes (core/group/transport.h) by NCCL, for torchrun, which starts no MPI. Each call is one
 * or more all-gathers between small buffers on the GPUs, on a stream that waits for the backend's. */
#include "kernels/cuda/nccl.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static constexpr size_t PIECE = 1 << 18; /* bytes of a rank in a buffer */

static struct {
    int rank, size, device;
    char address[300];
    cudaStream_t stream;
    cudaEvent_t ready, done;
    char *own, *all, *host; /* PIECE, and twice size * PIECE */
    char why[200];
} net;

static int no(const char *why)
{
    snprintf(net.why, sizeof net.why, "%s", why);
    return 1;
}

static int failed(cudaError_t e) { return e == cudaSuccess ? 0 : no(cudaGetErrorString(e)); }

/* Waits without using the processor. */
static int wait_for_stream(void)
{
    if (failed(cudaEventRecord(net.done, net.stream))) return 1;
    const struct timespec nap = {0, 200000};
    cudaError_t e;
    while ((e = cudaEventQuery(net.done)) == cudaErrorNotReady) (void)nanosleep(&nap, nullptr);
    return failed(e);
}

/* Collects n <= PIECE bytes of each rank in net.host. */
static int gather_piece(const void *own, size_t n)
{
    const cudaStream_t compute = dg_nccl_before();
    if (compute &&
        (failed(cudaEventRecord(net.ready, compute)) || failed(cudaStreamWaitEvent(net.stream, net.ready, 0))))
        return 1;
    if (failed(cudaMemcpyAsync(net.own, own, n, cudaMemcpyHostToDevice, net.stream))) return 1;
    if (const char *why = dg_nccl_gather(net.own, net.all, n, net.stream)) return no(why);
    if (failed(cudaMemcpyAsync(net.host, net.all, n * (size_t)net.size, cudaMemcpyDeviceToHost, net.stream))) return 1;
    return wait_for_stream();
}

/* Gathers `bytes` at `own` of each rank. Stores the part of rank r at to[r], unless it is nullptr. */
template <class F> static int gather_each(const void *own, size_t bytes, F to)
{
    for (size_t at = 0; at < bytes; at += PIECE) {
        const size_t n = bytes - at < PIECE ? bytes - at : PIECE;
        if (gather_piece((const char *)own + at, n)) return 1;
        for (int r = 0; r < net.size; r++)
            if (char *part = (char *)to(r)) memcpy(part + at, net.host + (size_t)r * n, n);
    }
    return 0;
}

static int all_to_all(const void *from, void *to, size_t bytes)
{
    for (int s = 0; s < net.size; s++)
        if (gather_each((const char *)from + (size_t)s * bytes, bytes,
                        [=](int r) { return s == net.rank ? (char *)to + (size_t)r * bytes : nullptr; }))
            return 1;
    return 0;
}

static int turn(const void *own, void *all, size_t bytes)
{
    return gather_each(own, bytes, [=](int r) { return (char *)all + (size_t)r * bytes; });
}

static int all_gather(void *all, size_t bytes) { return turn((char *)all + (size_t)net.rank * bytes, all, bytes); }

static int broadcast(void *bytes, size_t n)
{
    return gather_each(bytes, n, [=](int r) { return r == 0 && net.rank ? (char *)bytes : nullptr; });
}

static int gather(const void *own, void *all, size_t bytes)
{
    return gather_each(own, bytes, [=](int r) {
        char *const part = (char *)all + (size_t)r * bytes;
        return net.rank == 0 && part != own ? part : nullptr;
    });
}

static int open_transport(double, size_t, int *rank, int *size)
{
    *rank = net.rank, *size = net.size;
    net.host = (char *)malloc((size_t)net.size * PIECE);
    if (!net.host) return no("out of memory");
    if (failed(cudaSetDevice(net.device)) || failed(cudaStreamCreateWithFlags(&net.stream, cudaStreamNonBlocking)) ||
        failed(cudaEventCreateWithFlags(&net.ready, cudaEventDisableTiming)) ||
        failed(cudaEventCreateWithFlags(&net.done, cudaEventDisableTiming)) ||
        failed(cudaMalloc((void **)&net.own, PIECE)) || failed(cudaMalloc((void **)&net.all, (size_t)net.size * PIECE)))
        return 1;
    const char *why = dg_nccl_join(net.rank, net.size, nullptr, net.address);
    return why ? no(why) : 0;
}

static int close_transport(void)
{
    dg_nccl_leave();
    (void)cudaFree(net.own);
    (void)cudaFree(net.all);
    (void)cudaEventDestroy(net.ready);
    (void)cudaEventDestroy(net.done);
    (void)cudaStreamDestroy(net.stream);
    free(net.host);
    return 0;
}

static const char *name_of(void) { return "torchrun"; }
static const char *why_not(void) { return net.why; }
static int never_absent(int) { return 0; }
static void leave(int) {} /* the caller ends this process, then torchrun the others */

extern "C" const dg_transport *dg_nccl_transport(int rank, int size, int device, const char *address)
{
    static dg_transport t;
    net.rank = rank, net.size = size, net.device = device;
    snprintf(net.address, sizeof net.address, "%s", address);
    t.open = open_transport, t.close = close_transport, t.name = name_of, t.why = why_not;
    t.all_to_all = all_to_all, t.all_gather = all_gather, t.broadcast = broadcast, t.gather = gather, t.turn = turn;
    t.absent = never_absent, t.abort_all = leave;
    return &t;
}
