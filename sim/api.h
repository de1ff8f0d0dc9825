/* Internals of the simulated CUDA runtime API: calls, streams, events, graphs. */
#pragma once

#include <mutex>
#include <set>
#include "inside.h"

typedef std::function<void()> task;

/* `issued` counts the items queued so far. `done` counts the items that have run. */
struct CUstream_st {
    bool blocking = true;
    std::deque<task> work;
    uint64_t issued = 0, done = 0;
    CUgraph_st *capture = nullptr;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    CUstream_st *origin = nullptr; /* stream on which the capture of this stream's work began */
    std::vector<size_t> front;     /* graph nodes that precede this stream's next node in a capture */
};
/* A node of a graph. `after` has the indices of its predecessors, which are smaller than its own index. */
struct node {
    task work;
    std::vector<size_t> after;
};
struct CUgraph_st {
    std::vector<node> nodes;
    bool broken = false;
};
struct CUgraphExec_st {
    std::vector<node> nodes;
};
struct CUevent_st {
    CUstream_st *stream = nullptr;
    uint64_t position = 0;
    CUgraph_st *capture = nullptr;
    std::vector<size_t> front; /* in a capture: graph nodes that precede the event */
    bool timed = true;
    std::shared_ptr<double> when = std::make_shared<double>(-1.0);
};
namespace sim {

extern std::vector<CUstream_st *> &streams;
extern std::vector<CUevent_st *> &events;
extern size_t graphs; /* number of graphs, including executable graphs */

extern std::recursive_mutex &api;
/* Begins every API call. Counts calls, may inject a failure, and fails after a sticky error. */
cudaError_t begin(const char *call);
cudaError_t finish(cudaError_t e); /* Ends every API call and stores e as the last error. */
#define LOCK std::lock_guard<std::recursive_mutex> one_at_a_time(api)
#define CALL \
    LOCK;    \
    if (cudaError_t trouble = begin(__func__)) return trouble
/* Begins an API call that releases its object even after an error. */
#define RELEASE_CALL \
    LOCK;            \
    cudaError_t trouble = begin(__func__)

CUstream_st *stream_of(cudaStream_t s); /* null if s is not a stream */
cudaError_t submit(cudaStream_t stream, task t);
void run_until(CUstream_st *s, uint64_t position);
void run_all();
cudaError_t refuse_in_capture();
#define NOT_IN_CAPTURE \
    if (cudaError_t trouble = refuse_in_capture()) return finish(trouble)

/* Functions of faults.cpp. fault_word parses a word of the environment variable SIM. */
bool fault_word(const char *word);
void wait_for_file();
extern long graph_launches; /* defined in streams.cpp */
void fault_in(const grid &g);
cudaError_t fault_at_launch(const char *op);

} // namespace sim
