/* What a kernel file may use of the device: the only header that .cu files include for device matters. The same
 * file is compiled by nvcc for GPUs and, as C++20, by g++ for the simulator in sim/, which runs it on the
 * CPU and reports misuse. What differs between the two is in this header or in the simulator, never in a kernel.
 *
 * Conventions, each of them needed by the simulator:
 *   launches        KLAUNCH(kernel, grid, block, shared_bytes, stream, args...); KLAUNCH((kernel<64, 32>), ...)
 *                   for a template; KLAUNCH_COOP when the kernel calls GRID_SYNC(). Never <<<>>>. Arguments are
 *                   converted to the kernel's parameter types and copied at the launch; a kernel takes values and
 *                   device pointers, no references, no host pointers (not inside structs either).
 *                   KLAUNCH_AFTER: as KLAUNCH, but on sm_90 and up the blocks may start while the launch in front of
 *                   them still runs (programmatic dependent launch). Its kernel calls grid_dependency_wait() in
 *                   every thread, before it touches what earlier launches wrote, or writes what they read; before
 *                   that there are indices, shared memory and, by grid_early_load and cp_async16_early, reads of
 *                   what the launch just in front does not write (that one began when all before it had ended).
 *                   grid_dependents_launch() lets the next launch start; it comes after the wait, so that each
 *                   launch waits for all before it. No __restrict__ and no __ldg for what other launches write:
 *                   they promise that nobody does. dev_programmatic = false makes plain launches of them; after a
 *                   copy or an event they are that anyhow. In a captured graph they become programmatic edges.
 *   errors          the dispatcher sets dev_op = op->name before an op's launches and calls dev_take_fault() after
 *                   them: the first launch that was refused, with op, kernel, file and line.
 *   shared memory   SHARED(float, tile, [16][65]); static, 48 KB in all, 16-byte aligned, holds garbage (NaN in the
 *                   simulator). SHARED(int, last, ) is a scalar. Never a bare __shared__.
 *                   DYN_SHARED(float, p): all dynamic shared memory of the launch as one array. For several arrays
 *                       dev_pool pool; float *a = pool.take<float>(n), *b = pool.take<float>(m);
 *                   in the same order and size in all threads; the launch asks for
 *                   dev_pool_bytes<float>(n) + dev_pool_bytes<float>(m). KLAUNCH raises the kernel's limit.
 *   assembly        only in the wrappers below, each with a twin in sim/. Everything else is plain CUDA:
 *                   threadIdx, __syncthreads, __syncwarp, __shfl_*_sync, __ballot_sync, __ldg, float4, fmaf, ...
 *   checks          DEV_CHECK(condition): tested in the simulator, nothing on a device. For what a launcher must
 *                   guarantee: DEV_CHECK(blockDim.x == NT).
 *   DEV_NOINLINE    a function of its own: what many kernels do once need not be compiled into each.
 *   floating point  no float atomics (not declared in the simulator), sums in a fixed order.
 *   big headers     take most of the time in which a small file compiles, so #define before including this one
 *                   DEV_RANDOM for dev_normal4, DEV_GRID for GRID_SYNC, DEV_HALF for __nv_bfloat16 and __half; and
 *                   DEV_WGMMA for dev_wgmma.cuh, the products of warpgroups, in a file that cuda.mk has in WGMMA_SRC.
 *   C headers       extern "C" { #include "core/plan/ops.h" }; launchers are extern "C" where C calls them. */
#ifndef DG_DEV_CUH
#define DG_DEV_CUH

#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern "C" {
#include "core/base/rng.h"
}

#ifdef __CUDACC__
#include <cuda_runtime.h>
#ifdef DEV_GRID
#include <cooperative_groups.h>
#endif
#ifdef DEV_HALF
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif
#ifdef DEV_RANDOM /* 200 KB of tables for generators that we do not use */
#include <curand_kernel.h>
#endif
#else
#include <tuple>
#include "sim/sim.h"
#endif

/* ---- Launches ---- */

typedef struct {
    const char *kernel, *file;
    int line;
} dev_site;

/* A launch that was refused; error == cudaSuccess: none. */
typedef struct {
    cudaError_t error;
    const char *op; /* dev_op at that launch */
    dev_site at;
} dev_fault;

/* The op on whose behalf this thread launches; names it in messages. Text that outlives the launch. */
inline thread_local const char *dev_op = "";
inline thread_local dev_fault dev_first_fault = {cudaSuccess, "", {"", "", 0}};

/* The first refused launch of this thread since the last call; the launches after it are still made. */
static inline dev_fault dev_take_fault(void)
{
    dev_fault fault = dev_first_fault;
    dev_first_fault.error = cudaSuccess;
    return fault;
}

/* The switch of KLAUNCH_AFTER, for all threads; set before anything is launched or captured. */
inline bool dev_programmatic = true;

/* Kernels on the current device may start early: it is sm_90 or newer, and they are compiled for that. Code that the
 * driver made of PTX for an older one waits for nothing. All kernels are compiled alike, so one of them is asked.
 * Graphs have programmatic edges from CUDA 12.3 on; what drivers before that capture of such a launch is nowhere said.
 */
inline thread_local signed char dev_overlaps[64]; /* by device: 0 not asked, 1 yes, -1 no */

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
/* Without being asked, a kernel gets 48 KB less its static arrays. The limit is raised, never lowered: launches that
 * were captured before may need more of it than this one. */
static inline cudaError_t dev_allow_shared(const void *kernel, size_t shared)
{
    cudaFuncAttributes a;
    if (!shared) return cudaSuccess;
    const cudaError_t e = cudaFuncGetAttributes(&a, kernel);
    if (e != cudaSuccess || shared <= (size_t)a.maxDynamicSharedSizeBytes) return e;
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
}
#endif

enum dev_mode { DEV_PLAIN, DEV_COOPERATIVE, DEV_AFTER };

template <class... P, class... A>
static inline void dev_launch(dev_site at, dev_mode mode, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
                              cudaStream_t stream, A... args)
{
    static_assert(sizeof...(P) == sizeof...(A), "as many arguments as the kernel has parameters");
    if (mode == DEV_AFTER && !dev_may_overlap(kernel)) mode = DEV_PLAIN;
#ifdef __CUDACC__
    cudaError_t e = dev_allow_shared((const void *)kernel, shared);
    auto launch = [&](P... p) {
        void *list[] = {(void *)&p..., nullptr};
        if (mode == DEV_PLAIN) return cudaLaunchKernel((const void *)kernel, grid, block, list, shared, stream);
        if (mode == DEV_COOPERATIVE)
            return cudaLaunchCooperativeKernel((const void *)kernel, grid, block, list, shared, stream);
        cudaLaunchAttribute early = {};
        early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        early.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config = {};
        config.gridDim = grid;
        config.blockDim = block;
        config.dynamicSmemBytes = shared;
        config.stream = stream;
        config.attrs = &early;
        config.numAttrs = 1;
        return cudaLaunchKernelExC(&config, (const void *)kernel, list);
    };
    if (e == cudaSuccess) e = launch(static_cast<P>(args)...);
    if (e != cudaSuccess) (void)cudaGetLastError(); /* reported here, by name; a sticky one comes back anyway */
#else
    (sim::check_argument(at.kernel, static_cast<P>(args)), ...);
    std::tuple<P...> copy(static_cast<P>(args)...);
    const sim::launch_mode as[] = {sim::SERIAL, sim::COOPERATIVE, sim::OVERLAPPING};
    cudaError_t e = sim::launch({at.kernel, dev_op, at.file, at.line}, as[mode], grid, block, shared, stream,
                                [kernel, copy] { std::apply(kernel, copy); });
#endif
    if (e != cudaSuccess && dev_first_fault.error == cudaSuccess) dev_first_fault = {e, dev_op, at};
}

#define KLAUNCH(kernel, ...) dev_launch({#kernel, __FILE__, __LINE__}, DEV_PLAIN, kernel, __VA_ARGS__)
#define KLAUNCH_COOP(kernel, ...) dev_launch({#kernel, __FILE__, __LINE__}, DEV_COOPERATIVE, kernel, __VA_ARGS__)
#define KLAUNCH_AFTER(kernel, ...) dev_launch({#kernel, __FILE__, __LINE__}, DEV_AFTER, kernel, __VA_ARGS__)

/* In front of a kernel's parameter, a large structure of which it wants the element that a register says: it is read
 * where it lies, not copied by every thread. */
#ifdef __CUDACC__
#define GRID_CONSTANT __grid_constant__
#else
#define GRID_CONSTANT
#endif

/* ---- Shared memory ---- */

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

/* ---- Instructions that C++ has no name for. Fragment layouts: PTX ISA, "Matrix fragments for mma.m16n8k*".
 * Those that an architecture lacks trap there; launchers choose variants by compute capability. ---- */

__device__ __forceinline__ uint32_t dev_shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

/* Copy 16 bytes from global to shared memory, or 16 zero bytes if !ok (src must still be a device address, and
 * is not read). Done only after commit and wait; before sm_80 done at once. Both sides 16-byte aligned. */
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

/* Four 8x8 matrices of 16-bit elements: lane i gives the address of row i % 8 of matrix i / 8 (16 bytes, aligned);
 * r[m] of lane i is row i / 4, elements 2 * (i % 4) and + 1 of matrix m; _trans: of its transpose. x2: lanes 0..15
 * give two matrices, the other lanes any valid address. */
__device__ __forceinline__ void ldsm_x4(uint32_t (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(dev_shared_address(row))
                 : "memory");
}

__device__ __forceinline__ void ldsm_x4_trans(uint32_t (&r)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(dev_shared_address(row))
                 : "memory");
}

__device__ __forceinline__ void ldsm_x2(uint32_t (&r)[2], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(dev_shared_address(row))
                 : "memory");
}

/* c += a * b, a (16, 16) row-major, b (16, 8) column-major, both bf16. With g = lane / 4, t = lane % 4:
 * a[0] (g, 2t..) a[1] (g+8, 2t..) a[2] (g, 2t+8..) a[3] (g+8, 2t+8..); b[0] (2t.., g) b[1] (2t+8.., g);
 * c[0], c[1] (g, 2t..) c[2], c[3] (g+8, 2t..). sm_80 and up. */
__device__ __forceinline__ void mma_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    __trap();
#endif
}

/* c += a * b, a (16, 8), b (8, 8), tf32 made with to_tf32: a[0] (g, t) a[1] (g+8, t) a[2] (g, t+4) a[3] (g+8, t+4);
 * b[0] (t, g) b[1] (t+4, g); c as in mma_bf16. sm_80 and up. */
__device__ __forceinline__ void mma_tf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    __trap();
#endif
}

/* c += a * b, a (16, 8), b (8, 8), fp16: a[0] (g, 2t..) a[1] (g+8, 2t..); b[0] (2t.., g); c as in mma_bf16. sm_75. */
__device__ __forceinline__ void mma_f16(float (&c)[4], const uint32_t (&a)[2], const uint32_t (&b)[1])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

/* c += a * b, fp16, otherwise as mma_bf16. sm_75 and up, there in two halves of k. */
__device__ __forceinline__ void mma_fp16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    mma_f16(c, {a[0], a[1]}, {b[0]});
    mma_f16(c, {a[2], a[3]}, {b[1]});
#endif
}

/* x rounded to 10 bits of mantissa, ties away from zero. The 13 bits below are ignored by mma_tf32 and not always 0
 * on a device. sm_80 and up. */
__device__ __forceinline__ uint32_t to_tf32(float x)
{
    uint32_t r = 0;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
#else
    __trap();
    (void)x;
#endif
    return r;
}

/* Two floats rounded to bf16, ties to even: low in bits 0..15, high in 16..31. sm_80 and up. */
__device__ __forceinline__ uint32_t to_bf16x2(float low, float high)
{
    uint32_t r = 0;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
#else
    __trap();
    (void)low, (void)high;
#endif
    return r;
}

/* The same to fp16, which has subnormals: 65520 and more become infinite. sm_75 and up. */
__device__ __forceinline__ uint32_t to_fp16x2(float low, float high)
{
    uint32_t r;
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
#else
    asm("{\n\t.reg .b16 l, h;\n\tcvt.rn.f16.f32 l, %1;\n\tcvt.rn.f16.f32 h, %2;\n\tmov.b32 %0, {l, h};\n\t}"
        : "=r"(r)
        : "f"(low), "f"(high));
#endif
    return r;
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

#ifdef DEV_WGMMA
#include "kernels/dev/dev_wgmma.cuh"
#endif

#ifdef DEV_RANDOM
/* The four normals of dg_normal4 (rng.h) to a few ulp: cuRAND's Philox words and its Box-Muller, but with the
 * accurate sine and cosine, for curand_normal4 takes the fast ones on the device. */
__device__ __forceinline__ float4 dev_normal4(uint64_t seed, uint64_t subsequence, uint64_t block)
{
    curandStatePhilox4_32_10_t state;
    curand_init(seed, subsequence, 4 * block, &state);
    uint4 word = curand4(&state);
    const float unit = 0x1p-32f, turn = 0x1p-32f * 6.2831855f;
    float r0 = sqrtf(-2.0f * logf(fmaf((float)word.x, unit, unit / 2)));
    float r1 = sqrtf(-2.0f * logf(fmaf((float)word.z, unit, unit / 2)));
    float s0, c0, s1, c1;
    sincosf(fmaf((float)word.y, turn, turn / 2), &s0, &c0);
    sincosf(fmaf((float)word.w, turn, turn / 2), &s1, &c1);
    return make_float4(r0 * s0, r0 * c0, r1 * s1, r1 * c1);
}
#endif

#endif /* __CUDACC__; the simulator's twins are in sim/sim.h */
#endif
