/* Tests the capture of simulated CUDA graphs, their order of execution, and calls that fail during a capture. */
#include "calls.h"

/* Independent nodes of a graph run in the order of their calls only if the mode requires this order. */
static void test_branches(cudaStream_t s, cudaStream_t side)
{
    cudaStream_t third;
    cudaEvent_t mark[3];
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    OK(cudaStreamCreate(&third));
    for (auto &m : mark) OK(cudaEventCreate(&m));
    static int order[5], ran;
    static const int name[5] = {0, 1, 2, 3, 4};
    const auto note = [](cudaStream_t on, int i) {
        OK(cudaLaunchHostFunc(
            on, [](void *n) { order[ran++ % 5] = *(const int *)n; }, (void *)&name[i]));
    };
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    note(s, 0);
    OK(cudaEventRecord(mark[0], s));
    OK(cudaStreamWaitEvent(side, mark[0]));
    note(side, 1);
    OK(cudaEventRecord(mark[1], side));
    OK(cudaStreamWaitEvent(third, mark[1]));
    note(third, 2);
    note(s, 3); /* depends only on node 0 */
    OK(cudaEventRecord(mark[2], third));
    OK(cudaStreamWaitEvent(s, mark[2])); /* joins stream `side` through stream `third` */
    note(s, 4);
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    bool late = false, early = false;
    for (int i = 0; i < 20; i++) {
        ran = 0;
        OK(cudaGraphLaunch(exec, s));
        OK(cudaStreamSynchronize(s));
        int at[5];
        for (int k = 0; k < 5; k++) at[order[k]] = k;
        DG_CHECK(ran == 5 && at[0] == 0 && at[1] < at[2] && at[4] == 4);
        (at[3] < at[2] ? early : late) = true;
    }
    DG_CHECKF(sim::opt.uneven     ? early && late
              : sim::opt.deferred ? early && !late
                                  : late && !early,
              "in one order%s", late ? "" : " alone");
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphExecDestroy(exec));
    for (auto &m : mark) OK(cudaEventDestroy(m));
    OK(cudaStreamDestroy(third));
}

static void test_graphs(bool deferred)
{
    sim::opt.deferred = deferred;
    cudaStream_t s, side;
    cudaEvent_t fork_event, join_event;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    OK(cudaStreamCreate(&s));
    OK(cudaStreamCreate(&side));
    OK(cudaEventCreate(&fork_event));
    OK(cudaEventCreate(&join_event));
    {
        dev_buffer<float> x(std::vector<float>(50, 0)), y(50);
        float *h = nullptr, by = 1;
        OK(cudaMallocHost(&h, 200));
        OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
        add(x.p, x.p, by, 50, s);
        by = 77; /* captured arguments are copies */
        OK(cudaEventRecord(fork_event, s));
        OK(cudaStreamWaitEvent(side, fork_event));
        add(y.p, x.p, 100, 50, side);
        OK(cudaEventRecord(join_event, side));
        OK(cudaStreamWaitEvent(s, join_event));
        OK(cudaMemcpyAsync(h, y.p, 200, cudaMemcpyDeviceToHost, s));
        OK(cudaStreamEndCapture(s, &graph));
        DG_CHECK(isnan(h[0]) && x.get()[0] == 0);
        OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
        OK(cudaGraphDestroy(graph));
        for (int i = 1; i <= 3; i++) {
            OK(cudaGraphLaunch(exec, s));
            DG_CHECK(deferred ? !(h[49] == (float)(100 + i)) : h[49] == (float)(100 + i));
            OK(cudaStreamSynchronize(s));
            DG_CHECK(h[49] == (float)(100 + i));
        }
        OK(cudaGraphExecDestroy(exec));
        OK(cudaFreeHost(h));

        test_branches(s, side);

        /* An API call that cannot be captured ends the capture. */
        float *p = nullptr;
        for (int form = 0; form < 6; form++) {
            OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
            cudaError_t want = form == 5 ? cudaErrorStreamCaptureImplicit : cudaErrorStreamCaptureUnsupported;
            if (form == 0) IS(cudaMalloc(&p, 4), want);
            if (form == 1) IS(cudaStreamSynchronize(s), want);
            if (form == 2) IS(cudaDeviceSynchronize(), want);
            if (form == 3) IS(cudaMemcpy(x.p, y.p, 4, cudaMemcpyDeviceToDevice), want);
            if (form == 4) IS(cudaFree(x.p), want);
            if (form == 5) IS(cudaMemsetAsync(x.p, 0, 4, nullptr), want);
            IS(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
            DG_CHECK(!graph);
        }
        IS(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureUnmatched);
        IS(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
        OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
        OK(cudaMalloc(&p, 4));
        OK(cudaFree(p));
        OK(cudaEventRecord(fork_event, s));
        OK(cudaStreamWaitEvent(side, fork_event));
        add(y.p, x.p, 1, 50, side);
        IS(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureUnjoined);
        add(y.p, x.p, 1, 50, s);
        add(y.p, x.p, 1, 50, side);
        DG_CHECK(dev_ok("after captures"));
    }
    OK(cudaEventDestroy(fork_event));
    OK(cudaEventDestroy(join_event));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(side));
    DG_CHECK(sim::live_handles() == 0 && sim::live_allocations() == 0);
    (void)cudaGetLastError();
}

int main()
{
    for (int d = 0; d < 2; d++) test_graphs(d);
    return dg_test_report();
}
