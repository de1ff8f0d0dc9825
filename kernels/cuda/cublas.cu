/* Loads cuBLAS at its first use. The GPU simulator compiles a file of sim/ instead of this file. */
#include "kernels/cuda/cublas.cuh"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdio.h>

#define DG_TEXT_OF(x) #x
#define DG_TEXT(x) DG_TEXT_OF(x)

/* A workspace of fixed size avoids allocations during stream captures. The size is the one that cuBLAS's manual
 * recommends for sm_90. */
static constexpr int WORKSPACE = 32 << 20;

static struct {
    void *library, *workspace;
    cublasHandle_t handle;
    decltype(&cublasDestroy) destroy;
    decltype(&cublasSetStream) set_stream;
    decltype(&cublasSetWorkspace) set_workspace;
    decltype(&cublasSgemm) sgemm;
    char why[160];
} blas;

static const char *no(const char *what, const char *detail)
{
    snprintf(blas.why, sizeof blas.why, "%s%s%s", what, detail ? ": " : "", detail ? detail : "");
    return blas.why;
}

template <class F> static bool find(F *function, const char *name)
{
    *function = (F)dlsym(blas.library, name);
    return *function != nullptr;
}

const char *dg_cublas_open(void)
{
    /* First tries the version of the linked CUDA runtime, because the driver supports this runtime. */
    static const char *const names[] = {"libcublas.so." DG_TEXT(CUBLAS_VER_MAJOR), "libcublas.so.13", "libcublas.so.12",
                                        "libcublas.so.11", "libcublas.so"};
    if (blas.handle) return nullptr;
    for (size_t i = 0; i < sizeof names / sizeof *names && !blas.library; i++)
        blas.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!blas.library) return no("the cuBLAS library cannot be loaded", dlerror());
    decltype(&cublasCreate) create;
    decltype(&cublasSetMathMode) set_math_mode;
    if (!find(&create, "cublasCreate_v2") || !find(&blas.destroy, "cublasDestroy_v2") ||
        !find(&blas.set_stream, "cublasSetStream_v2") || !find(&blas.set_workspace, "cublasSetWorkspace_v2") ||
        !find(&blas.sgemm, "cublasSgemm_v2") || !find(&set_math_mode, "cublasSetMathMode"))
        return no("the cuBLAS library lacks a function", dlerror());
    if (!blas.workspace && cudaMalloc(&blas.workspace, WORKSPACE) != cudaSuccess)
        return no("no memory for the workspace of cuBLAS", nullptr);
    if (create(&blas.handle) != CUBLAS_STATUS_SUCCESS) {
        blas.handle = nullptr;
        return no("cuBLAS does not start on this device", nullptr);
    }
    if (set_math_mode(blas.handle, CUBLAS_PEDANTIC_MATH) != CUBLAS_STATUS_SUCCESS)
        return no("cuBLAS refuses fp32 arithmetic", nullptr);
    return nullptr;
}

void dg_cublas_close(void)
{
    if (blas.handle) blas.destroy(blas.handle);
    if (blas.workspace) (void)cudaFree(blas.workspace);
    blas.handle = nullptr;
    blas.workspace = nullptr;
}

void dg_cublas_gemm(float *c, const float *a, const float *b, bool ta, bool tb, int m, int n, int k,
                    cudaStream_t stream)
{
    const float one = 1, zero = 0;
    /* cuBLAS is column-major, so c = a b is computed as c' = b' a'. */
    cublasStatus_t s = CUBLAS_STATUS_NOT_INITIALIZED;
    if (blas.handle) s = blas.set_stream(blas.handle, stream);
    /* cublasSetStream resets the workspace */
    if (s == CUBLAS_STATUS_SUCCESS) s = blas.set_workspace(blas.handle, blas.workspace, WORKSPACE);
    if (s == CUBLAS_STATUS_SUCCESS)
        s = blas.sgemm(blas.handle, tb ? CUBLAS_OP_T : CUBLAS_OP_N, ta ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one, b,
                       tb ? k : n, a, ta ? m : k, &zero, c, n);
    if (s == CUBLAS_STATUS_SUCCESS || dev_first_fault.error != cudaSuccess) return;
    const bool lost = s == CUBLAS_STATUS_EXECUTION_FAILED || s == CUBLAS_STATUS_INTERNAL_ERROR;
    dev_first_fault = {lost ? cudaErrorLaunchFailure : cudaErrorInvalidValue,
                       dev_op,
                       {"cublasSgemm", __FILE__, __LINE__}};
}
