/* The simulator's cuBLAS. A simple kernel computes the matrix product, with one thread per result. */
#include "kernels/cuda/cublas.cuh"

static int opened;

const char *dg_cublas_open(void)
{
    opened = 1;
    return nullptr;
}

void dg_cublas_close(void) { opened = 0; }

static __global__ void gemm_kernel(float *c, const float *a, const float *b, bool ta, bool tb, int m, int n, int k)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= m * n) return;
    float sum = 0;
    for (int e = 0; e < k; e++)
        sum += (ta ? a[e * m + i / n] : a[i / n * k + e]) * (tb ? b[i % n * k + e] : b[e * n + i % n]);
    c[i] = sum;
}

void dg_cublas_gemm(float *c, const float *a, const float *b, bool ta, bool tb, int m, int n, int k,
                    cudaStream_t stream)
{
    if (opened)
        KLAUNCH(gemm_kernel, dim3((unsigned)(m * n + 127) / 128), dim3(128), 0, stream, c, a, b, ta, tb, m, n, k);
    else if (dev_first_fault.error == cudaSuccess)
        dev_first_fault = {cudaErrorLaunchFailure, dev_op, {"cublasSgemm", __FILE__, __LINE__}};
}
