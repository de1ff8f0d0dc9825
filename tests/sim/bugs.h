/* Names of the planted bugs of bugs.cu, and functions that check results. */
#ifndef SIM_BUGS_H
#define SIM_BUGS_H

#include "tests/devtest.h"

enum bug {
    NONE,
    OVERWRITE,
    ROW_OFF,
    DIVERGENT_BARRIER,
    LAST_UNWRITTEN,
    BAD_BLOCK,
    LANE_MAP,
    SHALLOW_WAIT,
    NO_SYNCWARP,
    SKEWED_ROW,
    UNWAITED_COPY,
    UNPUBLISHED,
    EARLY_SUMS,
    REFILLED,
    ODD_WARP,
    STEPS_SWAPPED,
    NO_BARRIER_BY_LUCK,
    GHOST_WARPS,
    DIVERGENT_SHUFFLE,
    SHARED_WORD,
    WIDE_TAIL,
    FAR_WRITE,
    FREED,
    INT_INDEX,
    HOST_POINTER,
    BLOCK_ORDER,
    NO_GRID_SYNC,
    POOL_OVERRUN,
    EARLY_READ,
    EARLY_REFILL,
    NO_EVENT,
    BY_VALUE,
    LAST_TOO_EARLY,
    COUNTER_LEFT,
    NOT_AWAITED,
    USED_EARLY,
    LOADED_EARLY,
    NEVER_WAITS,
    LETS_GO_EARLY,
    STAYS_SCALED,
    NOT_SCALED,
    TOO_LARGE,
    NOT_JOINED,
    NOT_ARRIVED,
    GONE_EARLY,
    NO_CLUSTER
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
