/* Fused launches with tensors that are bf16 in memory (fuse.h) against the same launches with fp32 of the same values:
 * the same bits, and results that are rounded are those of fp32, rounded. */
#include "tests/devtest.h"
#include "kernels/fused/fuse.cuh"
extern "C" {
#include "core/plan/precision.h"
#include "host/net/gan.h"
#include "kernels/fused/fused_update.h"
}

static std::vector<uint16_t> narrow(const std::vector<float> &v)
{
    std::vector<uint16_t> half(v.size());
    for (size_t i = 0; i < v.size(); i++) {
        uint32_t word;
        memcpy(&word, &v[i], sizeof word);
        half[i] = (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
    }
    return half;
}

/* Numbers that bf16 has. */
static std::vector<float> exact(size_t n, unsigned long long seed)
{
    std::vector<float> v = dev_random(n, seed);
    for (float &f : v) f = roundf(f * 64) / 64;
    return v;
}

template <class T> static void same(const char *name, const std::vector<T> &got, const std::vector<T> &want)
{
    size_t bad = 0, at = 0;
    for (size_t i = 0; i < got.size(); i++)
        if (memcmp(&got[i], &want[i], sizeof(T)) && !bad++) at = i;
    DG_CHECKF(got.size() == want.size() && !bad, "%s: %zu of %zu differ, the first is %zu", name, bad, got.size(), at);
    dev_bits(got.data(), got.size() * sizeof(T));
}

/* A tensor both ways. */
struct tensor {
    std::vector<float> values;
    dev_buffer<float> whole;
    dev_buffer<uint16_t> half;

    tensor(size_t n, unsigned long long seed) : values(exact(n, seed)), whole(values), half(narrow(values)) {}
    const float *at(bool rounded) const { return rounded ? (const float *)(const void *)half.p : whole.p; }
};

struct conv_case {
    const char *name;
    const dg_variant *variant;
    int tile_m, tile_n, split;
    dg_op_kind kind;
    int N, H, W, Ci, Co;
    dg_epilogue_kind out;
    bool input, result; /* are rounded; the y of act_dx is as its result */
    bool small;
};
static const conv_case convs[] = {
    {"thin forward, act", &dg_conv_variant_thin_mma, 0, 0, 1, DG_OP_conv_fwd, 2, 11, 70, 3, 20, DG_EPILOGUE_ACT, false,
     true, true},
    {"thin forward, plain, one channel", &dg_conv_variant_thin_mma, 0, 0, 1, DG_OP_conv_fwd, 3, 9, 7, 1, 40,
     DG_EPILOGUE_PLAIN, false, true, true},
    {"forward, stats", &dg_conv_variant_mma, 128, 64, 1, DG_OP_conv_fwd, 2, 18, 20, 32, 24, DG_EPILOGUE_STATS, true,
     false, true},
    {"forward, small maps, 128 channels", &dg_conv_variant_mma, 128, 128, 1, DG_OP_conv_fwd, 6, 7, 8, 32, 136,
     DG_EPILOGUE_STATS, true, false, false},
    {"forward, both", &dg_conv_variant_mma, 128, 64, 2, DG_OP_conv_fwd, 3, 17, 9, 48, 72, DG_EPILOGUE_PLAIN, true, true,
     false},
    {"data gradient, act_dx", &dg_conv_variant_mma, 128, 32, 1, DG_OP_conv_dx, 2, 18, 20, 40, 32, DG_EPILOGUE_ACT_DX,
     false, true, true},
    {"data gradient, small maps, two parts", &dg_conv_variant_mma, 64, 32, 2, DG_OP_conv_dx, 6, 7, 8, 24, 32,
     DG_EPILOGUE_ACT_DX, false, true, false},
    {"forward by warpgroups, stats", &dg_conv_variant_wgmma, 128, 64, 1, DG_OP_conv_fwd, 2, 18, 20, 32, 72,
     DG_EPILOGUE_STATS, true, false, false},
    {"forward by warpgroups, small maps", &dg_conv_variant_wgmma, 128, 128, 2, DG_OP_conv_fwd, 5, 8, 6, 32, 40,
     DG_EPILOGUE_ACT_DX, true, true, true},
    {"data gradient by warpgroups", &dg_conv_variant_wgmma, 64, 32, 1, DG_OP_conv_dx, 2, 10, 12, 40, 32,
     DG_EPILOGUE_ACT_DX, false, true, false},
    {"thin data gradient", &dg_conv_variant_thin_mma, 0, 0, 1, DG_OP_conv_dx, 2, 9, 35, 3, 20, DG_EPILOGUE_ACT, true,
     false, true},
    {"thin data gradient, one channel", &dg_conv_variant_thin_mma, 0, 0, 1, DG_OP_conv_dx, 1, 16, 67, 1, 40,
     DG_EPILOGUE_PLAIN, true, false, false},
};

static void run(const conv_case &k)
{
    const bool forward = k.kind == DG_OP_conv_fwd;
    dg_op op = {};
    op.kind = k.kind;
    op.u.conv = dg_conv_args{nullptr, nullptr, nullptr, nullptr, k.N, k.H, k.W, k.Ci,
                             k.H / 2, k.W / 2, k.Co,    4,       2,   1,   0,   0};
    dg_tune tune = {};
    tune.variant = k.variant;
    tune.tile_m = k.tile_m, tune.tile_n = k.tile_n, tune.split = k.split;
    const dg_gpu gpu = dev_gpu(200 << 10, DG_MATH_BF16);
    const char *why = dg_variant_check(&op, &tune, DG_F32, &gpu);
    if (why && gpu.arch != 90 && k.variant == &dg_conv_variant_wgmma) return;
    if (!DG_CHECKF(!why, "%s: %s", k.name, why)) return;
    const size_t large = (size_t)(k.N * k.H * k.W * k.Ci), little = (size_t)(k.N * (k.H / 2) * (k.W / 2) * k.Co),
                 weights = (size_t)(k.Co * 16 * k.Ci), results = forward ? little : large;
    const int channels = forward ? k.Co : k.Ci;
    const tensor in(forward ? large : little, 3), y(results, 5);
    dev_buffer<float> w(exact(weights, 7)), mean((size_t)channels), rstd((size_t)channels),
        running(std::vector<float>((size_t)(2 * channels), 0.5f)), result(results);
    dev_buffer<uint16_t> rounded_w(weights), rounded_result(results);
    const dg_rounded all = {w.p, rounded_w.p, (int64_t)weights, DG_MATH_BF16};
    dg_round_weights(&all, 0);
    std::vector<float> of_mean;
    for (int rounded = 0; rounded < 2; rounded++) {
        dg_fused_conv f = {};
        f.conv = op.u.conv;
        f.conv.w = w.p;
        f.rounded = rounded_w.p;
        f.in.x = in.at(rounded && k.input);
        f.in.factor = 1;
        f.in.groups = 1;
        f.in.rounded = rounded && k.input;
        f.out.kind = k.out;
        f.out.act = DG_ACT_LEAKY;
        f.out.slope = 0.25f;
        f.out.groups = 1;
        f.out.rounded = f.out.rounded_y = rounded && k.result;
        f.out.y = y.at(rounded && k.result);
        f.out.mean = mean.p, f.out.rstd = rstd.p, f.out.running_mean = running.p,
        f.out.running_var = running.p + channels;
        f.out.eps = 1e-3, f.out.momentum = 0.25;
        (forward ? f.conv.y : f.conv.x) = f.out.rounded ? (void *)rounded_result.p : result.p;
        const char *refuses = dg_fused_conv_refuses(k.kind, &f, &tune, &gpu);
        if (!DG_CHECKF(!refuses, "%s: %s", k.name, refuses)) return;
        const dg_fused_size size = dg_fused_conv_size(k.kind, &f, &tune);
        dev_buffer<char> scratch(size.bytes);
        dev_buffer<unsigned> counters(std::vector<unsigned>((size_t)size.counters, 0u));
        f.scratch = (float *)(void *)scratch.p;
        f.counters = counters.p;
        const std::vector<float> before = result.get();
        dev_op = k.name;
        dg_fused_conv_launch(k.kind, &f, &tune, 0);
        if (!dev_ok(k.name)) return;
        if (rounded && k.result) same(k.name, rounded_result.get(), narrow(before));
        else if (rounded) same(k.name, result.get(), before);
        if (k.out != DG_EPILOGUE_STATS) continue;
        if (rounded) same(k.name, mean.get(), of_mean);
        of_mean = mean.get();
    }
}

/* The weights after a step whose gradients come of two jobs: of pictures with a rounded y, and on tensor cores with an
 * x that is its own factors. */
static void update()
{
    static const char *const name = "update";
    dg_fused_update u = {};
    u.jobs = 2;
    u.job[0].conv = dg_conv_args{nullptr, nullptr, nullptr, nullptr, 2, 9, 70, 3, 4, 35, 20, 4, 2, 1, 0, 0};
    u.job[0].kind = DG_FUSED_THIN_MMA;
    u.job[1].conv = dg_conv_args{nullptr, nullptr, nullptr, nullptr, 3, 10, 12, 24, 5, 6, 16, 4, 2, 1, 0, 0};
    u.job[1].kind = DG_FUSED_MMA;
    const int64_t first = 20 * 16 * 3, n = first + 16 * 16 * 24;
    u.job[1].offset = first;
    const tensor pictures(2 * 9 * 70 * 3, 11), thin_y(2 * 4 * 35 * 20, 13), x(3 * 10 * 12 * 24, 17),
        y(3 * 5 * 6 * 16, 19);
    dev_buffer<uint16_t> of_x(x.values.size()), of_y(y.values.size());
    dev_buffer<dg_metrics> ring(DG_RING);
    dg_step_state now = {};
    now.lr[DG_D] = 0.01;
    dev_buffer<dg_step_state> state(std::vector<dg_step_state>(1, now));
    std::vector<float> want;
    for (int rounded = 0; rounded < 2; rounded++) {
        const std::vector<float> zero((size_t)n);
        dev_buffer<float> p(dev_random((size_t)n, 23)), m(zero), v(zero), g(zero);
        for (int i = 0; i < 2; i++) {
            dg_update_job *j = &u.job[i];
            j->tune.math = DG_MATH_BF16;
            j->tune.split = 2;
            j->conv.w = g.p + j->offset;
            j->x = dg_prologue{};
            j->x.x = i ? x.at(rounded) : pictures.whole.p;
            j->x.rounded = rounded && i;
            j->y = dg_prologue{};
            j->y.x = i ? y.whole.p : thin_y.at(rounded);
            j->y.rounded = rounded && !i;
            j->x.groups = j->y.groups = 1;
        }
        u.job[1].there[0] = rounded;
        u.job[1].factors[0] = rounded ? (void *)x.half.p : of_x.p;
        u.job[1].factors[1] = of_y.p;
        u.adam.n = n;
        u.adam.p = p.p, u.adam.m = m.p, u.adam.v = v.p, u.adam.g = g.p, u.adam.ring = ring.p, u.adam.state = state.p;
        u.adam.beta1 = 0.5, u.adam.beta2 = 0.999, u.adam.eps = 1e-8;
        u.adam.net = DG_D, u.adam.bad = DG_BAD_D;
        const dg_gpu gpu = dev_gpu(200 << 10, DG_MATH_BF16);
        const char *why = dg_fused_update_refuses(&u, &gpu);
        if (!DG_CHECKF(!why, "%s: %s", name, why)) return;
        const dg_fused_size size = dg_fused_update_size(&u);
        dev_buffer<char> scratch(size.bytes);
        dev_buffer<unsigned> counters(std::vector<unsigned>((size_t)size.counters, 0u));
        u.scratch = (float *)(void *)scratch.p;
        u.counters = counters.p;
        dev_op = name;
        dg_fused_update_launch(&u, 0);
        if (!dev_ok(name)) return;
        if (rounded) same(name, g.get(), want);
        want = g.get();
    }
}

int main()
{
    if (!dg_math_on(DG_MATH_BF16, dev_gpu(200 << 10, DG_MATH_BF16).arch)) {
        printf("SKIP: this GPU has no bf16\n");
        return 77;
    }
    for (const conv_case &k : convs)
        if (k.small || !dev_small()) run(k);
    update();
    return dg_test_report();
}
