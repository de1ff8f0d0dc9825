/* Stands in for OpenMP's header where the compiler has no OpenMP: scripts/build/detect puts this folder on the include
 * path only then. Its pragmas are ignored there, so there is one thread. */
#ifndef DG_WITHOUT_OPENMP_H
#define DG_WITHOUT_OPENMP_H

static inline int omp_get_max_threads(void) { return 1; }
static inline int omp_get_num_threads(void) { return 1; }
static inline int omp_get_num_procs(void) { return 1; }
static inline int omp_get_thread_limit(void) { return 1; }
static inline int omp_get_thread_num(void) { return 0; }
static inline void omp_set_num_threads(int n) { (void)n; }

#endif
