/* Internals of the CUDA backend, shared by backend_cuda.cu and cuda_*.cu. */
#pragma once

#include "kernels/dev/cuda.cuh"
#include "kernels/cuda/cuda_clock.cuh"
extern "C" {
#include "core/plan/branches.h"
#include "core/plan/fusions.h"
#include "core/plan/plan.h"
#include "kernels/cuda/choose.h"
#include "core/plan/work.h"
}

/* Number of pinned staging buffers for copies between host and device. */
static constexpr int STAGES = 8;
static constexpr size_t STAGE_BYTES = 1 << 20;

typedef struct captured {
    cudaGraphExec_t graph;
    int runs;
    long done;
    struct captured *twice; /* graph of 2 * `runs` plan runs, or NULL if not yet captured */
    struct captured *next;
} captured;

/* Maximum numbers of plan runs and of kernel launches per graph, to limit memory and capture time. */
static constexpr int MOST_RUNS = 64, MOST_PIECES = 4096;

typedef struct {
    dg_backend base;
    int device;
    bool eager;
    unsigned fuse;
    dg_gpu limits;
    cudaStream_t stream[DG_STREAMS];
    cudaEvent_t event[DG_EVENTS];
    dg_cuda_timer timer;
    cudaEvent_t from, to;
    void *stage[STAGES];
    cudaEvent_t staged[STAGES]; /* event after the last copy from or to each staging buffer */
    int next_stage;
    dg_chooser chooser;
    uint64_t written;
    bool alone; /* true while cuda_run_launch() runs a single launch */
    captured *graphs;
    cudaStream_t branch[DG_BRANCHES];
    cudaError_t last;
    dg_err broken; /* the first fatal error, after which this process cannot use the device */
    char broken_message[720];
} gpu;

dg_err dg_gpu_report(gpu *c, const char *op, const char *what, cudaError_t e);

#define TRY(c, op, call)                                                       \
    do {                                                                       \
        const cudaError_t error_ = (call);                                     \
        if (error_ != cudaSuccess) return dg_gpu_report(c, op, #call, error_); \
    } while (0)

/* Every backend function begins with ENTER, which fails after a fatal error and selects the device. */
#define ENTER(c)                                                                 \
    do {                                                                         \
        if ((c)->broken) return dg_fail((c)->broken, "%s", (c)->broken_message); \
        TRY(c, "", cudaSetDevice((c)->device));                                  \
        dev_programmatic = ((c)->fuse & DG_FUSE_overlap) != 0;                   \
    } while (0)

dg_err dg_gpu_enqueue(gpu *c, const dg_op *op, cudaStream_t stream);
dg_err dg_gpu_enqueue_piece(gpu *c, const dg_plan *p, int i, cudaStream_t stream);
/* Must be called before a plan runs. Renews rounded copies of weights (fused.h) that the host or an unfused update has
 * written. */
dg_err dg_gpu_round(gpu *c, const dg_plan *p);

/* Sets *out to the longest CUDA graph of at most n plan runs. Sets *out to NULL if the next run must run without a
 * graph. */
dg_err dg_gpu_graph_for(gpu *c, dg_plan *p, int n, captured **out);
/* Captures `runs` runs of the first `pieces` ops or launches of a plan as graph c->graphs. */
dg_err dg_gpu_capture(gpu *c, dg_plan *p, int pieces, int runs, captured **out);
void dg_gpu_drop_graph(gpu *c); /* frees the graph that was captured last */
void dg_gpu_graphs_close(gpu *c);

void dg_gpu_time_functions(dg_backend *b);

void dg_gpu_memory_functions(dg_backend *b);
dg_err dg_gpu_memory_open(gpu *c);
void dg_gpu_memory_close(gpu *c);
