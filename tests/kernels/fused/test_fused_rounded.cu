/* Fused launches with bf16 tensors (fused.h) are compared with the same launches in fp32 on the same values. Results
 * have the same bits, and rounded results equal the rounded fp32 results. */
#include <memory>

#include "fused_case.h"
extern "C" {
#include "core/plan/precision.h"
#include "host/net/gan.h"
#include "kernels/fused/fused_update.h"
}

/* Numbers that are exact in bf16. */
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

/* A tensor in fp32 and its copy in bf16. */
struct tensor {
    std::vector<float> values;
    dev_buffer<float> whole;
    dev_buffer<uint16_t> half;

    tensor(size_t n, unsigned long long seed) : values(exact(n, seed)), whole(values), half(dev_halves(values)) {}
    const float *at(bool rounded) const { return rounded ? (const float *)(const void *)half.p : whole.p; }
};

/* The vectors that the gradient of a norm reads, and the vectors that it writes. */
struct norm_vectors {
    dev_buffer<float> mean, rstd, gamma, beta, totals, dgamma, dbeta;

    norm_vectors(int groups, int C)
        : mean(exact((size_t)(groups * C), 31)), rstd(exact((size_t)(groups * C), 33)), gamma(exact((size_t)C, 35)),
          beta(exact((size_t)C, 37)), totals(exact((size_t)(2 * groups * C), 39)), dgamma((size_t)C), dbeta((size_t)C)
    {}
    void read(dg_prologue *in, dg_prologue_kind kind, int groups, const tensor &x, const tensor &pre,
              bool rounded) const
    {
        *in = dg_prologue{kind,   x.at(rounded), pre.at(rounded), mean.p, rstd.p, gamma.p,
                          beta.p, totals.p,      0.25f,           groups, rounded};
    }
    void leave(dg_epilogue *out, int groups, const tensor &pre, bool rounded) const
    {
        out->kind = DG_EPILOGUE_NORM_DX;
        out->factor = 0.25f;
        out->groups = groups;
        out->rounded = out->rounded_y = rounded;
        out->pre = pre.at(rounded);
        out->mean = mean.p, out->rstd = rstd.p, out->gamma = gamma.p, out->beta = beta.p;
        out->totals = totals.p, out->dgamma = dgamma.p, out->dbeta = dbeta.p;
    }
    /* Returns all per-channel sums of a gradient: totals, dgamma and dbeta. */
    std::vector<float> left() const
    {
        std::vector<float> all = totals.get(), more = dgamma.get();
        all.insert(all.end(), more.begin(), more.end());
        more = dbeta.get();
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
};

/* Cases of thin_mma: the forward pass writes rounded results, and the data gradient reads a rounded operand. Fused
 * convolutions of mma and wgmma are in test_fused_mma.cu. */
struct conv_case {
    const char *name;
    dg_op_kind kind;
    int N, H, W, Ci, Co;
    dg_epilogue_kind out;
    bool small;
    dg_prologue_kind in = DG_PROLOGUE_PLAIN;
};
static const conv_case convs[] = {
    {"thin forward, act", DG_OP_conv_fwd, 2, 11, 70, 3, 20, DG_EPILOGUE_ACT, true},
    {"thin forward, plain, one channel", DG_OP_conv_fwd, 3, 9, 7, 1, 40, DG_EPILOGUE_PLAIN, true},
    {"thin forward, norm_dx", DG_OP_conv_fwd, 2, 9, 35, 3, 36, DG_EPILOGUE_NORM_DX, true},
    {"thin forward, norm_dx, one channel", DG_OP_conv_fwd, 4, 11, 70, 1, 20, DG_EPILOGUE_NORM_DX, false},
    {"thin data gradient", DG_OP_conv_dx, 2, 9, 35, 3, 20, DG_EPILOGUE_ACT, true},
    {"thin data gradient, one channel", DG_OP_conv_dx, 1, 16, 67, 1, 40, DG_EPILOGUE_PLAIN, false},
    {"thin data gradient of a norm", DG_OP_conv_dx, 2, 9, 35, 3, 20, DG_EPILOGUE_ACT, true, DG_PROLOGUE_NORM},
    {"thin data gradient of a norm, one channel", DG_OP_conv_dx, 1, 16, 67, 1, 40, DG_EPILOGUE_PLAIN, false,
     DG_PROLOGUE_NORM},
};

static void run(const conv_case &k)
{
    const bool forward = k.kind == DG_OP_conv_fwd, gradient = k.out == DG_EPILOGUE_NORM_DX;
    dg_op op = {};
    op.kind = k.kind;
    op.u.conv = dg_conv_args{nullptr, nullptr, nullptr, nullptr, k.N, k.H, k.W, k.Ci,
                             k.H / 2, k.W / 2, k.Co,    4,       2,   1,   0,   0};
    dg_tune tune = {};
    tune.variant = &dg_conv_variant_thin_mma;
    const dg_gpu gpu = dev_gpu(200 << 10, DG_MATH_BF16);
    const char *why = dg_variant_check(&op, &tune, DG_F32, &gpu);
    if (!DG_CHECKF(!why, "%s: %s", k.name, why)) return;
    const size_t large = (size_t)(k.N * k.H * k.W * k.Ci), little = (size_t)(k.N * (k.H / 2) * (k.W / 2) * k.Co),
                 results = forward ? little : large;
    const int channels = forward ? k.Co : k.Ci, groups = gradient ? 2 : 1;
    const tensor in(forward ? large : little, 3), y(results, 5);
    const norm_vectors before(1, forward ? k.Ci : k.Co), after(groups, channels);
    dev_buffer<float> w(exact((size_t)(k.Co * 16 * k.Ci), 7)), result(results);
    dev_buffer<uint16_t> rounded_result(results);
    std::vector<float> of_whole;
    for (int rounded = 0; rounded < 2; rounded++) {
        dg_fused_conv f = {};
        f.conv = op.u.conv;
        f.conv.w = w.p;
        before.read(&f.in, k.in, 1, in, in, rounded && !forward);
        if (k.in == DG_PROLOGUE_PLAIN) f.in.factor = 1;
        f.out.kind = k.out;
        f.out.act = DG_ACT_LEAKY;
        f.out.slope = 0.25f;
        f.out.groups = 1;
        f.out.rounded = f.out.rounded_y = rounded && forward;
        if (gradient) after.leave(&f.out, groups, y, rounded && forward);
        (forward ? f.conv.y : f.conv.x) = f.out.rounded ? (void *)rounded_result.p : result.p;
        const char *refuses = dg_fused_conv_refuses(k.kind, &f, &tune, &gpu);
        if (!DG_CHECKF(!refuses, "%s: %s", k.name, refuses)) return;
        const fused_room room(dg_fused_conv_size(k.kind, &f, &tune));
        f.scratch = (float *)(void *)room.scratch.p;
        f.counters = room.counters.p;
        const std::vector<float> whole = result.get();
        dev_op = k.name;
        dg_fused_conv_launch(k.kind, &f, &tune, 0);
        if (!dev_ok(k.name)) return;
        if (rounded && forward) same(k.name, rounded_result.get(), dev_halves(whole));
        else if (rounded) same(k.name, result.get(), whole);
        const std::vector<float> sums = gradient ? after.left() : std::vector<float>();
        if (rounded) same(k.name, sums, of_whole);
        of_whole = sums;
    }
}

/* The first layer of a generator. */
static void dense()
{
    static const char *const name = "dense, stats";
    const int N = 5, side = 2, C = 20, Co = 10;
    const size_t results = (size_t)(N * side * side * C);
    const tensor y((size_t)(N * Co), 3);
    dev_buffer<float> w(exact((size_t)(Co * side * side * C), 7)), mean((size_t)C), rstd((size_t)C),
        running(std::vector<float>((size_t)(2 * C), 0.5f)), result(results);
    dev_buffer<uint16_t> rounded_result(results);
    dg_tune tune = {};
    tune.variant = &dg_conv_variant_direct;
    std::vector<float> of_mean;
    for (int rounded = 0; rounded < 2; rounded++) {
        dg_fused_conv f = {};
        f.conv = dg_conv_args{rounded ? (void *)rounded_result.p : result.p,
                              w.p,
                              nullptr,
                              nullptr,
                              N,
                              side,
                              side,
                              C,
                              1,
                              1,
                              Co,
                              side,
                              1,
                              0,
                              0,
                              0};
        f.in.x = y.whole.p;
        f.in.groups = f.out.groups = 1;
        f.out.kind = DG_EPILOGUE_STATS;
        f.out.rounded = rounded;
        f.out.mean = mean.p, f.out.rstd = rstd.p, f.out.running_mean = running.p, f.out.running_var = running.p + C;
        f.out.eps = 1e-3, f.out.momentum = 0.25;
        const fused_room room(dg_fused_conv_size(DG_OP_conv_dx, &f, &tune));
        f.scratch = (float *)(void *)room.scratch.p;
        f.counters = room.counters.p;
        dev_op = name;
        dg_fused_conv_launch(DG_OP_conv_dx, &f, &tune, 0);
        if (!dev_ok(name)) return;
        if (rounded) same(name, rounded_result.get(), dev_halves(result.get()));
        if (rounded) same(name, mean.get(), of_mean);
        of_mean = mean.get();
    }
}

/* The last layer of D, with sizes for which its values stay in registers, and with larger sizes. */
static void head(const char *name, int pixels, int C)
{
    const int N = 4;
    const size_t values = (size_t)(N * pixels * C);
    const tensor x(values, 3);
    const norm_vectors both(2, C);
    dev_buffer<float> w(exact((size_t)(pixels * C), 7)), logit((size_t)N), dlogit((size_t)N), g(values);
    dev_buffer<uint16_t> rounded_g(values);
    dev_buffer<dg_metrics> ring(DG_RING);
    dev_buffer<dg_step_state> state(std::vector<dg_step_state>(1));
    std::vector<float> of_logit, of_norm;
    for (int rounded = 0; rounded < 2; rounded++) {
        dg_fused_head h = {};
        both.read(&h.in, DG_PROLOGUE_NORM, 2, x, x, rounded);
        both.leave(&h.out, 2, x, rounded);
        h.N = N, h.pixels = pixels, h.C = C;
        h.w = w.p, h.logit = logit.p, h.dlogit = dlogit.p;
        h.losses = 1;
        h.loss[0] = DG_LOSS_D_REAL, h.prob[0] = DG_D_X;
        h.ring = ring.p, h.state = state.p;
        h.g = rounded ? (float *)(void *)rounded_g.p : g.p;
        const char *why = dg_fused_head_refuses(&h);
        if (!DG_CHECKF(!why, "%s: %s", name, why)) return;
        const fused_room room(dg_fused_head_size(&h));
        h.scratch = (float *)(void *)room.scratch.p;
        h.counters = room.counters.p;
        dev_op = name;
        dg_fused_head_launch(&h, 0);
        if (!dev_ok(name)) return;
        if (rounded) {
            same(name, rounded_g.get(), dev_halves(g.get()));
            same(name, logit.get(), of_logit);
            same(name, both.left(), of_norm);
        }
        of_logit = logit.get();
        of_norm = both.left();
    }
}

/* Weight gradients: x is an image, y is rounded, or an operand comes through a norm. Tensor-core kernels read a rounded
 * copy of x and a y computed from two rounded tensors. The last case has maps of one pixel. */
static const struct {
    dg_fused_family kind;
    int N, H, W, Ci, Co, K;
    dg_prologue_kind x, y;
} jobs[] = {
    {DG_FUSED_THIN_MMA, 2, 9, 70, 3, 20, 4, DG_PROLOGUE_PLAIN, DG_PROLOGUE_PLAIN},
    {DG_FUSED_MMA, 4, 10, 12, 24, 16, 4, DG_PROLOGUE_PLAIN, DG_PROLOGUE_NORM_DX},
    {DG_FUSED_THIN_MMA, 4, 8, 34, 1, 12, 4, DG_PROLOGUE_PLAIN, DG_PROLOGUE_NORM},
    {DG_FUSED_THIN_MMA, 2, 8, 34, 1, 12, 4, DG_PROLOGUE_PLAIN, DG_PROLOGUE_NORM_DX},
    {DG_FUSED_GEMV, 6, 4, 4, 36, 1, 4, DG_PROLOGUE_NORM, DG_PROLOGUE_PLAIN},
    {DG_FUSED_DENSE, 6, 3, 3, 12, 20, 3, DG_PROLOGUE_NORM_DX, DG_PROLOGUE_PLAIN},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

struct side {
    const tensor x, pre;
    const norm_vectors of;
    dev_buffer<uint16_t> factors;
    side(size_t values, int C, unsigned long long seed)
        : x(values, seed), pre(values, seed + 1), of(2, C), factors(values)
    {}
    bool rounds(int j, bool y) const
    {
        return jobs[j].kind == DG_FUSED_THIN_MMA ? y : jobs[j].kind == DG_FUSED_MMA || !y;
    }
    void read(dg_prologue *s, dg_prologue_kind kind, bool rounded) const
    {
        of.read(s, kind, kind == DG_PROLOGUE_PLAIN ? 1 : 2, x, pre, rounded);
    }
};

static void update()
{
    static const char *const name = "update";
    dg_fused_update u = {};
    std::vector<std::unique_ptr<side>> sides;
    int64_t n = 0;
    for (int i = 0; i < JOBS; i++) {
        const int S = jobs[i].K == 4 && jobs[i].H > 4 ? 2 : 1, P = S - 1, Ho = (jobs[i].H + 2 * P - jobs[i].K) / S + 1,
                  Wo = (jobs[i].W + 2 * P - jobs[i].K) / S + 1;
        dg_update_job *j = &u.job[u.jobs++];
        j->conv = dg_conv_args{nullptr, nullptr, nullptr,    nullptr,   jobs[i].N, jobs[i].H, jobs[i].W, jobs[i].Ci,
                               Ho,      Wo,      jobs[i].Co, jobs[i].K, S,         P,         0,         0};
        j->kind = jobs[i].kind;
        j->offset = n;
        n += (int64_t)jobs[i].Co * jobs[i].K * jobs[i].K * jobs[i].Ci;
        sides.emplace_back(
            new side((size_t)(jobs[i].N * jobs[i].H * jobs[i].W * jobs[i].Ci), jobs[i].Ci, 11 + 4ull * i));
        sides.emplace_back(new side((size_t)(jobs[i].N * Ho * Wo * jobs[i].Co), jobs[i].Co, 13 + 4ull * i));
    }
    dev_buffer<dg_metrics> ring(DG_RING);
    dg_step_state now = {};
    now.lr[DG_D] = 0.01;
    now.beta2 = 0.999;
    dev_buffer<dg_step_state> state(std::vector<dg_step_state>(1, now));
    std::vector<float> want;
    for (int rounded = 0; rounded < 2; rounded++) {
        const std::vector<float> zero((size_t)n);
        dev_buffer<float> p(dev_random((size_t)n, 23)), m(zero), v(zero), g(zero);
        for (int i = 0; i < JOBS; i++) {
            dg_update_job *j = &u.job[i];
            const side &x = *sides[2 * (size_t)i], &y = *sides[2 * (size_t)i + 1];
            j->tune.math = DG_MATH_BF16;
            j->tune.split = 2;
            j->conv.w = g.p + j->offset;
            x.read(&j->x, jobs[i].x, rounded && x.rounds(i, false));
            y.read(&j->y, jobs[i].y, rounded && y.rounds(i, true));
            if (j->kind != DG_FUSED_MMA) continue;
            j->there[0] = rounded;
            j->factors[0] = rounded ? (void *)x.x.half.p : x.factors.p;
            j->factors[1] = y.factors.p;
        }
        u.adam.n = n;
        u.adam.p = p.p, u.adam.m = m.p, u.adam.v = v.p, u.adam.g = g.p, u.adam.ring = ring.p, u.adam.state = state.p;
        u.adam.beta1 = 0.5, u.adam.eps = 1e-8;
        u.adam.net = DG_D, u.adam.bad = DG_BAD_D;
        const dg_gpu gpu = dev_gpu(200 << 10, DG_MATH_BF16);
        const char *why = dg_fused_update_refuses(&u, &gpu);
        if (!DG_CHECKF(!why, "%s: %s", name, why)) return;
        const fused_room room(dg_fused_update_size(&u));
        u.scratch = (float *)(void *)room.scratch.p;
        u.counters = room.counters.p;
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
    dense();
    head("head", 16, 24);
    head("head, many pixels", 70, 132);
    update();
    return dg_test_report();
}
