/* Matrix products by cuBLAS, which is loaded at its first use, so that the program also runs without cuBLAS. The GPU
 * simulator replaces cuBLAS by loops on the CPU. */
#ifndef DG_CUBLAS_CUH
#define DG_CUBLAS_CUH

#include "kernels/dev/dev.cuh"

/* Loads cuBLAS at the first call. Returns NULL, or the reason of the failure as static text. */
const char *dg_cublas_open(void);
void dg_cublas_close(void);

/* c (m, n) = a (m, k) * b (k, n), all row-major; ta: a is stored (k, m), tb: b is stored (n, k). After a failure,
 * dev_take_fault() returns the error. */
void dg_cublas_gemm(float *c, const float *a, const float *b, bool ta, bool tb, int m, int n, int k,
                    cudaStream_t stream);

#endif
