/* CUDA graphs of the runtime API. A graph's nodes run in an order that the captured dependencies allow. */
#include "api.h"

#include <algorithm>

using namespace sim;

/* True if the stream that ends the capture waits for all captured work. */
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

/* Returns an order of the nodes. The order is random with SIM=uneven, last captured node first with SIM=deferred, else
 * as captured. */
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
    if (s == stream_of(nullptr) || s->capture) return finish(cudaErrorStreamCaptureUnsupported);
    s->capture = new CUgraph_st;
    graphs++;
    s->origin = s;
    s->mode = mode;
    s->front.clear();
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
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long)
{
    CALL;
    if (!graph) return finish(cudaErrorInvalidValue);
    *exec = new CUgraphExec_st{graph->nodes};
    graphs++;
    return cudaSuccess;
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
    run_all(); /* launches of the graph finish before the graph is freed */
    delete exec;
    graphs--;
    return trouble;
}
