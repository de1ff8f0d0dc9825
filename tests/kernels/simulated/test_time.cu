/* Tests timing on the CUDA backend. Each op must run once, in order, between its two events. All memory must be
 * released, and a failing GPU must be reported. The measured times are not checked. */
#include "tests/all_ops.h"
#include "tests/devtest.h"
#include "kernels/cuda/cuda_clock.cuh"
extern "C" {
#include "core/plan/backend.h"
#include "core/plan/plan.h"
}

static __global__ void add_kernel(unsigned *at, unsigned value) { *at = *at * 10 + value; }

struct pieces {
    cudaStream_t stream;
    unsigned *memory;
    int fail;
};

static dg_err piece(void *context, int i)
{
    pieces *p = (pieces *)context;
    if (i == p->fail) return dg_fail(DG_DEVICE, "piece %d", i);
    KLAUNCH(add_kernel, dim3(1), dim3(1), 0, p->stream, p->memory, (unsigned)i + 1);
    return DG_OK;
}

static void check_pieces(bool cold)
{
    dev_buffer<unsigned> at(std::vector<unsigned>(1, 0));
    pieces p = {nullptr, at.p, -1};
    DG_CHECK(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking) == cudaSuccess);
    dg_cuda_timer t = {p.stream, nullptr, 0};
    double ms[5] = {-1, -1, -1, -1, -1};
    dg_err failed;
    const size_t handles = sim::live_handles();
    DG_CHECK(dg_cuda_time(&t, 5, cold, piece, &p, ms, &failed) == cudaSuccess && !failed);
    DG_CHECKF(at.get()[0] == 12345, "order: %u", at.get()[0]);
    for (double one : ms) DG_CHECKF(one >= 0 && one < 1e4, "%g ms", one);
    DG_CHECK(t.bytes > 1 << 20 && sim::live_handles() == handles);
    p.fail = 3;
    DG_CHECK(dg_cuda_time(&t, 5, cold, piece, &p, ms, &failed) == cudaSuccess && failed == DG_DEVICE);
    DG_CHECK(sim::live_handles() == handles);
    dg_cuda_timer_free(&t);
    DG_CHECK(cudaStreamDestroy(p.stream) == cudaSuccess);
    DG_CHECK(dev_ok("pieces"));
}

/* Checks that each failing API call causes an error instead of a time, and that all memory is released. */
static void check_failures()
{
    dev_buffer<unsigned> at(std::vector<unsigned>(1, 0));
    pieces p = {nullptr, at.p, -1};
    DG_CHECK(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking) == cudaSuccess);
    const size_t handles = sim::live_handles(), memory = sim::live_allocations();
    int failed_calls = 0;
    for (long k = 1; k < 200; k++) {
        dg_cuda_timer t = {p.stream, nullptr, 0};
        double ms[3];
        dg_err failed;
        sim::fail_call(k, cudaErrorUnknown);
        const cudaError_t e = dg_cuda_time(&t, 3, k % 2, piece, &p, ms, &failed);
        const dev_fault fault = dev_take_fault();
        const bool ok = e == cudaSuccess && !failed && fault.error == cudaSuccess;
        sim::clear();
        dg_cuda_timer_free(&t);
        sim::clear();
        failed_calls += !ok;
        DG_CHECKF(sim::live_handles() == handles && sim::live_allocations() == memory,
                  "call %ld: handles or memory leaked", k);
        if (ok && k > 40) break;
    }
    DG_CHECKF(failed_calls > 10, "%d", failed_calls);
    (void)cudaStreamDestroy(p.stream);
    sim::clear();
}

static void check_backend()
{
    dg_backend *b;
    dg_cuda_options o = {};
    o.real = DG_F32;
    if (!DG_CHECKF(!dg_cuda_open(&o, &b), "%s", dg_message())) return;
    dg_machine m = {};
    DG_CHECKF(!b->measure(b, &m, dev_small() ? 0 : 1), "%s", dg_message());
    DG_CHECKF(m.gpu && m.arch == 90 && m.units == sim::device.multiprocessors && m.all > 0 && *m.name, "%s: %g", m.name,
              m.all);
    if (!dev_small())
        DG_CHECKF(m.bf16 > 0 && m.fp16 > 0 && m.triad > 0 && m.read > 0 && m.cache > 0 && m.cache_mb > 0 &&
                      m.launch_us > 0,
                  "%g %g %g %g %g %g %g", m.bf16, m.fp16, m.triad, m.read, m.cache, m.cache_mb, m.launch_us);
    const dg_machine_costs *c = &m.costs;
    if (!dev_small())
        DG_CHECKF(c->after_us >= 0 && c->last_us >= 0 && c->l1 > 0 && c->l2 > 0 && c->tensor > 0 && c->issued[0] > 0 &&
                      c->issued[3] > 0,
                  "%g %g %g %g %g %g %g", c->after_us, c->last_us, c->l1, c->l2, c->tensor, c->issued[0], c->issued[3]);
    dg_op op = {};
    void *x;
    op.kind = DG_OP_act;
    op.u.act.n = 1000, op.u.act.act = DG_ACT_RELU;
    DG_CHECK(!b->alloc(b, 4000, &x) && !b->refuses(b, &op));
    op.u.act.x = op.u.act.y = x;
    double ms[4] = {-1, -1, -1, -1};
    DG_CHECKF(!b->time_op(b, &op, 4, ms), "%s", dg_message());
    for (double one : ms) DG_CHECKF(one >= 0 && one < 1e4, "%g ms", one);
    b->release(b, x);
    b->close(b);
    DG_CHECK(sim::live_handles() == 0);
}

int main()
{
    check_pieces(false);
    check_pieces(true);
    check_failures();
    check_backend();
    return dg_test_report();
}
