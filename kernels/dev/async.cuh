/* Copies from global to shared memory that are waited for later, and launches that begin before the one in front has
 * ended. A part of dev.cuh; the simulator's twins are in its sim.h. */
#ifndef DG_ASYNC_CUH
#define DG_ASYNC_CUH

/* Copy 16 bytes from global to shared memory, or 16 zero bytes if !ok (src is not read then, wherever it points).
 * Done only after commit and wait; before sm_80 done at once. Both sides 16-byte aligned. */
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

/* Close a group of this thread's copies, also when there are none. */
__device__ __forceinline__ void cp_async_commit()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Wait until at most N groups of this thread are unfinished; then a barrier makes the copies visible to others. */
template <int N> __device__ __forceinline__ void cp_async_wait()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

/* KLAUNCH_AFTER: wait until the launches before this one have ended and what they wrote is to be seen; let the next one
 * start, once a thread of every block has said so. No-ops before sm_90 and in launches that did not start early. */
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

/* Before the wait: read, or copy as cp_async16 does, what the launch just in front of this one does not write. Both go
 * past the multiprocessor's own cache, which is promised to be without stale values between a launch and those it waits
 * for. */
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
