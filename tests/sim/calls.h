/* Checks results of CUDA runtime calls, and defines a kernel for tests of these calls. */
#pragma once

#include "tests/devtest.h"

[[maybe_unused]] static void is(cudaError_t have, cudaError_t want, const char *call, int line)
{
    DG_CHECKF(have == want, "line %d: %s: %s, not %s", line, call, cudaGetErrorName(have), cudaGetErrorName(want));
}
#define IS(call, error) is(call, error, #call, __LINE__)
#define OK(call) is(call, cudaSuccess, #call, __LINE__)

static __global__ void add_kernel(float *y, const float *x, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + by;
}
static void add(float *y, const float *x, float by, int n, cudaStream_t s)
{
    KLAUNCH(add_kernel, (unsigned)(n + 31) / 32, 32, 0, s, y, x, by, n);
}
