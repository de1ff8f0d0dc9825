/* Streams and events of the runtime API. */
#include "api.h"

#include <algorithm>
#include <chrono>

using namespace sim;

namespace sim {

static CUstream_st null_stream;
std::vector<CUstream_st *> &streams = *new std::vector<CUstream_st *>;
std::vector<CUevent_st *> &events = *new std::vector<CUevent_st *>;
size_t graphs;
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
    if (s->done >= position) return;
    memory_open();
    while (s->done < position) {
        task t = std::move(s->work.front());
        s->work.pop_front();
        if (!device_error) t();
        /* settle() frees the kernel later, because TSan would report a free now as a race with the kernel's threads */
        if (tsan()) spent.push_back(std::move(t));
        s->done++;
    }
    memory_close();
}
void run_all()
{
    for (CUstream_st *s : streams) run_until(s, s->issued);
    run_until(&null_stream, null_stream.issued);
}

/* In a third of its calls, runs a random part of a random stream's work, so that unordered work of two streams runs in
 * either order. For up to 400 calls at a time, skips one of the streams. */
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

/* Returns a capture during which other API calls are forbidden, or null. */
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
    if (s == &null_stream) {
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
/* Each query runs one queued item of the stream, so that polling loops end. */
static cudaError_t query(CUstream_st *s, uint64_t position)
{
    if (s->done < position) run_until(s, s->done + 1);
    if (s->done >= position) settle();
    if (device_error) return (cudaError_t)device_error.load();
    return s->done < position ? cudaErrorNotReady : cudaSuccess;
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
    if (!on || on == s) return cudaSuccess;
    if (event->capture) {
        if (s->capture && s->capture != event->capture) return finish(cudaErrorStreamCaptureUnsupported);
        s->capture = event->capture;
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
