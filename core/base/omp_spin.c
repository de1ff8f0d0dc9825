#include "core/base/omp_spin.h"

#include <stdlib.h>
#include <unistd.h>

/* On 2 quiet cores, 500 to 5000 spins of a waiting thread give the same speed, and no spins cost up to a quarter. With
 * three other busy processes on them, a run of dcgan32 took 3.3 s with 1000 spins and 4.7 s with 5000. */
static const char spins[] = "1000";

void dg_omp_spin(char **argv)
{
    char self[4096];
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1); /* ps would print "exe" for the link */
    if (n <= 0 || setenv("GOMP_SPINCOUNT", spins, 1)) return;
    self[n] = 0;
    (void)execv(self, argv);
}
