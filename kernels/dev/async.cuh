/* Asynchronous copies from global to shared memory, and synchronisation of programmatic dependent launches. Part of
 * dev.cuh; the simulator's versions are in sim/. */
#ifndef DG_ASYNC_CUH
#define DG_ASYNC_CUH

/* Copies 16 bytes from global to shared memory; if !ok, writes 16 zero bytes and does not read src. The copy ends after
 * cp_async_commit() and cp_async_wait(); before sm_80, it is synchronous. dst and src are 16-byte aligned. */
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

/* Ends this thread's current group of asynchronous copies. A group may be empty. */
__device__ __forceinline__ void cp_async_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until at most N groups of this thread's copies are pending. A later barrier makes copies visible to all
 * threads. */
template <int N> __device__ __forceinline__ void cp_async_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

/* In a launch by KLAUNCH_AFTER, grid_dependency_wait() waits until earlier launches have ended and their writes are
 * visible. The next launch may start after at least one thread of every block has called grid_dependents_launch().
 * Before sm_90, grid_dependency_wait() and grid_dependents_launch() do nothing. */
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

/* Loads that may precede grid_dependency_wait(), only for data that the previous launch does not write. Loads bypass
 * L1, which may have stale values. */
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

#endif
