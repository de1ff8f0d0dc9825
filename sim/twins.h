/* The simulator's versions of the wrappers in kernels/dev/dev.cuh: shared memory, copies, matrix products, dependent
 * launches. */
#pragma once

/* Declares a shared array by reference, so that UBSan checks every index against the array's bounds. */
#define SHARED(T, name, dims)                                            \
    typedef T name##_shared_type dims;                                   \
    name##_shared_type &name = *(name##_shared_type *)sim::shared_array( \
        [] {                                                             \
            static char key;                                             \
            return (const void *)&key;                                   \
        }(),                                                             \
        sizeof(name##_shared_type), alignof(T) < 16 ? 16 : alignof(T), #name, sim::here())
#define DYN_SHARED(T, name) T *const name = (T *)sim::shared_dynamic(sim::here())
#define GRID_SYNC() sim::grid_barrier(sim::here())
#define DEV_NOINLINE
#define DEV_CHECK(condition) ((condition) ? (void)0 : sim::fail(sim::here(), "DEV_CHECK(%s) does not hold", #condition))

struct dev_pool {
    unsigned taken = 0;
    template <class T> T *take(size_t count, sim::site at = sim::here())
    {
        return (T *)sim::shared_take(&taken, (count * sizeof(T) + 15) / 16 * 16, at);
    }
};

static inline void cp_async16(void *dst, const void *src, bool ok, sim::site at = sim::here())
{
    sim::async_copy(dst, src, ok, at);
}
static inline void cp_async_commit(sim::site at = sim::here()) { sim::async_commit(at); }
template <int N> static inline void cp_async_wait() { sim::async_wait(N); }

/* Reads the row here, because sanitizers do not see accesses in sim/warp.cpp. */
static inline void sim_ldmatrix(uint32_t *r, const void *row, bool transposed, sim::site at)
{
    sim::ldmatrix_in in = {{}, row, transposed};
    sim::check_shared(row, 16, "ldmatrix row", at);
    for (int i = 0; i < 4; i++) in.row[i] = ((const uint32_t *)row)[i];
    sim::collective(sim::LDMATRIX, 0xffffffffu, &in, r, at);
}
static inline void ldsm_x4(uint32_t (&r)[4], const void *row, sim::site at = sim::here())
{
    sim_ldmatrix(r, row, false, at);
}
static inline void ldsm_x4_trans(uint32_t (&r)[4], const void *row, sim::site at = sim::here())
{
    sim_ldmatrix(r, row, true, at);
}

template <size_t A, size_t B>
static inline void sim_mma(sim::collective_kind kind, float (&c)[4], const uint32_t (&a)[A], const uint32_t (&b)[B],
                           sim::site at)
{
    sim::mma_in in = {};
    memcpy(in.a, a, sizeof a);
    memcpy(in.b, b, sizeof b);
    memcpy(in.c, c, sizeof c);
    sim::collective(kind, 0xffffffffu, &in, c, at);
}
static inline void mma_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], sim::site at = sim::here())
{
    sim_mma(sim::MMA_BF16, c, a, b, at);
}
static inline void mma_f16(float (&c)[4], const uint32_t (&a)[2], const uint32_t (&b)[1], sim::site at = sim::here())
{
    sim_mma(sim::MMA_F16, c, a, b, at);
}
static inline void mma_fp16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], sim::site at = sim::here())
{
    sim_mma(sim::MMA_FP16, c, a, b, at);
}
static inline uint32_t to_bf16x2(float low, float high)
{
    return (uint32_t)__nv_bfloat16(low).bits | (uint32_t)__nv_bfloat16(high).bits << 16;
}
static inline uint32_t to_fp16x2(float low, float high)
{
    return (uint32_t)__half(low).bits | (uint32_t)__half(high).bits << 16;
}
static inline float near_reciprocal(float x) { return 1 / x; }
static inline float near_reciprocal_root(float x) { return 1 / sqrtf(x); }
static inline float near_power(float x) { return exp2f(x); }
static inline void grid_dependency_wait(sim::site at = sim::here()) { sim::dependency_wait(at); }
static inline void grid_dependents_launch(sim::site at = sim::here()) { sim::dependents_launch(at); }
template <class T> static inline T grid_early_load(const T *p, sim::site at = sim::here())
{
    T v;
    sim::early_load(&v, p, sizeof v, at);
    return v;
}
static inline void cluster_sync(sim::site at = sim::here()) { sim::cluster_barrier(at); }
struct cluster_memory {
    const float *own;
    int rank;
    sim::site at;

    cluster_memory(const float *of, int block, sim::site where = sim::here()) : own(of), rank(block), at(where) {}
    float4 load(int behind) const
    {
        return *(const float4 *)sim::cluster_shared(own + behind, (unsigned)rank, sizeof(float4), at);
    }
};
static inline void cp_async16_early(void *dst, const void *src, bool ok, sim::site at = sim::here())
{
    sim::early_copy(dst, src, ok, at);
}

#ifdef DEV_RANDOM
static inline float4 dev_normal4(uint64_t seed, uint64_t subsequence, uint64_t block)
{
    float z[4];
    dg_normal4(z, seed, subsequence, block);
    return {z[0], z[1], z[2], z[3]};
}
#endif
