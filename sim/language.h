/* CUDA's built-in variables and functions for kernels. */
#pragma once

#define threadIdx (sim::self->index)
#define blockIdx (sim::self->block->index)
#define blockDim (sim::self->block->block)
#define gridDim (sim::self->block->grid)

static inline void __syncthreads(sim::site at = sim::here()) { sim::block_barrier(at); }
static inline void __syncwarp(unsigned mask = 0xffffffffu, sim::site at = sim::here())
{
    sim::collective(sim::SYNCWARP, mask, nullptr, nullptr, at);
}
template <class T> static inline T __shfl_sync(unsigned mask, T v, int from, int width = 32, sim::site at = sim::here())
{
    unsigned end = sim::segment_end(width, at);
    return sim::shuffle(mask, v, (end & ~(unsigned)(width - 1)) | ((unsigned)from & (unsigned)(width - 1)), at);
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T v, int x, int width = 32, sim::site at = sim::here())
{
    unsigned end = sim::segment_end(width, at), from = sim::self->lane ^ (unsigned)x;
    return sim::shuffle(mask, v, from <= end ? from : sim::self->lane, at);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T v, unsigned d, int width = 32, sim::site at = sim::here())
{
    unsigned end = sim::segment_end(width, at), from = sim::self->lane + d;
    return sim::shuffle(mask, v, from <= end ? from : sim::self->lane, at);
}
static inline unsigned __ballot_sync(unsigned mask, int p, sim::site at = sim::here())
{
    return sim::vote(mask, p, at);
}
static inline void __nanosleep(unsigned, sim::site at = sim::here()) { sim::yield(at); }
static inline void __threadfence() {}
static inline void __trap(sim::site at = sim::here()) { sim::fail(at, "__trap()"); }

/* atomicAdd exists for integers only, because atomic sums of floats depend on the order of arrival. */
template <class T> static inline T atomicAdd(T *p, std::enable_if_t<std::is_integral<T>::value, T> v)
{
    return sim::atomic(p, [v](T old) { return (T)(old + v); });
}
template <class T> static inline T atomicExch(T *p, std::enable_if_t<std::is_integral<T>::value, T> v)
{
    return sim::atomic(p, [v](T) { return v; });
}

template <class T> static inline T __ldcg(const T *p) { return *p; }
template <class A, class B> static inline std::common_type_t<A, B> min(A a, B b)
{
    std::common_type_t<A, B> x = a, y = b;
    return y < x ? y : x;
}
template <class A, class B> static inline std::common_type_t<A, B> max(A a, B b)
{
    std::common_type_t<A, B> x = a, y = b;
    return x < y ? y : x;
}
static inline uint32_t __float_as_uint(float f) { return sim_bits<uint32_t>(f); }
static inline float __uint_as_float(uint32_t u) { return sim_bits<float>(u); }
static inline float __int_as_float(int i) { return sim_bits<float>(i); }
/* Sign extension is not supported. */
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s)
{
    const uint64_t both = (uint64_t)y << 32 | x;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) r |= (unsigned)(both >> 8 * (s >> 4 * i & 7) & 0xff) << 8 * i;
    return r;
}
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
