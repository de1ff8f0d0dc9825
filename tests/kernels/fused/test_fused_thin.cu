/* Fused convolutions of images, compared with the reference. Gathered images are compared with those of gather.cu. */
#include "fused_case.h"
extern "C" {
#include "tests/gather_signed.h"
#include "core/plan/precision.h"
#include "tests/reference_conv.h"
}

struct fwd_case {
    int N, H, W, Ci, Co, images, flip;
    dg_epilogue_kind out;
    dg_act act;
    int groups;
    bool small;
};
static const fwd_case forward[] = {
    {3, 10, 12, 3, 8, 2, 1, DG_EPILOGUE_ACT, DG_ACT_LEAKY, 1, true},
    {2, 9, 67, 1, 36, 2, 0, DG_EPILOGUE_ACT, DG_ACT_NONE, 1, false},
    {4, 12, 6, 3, 40, 0, 0, DG_EPILOGUE_NORM_DX, DG_ACT_RELU, 2, false},
    {3, 9, 7, 1, 4, 0, 0, DG_EPILOGUE_NORM_DX, DG_ACT_RELU, 1, true},
    {34, 4, 4, 3, 8, 0, 0, DG_EPILOGUE_NORM_DX, DG_ACT_LEAKY, 2, true},
    {2, 18, 70, 3, 68, 0, 0, DG_EPILOGUE_NORM_DX, DG_ACT_RELU, 1, false},
    {2, 17, 66, 3, 8, 1, 1, DG_EPILOGUE_PLAIN, DG_ACT_NONE, 1, false},
    {2, 8, 8, 3, 36, 2, 1, DG_EPILOGUE_ACT_DX, DG_ACT_LEAKY, 1, true},
    {1, 64, 64, 3, 32, 1, 1, DG_EPILOGUE_NORM_DX, DG_ACT_RELU, 1, false},
    {1, 16, 130, 1, 4, 1, 1, DG_EPILOGUE_ACT, DG_ACT_RELU, 1, false},
};

struct dx_case {
    int N, H, W, Ci, Co;
    dg_prologue_kind in;
    float factor;
    dg_epilogue_kind out;
    dg_act act;
    int stages;
    bool small;
};
static const dx_case backward[] = {
    {2, 12, 10, 3, 8, DG_PROLOGUE_NORM, 0, DG_EPILOGUE_ACT, DG_ACT_TANH, 2, true},
    {9, 6, 8, 3, 12, DG_PROLOGUE_NORM, 0.2f, DG_EPILOGUE_ACT, DG_ACT_TANH, 3, true},
    {1, 36, 70, 3, 20, DG_PROLOGUE_NORM, 0, DG_EPILOGUE_ACT, DG_ACT_TANH, 4, false},
    {2, 9, 7, 1, 8, DG_PROLOGUE_NORM, 0, DG_EPILOGUE_PLAIN, DG_ACT_NONE, 2, true},
    {1, 40, 36, 1, 16, DG_PROLOGUE_PLAIN, 0, DG_EPILOGUE_ACT_DX, DG_ACT_TANH, 3, false},
    {3, 16, 16, 3, 8, DG_PROLOGUE_PLAIN, 0, DG_EPILOGUE_ACT_DX, DG_ACT_TANH, 2, true},
    {1, 35, 66, 3, 52, DG_PROLOGUE_NORM, 0.2f, DG_EPILOGUE_ACT, DG_ACT_TANH, 2, false},
    {2, 16, 67, 1, 20, DG_PROLOGUE_NORM, 0, DG_EPILOGUE_PLAIN, DG_ACT_NONE, 3, false},
    {1, 33, 35, 3, 8, DG_PROLOGUE_PLAIN, 0, DG_EPILOGUE_ACT_DX, DG_ACT_LEAKY, 2, false},
    {1, 64, 64, 3, 32, DG_PROLOGUE_NORM, 0, DG_EPILOGUE_ACT, DG_ACT_TANH, 2, false},
};

/* Launches twice with the same counters and requires the same bits. False after a failure, which has been reported. */
static bool launch(dg_op_kind kind, dg_fused_conv *f, dg_tune *tune, fused_epilogue *out, dg_math math,
                   const char *name)
{
    const dg_gpu gpu = dev_gpu(200 << 10, math);
    dg_op op = {};
    op.kind = kind;
    op.u.conv = f->conv;
    const char *why = dg_variant_check(&op, tune, DG_F32, &gpu);
    if (!why) why = dg_fused_thin_refuses(kind, f, tune, &gpu);
    DG_CHECKF(!why, "%s: %s", name, why);
    if (why) return false;
    fused_room room(dg_fused_conv_size(kind, f, tune));
    f->scratch = (float *)room.scratch.p;
    f->counters = room.counters.p;
    return room.same_twice(name, out->d_out, [&] { dg_fused_conv_launch(kind, f, tune, 0); });
}

/* Operands, rounded as tensor cores read them. */
static std::vector<double> factors(std::vector<double> v, dg_math math)
{
    if (math != DG_MATH_FP32)
        for (double &x : v) x = dev_rounded(x, math);
    return v;
}
static std::vector<double> factors(const std::vector<float> &v, dg_math math)
{
    return factors(std::vector<double>(v.begin(), v.end()), math);
}

/* Tolerance of sums: that of test_conv_mma.cu for rounded operands, plus one rounding of an operand that came through a
 * prologue. */
static std::vector<double> slack_of(const std::vector<double> &mass, const std::vector<int> &terms,
                                    dg_math math = DG_MATH_FP32)
{
    std::vector<double> slack(mass.size());
    const double other = math == DG_MATH_FP32 ? 0 : 1.0 / 64;
    for (size_t i = 0; i < slack.size(); i++) slack[i] = 8 * sqrt(terms[i]) * (double)FLT_EPSILON * mass[i] + other;
    return slack;
}

/* A dataset of 5 images, and a cursor into it. */
struct data_set {
    dg_gather_args args = {};
    dev_buffer<uint8_t> data;
    dev_buffer<int32_t> perm;
    dev_buffer<dg_step_state> state;

    static std::vector<uint8_t> bytes(size_t n)
    {
        std::vector<uint8_t> v(n);
        for (size_t i = 0; i < n; i++) v[i] = (uint8_t)(i * 2654435761u >> 13);
        return v;
    }
    static std::vector<dg_step_state> now()
    {
        std::vector<dg_step_state> v(1);
        memset(v.data(), 0, sizeof v[0]);
        v[0].seed = 77;
        v[0].step = 4; /* in this step the flips of images 0 and 1 differ */
        v[0].cursor = 2;
        return v;
    }
    explicit data_set(const fwd_case &k)
        : data(bytes((size_t)(5 * k.H * k.W * k.Ci))), perm(std::vector<int32_t>{0, 2, 4, 1, 3}), state(now())
    {
        args.data = data.p;
        args.perm = perm.p;
        args.state = state.p;
        args.N = k.images;
        args.H = k.H;
        args.W = k.W;
        args.C = k.Ci;
        args.flip = k.flip;
        gather_signed(&args);
    }
};

static void run(const fwd_case &k, dg_math math)
{
    char name[200];
    snprintf(name, sizeof name, "%s thin fwd N=%d H=%d W=%d C=%d>%d, %d images, epilogue %d act %d groups %d",
             dg_precision_name(DG_F32, math), k.N, k.H, k.W, k.Ci, k.Co, k.images, k.out, k.act, k.groups);
    const dg_ref_conv s = dg_ref_conv_shape(k.N, k.H, k.W, k.Ci, k.Co, 4, 2, 1);
    fused_prologue in(DG_PROLOGUE_PLAIN, s.N, s.H * s.W, s.Ci, 1, 0, 1);
    fused_epilogue out(k.out, s.N, s.Ho * s.Wo, s.Co, k.groups, k.act, 50);
    const std::vector<float> w = dev_random((size_t)(s.Co * 16 * s.Ci), 3);
    dev_buffer<float> d_w(w);
    data_set data(k);
    const size_t drawn = (size_t)(k.images * s.H * s.W * s.Ci);
    std::vector<float> x = in.x;
    if (drawn) {
        std::vector<float> empty = in.x;
        std::fill(empty.begin(), empty.begin() + (long)drawn, NAN);
        in.d_x.put(empty);
        dev_buffer<float> want(drawn);
        dg_gather_args g = data.args;
        g.x = want.p;
        dg_tune tune = {};
        tune.variant = &dg_direct;
        tune.block = 64;
        dg_cuda_gather<float>(&g, &tune, 0);
        if (!dev_ok("gather")) return;
        const std::vector<float> got = want.get();
        std::copy(got.begin(), got.end(), x.begin());
    }
    dg_fused_conv f = {};
    f.conv = dg_conv_args{nullptr, d_w.p, out.d_out.p, nullptr, s.N, s.H, s.W, s.Ci,
                          s.Ho,    s.Wo,  s.Co,        s.K,     s.S, s.P, 0,   0};
    f.in = in.s;
    f.out = out.s;
    f.gather = data.args;
    f.gather.x = in.d_x.p;
    dg_tune tune = {};
    tune.variant = math == DG_MATH_FP32 ? &dg_conv_variant_thin : &dg_conv_variant_thin_mma;
    f.early = k.Ci * k.Co == 24;
    if (!launch(DG_OP_conv_fwd, &f, &tune, &out, math, name)) return;
    if (drawn) {
        const std::vector<float> now = in.d_x.get();
        DG_CHECKF(memcmp(now.data(), x.data(), x.size() * sizeof(float)) == 0, "%s: images differ from gather's", name);
    }
    const std::vector<double> value = factors(x, math), weight = factors(w, math);
    std::vector<double> want(out.count), mass(out.count);
    std::vector<int> terms(out.count);
    dg_ref_conv_fwd(want.data(), mass.data(), terms.data(), value.data(), weight.data(), &s);
    out.check(want, slack_of(mass, terms), name);
}

static void run(const dx_case &k, dg_math math)
{
    char name[200];
    snprintf(name, sizeof name, "%s thin dx N=%d H=%d W=%d C=%d<%d prologue %d epilogue %d act %d stages %d",
             dg_precision_name(DG_F32, math), k.N, k.H, k.W, k.Ci, k.Co, k.in, k.out, k.act, k.stages);
    const dg_ref_conv s = dg_ref_conv_shape(k.N, k.H, k.W, k.Ci, k.Co, 4, 2, 1);
    fused_prologue in(k.in, s.N, s.Ho * s.Wo, s.Co, 1, k.factor, 1);
    fused_epilogue out(k.out, s.N, s.H * s.W, s.Ci, 1, k.act, 50);
    const std::vector<float> w = dev_random((size_t)(s.Co * 16 * s.Ci), 3);
    dev_buffer<float> d_w(w);
    dg_fused_conv f = {};
    f.conv = dg_conv_args{out.d_out.p, d_w.p, nullptr, nullptr, s.N, s.H, s.W, s.Ci,
                          s.Ho,        s.Wo,  s.Co,    s.K,     s.S, s.P, 0,   0};
    f.in = in.s;
    f.out = out.s;
    dg_tune tune = {};
    tune.variant = &dg_conv_variant_thin_mma;
    if (math == DG_MATH_FP32) {
        tune.variant = &dg_conv_variant_thin;
        tune.stages = k.stages;
    }
    f.early = k.Ci * k.Co == 24 && k.small;
    if (!launch(DG_OP_conv_dx, &f, &tune, &out, math, name)) return;
    const std::vector<double> value = factors(in.values(), math), weight = factors(w, math);
    std::vector<double> want(out.count), mass(out.count);
    std::vector<int> terms(out.count);
    dg_ref_conv_dx(want.data(), mass.data(), terms.data(), value.data(), weight.data(), &s);
    out.check(want, slack_of(mass, terms, k.in == DG_PROLOGUE_PLAIN ? DG_MATH_FP32 : math), name);
}

static void refusals()
{
    dg_fused_conv f = {};
    f.conv = dg_conv_args{nullptr, nullptr, nullptr, nullptr, 2, 8, 8, 3, 4, 4, 8, 4, 2, 1, 0, 0};
    f.in.groups = f.out.groups = 1;
    dg_tune tune = {};
    tune.variant = &dg_conv_variant_thin;
    tune.stages = 2;
    tune.split = 1;
    const dg_gpu gpu = {90, 200 << 10, DG_MATH_FP32, true}, little = {90, 16 << 10, DG_MATH_FP32, true};
    DG_CHECK(!dg_fused_thin_refuses(DG_OP_conv_fwd, &f, &tune, &gpu) &&
             !dg_fused_thin_refuses(DG_OP_conv_dx, &f, &tune, &gpu));
    DG_CHECK(dg_fused_thin_refuses(DG_OP_conv_dx, &f, &tune, &little));
    const dg_conv_args small = f.conv;
    f.conv.Ho = 4 * 65535, f.conv.H = 2 * f.conv.Ho; /* the largest grid; then one tile too many */
    DG_CHECK(!dg_fused_thin_refuses(DG_OP_conv_fwd, &f, &tune, &gpu));
    f.conv.Ho++, f.conv.H += 2;
    DG_CHECK(dg_fused_thin_refuses(DG_OP_conv_fwd, &f, &tune, &gpu));
    f.conv = small;
    f.out.kind = DG_EPILOGUE_STATS;
    DG_CHECK(dg_fused_thin_refuses(DG_OP_conv_fwd, &f, &tune, &gpu) &&
             dg_fused_thin_refuses(DG_OP_conv_dx, &f, &tune, &gpu));
    f.out.kind = DG_EPILOGUE_PLAIN;
    f.in.kind = DG_PROLOGUE_NORM;
    DG_CHECK(dg_fused_thin_refuses(DG_OP_conv_fwd, &f, &tune, &gpu) &&
             !dg_fused_thin_refuses(DG_OP_conv_dx, &f, &tune, &gpu));
    f.in.groups = 2;
    DG_CHECK(dg_fused_thin_refuses(DG_OP_conv_dx, &f, &tune, &gpu));
    f.in.kind = DG_PROLOGUE_PLAIN;
    f.gather.N = 3;
    DG_CHECK(dg_fused_thin_refuses(DG_OP_conv_fwd, &f, &tune, &gpu));
    f.gather.N = 2, f.gather.H = f.gather.W = 8, f.gather.C = 3;
    DG_CHECK(dg_fused_thin_refuses(DG_OP_conv_fwd, &f, &tune, &gpu));
    gather_signed(&f.gather);
    DG_CHECK(!dg_fused_thin_refuses(DG_OP_conv_fwd, &f, &tune, &gpu));
    f.gather.record += 4;
    DG_CHECK(dg_fused_thin_refuses(DG_OP_conv_fwd, &f, &tune, &gpu));
}

int main()
{
    static const dg_math maths[] = {DG_MATH_FP32, DG_MATH_BF16};
    for (dg_math math : maths) {
        if (!dg_math_on(math, dev_gpu(200 << 10, math).arch)) continue;
        for (const fwd_case &k : forward)
            if (k.small || !dev_small()) run(k, math);
        for (const dx_case &k : backward)
            if (k.small || !dev_small()) run(k, math);
    }
    refusals();
    return dg_test_report();
}
