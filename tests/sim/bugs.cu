/* Bugs planted in small kernels and host programs. `bugs --list` prints their names and the modes that must detect
 * them. `bugs NAME` runs one of them, and `bugs none` runs the same programs without bugs. Exit code 0: all results are
 * correct. */
#define DEV_WGMMA
#include "tests/sim/bugs_blocks.h"
#include "tests/sim/bugs_launches.h"
#include "tests/sim/bugs_products.h"

/* name; the modes that must detect the bug, with the expected report; the program */
static const struct {
    const char *name, *found;
    void (*run)();
} bugs[] = {
    {"overwritten-tile", "forward=value reverse=value random=value tsan=race", run_backwards<OVERWRITE>},
    {"row-off-by-one", "forward=red-zone reverse=red-zone asan=ubsan", run_backwards<ROW_OFF>},
    {"divergent-barrier", "forward=divergent reverse=divergent random=divergent asan=divergent",
     run_backwards<DIVERGENT_BARRIER>},
    {"last-unwritten", "forward=NaN reverse=NaN asan=NaN tsan=NaN", run_backwards<LAST_UNWRITTEN>},
    {"block-not-tile", "forward=check asan=check tsan=check", run_backwards<BAD_BLOCK>},
    {"lane-map", "forward=value reverse=value asan=value tsan=value", run_product<LANE_MAP>},
    {"shallow-wait", "lazy=NaN", run_product<SHALLOW_WAIT>},
    {"missing-syncwarp", "forward=NaN tsan=race", run_product<NO_SYNCWARP>},
    {"skewed-ldmatrix-row", "forward=address asan=address tsan=address", run_product<SKEWED_ROW>},
    {"copy-never-awaited", "forward=cp.async reverse=cp.async lazy=cp.async asan=cp.async", run_product<UNWAITED_COPY>},
    {"unpublished-factors", "forward=wgmma lazy=wgmma asan=wgmma tsan=wgmma", run_wide_product<UNPUBLISHED>},
    {"sums-read-in-flight", "forward=NaN lazy=NaN asan=NaN", run_wide_product<EARLY_SUMS>},
    {"factors-refilled-early", "lazy=value tsan=race", run_wide_product<REFILLED>},
    {"diverged-warpgroup", "forward=wgmma reverse=wgmma asan=wgmma tsan=wgmma", run_wide_product<ODD_WARP>},
    {"steps-swapped", "forward=value lazy=value asan=address", run_wide_product<STEPS_SWAPPED>},
    {"barrier-missing-by-luck", "reverse=NaN tsan=race", run_row_sums<NO_BARRIER_BY_LUCK>},
    {"ghost-warps", "forward=NaN reverse=NaN asan=NaN tsan=NaN", run_row_sums<GHOST_WARPS>},
    {"divergent-shuffle", "forward=exited reverse=exited asan=exited tsan=exited", run_row_sums<DIVERGENT_SHUFFLE>},
    {"unordered-sum", "tsan=race", run_row_sums<SHARED_WORD>},
    {"wide-tail", "asan=asan", run_scale<WIDE_TAIL>},
    {"far-write", "forward=address asan=asan", run_scale<FAR_WRITE>},
    {"freed-argument", "forward=argument asan=argument tsan=argument", run_scale<FREED>},
    {"int-index", "asan=ubsan", run_scale<INT_INDEX>},
    {"host-pointer-in-struct", "forward=argument asan=argument tsan=argument", run_scale<HOST_POINTER>},
    {"block-order", "reverse=value random=value tsan=race", run_blocks<BLOCK_ORDER>},
    {"missing-grid-barrier", "forward=NaN reverse=value tsan=race", run_blocks<NO_GRID_SYNC>},
    {"pool-overrun", "forward=red-zone reverse=red-zone asan=asan", run_blocks<POOL_OVERRUN>},
    {"last-too-early", "forward=NaN reverse=NaN tsan=race", run_last<LAST_TOO_EARLY>},
    {"not-awaited", "tsan=race", run_in_turns<NOT_AWAITED>},
    {"counter-left", "forward=value reverse=value asan=value", run_last<COUNTER_LEFT>},
    {"result-read-early", "deferred=value", run_stream<EARLY_READ>},
    {"buffer-refilled-early", "deferred=value", run_stream<EARLY_REFILL>},
    {"missing-event", "deferred=value", run_stream<NO_EVENT>},
    {"captured-by-value", "forward=value deferred=value", run_stream<BY_VALUE>},
    {"branch-not-awaited", "deferred=value", run_branches<NOT_JOINED>},
    {"used-before-the-wait", "forward=address reverse=address random=address asan=asan tsan=race",
     run_chain<USED_EARLY>},
    {"loaded-before-the-wait", "tsan=race", run_chain<LOADED_EARLY>},
    {"some-never-wait", "forward=exited reverse=exited random=exited asan=exited tsan=exited", run_chain<NEVER_WAITS>},
    {"lets-go-before-the-wait", "forward=early reverse=early asan=early tsan=early", run_chain<LETS_GO_EARLY>},
    {"cluster-not-awaited", "forward=NaN reverse=NaN random=NaN tsan=report", run_clusters<NOT_ARRIVED>},
    {"cluster-gone-early", "forward=exited reverse=exited random=exited asan=exited tsan=exited",
     run_clusters<GONE_EARLY>},
    {"no-cluster", "forward=report reverse=report random=report asan=report tsan=report", run_clusters<NO_CLUSTER>},
    {"sums-stay-scaled", "forward=value reverse=value asan=value tsan=value", run_scaled_product<STAYS_SCALED>},
    {"gradients-not-scaled", "forward=value reverse=value asan=value tsan=value", run_scaled_product<NOT_SCALED>},
    {"gradient-made-infinite", "forward=value reverse=value asan=value tsan=value", run_scaled_product<TOO_LARGE>},
    {"none", "",
     [] {
         run_backwards<NONE>();
         run_product<NONE>();
         run_wide_product<NONE>();
         run_row_sums<NONE>();
         run_scale<NONE>();
         run_blocks<NONE>();
         run_last<NONE>();
         run_in_turns<NONE>();
         run_stream<NONE>();
         run_branches<NONE>();
         run_chain<NONE>();
         run_clusters<NONE>();
         run_scaled_product<NONE>();
     }},
};

int main(int argc, char **argv)
{
    sim::opt.threads = 1; /* detection must not depend on the number of cores */
    for (auto &b : bugs) {
        if (argc == 2 && !strcmp(argv[1], "--list")) printf("%s %s\n", b.name, b.found);
        if (argc == 2 && !strcmp(argv[1], b.name)) {
            b.run();
            return wrong;
        }
    }
    return argc == 2 && !strcmp(argv[1], "--list") ? 0 : 2;
}
