/* Limits the spinning of idle OpenMP threads. By default GNU's runtime spins for milliseconds, which costs the working
 * threads time if cores are shared or a container has a quota. */
#ifndef DG_OMP_SPIN_H
#define DG_OMP_SPIN_H

/* Call first in main. Restarts the program once with GOMP_SPINCOUNT set, because the OpenMP runtime reads this variable
 * before main. Does nothing if the user has set GOMP_SPINCOUNT or OMP_WAIT_POLICY, or if exec fails. */
void dg_omp_spin(char **argv);

#endif
