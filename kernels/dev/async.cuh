/* Asynchronous copies from global to shared memory, and synchronisation of programmatic dependent launches. Included
 * by dev.cuh. */
#pragma once

/* Copies 16 bytes from global to shared memory. If !ok, writes 16 zero bytes and does not read src. The addresses dst
 * and src must be 16-byte aligned. The copy is complete after cp_async_commit() and cp_async_wait(). On GPUs before
 * sm_80, the copy is synchronous. */
__device__ __forceinline__ void cp_async16(void *dst, const void *src, bool ok)
{
#if __CUDA_ARCH__ >= 800
    int bytes = ok ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(dev_shared_address(dst)), "l"(src), "r"(bytes)
                 : "memory");
#else
    *static_cast<uint4 *>(dst) = ok ? *static_cast<const uint4 *>(src) : make_uint4(0, 0, 0, 0);
#endif
}

__device__ __forceinline__ void cp_async_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int N> __device__ __forceinline__ void cp_async_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

__device__ __forceinline__ void grid_dependency_wait()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void grid_dependents_launch()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* May be called before grid_dependency_wait(), but only for data that the previous launch does not write. Bypasses L1,
 * which may have stale values. */
template <class T> __device__ __forceinline__ T grid_early_load(const T *p)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 16, "one load");
    T v;
    if constexpr (sizeof(T) == 16) {
        const uint4 w = __ldcg(reinterpret_cast<const uint4 *>(p));
        memcpy(&v, &w, sizeof v);
    } else {
        const unsigned w = __ldcg(reinterpret_cast<const unsigned *>(p));
        memcpy(&v, &w, sizeof v);
    }
    return v;
}
__device__ __forceinline__ void cp_async16_early(void *dst, const void *src, bool ok) { cp_async16(dst, src, ok); }
