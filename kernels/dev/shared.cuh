/* Macros and functions, mainly for shared memory, that the simulator defines differently. Included by dev.cuh. */
#pragma once

template <class T> __host__ __device__ constexpr size_t dev_pool_bytes(size_t count)
{
    return (count * sizeof(T) + 15) / 16 * 16;
}

#ifdef __CUDACC__

#define SHARED(T, name, dims) __shared__ __align__(16) T name dims
#define DYN_SHARED(T, name) T *const name = dev_dyn_shared<T>()
#define GRID_SYNC() cooperative_groups::this_grid().sync()
#define DEV_CHECK(condition) ((void)0)
#define DEV_NOINLINE __noinline__

template <class T> __device__ __forceinline__ T *dev_dyn_shared()
{
    extern __shared__ __align__(16) unsigned char dev_dyn_shared_bytes[];
    return reinterpret_cast<T *>(dev_dyn_shared_bytes);
}

struct dev_pool {
    unsigned char *at;
    __device__ __forceinline__ dev_pool() : at(dev_dyn_shared<unsigned char>()) {}
    template <class T> __device__ __forceinline__ T *take(size_t count)
    {
        T *p = reinterpret_cast<T *>(at);
        at += dev_pool_bytes<T>(count);
        return p;
    }
};

__device__ __forceinline__ uint32_t dev_shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

#endif
