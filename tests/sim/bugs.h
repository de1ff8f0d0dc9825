/* The planted bugs of bugs.cu, and functions that check results. */
#pragma once

#include "tests/devtest.h"

/* X(bug, name, program, modes that must detect the bug with the expected report) */
#define BUGS(X)                                                                                                 \
    X(OVERWRITE, "overwritten-tile", run_backwards, "forward=value reverse=value random=value tsan=race")       \
    X(ROW_OFF, "row-off-by-one", run_backwards, "forward=red-zone reverse=red-zone asan=ubsan")                 \
    X(LAST_UNWRITTEN, "last-unwritten", run_backwards, "forward=NaN reverse=NaN asan=NaN tsan=NaN")             \
    X(SHALLOW_WAIT, "shallow-wait", run_product, "lazy=NaN")                                                    \
    X(NO_SYNCWARP, "missing-syncwarp", run_product, "forward=NaN tsan=race")                                    \
    X(UNPUBLISHED, "unpublished-factors", run_wide_product, "forward=wgmma lazy=wgmma asan=wgmma tsan=wgmma")   \
    X(EARLY_SUMS, "sums-read-in-flight", run_wide_product, "forward=NaN lazy=NaN asan=NaN")                     \
    X(REFILLED, "factors-refilled-early", run_wide_product, "lazy=value tsan=race")                             \
    X(ODD_WARP, "diverged-warpgroup", run_wide_product, "forward=wgmma reverse=wgmma asan=wgmma tsan=wgmma")    \
    X(STEPS_SWAPPED, "steps-swapped", run_wide_product, "forward=value lazy=value asan=address")                \
    X(NO_BARRIER_BY_LUCK, "barrier-missing-by-luck", run_row_sums, "reverse=NaN tsan=race")                     \
    X(GHOST_WARPS, "ghost-warps", run_row_sums, "forward=NaN reverse=NaN asan=NaN tsan=NaN")                    \
    X(SHARED_WORD, "unordered-sum", run_row_sums, "tsan=race")                                                  \
    X(WIDE_TAIL, "wide-tail", run_scale, "asan=asan")                                                           \
    X(FAR_WRITE, "far-write", run_scale, "forward=address asan=asan")                                           \
    X(INT_INDEX, "int-index", run_scale, "asan=ubsan")                                                          \
    X(BLOCK_ORDER, "block-order", run_blocks, "reverse=value random=value tsan=race")                           \
    X(NO_GRID_SYNC, "missing-grid-barrier", run_blocks, "forward=NaN reverse=value tsan=race")                  \
    X(POOL_OVERRUN, "pool-overrun", run_blocks, "forward=red-zone reverse=red-zone asan=asan")                  \
    X(NOT_AWAITED, "not-awaited", run_in_turns, "tsan=race")                                                    \
    X(EARLY_READ, "result-read-early", run_stream, "deferred=value")                                            \
    X(EARLY_REFILL, "buffer-refilled-early", run_stream, "deferred=value")                                      \
    X(NO_EVENT, "missing-event", run_stream, "deferred=value")                                                  \
    X(USED_EARLY, "used-before-the-wait", run_chain,                                                            \
      "forward=address reverse=address random=address asan=asan tsan=race")                                     \
    X(LOADED_EARLY, "loaded-before-the-wait", run_chain, "tsan=race")                                           \
    X(NEVER_WAITS, "some-never-wait", run_chain,                                                                \
      "forward=exited reverse=exited random=exited asan=exited tsan=exited")                                    \
    X(LETS_GO_EARLY, "lets-go-before-the-wait", run_chain, "forward=early reverse=early asan=early tsan=early") \
    X(NOT_ARRIVED, "cluster-not-awaited", run_clusters, "forward=NaN reverse=NaN random=NaN tsan=report")       \
    X(GONE_EARLY, "cluster-gone-early", run_clusters,                                                           \
      "forward=exited reverse=exited random=exited asan=exited tsan=exited")                                    \
    X(NO_CLUSTER, "no-cluster", run_clusters, "forward=report reverse=report random=report asan=report tsan=report")

enum bug {
    NONE,
#define X(bug, name, program, found) bug,
    BUGS(X)
#undef X
};

static int wrong;
static void compare(const char *what, const std::vector<float> &got, const std::vector<float> &want,
                    double tolerance = 0)
{
    for (size_t i = 0; i < want.size(); i++)
        if (!(fabs(got[i] - want[i]) <= tolerance)) {
            printf("%s: %s[%zu] = %g, not %g\n", isnan(got[i]) ? "NaN" : "value", what, i, got[i], want[i]);
            wrong = 1;
            return;
        }
}
static void launched()
{
    dev_fault fault = dev_take_fault();
    if (fault.error || cudaDeviceSynchronize()) {
        printf("launch: %s\n", cudaGetErrorName(fault.error ? fault.error : cudaGetLastError()));
        exit(1);
    }
}
