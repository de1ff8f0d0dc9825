/* Images in -1..1 pass through four 3 x 3 convolutions with stride 2 and 32, 64, 128 and 256 channels, each followed by
 * LeakyReLU 0.2. Weights are N(0, 2 / fan_in); there are no biases. The features are the channel means and channel
 * standard deviations of feature map 3, then of feature map 4. */
#include "host/judge/random_net.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/rng.h"
#include "host/net/build.h"
#include "host/whiten/products.h"

enum { LAYERS = 4, FIRST_SEEN = 2, AT_ONCE = 64, KERNEL = 3, STRIDE = 2, PAD = 1 };
static const int width[LAYERS] = {32, 64, 128, 256};

struct dg_random_net {
    dg_own_plan own;
    int pixels;
    int input, weight[LAYERS], map[LAYERS];
    dg_shape shape[LAYERS];
    float *values;
};

static int half_of(int side) { return (side + 2 * PAD - KERNEL) / STRIDE + 1; }

static void add_layer(dg_random_net *r, int i, int x, dg_shape in)
{
    dg_arena *a = &r->own.arena;
    const dg_shape out = r->shape[i] = (dg_shape){AT_ONCE, half_of(in.H), half_of(in.W), width[i]};
    static const char *const name[LAYERS][2] = {{"R.1.w", "R.1.y"},
                                                {"R.2.w", "R.2.y"},
                                                {"R.3.w", "R.3.y"},
                                                {"R.4.w", "R.4.y"}};
    r->weight[i] = dg_arena_row(a, name[i][0], DG_PARAM, 0, DG_F32, (dg_shape){width[i], KERNEL, KERNEL, in.C});
    r->map[i] = dg_arena_row(a, name[i][1], DG_WORK, 0, DG_F32, out);
    dg_op *op = dg_plan_add(&r->own.plan, DG_OP_conv_fwd, "R.%d.conv", i + 1);
    op->u.conv = (dg_conv_args){.N = AT_ONCE,
                                .H = in.H,
                                .W = in.W,
                                .Ci = in.C,
                                .Ho = out.H,
                                .Wo = out.W,
                                .Co = out.C,
                                .K = KERNEL,
                                .S = STRIDE,
                                .P = PAD};
    dg_bind_row(op, "x", x);
    dg_bind_row(op, "w", r->weight[i]);
    dg_bind_row(op, "y", r->map[i]);
    op = dg_plan_add(&r->own.plan, DG_OP_act, "R.%d.act", i + 1);
    op->u.act = (dg_act_args){.n = (int64_t)dg_count(out), .act = DG_ACT_LEAKY, .slope = 0.2};
    dg_bind_row(op, "y", r->map[i]);
    dg_bind_row(op, "x", r->map[i]);
    a->row[r->map[i]].keep = i >= FIRST_SEEN;
}

static dg_err put_weights(dg_random_net *r)
{
    dg_err e = DG_OK;
    for (int i = 0; i < LAYERS && !e; i++) {
        const dg_shape s = r->own.arena.row[r->weight[i]].shape;
        const size_t n = dg_count(s);
        const float scale = sqrtf(2.0f / (float)(s.H * s.W * s.C));
        float *w = malloc((n + 3) * sizeof *w);
        if (!w) return dg_fail(DG_DEVICE, "out of memory for a random network");
        for (size_t k = 0; k < n; k += 4)
            dg_normal4(w + k, 0, dg_subsequence(DG_STREAM_JUDGE, DG_DRAW_WEIGHTS + (uint64_t)i), k / 4);
        for (size_t k = 0; k < n; k++) w[k] *= scale;
        e = dg_own_put(&r->own, r->weight[i], w, n * sizeof *w);
        free(w);
    }
    return e;
}

static dg_err build(dg_random_net *r, dg_backend *b, dg_size size, int channels)
{
    dg_shape s = dg_size_shape(AT_ONCE, size, channels);
    r->pixels = size.W * size.H * channels;
    size_t most = dg_count(s);
    dg_err e = dg_own_begin(&r->own, "random", b, 0, DG_F32);
    if (e) return e;
    int x = r->input = dg_arena_row(&r->own.arena, "R.x", DG_WORK, 0, DG_F32, s);
    r->own.arena.row[r->input].keep = true;
    for (int i = 0; i < LAYERS; i++) {
        add_layer(r, i, x, s);
        s = r->shape[i];
        x = r->map[i];
        if (dg_count(s) > most) most = dg_count(s);
    }
    e = dg_own_ready(&r->own);
    if (!e && !(r->values = malloc(most * sizeof *r->values)))
        e = dg_fail(DG_DEVICE, "out of memory for a random network");
    return e ? e : put_weights(r);
}

dg_err dg_random_net_open(const dg_device *d, dg_size size, int channels, dg_random_net **out)
{
    dg_random_net *r = *out = calloc(1, sizeof *r);
    if (!r) return dg_fail(DG_DEVICE, "out of memory");
    dg_device mine = *d;
    mine.precision = &dg_precisions[DG_PRECISION_FP32];
    dg_backend *b = NULL;
    const dg_err e = dg_device_open(&mine, &b);
    return e ? e : build(r, b, size, channels);
}

/* Store the mean (C), then the standard deviation (C), of each channel of a feature map (H, W, C) in `out`. */
static void sum_up(const float *map, dg_shape s, double *out)
{
    const int pixels = s.H * s.W;
    for (int c = 0; c < s.C; c++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < pixels; i++) sum += (double)map[i * s.C + c];
        const double mean = sum / pixels;
        for (int i = 0; i < pixels; i++) {
            const double apart = (double)map[i * s.C + c] - mean;
            squares += apart * apart;
        }
        out[c] = mean;
        out[s.C + c] = sqrt(squares / pixels);
    }
}

static dg_err look_at_chunk(dg_random_net *r, const uint8_t *pixels, int n, double *features)
{
    const size_t all = (size_t)n * (size_t)r->pixels;
    for (size_t i = 0; i < all; i++) r->values[i] = (float)pixels[i] / 127.5f - 1;
    dg_err e = dg_own_put(&r->own, r->input, r->values, all * sizeof *r->values);
    if (!e) e = r->own.b->run(r->own.b, &r->own.plan);
    for (int k = FIRST_SEEN, at = 0; k < LAYERS && !e; at += 2 * width[k++]) {
        const dg_shape s = r->shape[k];
        const size_t each = (size_t)s.H * (size_t)s.W * (size_t)s.C;
        e = dg_own_get(&r->own, r->values, r->map[k], (size_t)n * each * sizeof *r->values);
#pragma omp parallel for
        for (int i = 0; i < n; i++)
            sum_up(r->values + (size_t)i * each, s, features + (size_t)i * DG_RANDOM_FEATURES + at);
    }
    return e;
}

dg_err dg_random_net_look(dg_random_net *r, const uint8_t *pixels, int n, double *features)
{
    dg_err e = DG_OK;
    for (int i = 0; i < n && !e; i += AT_ONCE)
        e = look_at_chunk(r, pixels + (size_t)i * (size_t)r->pixels, n - i < AT_ONCE ? n - i : AT_ONCE,
                          features + (size_t)i * DG_RANDOM_FEATURES);
    return e;
}

void dg_random_net_close(dg_random_net *r)
{
    if (!r) return;
    dg_own_close(&r->own);
    free(r->values);
    free(r);
}
