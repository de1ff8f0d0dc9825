/* Launches kernels and records refused launches. Included by dev.cuh. */
#pragma once

typedef struct {
    const char *kernel, *file;
    int line;
} dev_site;

typedef struct {
    cudaError_t error;
    const char *op;
    dev_site at;
} dev_fault;

/* The name of the op whose kernels this thread launches next, for messages. The string must outlive the launch. */
inline thread_local const char *dev_op = "";
inline thread_local dev_fault dev_first_fault = {cudaSuccess, "", {"", "", 0}};

static inline dev_fault dev_take_fault(void)
{
    dev_fault fault = dev_first_fault;
    dev_first_fault.error = cudaSuccess;
    return fault;
}

inline thread_local bool dev_programmatic = true;

inline thread_local signed char dev_overlaps[64];

/* True if kernels on the current device may start before the previous launch ends. Requires code for sm_90 or newer,
 * because code compiled from older PTX does not wait for the previous launch. Also requires CUDA 12.3, the first
 * version with programmatic edges in graphs. `kernel` may be any kernel, because all kernels are compiled for the same
 * architectures. */
template <class K> static inline bool dev_may_overlap(K kernel)
{
    int device, driver;
    cudaFuncAttributes a;
    if (!dev_programmatic || cudaGetDevice(&device) != cudaSuccess || device >= (int)sizeof dev_overlaps) return false;
    if (!dev_overlaps[device]) {
        if (cudaFuncGetAttributes(&a, kernel) != cudaSuccess || cudaDriverGetVersion(&driver) != cudaSuccess) {
            (void)cudaGetLastError();
            return false;
        }
        dev_overlaps[device] = a.ptxVersion >= 90 && driver >= 12030 ? 1 : -1;
    }
    return dev_overlaps[device] > 0;
}

#ifdef __CUDACC__
/* Raises the kernel's limit of dynamic shared memory (default: 48 KB minus static arrays). The limit is never lowered,
 * because captured launches may need more. On an H100, the maximum carveout for shared memory made fused kernels 5 to
 * 15% slower. */
static inline cudaError_t dev_allow_shared(const void *kernel, size_t shared)
{
    cudaFuncAttributes a;
    if (!shared) return cudaSuccess;
    const cudaError_t e = cudaFuncGetAttributes(&a, kernel);
    if (e != cudaSuccess || shared <= (size_t)a.maxDynamicSharedSizeBytes) return e;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
}
#endif

enum dev_mode { DEV_PLAIN, DEV_COOPERATIVE, DEV_AFTER, DEV_CLUSTER };

template <class... P, class... A>
static inline void dev_launch(dev_site at, dev_mode mode, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
                              cudaStream_t stream, A... args)
{
    static_assert(sizeof...(P) == sizeof...(A), "the number of arguments must be the number of kernel parameters");
    const bool after = mode >= DEV_AFTER && dev_may_overlap(kernel);
#ifdef __CUDACC__
    cudaError_t e = dev_allow_shared((const void *)kernel, shared);
    auto launch = [&](P... p) {
        void *list[] = {(void *)&p..., nullptr};
        if (mode == DEV_COOPERATIVE)
            return cudaLaunchCooperativeKernel((const void *)kernel, grid, block, list, shared, stream);
        cudaLaunchAttribute attribute[2] = {};
        unsigned attributes = 0;
        if (after) {
            attribute[attributes].id = cudaLaunchAttributeProgrammaticStreamSerialization;
            attribute[attributes++].val.programmaticStreamSerializationAllowed = 1;
        }
        if (mode == DEV_CLUSTER) {
            attribute[attributes].id = cudaLaunchAttributeClusterDimension;
            attribute[attributes].val.clusterDim.x = attribute[attributes].val.clusterDim.y = 1;
            attribute[attributes++].val.clusterDim.z = grid.z;
        }
        if (!attributes) return cudaLaunchKernel((const void *)kernel, grid, block, list, shared, stream);
        cudaLaunchConfig_t config = {};
        config.gridDim = grid;
        config.blockDim = block;
        config.dynamicSmemBytes = shared;
        config.stream = stream;
        config.attrs = attribute;
        config.numAttrs = attributes;
        return cudaLaunchKernelExC(&config, (const void *)kernel, list);
    };
    if (e == cudaSuccess) e = launch(static_cast<P>(args)...);
    if (e != cudaSuccess) (void)cudaGetLastError();
#else
    (sim::check_argument(at.kernel, static_cast<P>(args)), ...);
    std::tuple<P...> copy(static_cast<P>(args)...);
    const sim::launch_mode as[] = {sim::SERIAL, sim::COOPERATIVE, sim::SERIAL, sim::CLUSTERED};
    cudaError_t e = sim::launch({at.kernel, dev_op, at.file, at.line}, as[mode], after, grid, block, shared, stream,
                                sim::call_of([kernel, copy] { std::apply(kernel, copy); }));
#endif
    if (e != cudaSuccess && dev_first_fault.error == cudaSuccess) dev_first_fault = {e, dev_op, at};
}

#define KLAUNCH(kernel, ...) dev_launch({#kernel, __FILE__, __LINE__}, DEV_PLAIN, kernel, __VA_ARGS__)
#define KLAUNCH_COOP(kernel, ...) dev_launch({#kernel, __FILE__, __LINE__}, DEV_COOPERATIVE, kernel, __VA_ARGS__)
#define KLAUNCH_AFTER(kernel, ...) dev_launch({#kernel, __FILE__, __LINE__}, DEV_AFTER, kernel, __VA_ARGS__)
#define KLAUNCH_CLUSTER(kernel, ...) dev_launch({#kernel, __FILE__, __LINE__}, DEV_CLUSTER, kernel, __VA_ARGS__)

#ifdef __CUDACC__
#define GRID_CONSTANT __grid_constant__
#else
#define GRID_CONSTANT
#endif
