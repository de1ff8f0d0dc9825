/* Wrappers of tensor-core instructions. The PTX ISA defines the fragment layouts ("Matrix fragments for mma.m16n8k*").
 * An instruction that the architecture lacks is compiled to a trap. Included by dev.cuh. */
#pragma once

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

/* Computes c += a * b for bf16 matrices a (16x16) and b (16x8). Requires sm_80. Let g = lane / 4 and t = lane % 4. In
 * row g, c[0] and c[1] are the sums of columns 2t and 2t + 1. In row g + 8, c[2] and c[3] are the sums of these
 * columns. */
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

__device__ __forceinline__ void mma_f16(float (&c)[4], const uint32_t (&a)[2], const uint32_t (&b)[1])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

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

/* Rounds two floats to bf16, ties to even. In the result, `low` is in bits 0 to 15. Requires sm_80. */
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

/* Rounds two floats to fp16, which may be subnormal. Magnitudes of 65520 and more become infinite. Requires sm_75. */
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

/* Approximations of 1 / x, 1 / sqrt(x) and 2^x, with errors of about one unit in the last place. Subnormal numbers are
 * flushed to 0. */
__device__ __forceinline__ float near_reciprocal(float x)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
__device__ __forceinline__ float near_reciprocal_root(float x)
{
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
__device__ __forceinline__ float near_power(float x)
{
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
