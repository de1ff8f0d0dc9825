/* The one clock of the program: for durations, not for dates. */
#ifndef DG_CLOCK_H
#define DG_CLOCK_H

#include <time.h>

/* Seconds since some moment in the past; never goes back. */
static inline double dg_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
