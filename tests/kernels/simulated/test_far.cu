/* Tests CUDA ops that read far into a tensor of up to 2^31 - 1 values. The stride of convolutions and pooling is so
 * large that a few results reach the end of the tensor. The tensor is zero and unwritten except in the windows that
 * these results read. Values are integers, so that sums are exact. */
#include "tests/all_ops.h"
#include "tests/devtest.h"
#include "kernels/dev/cuda.cuh"

/* Device memory with many zeros, of which only written pages occupy host memory. */
struct far {
    float *p = nullptr;

    explicit far(size_t count)
    {
        if (cudaMalloc((void **)&p, count * sizeof(float)) == cudaSuccess) return;
        dg_test_skip("this machine has no room for such a tensor among its addresses");
        exit(dg_test_report());
    }
    far(const far &) = delete;
    ~far() { cudaFree((void *)p); }
    void put(int64_t at, const std::vector<float> &v)
    {
        DG_CHECK(cudaMemcpy((void *)(p + at), v.data(), v.size() * sizeof(float), cudaMemcpyHostToDevice) ==
                 cudaSuccess);
    }
};

static float value(int n, int y, int x, int c) { return (float)((n * 5 + y * 3 + x * 7 + c * 2) % 11 - 5); }

static constexpr int K = 2, OUT = 3;

struct shape {
    int N, H, W, C, S;

    int64_t at(int n, int y, int x) const { return (((int64_t)n * H + y) * W + x) * C; }
};
/* Shapes just below 2^31 values. `tiled` is smaller, because tiled variants compute indices beyond the last image. */
static const shape most = {2, 16384, 16383, 4, 8190}, tiled = {31, 3660, 3658, 4, 1828};

static bool fits(const shape &s) { return (OUT - 1) * s.S + K <= s.W && OUT * s.S + K > s.H; }

static void put_windows(far *x, const shape &s)
{
    for (int n = 0; n < s.N; n++)
        for (int i = 0; i < OUT * OUT * K; i++) {
            const int y = i / (OUT * K) * s.S + i / OUT % K, col = i % OUT * s.S;
            std::vector<float> v;
            for (int k = 0; k < K * s.C; k++) v.push_back(value(n, y, col + k / s.C, k % s.C));
            x->put(s.at(n, y, col), v);
        }
}

static const dg_gpu gpu = dev_gpu(200 << 10, DG_MATH_FP32);

static void convolution(const dg_variant *variant, bool weights, const shape &s)
{
    const int Co = 4, pixels = s.N * OUT * OUT, taps = K * K * s.C;
    far x(s.at(s.N, 0, 0));
    put_windows(&x, s);
    std::vector<float> y((size_t)pixels * Co), w((size_t)Co * taps);
    for (size_t i = 0; i < y.size(); i++) y[i] = weights ? (float)(i % 7) - 3 : 0;
    for (size_t i = 0; i < w.size(); i++) w[i] = weights ? 0 : (float)(i % 5) - 2;
    dev_buffer<float> on_y(y), on_w(w);
    dg_op op = {};
    op.kind = weights ? DG_OP_conv_dw : DG_OP_conv_fwd;
    op.u.conv = dg_conv_args{x.p, on_w.p, on_y.p, nullptr, s.N, s.H, s.W, s.C, OUT, OUT, Co, K, s.S, 0, 0, 0, 0};
    dg_tune tune = {};
    tune.variant = variant;
    tune.split = 1;
    const char *why = dg_variant_check(&op, &tune, DG_F32, &gpu);
    if (!DG_CHECKF(!why, "%s: %s", variant->name, why)) return;
    (weights ? dg_cuda_conv_dw<float> : dg_cuda_conv_fwd<float>)(&op.u.conv, &tune, nullptr);
    if (!dev_ok(variant->name)) return;
    for (int p = 0; p < pixels; p++)
        for (int i = 0; i < Co * taps; i++) {
            const int n = p / OUT / OUT, co = i / taps, tap = i % taps / s.C;
            const float v = value(n, p / OUT % OUT * s.S + tap / K, p % OUT * s.S + tap % K, i % s.C);
            if (weights) w[(size_t)i] += v * y[(size_t)p * Co + (size_t)co];
            else y[(size_t)p * Co + (size_t)co] += v * w[(size_t)i];
        }
    DG_CHECKF(weights ? on_w.get() == w : on_y.get() == y, "%s, %d images: %s is another", variant->name, s.N,
              weights ? "w" : "y");
}

static void pooling(const dg_variant *variant)
{
    const shape &s = most;
    const size_t results = (size_t)(s.N * OUT * OUT * s.C);
    far x(s.at(s.N, 0, 0));
    put_windows(&x, s);
    dev_buffer<float> y(results);
    dev_buffer<uint8_t> place(results);
    dg_pool_args a = {};
    a.y = y.p, a.place = place.p, a.x = x.p;
    a.N = s.N, a.H = s.H, a.W = s.W, a.C = s.C, a.Ho = a.Wo = OUT, a.K = K, a.S = s.S;
    dg_tune tune = {};
    tune.variant = variant;
    tune.block = 64;
    dg_cuda_maxpool<float>(&a, &tune, nullptr);
    if (!dev_ok("maxpool")) return;
    const std::vector<float> got = y.get();
    const std::vector<uint8_t> at = place.get();
    for (size_t i = 0; i < results; i++) {
        const int c = (int)i % s.C, p = (int)i / s.C, row = p / OUT % OUT * s.S, col = p % OUT * s.S;
        float best = -100;
        int first = 0;
        for (int k = 0; k < K * K; k++)
            if (value(p / OUT / OUT, row + k / K, col + k % K, c) > best)
                best = value(p / OUT / OUT, row + k / K, col + k % K, c), first = k;
        DG_CHECKF(got[i] == best && at[i] == first, "maxpool, %s: %g at %d, not %g at %d", variant->name,
                  (double)got[i], at[i], (double)best, first);
    }
}

/* Gathers images from a dataset of more than 2^32 bytes, including its last record. */
static void gathering(const dg_variant *variant)
{
    enum { SIDE = 32, C = 4, N = 3, RECORD = SIDE * SIDE * C };
    const int32_t last = (int32_t)(((int64_t)1 << 32) / RECORD + 1), order[N] = {last, 0, last - 1};
    far data((size_t)(last + 1) * RECORD / sizeof(float));
    std::vector<float> want;
    for (int n = 0; n < N; n++) {
        std::vector<uint8_t> record;
        for (int i = 0; i < RECORD; i++) record.push_back((uint8_t)((i * 3 + n * 50) % 251));
        want.insert(want.end(), record.begin(), record.end());
        DG_CHECK(cudaMemcpy((uint8_t *)data.p + (int64_t)order[n] * RECORD, record.data(), RECORD,
                            cudaMemcpyHostToDevice) == cudaSuccess);
    }
    dev_buffer<float> x(want.size());
    dev_buffer<int32_t> perm(std::vector<int32_t>(order, order + N));
    const dev_buffer<dg_step_state> state(std::vector<dg_step_state>{dg_step_state{}});
    dg_gather_args a = {};
    a.x = x.p, a.data = (const uint8_t *)data.p, a.perm = perm.p, a.state = state.p;
    a.record = RECORD;
    a.N = N, a.H = a.W = SIDE, a.C = C;
    for (int c = 0; c < C; c++) a.dev[c] = 1;
    dg_tune tune = {};
    tune.variant = variant;
    tune.block = 64;
    dg_cuda_gather<float>(&a, &tune, nullptr);
    if (dev_ok("gather")) DG_CHECKF(x.get() == want, "gather, %s", variant->name);
}

int main()
{
    if (dev_small()) {
        dg_test_skip("a sanitizer keeps notes of all that memory");
        return dg_test_report();
    }
    sim::device.memory = (size_t)1 << 40;
    DG_CHECK(fits(most) && fits(tiled) && most.at(most.N, 0, 0) > 2147000000 && most.at(most.N, 0, 0) <= INT32_MAX &&
             tiled.at(tiled.N, 0, 0) * 4 > (int64_t)1 << 32);
    for (int weights = 0; weights < 2; weights++) {
        convolution(&dg_conv_variant_direct, weights, most);
        convolution(&dg_conv_variant_tiled, weights, tiled);
    }
    for (const dg_variant *v : {&dg_direct, &dg_vector}) {
        pooling(v);
        gathering(v);
    }
    return dg_test_report();
}
