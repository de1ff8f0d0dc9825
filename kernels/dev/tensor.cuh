/* Instructions of tensor cores. Fragment layouts: PTX ISA, "Matrix fragments for mma.m16n8k*". An instruction that the
 * architecture lacks is compiled to a trap. Part of dev.cuh; the simulator's versions are in sim/. */
#ifndef DG_TENSOR_CUH
#define DG_TENSOR_CUH

/* Loads four 8x8 matrices of 16-bit elements (ldmatrix). Lane i passes the 16-byte aligned address of row i % 8 of
 * matrix i / 8. In lane i, r[m] is elements 2 (i % 4) and 2 (i % 4) + 1 of row i / 4 of matrix m. The function
 * ldsm_x4_trans transposes each matrix. */
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

/* c += a * b, a (16, 8), b (8, 8), fp16: a[0] (g, 2t..) a[1] (g+8, 2t..); b[0] (2t.., g); c as in mma_bf16. sm_75. */
__device__ __forceinline__ void mma_f16(float (&c)[4], const uint32_t (&a)[2], const uint32_t (&b)[1])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

/* c += a * b, fp16, otherwise like mma_bf16. sm_75 and up; sm_75 multiplies the two halves of k one after the other. */
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

/* Rounds two floats to bf16, ties to even. In the result, `low` has bits 0..15 and `high` bits 16..31. sm_80 and up. */
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

/* Rounds two floats to fp16 with subnormals. Magnitudes of 65520 and more become infinite. sm_75 and up. */
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

/* Approximate 1 / x, 1 / sqrt(x) and 2^x to about one unit in the last place. Subnormal numbers are flushed to 0. */
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

#endif
