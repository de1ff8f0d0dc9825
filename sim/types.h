/* The simulator's CUDA built-in types: vectors, dim3, bf16 and fp16 with the device's bit layout. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SIM_VECTOR(T, name)                                                            \
    struct alignas(2 * sizeof(T)) name##2 { T x, y; };                                 \
    struct name##3 { T x, y, z; };                                                     \
    struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name##4 { T x, y, z, w; }; \
    static inline name##2 make_##name##2(T x, T y) { return {x, y}; }                  \
    static inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }          \
    static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
SIM_VECTOR(float, float)
SIM_VECTOR(double, double)
SIM_VECTOR(int, int)
SIM_VECTOR(unsigned, uint)
#undef SIM_VECTOR

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

template <class To, class From> static inline To sim_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

/* Rounds to nearest even. Every NaN becomes 0x7fff, as on the device. */
struct __nv_bfloat16 {
    uint16_t bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(float f)
    {
        uint32_t u = sim_bits<uint32_t>(f);
        bits = (u & 0x7fffffffu) > 0x7f800000u ? 0x7fff : (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
    }
    operator float() const { return sim_bits<float>((uint32_t)bits << 16); }
};
struct __half {
    uint16_t bits;
    __half() = default;
    __half(float f) : bits(sim_bits<uint16_t>((_Float16)f))
    {
        if (f != f) bits = 0x7fff;
    }
    operator float() const { return (float)sim_bits<_Float16>(bits); }
};

static inline __nv_bfloat16 __float2bfloat16(float f) { return f; }
static inline float __bfloat162float(__nv_bfloat16 h) { return h; }
static inline __half __float2half(float f) { return f; }
