/* Clocks that measure durations. */
#ifndef DG_CLOCK_H
#define DG_CLOCK_H

#include <time.h>

/* Monotonic seconds. */
static inline double dg_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the CPU time of all threads of this process in seconds. */
static inline double dg_cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
