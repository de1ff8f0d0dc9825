/* Loads NCCL at its first use. The declarations are those of nccl.h since version 2.18. */
#include "kernels/cuda/cuda_internal.cuh"
#include "kernels/cuda/nccl.cuh"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef DG_NCCL_DECLARED /* by nccl.h, in tests/kernels/nvcc/test_nccl.cu */
typedef struct ncclComm *ncclComm_t;
typedef struct {
    char internal[128];
} ncclUniqueId;
typedef enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7
} ncclResult_t;
typedef enum { ncclInt8 = 0 } ncclDataType_t; /* messages are bytes, because NCCL computes no sums here */
#endif

static constexpr int OLDEST = 21800;

static struct {
    void *library;
    int version;
    ncclResult_t (*get_version)(int *);
    ncclResult_t (*unique_id)(ncclUniqueId *);
    ncclResult_t (*init)(ncclComm_t *, int, ncclUniqueId, int);
    ncclResult_t (*destroy)(ncclComm_t);
    ncclResult_t (*end_calls)(ncclComm_t);
    ncclResult_t (*async_error)(ncclComm_t, ncclResult_t *);
    const char *(*text)(ncclResult_t);
    ncclResult_t (*all_gather)(const void *, void *, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
    ncclResult_t (*send)(const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
    ncclResult_t (*recv)(void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
    ncclResult_t (*begin)(void);
    ncclResult_t (*end)(void);
    char why[160];
} nccl;

/* A process has one group and one communicator. The lock protects `comm` from the thread that asks for errors. */
static dg_gpus gpus;
static ncclComm_t comm;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *no(const char *what, const char *detail)
{
    snprintf(nccl.why, sizeof nccl.why, "%s%s%s", what, detail ? ": " : "", detail ? detail : "");
    return nccl.why;
}

template <class F> static bool find(F *function, const char *name)
{
    *function = (F)dlsym(nccl.library, name);
    return *function != nullptr;
}

/* Returns nullptr, or the reason why this process cannot use NCCL. */
static const char *load(void)
{
    const char *given = getenv("DCGAN_NCCL");
    if (nccl.version) return nullptr;
    nccl.library = dlopen(given && *given ? given : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!nccl.library) return no("NCCL cannot be loaded", dlerror());
    if (!find(&nccl.get_version, "ncclGetVersion") || !find(&nccl.unique_id, "ncclGetUniqueId") ||
        !find(&nccl.init, "ncclCommInitRank") || !find(&nccl.destroy, "ncclCommDestroy") ||
        !find(&nccl.end_calls, "ncclCommAbort") || !find(&nccl.async_error, "ncclCommGetAsyncError") ||
        !find(&nccl.text, "ncclGetErrorString") || !find(&nccl.all_gather, "ncclAllGather") ||
        !find(&nccl.send, "ncclSend") || !find(&nccl.recv, "ncclRecv") || !find(&nccl.begin, "ncclGroupStart") ||
        !find(&nccl.end, "ncclGroupEnd"))
        return no("NCCL lacks a function", dlerror());
    if (nccl.get_version(&nccl.version) != ncclSuccess || nccl.version < 1) return no("NCCL has no version", nullptr);
    return nullptr;
}

static const char *broken(dg_gpus *)
{
    ncclResult_t state = ncclSuccess, asked = ncclSuccess;
    pthread_mutex_lock(&lock);
    if (comm) asked = nccl.async_error(comm, &state);
    pthread_mutex_unlock(&lock);
    if (asked != ncclSuccess) return nccl.text(asked);
    return state == ncclSuccess || state == ncclInProgress ? nullptr : nccl.text(state);
}

static void abort_calls(dg_gpus *)
{
    pthread_mutex_lock(&lock);
    if (comm) (void)nccl.end_calls(comm);
    comm = nullptr;
    pthread_mutex_unlock(&lock);
}

static void close_calls(dg_gpus *)
{
    if (comm) (void)nccl.destroy(comm); /* waits for all ranks */
    pthread_mutex_lock(&lock);
    comm = nullptr;
    pthread_mutex_unlock(&lock);
}

/* What each rank tells the others before they connect. */
struct rank_gpu {
    int version; /* 0: no NCCL, because of `why` */
    char bus[16], why[sizeof nccl.why];
};

static dg_err check(const dg_group *g, const rank_gpu *all)
{
    for (int r = 0; r < g->size; r++) {
        const int v = all[r].version;
        if (!v)
            return dg_fail(DG_DEVICE,
                           DG_MSG("ranks-nccl", "rank %d on %s: %s; several processes with GPUs need NCCL: install "
                                                "libnccl2, set DCGAN_NCCL to libnccl.so.2, or give {device cpu}"),
                           r, g->host[r], all[r].why);
        if (v < OLDEST)
            return dg_fail(DG_DEVICE,
                           DG_MSG("ranks-nccl-old", "rank %d on %s has NCCL %d.%d.%d: at least 2.18 is needed"), r,
                           g->host[r], v / 10000, v / 100 % 100, v % 100);
        if (v != all[0].version)
            return dg_fail(DG_DEVICE,
                           DG_MSG("ranks-nccl-version", "rank %d on %s has NCCL %d.%d.%d, rank 0 has %d.%d.%d; every "
                                                        "process needs the same NCCL"),
                           r, g->host[r], v / 10000, v / 100 % 100, v % 100, all[0].version / 10000,
                           all[0].version / 100 % 100, all[0].version % 100);
        for (int k = 0; k < r; k++)
            if (!strcmp(all[k].bus, all[r].bus) && !strcmp(g->host[k], g->host[r]))
                return dg_fail(DG_USAGE,
                               DG_MSG("ranks-same-gpu", "ranks %d and %d on %s have the same GPU (%s); start one "
                                                        "process per GPU, or give {device cpu}"),
                               k, r, g->host[r], all[r].bus);
    }
    return DG_OK;
}

const char *dg_nccl_id(void *id)
{
    const char *why = load();
    const ncclResult_t bad = why ? ncclSuccess : nccl.unique_id((ncclUniqueId *)id);
    return why ? why : bad == ncclSuccess ? nullptr : nccl.text(bad);
}

const char *dg_nccl_join(int rank, int size, const void *id, const char *address)
{
    ncclUniqueId own = {};
    if (address) {
        if (const char *why = load()) return why;
        if (nccl.version < OLDEST) return no("NCCL is older than 2.18", nullptr);
        (void)setenv("NCCL_COMM_ID", address, 1); /* NCCL makes the id of it on all ranks */
        if (const char *why = dg_nccl_id(&own)) return why;
    } else {
        memcpy(&own, id, sizeof own);
    }
    const ncclResult_t bad = nccl.init(&comm, size, own, rank);
    if (bad == ncclSuccess) return nullptr;
    comm = nullptr;
    return bad == ncclInvalidUsage ? "two processes have the same GPU, or another mistake of usage" : nccl.text(bad);
}

void dg_nccl_leave(void) { close_calls(&gpus); }

static cudaStream_t compute;
void dg_nccl_compute(cudaStream_t stream) { compute = stream; }
cudaStream_t dg_nccl_before(void) { return compute; }

const char *dg_nccl_gather(const void *own, void *all, size_t bytes, cudaStream_t stream)
{
    const ncclResult_t bad = nccl.all_gather(own, all, bytes, ncclInt8, comm, stream);
    return bad == ncclSuccess ? nullptr : nccl.text(bad);
}

/* Rank 0 sends the id to the others. With torchrun, the communicator exists before the backend. */
static dg_err connect(dg_group *g)
{
    ncclUniqueId id = {};
    const char *why = comm || g->rank ? nullptr : dg_nccl_id(&id);
    const dg_err e = comm ? DG_OK : dg_group_broadcast(g, &id, sizeof id);
    if (e) return e;
    if (!why && !comm) why = dg_nccl_join(g->rank, g->size, &id, nullptr);
    if (why)
        return dg_fail(DG_DEVICE, "connecting the GPUs of %d processes: failed (NCCL: %s); NCCL_DEBUG=INFO says more",
                       g->size, why);
    snprintf(gpus.name, sizeof gpus.name, "NCCL %d.%d.%d", nccl.version / 10000, nccl.version / 100 % 100,
             nccl.version % 100);
    gpus.broken = broken;
    gpus.abort = abort_calls;
    gpus.close = close_calls;
    __atomic_store_n(&g->gpus, &gpus, __ATOMIC_RELEASE);
    return DG_OK;
}

extern "C" dg_err dg_cuda_connect(dg_backend *b)
{
    dg_group *const g = b->group;
    rank_gpu *const all = (rank_gpu *)calloc((size_t)g->size, sizeof *all);
    if (!all) return dg_fail(DG_DEVICE, "GPUs of %d processes: out of memory", g->size);
    rank_gpu *const own = &all[g->rank];
    const char *why = load();
    own->version = why ? 0 : nccl.version;
    snprintf(own->why, sizeof own->why, "%s", why ? why : "");
    memcpy(own->bus, b->bus, sizeof own->bus);
    dg_err e = dg_group_all_gather(g, all, sizeof *all);
    if (!e) e = check(g, all);
    if (!e) e = b->sync(b); /* selects the device */
    if (!e) e = connect(g);
    if (!e) dg_nccl_compute(((gpu *)b)->stream[DG_COMPUTE]);
    free(all);
    return e;
}

static void report(ncclResult_t bad, const char *call)
{
    if (bad == ncclSuccess || dev_first_fault.error != cudaSuccess) return;
    dev_first_fault = {cudaErrorLaunchFailure, dev_op, {call, __FILE__, __LINE__}};
}

void dg_nccl_exchange(const dg_group *g, void *x, const void *from, size_t bytes, cudaStream_t stream)
{
    ncclResult_t bad = nccl.begin();
    for (int r = 0; r < g->size && bad == ncclSuccess; r++) {
        bad = nccl.send((const char *)from + (size_t)r * bytes, bytes, ncclInt8, r, comm, stream);
        if (bad == ncclSuccess) bad = nccl.recv((char *)x + (size_t)r * bytes, bytes, ncclInt8, r, comm, stream);
    }
    const ncclResult_t ended = nccl.end();
    report(bad != ncclSuccess ? bad : ended, "ncclSend");
}

void dg_nccl_share(const dg_group *g, void *x, size_t bytes, cudaStream_t stream)
{
    report(nccl.all_gather((const char *)x + (size_t)g->rank * bytes, x, bytes, ncclInt8, comm, stream),
           "ncclAllGather");
}
