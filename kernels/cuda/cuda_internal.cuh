/* Internals of the CUDA backend: backend_cuda.cu opens, chooses and runs; cuda_enqueue.cu launches; cuda_fault.cu
 * reports errors; cuda_graph.cu captures plans; cuda_memory.cu copies; cuda_time.cu measures time. */
#ifndef DG_BACKEND_CUDA_CUH
#define DG_BACKEND_CUDA_CUH

#include "kernels/dev/cuda.cuh"
#include "kernels/cuda/cuda_clock.cuh"
extern "C" {
#include "core/plan/branches.h"
#include "core/plan/fusions.h"
#include "core/plan/plan.h"
#include "kernels/cuda/choose.h"
#include "core/plan/work.h"
}

/* Pinned memory for put and get, in several pieces, so that a put waits only for the copy that used its piece
 * before. */
static constexpr int STAGES = 8;
static constexpr size_t STAGE_BYTES = 1 << 20;

typedef struct captured {
    cudaGraphExec_t graph;
    int runs;
    long done;              /* how often the plan ran; in the plan's first graph only */
    struct captured *twice; /* the graph with 2 * runs, NULL: not captured yet */
    struct captured *next;
} captured;

/* Limits of a graph's runs and pieces: memory and capture time grow with both. */
static constexpr int MOST_RUNS = 64, MOST_PIECES = 4096;

typedef struct {
    dg_backend base; /* first: a dg_backend pointer is a gpu pointer */
    int device;
    bool eager;
    unsigned fuse;
    dg_gpu limits;
    cudaStream_t stream[DG_STREAMS];
    cudaEvent_t event[DG_EVENTS];
    dg_cuda_timer timer;
    cudaEvent_t from, to;
    void *stage[STAGES];
    cudaEvent_t staged[STAGES]; /* the last copy from or to this piece is done */
    int next_stage;
    dg_chooser chooser;
    uint64_t written;
    bool alone; /* the launch's predecessor differs from the plan's */
    captured *graphs;
    /* during a capture; the first is stream[DG_COMPUTE], the others are created on demand */
    cudaStream_t branch[DG_BRANCHES];
    cudaError_t last;
    dg_err broken; /* set by the first fatal error: the device is lost to this process */
    char broken_message[720];
} gpu;

dg_err dg_gpu_report(gpu *c, const char *op, const char *what, cudaError_t e);

#define TRY(c, op, call)                                                       \
    do {                                                                       \
        const cudaError_t error_ = (call);                                     \
        if (error_ != cudaSuccess) return dg_gpu_report(c, op, #call, error_); \
    } while (0)

/* Begins every backend function: fails after a fatal error, sets the device and the overlap of launches. */
#define ENTER(c)                                                                 \
    do {                                                                         \
        if ((c)->broken) return dg_fail((c)->broken, "%s", (c)->broken_message); \
        TRY(c, "", cudaSetDevice((c)->device));                                  \
        dev_programmatic = ((c)->fuse & DG_FUSE_overlap) != 0;                   \
    } while (0)

/* Puts an op's launches into a stream; a refused launch is an error that names the op. */
dg_err dg_gpu_enqueue(gpu *c, const dg_op *op, cudaStream_t stream);
dg_err dg_gpu_enqueue_piece(gpu *c, const dg_plan *p, int i, cudaStream_t stream);
/* Before pieces of a plan: rounds the weights of its arena (fused.h) if something else has written them. */
dg_err dg_gpu_round(gpu *c, const dg_plan *p);

/* cuda_graph.cu: the longest graph for at most n runs of a plan. *out: NULL if the next run is without one. */
dg_err dg_gpu_graph_for(gpu *c, dg_plan *p, int n, captured **out);
void dg_gpu_graphs_close(gpu *c);

void dg_gpu_time_functions(dg_backend *b);

void dg_gpu_memory_functions(dg_backend *b);
dg_err dg_gpu_memory_open(gpu *c);
void dg_gpu_memory_close(gpu *c);

#endif
