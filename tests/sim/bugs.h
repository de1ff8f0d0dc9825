/* The planted bugs of bugs.cu, and functions that check results. */
#ifndef SIM_BUGS_H
#define SIM_BUGS_H

#include "tests/devtest.h"

/* X(bug, name, program, modes that must detect the bug with the expected report) */
#define BUGS(X)                                                                                                      \
    X(OVERWRITE, "overwritten-tile", run_backwards, "forward=value reverse=value random=value tsan=race")            \
    X(ROW_OFF, "row-off-by-one", run_backwards, "forward=red-zone reverse=red-zone asan=ubsan")                      \
    X(DIVERGENT_BARRIER, "divergent-barrier", run_backwards,                                                         \
      "forward=divergent reverse=divergent random=divergent asan=divergent")                                         \
    X(LAST_UNWRITTEN, "last-unwritten", run_backwards, "forward=NaN reverse=NaN asan=NaN tsan=NaN")                  \
    X(BAD_BLOCK, "block-not-tile", run_backwards, "forward=check asan=check tsan=check")                             \
    X(LANE_MAP, "lane-map", run_product, "forward=value reverse=value asan=value tsan=value")                        \
    X(SHALLOW_WAIT, "shallow-wait", run_product, "lazy=NaN")                                                         \
    X(NO_SYNCWARP, "missing-syncwarp", run_product, "forward=NaN tsan=race")                                         \
    X(SKEWED_ROW, "skewed-ldmatrix-row", run_product, "forward=address asan=address tsan=address")                   \
    X(UNWAITED_COPY, "copy-never-awaited", run_product,                                                              \
      "forward=cp.async reverse=cp.async lazy=cp.async asan=cp.async")                                               \
    X(UNPUBLISHED, "unpublished-factors", run_wide_product, "forward=wgmma lazy=wgmma asan=wgmma tsan=wgmma")        \
    X(EARLY_SUMS, "sums-read-in-flight", run_wide_product, "forward=NaN lazy=NaN asan=NaN")                          \
    X(REFILLED, "factors-refilled-early", run_wide_product, "lazy=value tsan=race")                                  \
    X(ODD_WARP, "diverged-warpgroup", run_wide_product, "forward=wgmma reverse=wgmma asan=wgmma tsan=wgmma")         \
    X(STEPS_SWAPPED, "steps-swapped", run_wide_product, "forward=value lazy=value asan=address")                     \
    X(NO_BARRIER_BY_LUCK, "barrier-missing-by-luck", run_row_sums, "reverse=NaN tsan=race")                          \
    X(GHOST_WARPS, "ghost-warps", run_row_sums, "forward=NaN reverse=NaN asan=NaN tsan=NaN")                         \
    X(DIVERGENT_SHUFFLE, "divergent-shuffle", run_row_sums, "forward=exited reverse=exited asan=exited tsan=exited") \
    X(SHARED_WORD, "unordered-sum", run_row_sums, "tsan=race")                                                       \
    X(WIDE_TAIL, "wide-tail", run_scale, "asan=asan")                                                                \
    X(FAR_WRITE, "far-write", run_scale, "forward=address asan=asan")                                                \
    X(FREED, "freed-argument", run_scale, "forward=argument asan=argument tsan=argument")                            \
    X(INT_INDEX, "int-index", run_scale, "asan=ubsan")                                                               \
    X(HOST_POINTER, "host-pointer-in-struct", run_scale, "forward=argument asan=argument tsan=argument")             \
    X(BLOCK_ORDER, "block-order", run_blocks, "reverse=value random=value tsan=race")                                \
    X(NO_GRID_SYNC, "missing-grid-barrier", run_blocks, "forward=NaN reverse=value tsan=race")                       \
    X(POOL_OVERRUN, "pool-overrun", run_blocks, "forward=red-zone reverse=red-zone asan=asan")                       \
    X(LAST_TOO_EARLY, "last-too-early", run_last, "forward=NaN reverse=NaN tsan=race")                               \
    X(COUNTER_LEFT, "counter-left", run_last, "forward=value reverse=value asan=value")                              \
    X(NOT_AWAITED, "not-awaited", run_in_turns, "tsan=race")                                                         \
    X(EARLY_READ, "result-read-early", run_stream, "deferred=value")                                                 \
    X(EARLY_REFILL, "buffer-refilled-early", run_stream, "deferred=value")                                           \
    X(NO_EVENT, "missing-event", run_stream, "deferred=value")                                                       \
    X(BY_VALUE, "captured-by-value", run_stream, "forward=value deferred=value")                                     \
    X(NOT_JOINED, "branch-not-awaited", run_branches, "deferred=value")                                              \
    X(USED_EARLY, "used-before-the-wait", run_chain,                                                                 \
      "forward=address reverse=address random=address asan=asan tsan=race")                                          \
    X(LOADED_EARLY, "loaded-before-the-wait", run_chain, "tsan=race")                                                \
    X(NEVER_WAITS, "some-never-wait", run_chain,                                                                     \
      "forward=exited reverse=exited random=exited asan=exited tsan=exited")                                         \
    X(LETS_GO_EARLY, "lets-go-before-the-wait", run_chain, "forward=early reverse=early asan=early tsan=early")      \
    X(NOT_ARRIVED, "cluster-not-awaited", run_clusters, "forward=NaN reverse=NaN random=NaN tsan=report")            \
    X(GONE_EARLY, "cluster-gone-early", run_clusters,                                                                \
      "forward=exited reverse=exited random=exited asan=exited tsan=exited")                                         \
    X(NO_CLUSTER, "no-cluster", run_clusters, "forward=report reverse=report random=report asan=report tsan=report") \
    X(STAYS_SCALED, "sums-stay-scaled", run_scaled_product, "forward=value reverse=value asan=value tsan=value")     \
    X(NOT_SCALED, "gradients-not-scaled", run_scaled_product, "forward=value reverse=value asan=value tsan=value")   \
    X(TOO_LARGE, "gradient-made-infinite", run_scaled_product, "forward=value reverse=value asan=value tsan=value")

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

#endif
