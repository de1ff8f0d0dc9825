/* Clusters of blocks (sm_90 and up, KLAUNCH_CLUSTER): blocks read each other's shared memory with cluster_memory. Call
 * cluster_sync() before a block reads another block's memory, and again before the owner overwrites the memory or ends.
 * Part of dev.cuh; the simulator's versions are in sim/twins.h. */
#ifndef DG_CLUSTER_CUH
#define DG_CLUSTER_CUH

/* Waits for all threads of the cluster and makes their earlier writes visible to the cluster. */
__device__ __forceinline__ void cluster_sync()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/* Reads the shared memory of block `rank` at the same offset as `own`. load() reads four aligned floats. */
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

#endif
