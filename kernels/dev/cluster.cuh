/* Clusters of blocks (sm_90 and up, KLAUNCH_CLUSTER). With cluster_memory, a block reads shared memory of another
 * block. Call cluster_sync() before and after these reads. Only after the second call, the other block may overwrite
 * its memory or end. Included by dev.cuh. */
#pragma once

__device__ __forceinline__ void cluster_sync()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/* Reads shared memory of block `rank`, beginning at the offset of `own`. The function load(i) reads floats i to i + 3.
 * Index i must be a multiple of 4. */
struct cluster_memory {
    uint32_t start;

    __device__ __forceinline__ cluster_memory(const float *own, int rank)
    {
#if __CUDA_ARCH__ >= 900
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(start) : "r"(dev_shared_address(own)), "r"(rank));
#else
        start = 0;
#endif
    }
    __device__ __forceinline__ float4 load(int behind) const
    {
        float4 v = {};
#if __CUDA_ARCH__ >= 900
        asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                     : "r"(start + 4u * (unsigned)behind)
                     : "memory");
#endif
        return v;
    }
};
