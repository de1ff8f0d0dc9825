/* Tests that two concurrent updates on one GPU have separate counters. */
#include "tests/all_ops.h"
#include "tests/devtest.h"
extern "C" {
#include "core/plan/op_info.h"
}
#include "kernels/ops/update/sweep.cuh"

struct job {
    dg_metrics *ring;
    const dg_step_state *state;
    uint32_t *counters;
    int bad, broken; /* broken is the number of threads per block that report non-finite weights */
};

static __global__ void turns_kernel(const job a, const job b)
{
    const job mine = (blockIdx.y * gridDim.x + blockIdx.x) % 2 ? b : a;
    dg_count_broken(mine, (int)threadIdx.x < mine.broken ? 2u : 0u);
}

int main()
{
    static const int BLOCKS = 7, BROKEN[2] = {1, 40}, STEP = 5;
    dg_step_state now = {};
    now.step = STEP;
    dev_buffer<dg_step_state> state(std::vector<dg_step_state>(1, now));
    dev_buffer<dg_metrics> first(DG_RING), second(DG_RING), *const ring[2] = {&first, &second};
    dev_buffer<uint32_t> counters(std::vector<uint32_t>(2 * DG_OP_COUNTERS, 0));
    job of[2];
    for (int k = 0; k < 2; k++) of[k] = {ring[k]->p, state.p, counters.p + k * DG_OP_COUNTERS, k + 1, BROKEN[k]};
    for (int again = 0; again < 2; again++) {
        KLAUNCH(turns_kernel, dim3(BLOCKS, 2), 64, 0, 0, of[0], of[1]);
        if (!dev_ok("two jobs in turns")) break;
        for (int k = 0; k < 2; k++) {
            const std::vector<dg_metrics> m = ring[k]->get();
            const double got = m[STEP].value[k + 1], want = 2 * BLOCKS * BROKEN[k];
            DG_CHECKF(got == want, "job %d: %g weights are not finite, not %g", k, got, want);
        }
        for (uint32_t c : counters.get()) DG_CHECKF(!c, "a counter is left at %u", c);
    }
    return dg_test_report();
}
