/* Clusters of blocks, which sm_90 and up have (KLAUNCH_CLUSTER): what one block has written into its shared memory is
 * read by the others. A part of dev.cuh; the simulator's twins are in sim/twins.h.
 *
 *     ...                  each block writes its shared memory
 *     cluster_sync();      all have
 *     cluster_memory ...   of any of them is read
 *     cluster_sync();      nobody reads any more: blocks may write it again, or end */
#ifndef DG_CLUSTER_CUH
#define DG_CLUSTER_CUH

/* All threads of all blocks of the cluster: a barrier, behind which is seen what was written in front of it. */
__device__ __forceinline__ void cluster_sync()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/* Where block `rank` of the cluster has in its shared memory what this one has at `own`; load: the four floats that
 * are so many behind it, at a multiple of 16 bytes. */
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
