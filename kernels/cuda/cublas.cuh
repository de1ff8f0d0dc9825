/* The one function that we take from cuBLAS. The library is loaded when a variant wants it, so that the program runs
 * where it is not installed; kernels/cuda/cublas.cu has it, the simulator has a twin of plain loops. */
#ifndef DG_CUBLAS_CUH
#define DG_CUBLAS_CUH

#include "kernels/dev/dev.cuh"

/* Load the library and make its handle, once. NULL, or why that is not possible (static text). */
const char *dg_cublas_open(void);
void dg_cublas_close(void);

/* c (m, n) = a (m, k) * b (k, n), all row-major; ta: a is stored (k, m), tb: b is stored (n, k). A failure is left
 * for dev_take_fault. */
void dg_cublas_gemm(float *c, const float *a, const float *b, bool ta, bool tb, int m, int n, int k,
                    cudaStream_t stream);

#endif
