/* Tests the wrappers of kernels/dev/dev.cuh in the simulator and on GPUs. */
#define DEV_GRID
#define DEV_HALF
#define DEV_RANDOM
#include "fragments.h"
#include "kernels/dev/divide.cuh"

/* ---- mma, compared with simple loops ---- */

template <int S> static __global__ void mma_kernel(float *c, const float *a, const float *b, int K)
{
    DEV_CHECK(blockDim.x == 32);
    int lane = threadIdx.x;
    uint32_t fa[4] = {0, 0, 0, 0}, fb[2] = {0, 0};
    float fc[4];
    constexpr bool deep = S == BF16 || S == FP16; /* mma with K = 16 */
    for (int i = 0; i < (deep ? 8 : 4); i++) {
        layout e = element_a(S, lane, i);
        fa[i / 2] |= (uint32_t)bits16(S, a[e.row * K + e.col]) << i % 2 * 16;
    }
    for (int i = 0; i < (deep ? 4 : 2); i++) {
        layout e = element_b(S, lane, i);
        fb[i / 2] |= (uint32_t)bits16(S, b[e.row * 8 + e.col]) << i % 2 * 16;
    }
    for (int i = 0; i < 4; i++) fc[i] = c[element_c(lane, i).row * 8 + element_c(lane, i).col];
    if constexpr (S == BF16) mma_bf16(fc, fa, fb);
    if constexpr (S == FP16) mma_fp16(fc, fa, fb);
    if constexpr (S == F16) {
        uint32_t a2[2] = {fa[0], fa[1]}, b1[1] = {fb[0]};
        mma_f16(fc, a2, b1);
    }
    for (int i = 0; i < 4; i++) c[element_c(lane, i).row * 8 + element_c(lane, i).col] = fc[i];
}

template <int S> static void test_mma(const char *name)
{
    const int K = S == BF16 || S == FP16 ? 16 : 8;
    std::vector<float> a(16 * K), b(K * 8), c(16 * 8), want(16 * 8); /* small integers / 8 are exact in every type */
    unsigned long long seed = 5 + S;
    for (std::vector<float> *v : {&a, &b, &c})
        for (float &f : *v) f = (float)(int)(dg_test_random(&seed) * 16) / 8;
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            want[i * 8 + j] = c[i * 8 + j];
            for (int k = 0; k < K; k++) want[i * 8 + j] += a[i * K + k] * b[k * 8 + j];
        }
    dev_buffer<float> da(a), db(b), dc(c);
    KLAUNCH((mma_kernel<S>), 1, 32, 0, 0, dc.p, da.p, db.p, K);
    if (!dev_ok(name)) return;
    std::vector<float> got = dc.get();
    for (int i = 0; i < 128; i++)
        DG_CHECKF(got[i] == want[i], "%s: c(%d,%d) = %g, not %g", name, i / 8, i % 8, got[i], want[i]);
}

/* ---- ldmatrix: element (row r, column c) of matrix m is m * 256 + r * 16 + c ---- */

template <bool TRANS> static __global__ void ldmatrix_kernel(uint32_t *out)
{
    SHARED(uint16_t, s, [4][8][16]);
    int lane = threadIdx.x;
    for (int i = lane; i < 512; i += 32)
        s[i / 128][i / 16 % 8][i % 16] = (uint16_t)(i / 128 * 256 + i / 16 % 8 * 16 + i % 16);
    __syncwarp();
    const void *row = &s[lane / 8][lane % 8][0];
    uint32_t r[4] = {~0u, ~0u, ~0u, ~0u};
    if (TRANS) ldsm_x4_trans(r, row);
    else ldsm_x4(r, row);
    for (int m = 0; m < 4; m++) out[m * 32 + lane] = r[m];
}

static void test_ldmatrix()
{
    for (bool trans : {false, true}) {
        dev_buffer<uint32_t> out(128);
        if (trans) KLAUNCH(ldmatrix_kernel<true>, 1, 32, 0, 0, out.p);
        else KLAUNCH(ldmatrix_kernel<false>, 1, 32, 0, 0, out.p);
        if (!dev_ok("ldmatrix")) return;
        std::vector<uint32_t> got = out.get();
        for (int m = 0; m < 4; m++)
            for (int lane = 0; lane < 32; lane++) {
                int row = lane / 4, col = lane % 4 * 2;
                uint32_t low = m * 256 + (trans ? col * 16 + row : row * 16 + col);
                uint32_t high = m * 256 + (trans ? (col + 1) * 16 + row : row * 16 + col + 1);
                DG_CHECKF(got[m * 32 + lane] == (low | high << 16), "trans %d matrix %d lane %d: %08x", trans, m, lane,
                          got[m * 32 + lane]);
            }
    }
}

/* ---- cp.async through two buffers, where each thread reads what its neighbour copied ---- */

static __global__ void copy_kernel(float *y, const float *x, int n)
{
    SHARED(float, s, [2][128]);
    int i = threadIdx.x;
    auto load = [&](int tile) {
        bool ok = tile * 128 + i * 4 < n;
        cp_async16(&s[tile & 1][i * 4], ok ? x + tile * 128 + i * 4 : x, ok);
        cp_async_commit();
    };
    int tiles = (n + 127) / 128;
    load(0);
    for (int tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles) {
            load(tile + 1);
            cp_async_wait<1>();
        } else {
            cp_async_wait<0>();
        }
        __syncthreads();
        for (int k = 0; k < 4; k++) y[tile * 128 + i * 4 + k] = s[tile & 1][(i * 4 + k + 4) % 128];
        __syncthreads();
    }
}

static void test_copy()
{
    const int n = 3 * 128 - 64; /* the rest of the last tile is filled with zeros */
    dev_buffer<float> x(dev_random(n, 3)), y(3 * 128);
    std::vector<float> in = x.get();
    KLAUNCH(copy_kernel, 1, 32, 0, 0, y.p, x.p, n);
    if (!dev_ok("cp.async")) return;
    std::vector<float> out = y.get();
    for (int i = 0; i < 3 * 128; i++) {
        int from = i / 128 * 128 + (i % 128 + 4) % 128;
        DG_CHECKF(out[i] == (from < n ? in[from] : 0), "y[%d] = %g", i, out[i]);
    }
}

/* ---- rounding ---- */

static __global__ void round_kernel(uint16_t *bf16, uint16_t *f16, uint32_t *pair, uint32_t *pair16, const float *x,
                                    int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    pair[i] = to_bf16x2(x[i], x[n - 1 - i]);
    pair16[i] = to_fp16x2(x[i], x[n - 1 - i]);
    bf16[i] = bits16(BF16, x[i]);
    f16[i] = bits16(F16, x[i]);
}

/* ---- division and roots ---- */

static __global__ void divide_kernel(float *quotient, float *root, double *precise, const float *a, const float *b,
                                     int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    quotient[i] = dg_quotient(a[i], b[i]);
    root[i] = dg_square_root(b[i]);
    precise[2 * i] = dg_reciprocal((double)b[i]);
    precise[2 * i + 1] = dg_reciprocal_root((double)b[i]);
}

/* The wrappers of division and square root give the bits of C's operators, except near the limits of the range. */
static void test_division()
{
    std::vector<float> a, b;
    uint32_t word = 1;
    for (int i = 0; i < 20000; i++) {
        float value[2];
        for (float &v : value) {
            word = word * 1664525u + 1013904223u;
            v = ldexpf(1 + (float)(word >> 8) / (1 << 24), (int)(word >> 3 & 63) - 32);
        }
        a.push_back(i % 2 ? value[0] : -value[0]);
        b.push_back(value[1]);
    }
    const int n = (int)a.size();
    dev_buffer<float> da(a), db(b), quotient(n), root(n);
    dev_buffer<double> precise(2 * n);
    KLAUNCH(divide_kernel, (n + 127) / 128, 128, 0, 0, quotient.p, root.p, precise.p, da.p, db.p, n);
    if (!dev_ok("division")) return;
    const std::vector<float> q = quotient.get(), r = root.get();
    const std::vector<double> d = precise.get();
    for (int i = 0; i < n; i++) {
        DG_CHECKF(q[i] == a[i] / b[i], "%a / %a = %a, not %a", a[i], b[i], a[i] / b[i], q[i]);
        DG_CHECKF(r[i] == sqrtf(b[i]), "root of %a = %a, not %a", b[i], sqrtf(b[i]), r[i]);
        DG_CHECKF(fabs(d[2 * i] * b[i] - 1) < 1e-15, "1 / %a is not %a", b[i], d[2 * i]);
        DG_CHECKF(fabs(d[2 * i + 1] * sqrt((double)b[i]) - 1) < 1e-15, "1 / root of %a is not %a", b[i], d[2 * i + 1]);
    }
}

/* Rounds x to `digits` binary digits. Ties round away from zero if `away` is set, else to even. */
static double rounded(double x, int digits, bool away)
{
    if (x == 0) return x;
    int e;
    frexp(x, &e);
    double s = ldexp(x, digits - e);
    return ldexp(away ? round(s) : nearbyint(s), e - digits);
}

static void test_rounding()
{
    std::vector<float> x;
    for (int e = -13; e < 15; e++) /* every midpoint of two neighbours in bf16 and fp16, and the floats next to it */
        for (int bit = 0; bit < 24; bit++)
            for (float sign : {1.0f, -1.0f})
                for (int more = -1; more <= 1; more++) {
                    float f = sign * ldexpf(1 + ldexpf(1, -bit) + ldexpf(5, -10), e);
                    x.push_back(more < 0 ? nextafterf(f, 0) : more > 0 ? nextafterf(f, sign * 1e30f) : f);
                }
    for (float f : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 3.4028234e38f, 1e-40f, 65519.0f, 65520.0f, 6e-8f, 2e-8f})
        x.push_back(f);
    size_t n = x.size(), ordinary = n - 11;
    dev_buffer<float> dx(x);
    dev_buffer<uint32_t> pair(n), pair16(n);
    dev_buffer<uint16_t> bf16(n), f16(n);
    KLAUNCH(round_kernel, (unsigned)(n + 63) / 64, 64, 0, 0, bf16.p, f16.p, pair.p, pair16.p, dx.p, (int)n);
    if (!dev_ok("rounding")) return;
    auto both = pair.get(), both16 = pair16.get();
    auto b = bf16.get(), h = f16.get();
    for (size_t i = 0; i < n; i++)
        DG_CHECKF(both16[i] == (h[i] | (uint32_t)h[n - 1 - i] << 16), "fp16 of %a and %a: %08x", x[i], x[n - 1 - i],
                  both16[i]);
    for (size_t i = 0; i < n; i++)
        DG_CHECKF(both[i] == (b[i] | (uint32_t)b[n - 1 - i] << 16), "bf16 of %a and %a: %08x", x[i], x[n - 1 - i],
                  both[i]);
    auto as_float = [](uint32_t u) {
        float f;
        memcpy(&f, &u, 4);
        return f;
    };
    for (size_t i = 0; i < ordinary; i++) {
        DG_CHECKF(as_float((uint32_t)b[i] << 16) == rounded(x[i], 8, false), "bf16 of %a: %04x", x[i], b[i]);
        double half = ldexp(1 + (h[i] & 1023) / 1024.0, (h[i] >> 10 & 31) - 15) * (h[i] >> 15 ? -1 : 1);
        DG_CHECKF(half == rounded(x[i], 11, false), "fp16 of %a: %04x", x[i], h[i]);
    }
    static const uint16_t special_bf16[] = {0,      0x8000, 0x7f80, 0xff80, 0x7fff, 0x7f80,
                                            0x0001, 0x4780, 0x4780, 0x3381, 0x32ac};
    static const uint16_t special_f16[] = {0, 0x8000, 0x7c00, 0xfc00, 0x7fff, 0x7c00, 0, 0x7bff, 0x7c00, 1, 0};
    for (int i = 0; i < 11; i++) {
        DG_CHECKF(b[ordinary + i] == special_bf16[i], "bf16 of %g: %04x", x[ordinary + i], b[ordinary + i]);
        DG_CHECKF(h[ordinary + i] == special_f16[i], "fp16 of %g: %04x", x[ordinary + i], h[ordinary + i]);
    }
}

/* ---- shared memory, grid barrier, random numbers ---- */

static __global__ void pool_kernel(float *y, int n)
{
    SHARED(int, turn, );
    dev_pool pool;
    double *a = pool.take<double>(n);
    float *b = pool.take<float>(n + 1);
    int i = threadIdx.x;
    a[i] = i;
    if (i == 0) turn = 1;
    b[n - i] = 2.0f * i;
    __syncthreads();
    y[i] = (float)a[(i + turn) % n] + b[i + 1];
}

static __global__ void whole_kernel(float *y)
{
    DYN_SHARED(float, s);
    s[threadIdx.x] = (float)threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

static __global__ void beside_kernel(float *y)
{
    SHARED(float, own, [256]);
    DYN_SHARED(float, s);
    s[threadIdx.x] = own[threadIdx.x] = (float)threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x] + own[(threadIdx.x + 1) % blockDim.x];
}

static __global__ void shift_kernel(float *x, float *t, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    t[i] = x[(i + 1) % n];
    GRID_SYNC();
    x[i] = t[(i + n - 1) % n] * 2;
}

static __global__ void normal_kernel(float4 *z, uint64_t seed, uint64_t subsequence)
{
    z[threadIdx.x] = dev_normal4(seed, subsequence, (uint64_t)threadIdx.x << 29);
}

static void test_rest()
{
    const int n = 37;
    dev_buffer<float> y(n), w(48 * 256);
    KLAUNCH(pool_kernel, 1, n, dev_pool_bytes<double>(n) + dev_pool_bytes<float>(n + 1), 0, y.p, n);
    if (dev_ok("dev_pool")) {
        std::vector<float> got = y.get();
        for (int i = 0; i < n; i++) DG_NEAR(got[i], (i + 1) % n + 2.0 * (n - 1 - i), 0);
    }
    KLAUNCH(whole_kernel, 1, n, 60000, 0, y.p); /* above 48 KB, the launch raises the limit of dynamic shared memory */
    if (dev_ok("DYN_SHARED")) {
        std::vector<float> got = y.get();
        for (int i = 0; i < n; i++) DG_NEAR(got[i], n - 1 - i, 0);
    }
    KLAUNCH(beside_kernel, 1, n, 48 * 1024, 0, y.p);
    if (dev_ok("DYN_SHARED and SHARED")) {
        std::vector<float> got = y.get();
        for (int i = 0; i < n; i++) DG_NEAR(got[i], n - 1 - i + (i + 1) % n, 0);
    }
    dev_buffer<float4> z(32);
    KLAUNCH(normal_kernel, 1, 32, 0, 0, z.p, 1234567890123ull, dg_subsequence(DG_STREAM_NOISE, 77));
    if (dev_ok("dev_normal4")) {
        std::vector<float4> got = z.get();
        for (int i = 0; i < 32; i++) {
            float want[4], have[4] = {got[i].x, got[i].y, got[i].z, got[i].w};
            dg_normal4(want, 1234567890123ull, dg_subsequence(DG_STREAM_NOISE, 77), (uint64_t)i << 29);
            for (int k = 0; k < 4; k++) DG_NEAR(have[k], want[k], 4e-7 * (1 + fabs(want[k])));
        }
    }
}

static void test_grid_sync()
{
    cudaDeviceProp p;
    if (cudaGetDeviceProperties(&p, 0) != cudaSuccess || !p.cooperativeLaunch) {
        dg_test_skip("no cooperative launches here");
        return;
    }
    std::vector<float> in = dev_random(4 * 64, 8);
    dev_buffer<float> x(in), t(4 * 64);
    KLAUNCH_COOP(shift_kernel, 4, 64, 0, 0, x.p, t.p, 4 * 64);
    if (!dev_ok("GRID_SYNC")) return;
    std::vector<float> got = x.get();
    for (int i = 0; i < 4 * 64; i++) DG_NEAR(got[i], 2 * in[i], 0);
}

/* ---- the error of a refused launch names op, kernel and source line ---- */

static void test_refusal()
{
    dev_buffer<float> y(1);
    dev_op = "D.2.conv.dw";
    int line = __LINE__ + 1;
    KLAUNCH(whole_kernel, 1, 2048, 16, 0, y.p);
    KLAUNCH((mma_kernel<F16>), dim3(1, 70000), 32, 0, 0, y.p, y.p, y.p, 8);
    dev_op = "";
    dev_fault f = dev_take_fault();
    DG_CHECK(f.error == cudaErrorInvalidConfiguration || f.error == cudaErrorInvalidValue);
    DG_CHECK(!strcmp(f.op, "D.2.conv.dw") && !strcmp(f.at.kernel, "whole_kernel") && f.at.line == line);
    DG_CHECK(strstr(f.at.file, "test_wrappers.cu") != nullptr);
    DG_CHECK(dev_take_fault().error == cudaSuccess);
    DG_CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

int main()
{
    test_mma<BF16>("mma_bf16");
    test_mma<F16>("mma_f16");
    test_mma<FP16>("mma_fp16");
    test_ldmatrix();
    test_copy();
    test_rounding();
    test_division();
    test_rest();
    test_grid_sync();
    test_refusal();
    return dg_test_report();
}
