/* Captures a plan as a CUDA graph at its second run and replays the graph. The branches of a plan (branches.h) are
 * captured from separate streams. All branches fork from the compute stream and join it again. */
#include "kernels/cuda/cuda_internal.cuh"

#include <stdlib.h>

typedef struct {
    gpu *c;
    dg_plan *p;
    int pieces; /* number of captured ops or fused launches, from the first */
    dg_branched *at;
    cudaEvent_t *ended; /* event after each op or fused launch of the plan, or NULL if no branch waits for it */
    cudaEvent_t begun;
    int tail[DG_BRANCHES]; /* index of each branch's last op or fused launch, or -1 if the branch is empty */
} recording;

static void stop(recording *r)
{
    for (int i = 0; i < r->pieces && r->ended; i++)
        if (r->ended[i]) (void)cudaEventDestroy(r->ended[i]);
    if (r->begun) (void)cudaEventDestroy(r->begun);
    free(r->ended);
    free(r->at);
}

static cudaError_t want(cudaEvent_t *event)
{
    return *event ? cudaSuccess : cudaEventCreateWithFlags(event, cudaEventDisableTiming);
}

static dg_err prepare(recording *r)
{
    gpu *c = r->c;
    const size_t all = (size_t)dg_plan_pieces(r->p);
    r->at = (dg_branched *)calloc(all + 1, sizeof *r->at);
    r->ended = (cudaEvent_t *)calloc(all + 1, sizeof *r->ended);
    if (!r->at || !r->ended) return dg_fail(DG_DEVICE, "out of memory while capturing plan %s", r->p->name);
    const dg_err e = dg_plan_branch(r->p, r->at);
    if (e) return e;
    for (int k = 0; k < DG_BRANCHES; k++) r->tail[k] = -1;
    for (int i = 0; i < r->pieces; i++) {
        const dg_branched *b = &r->at[i];
        r->tail[b->branch] = i;
        for (int k = 0; k < DG_BRANCHES; k++)
            if (k != b->branch && b->after[k] >= 0) TRY(c, r->p->name, want(&r->ended[b->after[k]]));
    }
    c->branch[0] = c->stream[DG_COMPUTE];
    for (int k = 1; k < DG_BRANCHES; k++) {
        if (r->tail[k] < 0) continue;
        if (!c->branch[k]) TRY(c, r->p->name, cudaStreamCreateWithFlags(&c->branch[k], cudaStreamNonBlocking));
        TRY(c, r->p->name, want(&r->begun));
        TRY(c, r->p->name, want(&r->ended[r->tail[k]]));
    }
    return DG_OK;
}

/* A message between processes and the launch after it do not overlap other launches. */
static bool is_message(const dg_plan *p, int i)
{
    const dg_op_kind kind = p->op[p->launch ? p->launch[i].main : i].kind;
    return kind == DG_OP_shard_exchange || kind == DG_OP_shard_share;
}

static dg_err record_piece(recording *r, int i)
{
    gpu *c = r->c;
    const dg_branched *b = &r->at[i];
    const cudaStream_t stream = c->branch[b->branch];
    int waits = 0;
    for (int k = 0; k < DG_BRANCHES; k++) {
        if (k == b->branch || b->after[k] < 0) continue;
        TRY(c, r->p->name, cudaStreamWaitEvent(stream, r->ended[b->after[k]], 0));
        waits++;
    }
    if (b->branch && b->after[b->branch] < 0 && !waits++) TRY(c, r->p->name, cudaStreamWaitEvent(stream, r->begun, 0));
    /* The flag `early` (fused.h) concerns the two previous launches in the plan's order. A launch therefore overlaps
     * only the launch before it in the plan. */
    const bool overlaps = dev_programmatic;
    dev_programmatic = overlaps && !waits && (!r->begun || (i > 0 && b->after[b->branch] == i - 1)) &&
                       !is_message(r->p, i) && !(i > 0 && is_message(r->p, i - 1));
    const dg_err e = dg_gpu_enqueue_piece(c, r->p, i, stream);
    dev_programmatic = overlaps;
    if (e) return e;
    if (r->ended[i]) TRY(c, r->p->name, cudaEventRecord(r->ended[i], stream));
    return DG_OK;
}

static dg_err record_run(recording *r)
{
    gpu *c = r->c;
    dg_err e = DG_OK;
    if (r->begun) TRY(c, r->p->name, cudaEventRecord(r->begun, c->branch[0]));
    for (int i = 0; i < r->pieces && !e; i++) e = record_piece(r, i);
    for (int k = 1; k < DG_BRANCHES && !e; k++)
        if (r->tail[k] >= 0) TRY(c, r->p->name, cudaStreamWaitEvent(c->branch[0], r->ended[r->tail[k]], 0));
    return e;
}

static dg_err capture_into(recording *r, int runs, captured *made)
{
    gpu *c = r->c;
    dg_err e = prepare(r);
    if (e) return e;
    cudaGraph_t graph = nullptr;
    TRY(c, r->p->name, cudaStreamBeginCapture(c->stream[DG_COMPUTE], cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < runs && !e; k++) e = record_run(r);
    cudaError_t error = cudaStreamEndCapture(c->stream[DG_COMPUTE], &graph);
    if (!e && error == cudaSuccess) error = cudaGraphInstantiateWithFlags(&made->graph, graph, 0);
    if (graph) (void)cudaGraphDestroy(graph);
    if (e || error != cudaSuccess) (void)cudaGetLastError();
    return e || error == cudaSuccess ? e : dg_gpu_report(c, r->p->name, "capturing the plan", error);
}

static dg_err try_capture(gpu *c, dg_plan *p, int pieces, int runs, captured *made)
{
    recording r = {};
    r.c = c;
    r.p = p;
    r.pieces = pieces;
    const dg_err e = capture_into(&r, runs, made);
    stop(&r);
    return e;
}

/* If the capture failed because the driver cannot capture programmatic launches, disables them and returns true. */
static bool without_overlap(gpu *c)
{
    switch ((int)c->last) {
    case cudaErrorInvalidResourceHandle:
    case cudaErrorNotSupported:
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated: break;
    default: return false;
    }
    if (c->broken || !dev_programmatic || c->base.group) return false; /* a group captures the same on all ranks */
    dg_warn(DG_MSG("no-overlap",
                   "the driver refused overlapping kernels: %s; the run continues without overlap, more slowly ({fuse} "
                   "-overlap turns overlap off without a warning)"),
            dg_message());
    c->fuse &= ~(unsigned)DG_FUSE_overlap;
    dev_programmatic = false;
    return true;
}

dg_err dg_gpu_capture(gpu *c, dg_plan *p, int pieces, int runs, captured **out)
{
    *out = nullptr;
    captured *made = (captured *)calloc(1, sizeof *made);
    if (!made) return dg_fail(DG_DEVICE, "out of memory while capturing plan %s", p->name);
    dg_err e = try_capture(c, p, pieces, runs, made);
    if (e && without_overlap(c)) e = try_capture(c, p, pieces, runs, made);
    if (e) {
        free(made);
        return e;
    }
    made->runs = runs;
    made->next = c->graphs;
    c->graphs = *out = made;
    return DG_OK;
}

/* The value of p->captured after a plan's first run. The first run is not captured, because some drivers cannot load
 * kernels during a capture. */
static captured loaded;

/* Each CUDA graph contains 1, 2, 4, ... runs of the plan. Long graphs are captured later, so that captures do not
 * delay the first training steps. */
dg_err dg_gpu_graph_for(gpu *c, dg_plan *p, int n, captured **out)
{
    dg_err e = DG_OK;
    *out = nullptr;
    if (!p->captured) {
        p->captured = &loaded;
        return DG_OK;
    }
    const int pieces = dg_plan_pieces(p);
    if (p->captured == &loaded && (e = dg_gpu_capture(c, p, pieces, 1, out)) == DG_OK) p->captured = *out;
    captured *first = (captured *)p->captured, *g = first;
    while (!e && 2 * g->runs <= n && 2 * g->runs <= MOST_RUNS && 2 * g->runs * pieces <= MOST_PIECES &&
           g->runs < first->done) {
        if (!g->twice) e = dg_gpu_capture(c, p, pieces, 2 * g->runs, &g->twice);
        if (!e) g = g->twice;
    }
    if (e) return e;
    first->done += g->runs;
    *out = g;
    return DG_OK;
}

void dg_gpu_drop_graph(gpu *c)
{
    captured *const g = c->graphs;
    c->graphs = g->next;
    if (!c->broken) (void)cudaGraphExecDestroy(g->graph);
    free(g);
}

void dg_gpu_graphs_close(gpu *c)
{
    while (c->graphs) dg_gpu_drop_graph(c);
    for (int k = 1; k < DG_BRANCHES && !c->broken; k++)
        if (c->branch[k]) (void)cudaStreamDestroy(c->branch[k]);
}
