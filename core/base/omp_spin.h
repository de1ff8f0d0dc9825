/* Limits the spinning of idle OpenMP threads. By default the threads of GNU's OpenMP runtime spin for milliseconds,
 * which slows other threads on shared cores or in a container with a CPU quota. */
#pragma once

/* Call first in main. Restarts the program once with GOMP_SPINCOUNT set, because the OpenMP runtime reads the variable
 * before main. Does nothing if the user has set GOMP_SPINCOUNT or OMP_WAIT_POLICY, or if exec fails. */
void dg_omp_spin(char **argv);
