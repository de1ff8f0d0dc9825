/* Matrix products by cuBLAS. The program also runs on machines without cuBLAS, because cuBLAS is loaded at its first
 * use. The GPU simulator replaces cuBLAS by loops on the CPU. */
#pragma once

#include "kernels/dev/dev.cuh"

/* Loads cuBLAS at the first call. Returns NULL, or the reason for the failure as static text. */
const char *dg_cublas_open(void);
void dg_cublas_close(void);

/* Computes c[m][n] = a[m][k] * b[k][n]. If ta, matrix a is stored transposed, as [k][m]. If tb, matrix b is stored
 * transposed, as [n][k]. After a failure, dev_take_fault() returns the error. */
void dg_cublas_gemm(float *c, const float *a, const float *b, bool ta, bool tb, int m, int n, int k,
                    cudaStream_t stream);
