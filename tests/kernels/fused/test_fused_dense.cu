/* The first layer of G with noise and statistics, compared with the reference. The noise has the bits of noise.cu. */
#include "fused_case.h"
extern "C" {
#include "tests/reference_conv.h"
}

struct dense_case {
    int N, side, C, Co;
    bool noise;
    dg_epilogue_kind out;
    bool small;
};
static const dense_case cases[] = {
    {5, 2, 8, 10, true, DG_EPILOGUE_STATS, true},     {17, 3, 4, 7, true, DG_EPILOGUE_STATS, true},
    {35, 4, 20, 12, false, DG_EPILOGUE_STATS, false}, {2, 1, 68, 131, true, DG_EPILOGUE_STATS, true},
    {1, 2, 12, 9, true, DG_EPILOGUE_PLAIN, true},     {33, 4, 132, 100, true, DG_EPILOGUE_STATS, false},
    {3, 2, 64, 300, false, DG_EPILOGUE_ACT, true},    {18, 1, 4, 258, true, DG_EPILOGUE_STATS, false},
    {1, 1, 4, 1, true, DG_EPILOGUE_STATS, true},
};

static const dg_gpu gpu = dev_gpu(200 << 10, DG_MATH_FP32);

static void run(const dense_case &k, int number)
{
    char name[200];
    snprintf(name, sizeof name, "dense N=%d %dx%d C=%d<%d%s epilogue %d", k.N, k.side, k.side, k.C, k.Co,
             k.noise ? " noise" : "", k.out);
    const dg_ref_conv s = dg_ref_conv_shape(k.N, k.side, k.side, k.C, k.Co, k.side, 1, 0);
    fused_prologue in(DG_PROLOGUE_PLAIN, s.N, 1, s.Co, 1, 0, 1);
    fused_epilogue out(k.out, s.N, s.H * s.W, s.Ci, 1, DG_ACT_LEAKY, 50);
    const std::vector<float> w = dev_random((size_t)(s.Co * s.K * s.K * s.Ci), 3);
    dev_buffer<float> d_w(w);
    std::vector<dg_step_state> now(1);
    memset(now.data(), 0, sizeof now[0]);
    now[0].seed = 99;
    now[0].step = 12;
    dev_buffer<dg_step_state> state(now);
    std::vector<float> z = in.x;
    dg_fused_conv f = {};
    if (k.noise) {
        dev_buffer<float> want(z.size());
        f.noise.z = want.p;
        f.noise.state = state.p;
        f.noise.n = (int64_t)z.size();
        f.noise.stream = number % 2 ? DG_STREAM_SAMPLE : DG_STREAM_NOISE;
        f.noise.first_step = 3;
        dg_tune tune = {};
        tune.variant = &dg_direct;
        tune.block = 64;
        dg_cuda_noise<float>(&f.noise, &tune, 0);
        if (!dev_ok("noise")) return;
        z = want.get();
        f.noise.z = in.d_x.p;
        in.d_x.put(std::vector<float>(z.size(), NAN));
    }
    f.conv = dg_conv_args{out.d_out.p, d_w.p, nullptr, nullptr, s.N, s.H, s.W, s.Ci,
                          s.Ho,        s.Wo,  s.Co,    s.K,     s.S, s.P, 0,   0};
    f.in = in.s;
    f.out = out.s;
    dg_tune tune = {};
    tune.variant = &dg_conv_variant_direct;
    const char *why = dg_fused_conv_refuses(DG_OP_conv_dx, &f, &tune, &gpu);
    DG_CHECKF(!why, "%s: %s", name, why);
    fused_room room(dg_fused_conv_size(DG_OP_conv_dx, &f, &tune));
    f.scratch = (float *)room.scratch.p;
    f.counters = room.counters.p;
    if (!room.same_twice(name, out.d_out, [&] {
            out.again();
            dg_fused_conv_launch(DG_OP_conv_dx, &f, &tune, 0);
        }))
        return;
    const std::vector<float> drawn = in.d_x.get();
    DG_CHECKF(memcmp(drawn.data(), z.data(), z.size() * sizeof(float)) == 0, "%s: the latents are not noise's", name);

    const std::vector<double> value(z.begin(), z.end()), weight(w.begin(), w.end());
    std::vector<double> want(out.count), mass(out.count), slack(out.count);
    std::vector<int> terms(out.count);
    dg_ref_conv_dx(want.data(), mass.data(), terms.data(), value.data(), weight.data(), &s);
    for (size_t i = 0; i < slack.size(); i++) slack[i] = 8 * sqrt(terms[i]) * (double)FLT_EPSILON * mass[i];
    out.check(want, slack, name);
}

static void refusals()
{
    dg_fused_conv f = {};
    f.conv = dg_conv_args{nullptr, nullptr, nullptr, nullptr, 2, 4, 4, 8, 1, 1, 10, 4, 1, 0, 0, 0};
    f.in.groups = f.out.groups = 1;
    dg_tune tune = {};
    tune.variant = &dg_conv_variant_tiled;
    DG_CHECK(!dg_fused_dense_refuses(DG_OP_conv_dx, &f, &tune, &gpu));
    f.conv.K = f.conv.H = f.conv.W = 255; /* the largest grid; K = H = W = 256 would need one block more */
    DG_CHECK(!dg_fused_dense_refuses(DG_OP_conv_dx, &f, &tune, &gpu));
    f.conv.K = f.conv.H = f.conv.W = 256;
    DG_CHECK(dg_fused_dense_refuses(DG_OP_conv_dx, &f, &tune, &gpu));
    f.conv.K = f.conv.H = f.conv.W = 4;
    f.noise.n = 20;
    DG_CHECK(!dg_fused_dense_refuses(DG_OP_conv_dx, &f, &tune, &gpu));
    f.noise.n = 24;
    DG_CHECK(dg_fused_dense_refuses(DG_OP_conv_dx, &f, &tune, &gpu));
    f.noise.n = 0;
    f.conv.Ci = 6;
    DG_CHECK(dg_fused_dense_refuses(DG_OP_conv_dx, &f, &tune, &gpu));
    f.conv.Ci = 8;
    f.out.kind = DG_EPILOGUE_NORM_DX;
    DG_CHECK(dg_fused_dense_refuses(DG_OP_conv_dx, &f, &tune, &gpu));
    f.out.kind = DG_EPILOGUE_STATS;
    f.out.groups = 2;
    DG_CHECK(dg_fused_dense_refuses(DG_OP_conv_dx, &f, &tune, &gpu));
}

int main()
{
    int number = 0;
    for (const dense_case &k : cases) {
        if (k.small || !dev_small()) run(k, number);
        number++;
    }
    refusals();
    return dg_test_report();
}
