/* Replaces OpenMP's header for compilers without OpenMP, which ignore the pragmas: the program then runs on one thread.
 * scripts/build/detect adds this folder to the include path. */
#pragma once

static inline int omp_get_max_threads(void) { return 1; }
static inline int omp_get_num_threads(void) { return 1; }
static inline int omp_get_num_procs(void) { return 1; }
static inline int omp_get_thread_limit(void) { return 1; }
static inline int omp_get_thread_num(void) { return 0; }
static inline void omp_set_num_threads(int n) { (void)n; }
