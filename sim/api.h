/* Shared by runtime.cpp, streams.cpp and graphs.cpp: what an API call is, and what a stream is. */
#ifndef SIM_API_H
#define SIM_API_H

#include <mutex>
#include <set>
#include "inside.h"

typedef std::function<void()> task;

/* Work is queued and counted; `done` of `issued` pieces have run. */
struct CUstream_st {
    bool blocking = true;
    std::deque<task> work;
    uint64_t issued = 0, done = 0;
    CUgraph_st *capture = nullptr;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    CUstream_st *origin = nullptr; /* of the capture that it takes part in */
    std::vector<size_t> front;     /* the nodes that its next one comes after */
};
/* A node and those that it comes after, all of them in front of it in the list. */
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
    CUstream_st *stream = nullptr; /* where it was last recorded */
    uint64_t position = 0;
    CUgraph_st *capture = nullptr;
    std::vector<size_t> front; /* captured: what who waits comes after */
    bool timed = true;
    std::shared_ptr<double> when = std::make_shared<double>(-1.0);
};
namespace sim {

/* streams.cpp: all that there are, but for the legacy stream. */
extern std::vector<CUstream_st *> &streams;
extern std::vector<CUevent_st *> &events;
extern size_t graphs; /* and executable ones */

extern std::recursive_mutex &api;
/* Every call starts here: counted, perhaps failed (stderr then names it), refused after a sticky error. */
cudaError_t begin(const char *call);
cudaError_t finish(cudaError_t e); /* and ends here: e is remembered */
#define LOCK std::lock_guard<std::recursive_mutex> one_at_a_time(api)
#define CALL \
    LOCK;    \
    if (cudaError_t trouble = begin(__func__)) return trouble
/* What gives something back does so even when it fails: the error is another call's. */
#define RELEASE_CALL \
    LOCK;            \
    cudaError_t trouble = begin(__func__)

CUstream_st *stream_of(cudaStream_t s); /* null if there is no such stream */
cudaError_t submit(cudaStream_t stream, task t);
void run_until(CUstream_st *s, uint64_t position);
void run_all();
cudaError_t refuse_in_capture();
#define NOT_IN_CAPTURE \
    if (cudaError_t trouble = refuse_in_capture()) return finish(trouble)

/* faults.cpp: read a word of SIM; what has been planned for this kernel, for a launch on behalf of this op. */
bool fault_word(const char *word);
void wait_for_file();
extern long graph_launches; /* streams.cpp */
void fault_in(const grid &g);
cudaError_t fault_at_launch(const char *op);

} // namespace sim

#endif
