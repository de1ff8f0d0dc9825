/* The matrix product, the only cuBLAS function in use. cuBLAS is loaded when a variant requires it, so that the program
 * also runs without cuBLAS. kernels/cuda/cublas.cu calls cuBLAS; the simulator has plain loops instead. */
#ifndef DG_CUBLAS_CUH
#define DG_CUBLAS_CUH

#include "kernels/dev/dev.cuh"

/* Loads the library and creates its handle at the first call. Returns NULL, or static text that says why it failed. */
const char *dg_cublas_open(void);
void dg_cublas_close(void);

/* c (m, n) = a (m, k) * b (k, n), all row-major; ta: a is stored (k, m), tb: b is stored (n, k). After a failure,
 * dev_take_fault() returns the error. */
void dg_cublas_gemm(float *c, const float *a, const float *b, bool ta, bool tb, int m, int n, int k,
                    cudaStream_t stream);

#endif
