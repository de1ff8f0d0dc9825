/* Streams, events and graphs of the runtime API. */
#include "api.h"

#include <algorithm>
#include <chrono>

using namespace sim;

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

static CUstream_st null_stream;
static std::vector<CUstream_st *> &streams = *new std::vector<CUstream_st *>;
static std::vector<CUevent_st *> &events = *new std::vector<CUevent_st *>;
static size_t graphs; /* and executable ones */
long graph_launches;
size_t live_handles() { return streams.size() + events.size() + graphs; }

CUstream_st *stream_of(cudaStream_t s)
{
    if (!s) return &null_stream;
    for (CUstream_st *x : streams)
        if (x == s) return s;
    return nullptr;
}
static bool is_event(cudaEvent_t e)
{
    for (CUevent_st *x : events)
        if (x == e) return true;
    return false;
}

void run_until(CUstream_st *s, uint64_t position)
{
    while (s->done < position) {
        task t = std::move(s->work.front());
        s->work.pop_front();
        if (!device_error) {
            memory_open();
            t();
            memory_close();
        }
        /* threads of a kernel have read it: not to be freed before settle() */
        if (tsan()) spent.push_back(std::move(t));
        s->done++;
    }
}
void run_all()
{
    for (CUstream_st *s : streams) run_until(s, s->issued);
    run_until(&null_stream, null_stream.issued);
}

/* One call in three: a stream chosen at random does up to all of its work. What another stream has not been told to
 * wait for may so happen before or after it. For some hundreds of calls at a time one stream, or none, does nothing so.
 */
static void run_some()
{
    static uint64_t random = opt.seed, calls_left, resting;
    const auto next = [](uint64_t n) {
        return ((random = random * 6364136223846793005u + 1442695040888963407u) >> 33) % n;
    };
    if (!calls_left--) {
        calls_left = next(400);
        resting = next(streams.size() + 1);
    }
    if (streams.empty() || next(3)) return;
    const size_t i = next(streams.size());
    CUstream_st *s = streams[i];
    if (i != resting && s->issued > s->done) run_until(s, s->done + 1 + next(s->issued - s->done));
}

/* A capture that forbids calls which are not part of it. */
static CUgraph_st *strict_capture()
{
    for (CUstream_st *s : streams)
        if (s->capture && s->origin == s && s->mode != cudaStreamCaptureModeRelaxed) return s->capture;
    return nullptr;
}
cudaError_t refuse_in_capture()
{
    CUgraph_st *g = strict_capture();
    if (!g) return cudaSuccess;
    g->broken = true;
    return cudaErrorStreamCaptureUnsupported;
}
cudaError_t submit(cudaStream_t stream, task t)
{
    CUstream_st *s = stream_of(stream);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (s->capture) {
        s->capture->nodes.push_back({std::move(t), s->front});
        s->front = {s->capture->nodes.size() - 1};
        return cudaSuccess;
    }
    if (s == &null_stream) { /* the legacy stream waits for all blocking streams, and they for it */
        if (CUgraph_st *g = strict_capture()) {
            g->broken = true;
            return cudaErrorStreamCaptureImplicit;
        }
        for (CUstream_st *x : streams)
            if (x->blocking) run_until(x, x->issued);
    } else if (s->blocking) {
        run_until(&null_stream, null_stream.issued);
    }
    s->work.push_back(std::move(t));
    s->issued++;
    if (!opt.deferred) run_until(s, s->issued);
    if (opt.uneven) run_some();
    return cudaSuccess;
}

} // namespace sim

/* ---- Streams and events ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    CALL;
    *stream = new CUstream_st;
    (*stream)->blocking = !(flags & cudaStreamNonBlocking);
    streams.push_back(*stream);
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    RELEASE_CALL;
    if (!stream || !stream_of(stream)) return finish(cudaErrorInvalidResourceHandle);
    run_until(stream, stream->issued);
    std::erase(streams, stream);
    for (CUevent_st *e : events)
        if (e->stream == stream) e->stream = nullptr;
    delete stream;
    return trouble;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    CALL;
    NOT_IN_CAPTURE;
    CUstream_st *s = stream_of(stream);
    if (!s) return finish(cudaErrorInvalidResourceHandle);
    run_until(s, s->issued);
    settle();
    return finish((cudaError_t)device_error.load());
}
/* Asking makes one piece of progress, so that a loop that polls comes to its end. */
static cudaError_t query(CUstream_st *s, uint64_t position)
{
    if (s->done < position) run_until(s, s->done + 1);
    if (s->done >= position) settle();
    if (device_error) return (cudaError_t)device_error.load();
    return s->done < position ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    CALL;
    NOT_IN_CAPTURE;
    CUstream_st *s = stream_of(stream);
    return finish(s ? query(s, s->issued) : cudaErrorInvalidResourceHandle);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    CALL;
    return finish(submit(stream, [=] { settle(), function(data); }));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    CALL;
    *event = new CUevent_st;
    (*event)->timed = !(flags & cudaEventDisableTiming);
    events.push_back(*event);
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    RELEASE_CALL;
    if (!is_event(event)) return finish(cudaErrorInvalidResourceHandle);
    std::erase(events, event);
    delete event;
    return trouble;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    CALL;
    CUstream_st *s = stream_of(stream);
    if (!s || !is_event(event)) return finish(cudaErrorInvalidResourceHandle);
    event->stream = s;
    event->capture = s->capture;
    event->front = s->front;
    if (s->capture) return cudaSuccess;
    event->when = std::make_shared<double>(-1.0);
    cudaError_t e = submit(stream, [when = event->when] {
        *when = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    });
    event->position = s->issued;
    return finish(e);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    CALL;
    CUstream_st *s = stream_of(stream);
    if (!s || !is_event(event)) return finish(cudaErrorInvalidResourceHandle);
    CUstream_st *on = event->stream;
    if (!on || on == s) return cudaSuccess; /* never recorded: nothing to wait for */
    if (event->capture) {
        if (s->capture && s->capture != event->capture) return finish(cudaErrorStreamCaptureUnsupported);
        s->capture = event->capture; /* the capture now has a second branch, or gets it back */
        s->origin = on->origin;
        s->mode = on->mode;
        for (size_t n : event->front)
            if (std::find(s->front.begin(), s->front.end(), n) == s->front.end()) s->front.push_back(n);
        return cudaSuccess;
    }
    if (s->capture) return finish(cudaErrorStreamCaptureUnsupported);
    return finish(submit(stream, [on, position = event->position] {
        if (stream_of(on)) run_until(on, position);
    }));
}
cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    CALL;
    if (!is_event(event)) return finish(cudaErrorInvalidResourceHandle);
    if (event->capture) return finish(cudaErrorStreamCaptureUnsupported);
    if (event->stream) run_until(event->stream, event->position);
    settle();
    return finish((cudaError_t)device_error.load());
}
cudaError_t cudaEventQuery(cudaEvent_t event)
{
    CALL;
    if (!is_event(event)) return finish(cudaErrorInvalidResourceHandle);
    if (event->capture) return finish(cudaErrorStreamCaptureUnsupported);
    return finish(event->stream ? query(event->stream, event->position) : cudaSuccess);
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    CALL;
    if (!is_event(from) || !is_event(to) || !from->timed || !to->timed || from->capture || to->capture)
        return finish(cudaErrorInvalidResourceHandle);
    if (*from->when < 0 || *to->when < 0)
        return finish(from->stream && to->stream ? cudaErrorNotReady : cudaErrorInvalidResourceHandle);
    *ms = (float)((*to->when - *from->when) * 1e3);
    return cudaSuccess;
}

/* ---- Graphs: what streams would have done, in an order that the waits between them allow ---- */

/* Is everything that was captured waited for by the stream that the capture ends in? */
static bool joined(const CUgraph_st *g, const std::vector<size_t> &front)
{
    std::vector<bool> reached(g->nodes.size());
    for (size_t n : front) reached[n] = true;
    for (size_t i = g->nodes.size(); i-- > 0;) {
        if (!reached[i]) return false;
        for (size_t n : g->nodes[i].after) reached[n] = true;
    }
    return true;
}

/* Uneven: at random; deferred: what was asked for last comes first; else as it was asked for. */
static std::vector<size_t> order_of(const std::vector<node> &nodes)
{
    static uint64_t random = opt.seed;
    std::vector<size_t> order, ready, waits(nodes.size());
    std::vector<std::vector<size_t>> next(nodes.size());
    for (size_t i = 0; i < nodes.size(); i++) {
        waits[i] = nodes[i].after.size();
        for (size_t n : nodes[i].after) next[n].push_back(i);
        if (!waits[i]) ready.push_back(i);
    }
    while (!ready.empty()) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        auto it = opt.uneven     ? ready.begin() + (ptrdiff_t)((random >> 33) % ready.size())
                  : opt.deferred ? std::max_element(ready.begin(), ready.end())
                                 : std::min_element(ready.begin(), ready.end());
        const size_t i = *it;
        ready.erase(it);
        order.push_back(i);
        for (size_t n : next[i])
            if (!--waits[n]) ready.push_back(n);
    }
    return order;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    CALL;
    CUstream_st *s = stream_of(stream);
    if (!s) return finish(cudaErrorInvalidResourceHandle);
    if (s == &null_stream || s->capture) return finish(cudaErrorStreamCaptureUnsupported);
    s->capture = new CUgraph_st;
    graphs++;
    s->origin = s;
    s->mode = mode;
    s->front.clear();
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status)
{
    CALL;
    CUstream_st *s = stream_of(stream);
    if (!s) return finish(cudaErrorInvalidResourceHandle);
    *status = !s->capture          ? cudaStreamCaptureStatusNone
              : s->capture->broken ? cudaStreamCaptureStatusInvalidated
                                   : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    CALL;
    *graph = nullptr;
    CUstream_st *s = stream_of(stream);
    if (!s || !s->capture || s->origin != s) return finish(cudaErrorStreamCaptureUnmatched);
    CUgraph_st *g = s->capture;
    const bool unjoined = !joined(g, s->front);
    for (CUstream_st *x : streams)
        if (x->capture == g) {
            x->capture = nullptr;
            x->origin = nullptr;
            x->front.clear();
        }
    for (CUevent_st *e : events)
        if (e->capture == g) e->capture = nullptr, e->stream = nullptr;
    if (g->broken || unjoined) {
        cudaError_t e = g->broken ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnjoined;
        delete g;
        graphs--;
        return finish(e);
    }
    *graph = g;
    return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    CALL;
    if (!graph || nodes) return finish(cudaErrorInvalidValue);
    *count = graph->nodes.size();
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
    CALL;
    if (!graph) return finish(cudaErrorInvalidValue);
    *exec = new CUgraphExec_st{graph->nodes};
    graphs++;
    return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t)
{
    CALL;
    return finish(exec ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    CALL;
    if (!exec) return finish(cudaErrorInvalidValue);
    graph_launches++;
    for (size_t i : order_of(exec->nodes))
        if (cudaError_t e = submit(stream, exec->nodes[i].work)) return finish(e);
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    RELEASE_CALL;
    if (!graph) return finish(cudaErrorInvalidValue);
    delete graph;
    graphs--;
    return trouble;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    RELEASE_CALL;
    if (!exec) return finish(cudaErrorInvalidValue);
    run_all(); /* launched graphs finish first */
    delete exec;
    graphs--;
    return trouble;
}
