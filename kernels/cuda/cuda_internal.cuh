/* Internals of the CUDA backend, shared by its files: backend_cuda.cu opens, chooses and runs, cuda_enqueue.cu
 * launches, cuda_fault.cu reports errors, cuda_graph.cu captures plans, cuda_memory.cu moves bytes, cuda_time.cu holds
 * the clock. */
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

/* Pinned memory through which put and get go, several pieces in turn, so that a put waits only for the one that used
 * its piece before. */
static constexpr int STAGES = 8;
static constexpr size_t STAGE_BYTES = 1 << 20;

typedef struct captured {
    cudaGraphExec_t graph;
    int runs;               /* of the plan that it is about, one behind the other: a power of two */
    long done;              /* of the plan's first one: how often the plan ran */
    struct captured *twice; /* the plan's with 2 * runs, NULL: not captured yet */
    struct captured *next;  /* of all */
} captured;

/* A graph holds at most so many runs, and is at most that long: memory, and the time to capture it, grow with both. */
static constexpr int MOST_RUNS = 64, MOST_PIECES = 4096;

typedef struct {
    dg_backend base; /* first, so that a dg_backend pointer is a gpu pointer */
    int device;
    bool eager;
    unsigned fuse; /* DG_FUSE_... */
    dg_gpu limits;
    cudaStream_t stream[DG_STREAMS];
    cudaEvent_t event[DG_EVENTS];
    dg_cuda_timer timer;
    cudaEvent_t from, to;
    void *stage[STAGES];
    cudaEvent_t staged[STAGES]; /* the last copy from or to this piece is done */
    int next_stage;
    dg_chooser chooser;
    uint64_t written; /* how often the host, or an op by itself, has written what may be weights */
    bool alone;       /* what is enqueued now has other launches in front of it than in its plan */
    captured *graphs;
    /* while a plan is captured; the first is stream[DG_COMPUTE], others are made when wanted */
    cudaStream_t branch[DG_BRANCHES];
    cudaError_t last; /* what was last reported */
    dg_err broken;    /* set by the first fatal error: the device is lost to this process, no call makes sense */
    char broken_message[720];
} gpu;

/* The one place that turns a CUDA error into ours. */
dg_err dg_gpu_report(gpu *c, const char *op, const char *what, cudaError_t e);

#define TRY(c, op, call)                                                       \
    do {                                                                       \
        const cudaError_t error_ = (call);                                     \
        if (error_ != cudaSuccess) return dg_gpu_report(c, op, #call, error_); \
    } while (0)

/* Every entry begins so: after a fatal error nothing is tried; the calling thread uses our device, its launches overlap
 * as ours do. */
#define ENTER(c)                                                                 \
    do {                                                                         \
        if ((c)->broken) return dg_fail((c)->broken, "%s", (c)->broken_message); \
        TRY(c, "", cudaSetDevice((c)->device));                                  \
        dev_programmatic = ((c)->fuse & DG_FUSE_overlap) != 0;                   \
    } while (0)

/* Put an op's launches into a stream; a launch that was refused is an error that names the op. */
dg_err dg_gpu_enqueue(gpu *c, const dg_op *op, cudaStream_t stream);
/* The same for piece i of a plan (branches.h). */
dg_err dg_gpu_enqueue_piece(gpu *c, const dg_plan *p, int i, cudaStream_t stream);
/* Before pieces of a plan: the weights of its arena, rounded (fused.h), where they were written by others than it. */
dg_err dg_gpu_round(gpu *c, const dg_plan *p);

/* cuda_graph.cu: the longest graph for at most n runs of a plan. *out: NULL, the next run is to be without one. */
dg_err dg_gpu_graph_for(gpu *c, dg_plan *p, int n, captured **out);
void dg_gpu_graphs_close(gpu *c);

/* cuda_time.cu: fill in the functions of b that time and measure. */
void dg_gpu_time_functions(dg_backend *b);

/* cuda_memory.cu: fill in the functions of b that move bytes; make and remove what they need. */
void dg_gpu_memory_functions(dg_backend *b);
dg_err dg_gpu_memory_open(gpu *c);
void dg_gpu_memory_close(gpu *c);

#endif
