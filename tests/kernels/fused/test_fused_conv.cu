/* Compares fused convolutions of images (thin, thin_mma) and the first layer of G (dense) with the reference. Gathered
 * images and noise must equal the results of gather.cu and noise.cu bit for bit. */
#include "fused_case.h"
extern "C" {
#include "tests/gather_signed.h"
}

static const dg_prologue_kind PLAIN = DG_PROLOGUE_PLAIN, NORM = DG_PROLOGUE_NORM;

/* A case of variant thin, where x has one or three channels. The kernel gathers the first `images` images. */
struct thin_case {
    bool forward;
    int N, H, W, Ci, Co, images, flip;
    dg_prologue_kind in;
    float factor;
    dg_epilogue_kind out;
    dg_act act;
    int groups, stages;
    bool small;
};
static const thin_case thin[] = {
    {true, 3, 10, 12, 3, 8, 2, 1, PLAIN, 0, DG_EPILOGUE_ACT, DG_ACT_LEAKY, 1, 0, true},
    {true, 2, 9, 67, 1, 36, 2, 0, PLAIN, 0, DG_EPILOGUE_ACT, DG_ACT_NONE, 1, 0, false},
    {true, 4, 12, 6, 3, 40, 0, 0, PLAIN, 0, DG_EPILOGUE_NORM_DX, DG_ACT_RELU, 2, 0, false},
    {true, 3, 9, 7, 1, 4, 0, 0, PLAIN, 0, DG_EPILOGUE_NORM_DX, DG_ACT_RELU, 1, 0, true},
    {true, 34, 4, 4, 3, 8, 0, 0, PLAIN, 0, DG_EPILOGUE_NORM_DX, DG_ACT_LEAKY, 2, 0, true},
    {true, 2, 18, 70, 3, 68, 0, 0, PLAIN, 0, DG_EPILOGUE_NORM_DX, DG_ACT_RELU, 1, 0, false},
    {true, 2, 17, 66, 3, 8, 1, 1, PLAIN, 0, DG_EPILOGUE_PLAIN, DG_ACT_NONE, 1, 0, false},
    {true, 2, 8, 8, 3, 36, 2, 1, PLAIN, 0, DG_EPILOGUE_ACT_DX, DG_ACT_LEAKY, 1, 0, true},
    {true, 1, 64, 64, 3, 32, 1, 1, PLAIN, 0, DG_EPILOGUE_NORM_DX, DG_ACT_RELU, 1, 0, false},
    {true, 1, 16, 130, 1, 4, 1, 1, PLAIN, 0, DG_EPILOGUE_ACT, DG_ACT_RELU, 1, 0, false},
    {false, 2, 12, 10, 3, 8, 0, 0, NORM, 0, DG_EPILOGUE_ACT, DG_ACT_TANH, 1, 2, true},
    {false, 9, 6, 8, 3, 12, 0, 0, NORM, 0.25f, DG_EPILOGUE_ACT, DG_ACT_TANH, 1, 3, true},
    {false, 1, 36, 70, 3, 20, 0, 0, NORM, 0, DG_EPILOGUE_ACT, DG_ACT_TANH, 1, 4, false},
    {false, 2, 9, 7, 1, 8, 0, 0, NORM, 0, DG_EPILOGUE_PLAIN, DG_ACT_NONE, 1, 2, true},
    {false, 1, 40, 36, 1, 16, 0, 0, PLAIN, 0, DG_EPILOGUE_ACT_DX, DG_ACT_TANH, 1, 3, false},
    {false, 3, 16, 16, 3, 8, 0, 0, PLAIN, 0, DG_EPILOGUE_ACT_DX, DG_ACT_TANH, 1, 2, true},
    {false, 1, 35, 66, 3, 52, 0, 0, NORM, 0.25f, DG_EPILOGUE_ACT, DG_ACT_TANH, 1, 2, false},
    {false, 2, 16, 67, 1, 20, 0, 0, NORM, 0, DG_EPILOGUE_PLAIN, DG_ACT_NONE, 1, 3, false},
    {false, 1, 33, 35, 3, 8, 0, 0, PLAIN, 0, DG_EPILOGUE_ACT_DX, DG_ACT_LEAKY, 1, 2, false},
    {false, 1, 64, 64, 3, 32, 0, 0, NORM, 0, DG_EPILOGUE_ACT, DG_ACT_TANH, 1, 2, false},
};

struct dense_case {
    int N, side, C, Co;
    bool noise;
    dg_epilogue_kind out;
    bool small;
};
static const dense_case dense[] = {
    {5, 2, 8, 10, true, DG_EPILOGUE_STATS, true},     {17, 3, 4, 7, true, DG_EPILOGUE_STATS, true},
    {35, 4, 20, 12, false, DG_EPILOGUE_STATS, false}, {2, 1, 68, 131, true, DG_EPILOGUE_STATS, true},
    {1, 2, 12, 9, true, DG_EPILOGUE_PLAIN, true},     {33, 4, 132, 100, true, DG_EPILOGUE_STATS, false},
    {3, 2, 64, 300, false, DG_EPILOGUE_ACT, true},    {18, 1, 4, 258, true, DG_EPILOGUE_STATS, false},
    {1, 1, 4, 1, true, DG_EPILOGUE_STATS, true},
};

static dg_step_state state_at(uint64_t seed, uint64_t step, int64_t cursor)
{
    dg_step_state s = {};
    s.seed = seed, s.step = step, s.cursor = cursor;
    return s;
}

/* Computes the first n values of `in` by an unfused op. For the fused launch, these values are NaN. */
template <class op_of> static bool draw(fused_prologue *in, size_t n, op_of op)
{
    dg_tune tune = {};
    tune.variant = &dg_direct;
    tune.block = 64;
    dev_buffer<float> want(n);
    op(want.p, &tune);
    if (!dev_ok("the op before the convolution")) return false;
    const std::vector<float> drawn = want.get();
    std::copy(drawn.begin(), drawn.end(), in->x.values.begin());
    std::vector<float> empty = in->x.values;
    std::fill(empty.begin(), empty.begin() + (long)n, NAN);
    in->x.whole.put(empty);
    return true;
}

static void run(fused_conv *c, const dg_gpu &gpu, const bool (&halves)[2])
{
    if (!c->run(gpu, 2, halves, 0, [] {})) return;
    const std::vector<float> x = c->in.x.whole.get();
    DG_CHECKF(!memcmp(x.data(), c->in.x.values.data(), x.size() * sizeof(float)), "%s: another operand than of the op",
              c->name());
}

static void run(const thin_case &k, dg_math math)
{
    fused_conv c(k.forward, dg_ref_conv_shape(k.N, k.H, k.W, k.Ci, k.Co, 4, 2, 1), k.in, 1, k.factor, k.out, k.groups,
                 k.act, k.images ? "gathered" : "");
    /* the dataset has 5 images, and in this step only one of images 0 and 1 is mirrored */
    std::vector<uint8_t> bytes((size_t)(5 * k.H * k.W * k.Ci));
    for (size_t i = 0; i < bytes.size(); i++) bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    const dev_buffer<uint8_t> data(bytes);
    dev_buffer<int32_t> perm(std::vector<int32_t>{0, 2, 4, 1, 3});
    const dev_buffer<dg_step_state> state(std::vector<dg_step_state>{state_at(77, 4, 2)});
    dg_gather_args *const g = &c.f.gather;
    g->data = data.p, g->perm = perm.p, g->state = state.p;
    g->N = k.images, g->H = k.H, g->W = k.W, g->C = k.Ci;
    g->flip = k.flip;
    gather_signed(g);
    if (k.images && !draw(&c.in, (size_t)(k.images * k.H * k.W * k.Ci), [&](float *to, const dg_tune *tune) {
            g->x = to;
            dg_cuda_gather<float>(g, tune, 0);
        }))
        return;
    g->x = c.in.x.whole.p;
    const bool bf16 = math == DG_MATH_BF16;
    c.tune.variant = bf16 ? &dg_conv_variant_thin_mma : &dg_conv_variant_thin;
    c.tune.math = math;
    if (!bf16) c.tune.stages = k.stages;
    c.f.early = k.Ci * k.Co == 24;
    run(&c, dev_gpu(200 << 10, math), {bf16 && !k.forward, bf16 && k.forward && k.out != DG_EPILOGUE_ACT_DX});
}

static void run(const dense_case &k)
{
    fused_conv c(false, dg_ref_conv_shape(k.N, k.side, k.side, k.C, k.Co, k.side, 1, 0), PLAIN, 1, 0, k.out, 1,
                 DG_ACT_LEAKY, k.noise ? "noise" : "");
    const dev_buffer<dg_step_state> state(std::vector<dg_step_state>{state_at(99, 12, 0)});
    dg_noise_args *const z = &c.f.noise;
    if (k.noise) {
        z->state = state.p;
        z->n = k.N * k.Co;
        z->stream = k.N % 2 ? DG_STREAM_SAMPLE : DG_STREAM_NOISE;
        z->first_step = 3;
        if (!draw(&c.in, (size_t)z->n, [&](float *to, const dg_tune *tune) {
                z->z = to;
                dg_cuda_noise<float>(z, tune, 0);
            }))
            return;
        z->z = c.in.x.whole.p;
    }
    c.tune.variant = &dg_conv_variant_direct;
    run(&c, dev_gpu(200 << 10, DG_MATH_FP32), {false, true});
}

int main()
{
    for (dg_math math : {DG_MATH_FP32, DG_MATH_BF16})
        for (const thin_case &k : thin)
            if (dg_math_on(math, dev_gpu(200 << 10, math).arch) && (k.small || !dev_small())) run(k, math);
    for (const dense_case &k : dense)
        if (k.small || !dev_small()) run(k);
    return dg_test_report();
}
