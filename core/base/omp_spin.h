/* How threads wait for each other. GNU's OpenMP lets a thread that has nothing to do spin for milliseconds; when
 * other programs want the cores, or a container's quota is counted, that time is stolen from the very thread
 * that it waits for. */
#ifndef DG_OMP_SPIN_H
#define DG_OMP_SPIN_H

/* Call first in main. The runtime reads its settings before main runs, so the program starts itself once more
 * with GOMP_SPINCOUNT set; it does nothing when the user has set that or OMP_WAIT_POLICY, or when it cannot. */
void dg_omp_spin(char **argv);

#endif
