/* Matrix products of a warpgroup (wgmma, sm_90a only). The header dev.cuh includes this file if DEV_WGMMA is defined.
 * Only files in folders sm90a (cuda.mk) define DEV_WGMMA.
 *
 * Every thread that has written operands to shared memory calls wgmma_publish(). After a barrier, call wgmma_begin(d),
 * wgmma_bf16(d, a, b), wgmma_commit() and wgmma_wait(d). Between wgmma_begin(d) and wgmma_wait(d), the kernel must not
 * access the sums d or write to operands.
 *
 * A matrix in shared memory consists of core matrices, without swizzling (PTX ISA, "Asynchronous Warpgroup Level Matrix
 * Shared Memory Layout"). A core matrix has 8 rows of 16 bytes. K-major: each row of a core matrix stores 8 consecutive
 * elements of a row of A (or column of B). MN-major (TRANS_B): each row of a core matrix stores 8 adjacent columns of B
 * for one k. LBO ("leading dimension byte offset") is the distance from k to k + 8. SBO ("stride dimension byte
 * offset") is the distance from row i of A (or column i of B) to i + 8. LBO, SBO and the start of a matrix are
 * multiples of 16 bytes. */
#pragma once

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define DEV_HAS_WGMMA true
#else
#define DEV_HAS_WGMMA false
#endif

/* Descriptor of the matrix at `start`. The strides LBO (next_k) and SBO (next_mn) are in units of 16 bytes. The
 * instruction wgmma reads descriptors from uniform registers. The shuffle tells the compiler that the descriptor is
 * equal in all lanes. */
struct dev_matrix {
    uint64_t bits;

    static __device__ __forceinline__ dev_matrix of(const uint4 *start, int next_k, int next_mn)
    {
        const uint32_t first = dev_shared_address(start) >> 4 | (uint32_t)next_k << 16;
        return {(uint64_t)next_mn << 32 | __shfl_sync(0xffffffffu, first, 0)};
    }
    __device__ __forceinline__ dev_matrix at(int units) const { return {bits + (uint32_t)units}; }
};

__device__ __forceinline__ void wgmma_publish()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* Prevents the compiler from moving reads and writes of d across this point. */
template <int J> static __device__ __forceinline__ void dev_hold(float (&d)[J][4])
{
#pragma unroll
    for (int j = 0; j < J; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) asm volatile("" : "+f"(d[j][e])::"memory");
}

template <int I, int J> static __device__ __forceinline__ void dev_hold(float (&d)[I][J][4])
{
#pragma unroll
    for (int i = 0; i < I; i++) dev_hold(d[i]);
}

template <class Sums> __device__ __forceinline__ void wgmma_begin(Sums &d)
{
    dev_hold(d);
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ void wgmma_commit()
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

template <class Sums> __device__ __forceinline__ void wgmma_wait(Sums &d)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
    dev_hold(d);
}

/* Computes d += a * b. The shapes are d[64][8 * J], a[64][16] and b[16][8 * J], with J = 4, 8 or 16. Warp w of the
 * warpgroup has rows 16 w to 16 w + 15 of d. The array element d[j] has columns 8 j to 8 j + 7, in the layout of c in
 * mma_bf16. An operand a in registers has the layout of a in mma_bf16. */
#define DEV_SUMS_4(d, j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define DEV_SUMS_16(d, j) DEV_SUMS_4(d, j), DEV_SUMS_4(d, j + 1), DEV_SUMS_4(d, j + 2), DEV_SUMS_4(d, j + 3)
#define DEV_LIST_16 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define DEV_LIST_32 DEV_LIST_16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define DEV_LIST_64                                                                 \
    DEV_LIST_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
                "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define DEV_WGMMA_TEXT(n, list, factors)           \
    "{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n" \
    "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16 {" list "}, " factors ";\n}"

template <bool TRANS_B, int J>
static __device__ __forceinline__ void wgmma_bf16(float (&d)[J][4], dev_matrix a, dev_matrix b)
{
    static_assert(J == 4 || J == 8 || J == 16, "a wgmma product has 32, 64 or 128 columns");
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    if constexpr (J == 4)
        asm volatile(DEV_WGMMA_TEXT(32, DEV_LIST_16, "%16, %17, add, 1, 1, 0, %18")
                     : DEV_SUMS_16(d, 0)
                     : "l"(a.bits), "l"(b.bits), "n"(TRANS_B)
                     : "memory");
    if constexpr (J == 8)
        asm volatile(DEV_WGMMA_TEXT(64, DEV_LIST_32, "%32, %33, add, 1, 1, 0, %34")
                     : DEV_SUMS_16(d, 0), DEV_SUMS_16(d, 4)
                     : "l"(a.bits), "l"(b.bits), "n"(TRANS_B)
                     : "memory");
    if constexpr (J == 16)
        asm volatile(DEV_WGMMA_TEXT(128, DEV_LIST_64, "%64, %65, add, 1, 1, 0, %66")
                     : DEV_SUMS_16(d, 0), DEV_SUMS_16(d, 4), DEV_SUMS_16(d, 8), DEV_SUMS_16(d, 12)
                     : "l"(a.bits), "l"(b.bits), "n"(TRANS_B)
                     : "memory");
#else
    __trap();
#endif
}

template <bool TRANS_B, int J>
static __device__ __forceinline__ void wgmma_bf16(float (&d)[J][4], const uint32_t (&a)[4], dev_matrix b)
{
    static_assert(J == 4 || J == 8 || J == 16, "a wgmma product has 32, 64 or 128 columns");
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    if constexpr (J == 4)
        asm volatile(DEV_WGMMA_TEXT(32, DEV_LIST_16, "{%16,%17,%18,%19}, %20, add, 1, 1, %21")
                     : DEV_SUMS_16(d, 0)
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits), "n"(TRANS_B)
                     : "memory");
    if constexpr (J == 8)
        asm volatile(DEV_WGMMA_TEXT(64, DEV_LIST_32, "{%32,%33,%34,%35}, %36, add, 1, 1, %37")
                     : DEV_SUMS_16(d, 0), DEV_SUMS_16(d, 4)
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits), "n"(TRANS_B)
                     : "memory");
    if constexpr (J == 16)
        asm volatile(DEV_WGMMA_TEXT(128, DEV_LIST_64, "{%64,%65,%66,%67}, %68, add, 1, 1, %69")
                     : DEV_SUMS_16(d, 0), DEV_SUMS_16(d, 4), DEV_SUMS_16(d, 8), DEV_SUMS_16(d, 12)
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits), "n"(TRANS_B)
                     : "memory");
#else
    __trap();
#endif
}
