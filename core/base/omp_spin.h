/* Limits the spinning of idle OpenMP threads. By default GNU's runtime spins for milliseconds, which costs the working
 * threads time if cores are shared or a container has a quota. */
#ifndef DG_OMP_SPIN_H
#define DG_OMP_SPIN_H

/* Call first in main. Restarts the program once with GOMP_SPINCOUNT set, because the runtime reads it before main; does
 * nothing if the user has set it or OMP_WAIT_POLICY, or if that fails. */
void dg_omp_spin(char **argv);

#endif
