#include "core/base/omp_spin.h"

#include <stdlib.h>
#include <unistd.h>

/* 5000 spins of a waiting thread take about 0.1 ms: longer than the gap between two parallel regions and
 * shorter than a time slice. On 2 cores shared with ten processes, a step took 0.85 s with 5000 spins and 2.5 s with
 * OpenMP's default. */
static const char spins[] = "5000";

void dg_omp_spin(char **argv)
{
    char self[4096];
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1); /* ps would print "exe" for the link */
    if (n <= 0 || setenv("GOMP_SPINCOUNT", spins, 1)) return;
    self[n] = 0;
    (void)execv(self, argv);
}
