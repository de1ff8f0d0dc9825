/* The only cuBLAS function in use. The library is loaded when a variant requires it, so that the program runs without
 * it. Implementations: kernels/cuda/cublas.cu, and plain loops in the simulator. */
#ifndef DG_CUBLAS_CUH
#define DG_CUBLAS_CUH

#include "kernels/dev/dev.cuh"

/* Loads the library and creates its handle, once. Returns NULL, or why that failed (static text). */
const char *dg_cublas_open(void);
void dg_cublas_close(void);

/* c (m, n) = a (m, k) * b (k, n), all row-major; ta: a is stored (k, m), tb: b is stored (n, k). dev_take_fault returns
 * a failure. */
void dg_cublas_gemm(float *c, const float *a, const float *b, bool ta, bool tb, int m, int n, int k,
                    cudaStream_t stream);

#endif
