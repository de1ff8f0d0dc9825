/* Fused convolutions on tensor cores against plain loops in double: every kernel, with prologues and epilogues in turn.
 * Values after a prologue are small multiples of a power of two, so that sums are exact in any order. Operands are
 * rounded here as the kernels round them, and results have the tolerance of test_conv_mma.cu. Outputs that an epilogue
 * computes from all results must follow from the stored ones. In bf16 each launch is repeated with bf16 tensors. */
#include <float.h>

#include "tests/all_ops.h"
#include "tests/devtest.h"
#include "kernels/fused/fuse.cuh"
extern "C" {
#include "core/tune/conv_tiles.h"
#include "core/plan/precision.h"
#include "tests/reference_conv.h"
}

enum { FWD, DX };
struct tile {
    int dir;
    bool small; /* the tile is for maps divided into cells of 4x4 */
    int m, n;
};
enum { MMA, WGMMA, FP16 };
#define F(SMALL, M, N, ...) {FWD, SMALL, M, N},
#define D(SMALL, M, N, ...) {DX, SMALL, M, N},
static const std::vector<tile> tiles[] = {{DG_MMA_FWD_TILES(F) DG_MMA_DX_TILES(D)},
                                          {DG_WGMMA_FWD_TILES(F) DG_WGMMA_DX_TILES(D)},
                                          {DG_FP16_FWD_TILES(F) DG_MMA_DX_TILES(D)}};
#undef F
#undef D

/* Returns tile number k, modulo the number of tiles. */
static const tile *tile_of(int list, int dir, bool small, int k)
{
    std::vector<const tile *> mine;
    for (const tile &t : tiles[list])
        if (t.dir == dir && t.small == small) mine.push_back(&t);
    return mine[(size_t)k % mine.size()];
}

/* N, H, W, channels of the operand, channels of the result. Maps of the first two shapes use cells of 4x4. */
static const int shapes[][5] = {
    {6, 7, 8, 32, 40}, {18, 6, 8, 48, 72}, {2, 18, 20, 32, 24}, {6, 12, 10, 48, 136}, {4, 17, 9, 32, 8}};

struct setup {
    const char *name;
    dg_prologue_kind in;
    int in_groups;
    dg_epilogue_kind out;
    int out_groups;
    bool wanted; /* the launch computes dgamma and dbeta */
};
static const setup setups[] = {
    {"norm > stats", DG_PROLOGUE_NORM, 1, DG_EPILOGUE_STATS, 1, false},
    {"norm_dx > norm_dx", DG_PROLOGUE_NORM_DX, 2, DG_EPILOGUE_NORM_DX, 2, true},
    {"plain > stats of two", DG_PROLOGUE_PLAIN, 1, DG_EPILOGUE_STATS, 2, false},
    {"norm_dx > act_dx", DG_PROLOGUE_NORM_DX, 2, DG_EPILOGUE_ACT_DX, 1, false},
    {"norm of two > stats of two", DG_PROLOGUE_NORM, 2, DG_EPILOGUE_STATS, 2, false},
    {"norm_dx > norm_dx, no gradients", DG_PROLOGUE_NORM_DX, 1, DG_EPILOGUE_NORM_DX, 1, false},
    {"norm of two > plain", DG_PROLOGUE_NORM, 2, DG_EPILOGUE_PLAIN, 1, false},
    {"norm_dx of two > stats", DG_PROLOGUE_NORM_DX, 2, DG_EPILOGUE_STATS, 1, false},
    {"plain > act_dx", DG_PROLOGUE_PLAIN, 1, DG_EPILOGUE_ACT_DX, 1, false},
    {"norm_dx > plain", DG_PROLOGUE_NORM_DX, 1, DG_EPILOGUE_PLAIN, 1, false},
    {"norm > norm_dx", DG_PROLOGUE_NORM, 1, DG_EPILOGUE_NORM_DX, 2, true},
};

/* Multiples of `step` with magnitude `most` or less, never 0. */
static std::vector<float> coarse(size_t n, unsigned long long seed, double step, double most)
{
    std::vector<float> v = dev_random(n, seed);
    for (float &f : v) {
        f = (float)(round((double)f * most / step) * step);
        if (f == 0) f = (float)step;
    }
    return v;
}

struct norm_vectors {
    std::vector<float> mean, rstd, gamma, beta, totals;
    norm_vectors(int groups, int C, unsigned long long seed)
        : mean(coarse((size_t)(groups * C), seed, 0.125, 0.5)), rstd(coarse((size_t)(groups * C), seed + 1, 0.5, 1.5)),
          gamma(coarse((size_t)C, seed + 2, 0.5, 1)), beta(coarse((size_t)C, seed + 3, 0.125, 0.5)),
          totals(coarse((size_t)(2 * groups * C), seed + 4, 0.125, 0.25))
    {
        for (float &r : rstd) r = fabsf(r);
    }
};

struct launch {
    const setup &how;
    const int dir;
    dg_ref_conv s;
    dg_tune tune;
    dg_gpu gpu;
    int from_C, to_C, image_from, image_to; /* channels of operand and result; their values per image */
    char name[200];
    std::vector<float> got, x, pre, w, y_or_pre;
    std::vector<double> want, mass, factors;
    std::vector<int> terms;
    norm_vectors in, out;
    int shift = 0;
    static constexpr float factor = 0.25f, slope = 0.125f;

    static dg_ref_conv shape_of(int dir, const int *d)
    {
        return dg_ref_conv_shape(d[0], d[1], d[2], dir == FWD ? d[3] : d[4], dir == FWD ? d[4] : d[3], 4, 2, 1);
    }
    launch(int d, const setup &h, const int *shape, dg_math math)
        : how(h), dir(d), s(shape_of(d, shape)), tune{}, gpu(dev_gpu(200 << 10, math)), from_C(shape[3]),
          to_C(shape[4]), image_from((d == FWD ? s.H * s.W : s.Ho * s.Wo) * shape[3]),
          image_to((d == FWD ? s.Ho * s.Wo : s.H * s.W) * shape[4]), in(h.in_groups, shape[3], 10),
          out(h.out_groups, shape[4], 20)
    {
        const size_t to = (size_t)(s.N * image_to);
        x = coarse((size_t)(s.N * image_from), 1, 0.125, 2);
        pre = coarse(x.size(), 2, 0.125, 1);
        w = dev_random((size_t)(s.Co * 16 * s.Ci), 3);
        if (dir == FWD)
            for (int i = 0; i < 16 * s.Ci; i++) w[(size_t)i] += 1; /* a channel whose mean is far from 0 */
        /* without the shift of their exponent these gradients would be subnormal */
        if (math == DG_MATH_FP16 && h.in != DG_PROLOGUE_NORM) {
            shift = 20;
            for (float &v : x) v = ldexpf(v, -shift);
            for (float &v : in.totals) v = ldexpf(v, -shift);
        }
        y_or_pre = coarse(to, 4, 0.125, 1);
        want.resize(to);
        mass.resize(to);
        terms.resize(to);
        expect(math);
    }

    int group_of(size_t i, int image, int groups) const { return (int)(i / (size_t)image) / (s.N / groups); }

    void expect(dg_math math)
    {
        std::vector<double> a(x.size()), b(w.size());
        for (size_t i = 0; i < x.size(); i++) {
            const int c = (int)(i % (size_t)from_C), g = group_of(i, image_from, how.in_groups), at = g * from_C + c;
            double v = (double)x[i];
            if (how.in != DG_PROLOGUE_PLAIN) {
                const double scale = (double)in.gamma[(size_t)c] * (double)in.rstd[(size_t)at],
                             mean = (double)in.mean[(size_t)at];
                if (how.in == DG_PROLOGUE_NORM) {
                    v = (v - mean) * scale + (double)in.beta[(size_t)c];
                    if (v <= 0) v *= (double)factor;
                } else {
                    v = scale * (v - (double)in.totals[(size_t)(at + g * from_C)] -
                                 ((double)pre[i] - mean) * (double)in.totals[(size_t)(at + g * from_C + from_C)]);
                }
            }
            a[i] = dev_rounded(v, math, shift);
        }
        factors = a;
        for (size_t i = 0; i < w.size(); i++) b[i] = dev_rounded((double)w[i], math);
        if (dir == FWD) dg_ref_conv_fwd(want.data(), mass.data(), terms.data(), a.data(), b.data(), &s);
        else dg_ref_conv_dx(want.data(), mass.data(), terms.data(), a.data(), b.data(), &s);
        for (size_t i = 0; i < want.size(); i++) {
            const int c = (int)(i % (size_t)to_C), at = group_of(i, image_to, how.out_groups) * to_C + c;
            const double y = (double)y_or_pre[i];
            double by = 1;
            if (how.out == DG_EPILOGUE_ACT_DX && y <= 0) by = (double)slope;
            if (how.out == DG_EPILOGUE_NORM_DX &&
                (y - (double)out.mean[(size_t)at]) * ((double)out.gamma[(size_t)c] * (double)out.rstd[(size_t)at]) +
                        (double)out.beta[(size_t)c] <=
                    0)
                by = (double)factor;
            want[i] *= by;
            mass[i] *= by;
        }
    }

    bool near(const char *what, size_t i, double is, double should, double tolerance)
    {
        return DG_CHECKF(fabs(is - should) <= tolerance, "%s: %s[%zu] is %.9g instead of %.9g", name, what, i, is,
                         should);
    }

    /* Checks the epilogue's sums over each channel. */
    void compare_sums(const std::vector<float> &mean, const std::vector<float> &rstd, const std::vector<float> &running,
                      const std::vector<float> &totals, const std::vector<float> &dgamma,
                      const std::vector<float> &dbeta)
    {
        const size_t images = (size_t)(s.N / how.out_groups), C = (size_t)to_C, each = images * (size_t)image_to,
                     n = each / C;
        const double eps = 16 * (double)FLT_EPSILON;
        for (size_t c = 0; c < C; c++) {
            double all_g = 0, all_gx = 0, size_g = 0, size_gx = 0, run[2] = {0.5, 0.25};
            for (size_t g = 0; g < (size_t)how.out_groups; g++) {
                double a = 0, b = 0, size_a = 0, size_b = 0;
                for (size_t i = g * each + c; i < (g + 1) * each; i += C) {
                    const double v = (double)got[i], d = how.out == DG_EPILOGUE_STATS
                                                             ? 1
                                                             : (double)y_or_pre[i] - (double)out.mean[g * C + c];
                    a += v, size_a += fabs(v), b += v * d, size_b += fabs(v * d);
                }
                const double m = a / (double)n;
                if (how.out == DG_EPILOGUE_STATS) {
                    double squares = 0;
                    for (size_t i = g * each + c; i < (g + 1) * each; i += C)
                        squares += ((double)got[i] - m) * ((double)got[i] - m);
                    const double r = 1 / sqrt(squares / (double)n + 1e-3);
                    near("mean", g * C + c, (double)mean[g * C + c], m, eps * size_a / (double)n);
                    near("rstd", g * C + c, (double)rstd[g * C + c], r, eps * r);
                    run[0] = 0.75 * run[0] + 0.25 * m;
                    run[1] = 0.75 * run[1] + 0.25 * squares / (double)(n - 1);
                } else {
                    const double r = (double)out.rstd[g * C + c];
                    near("total 0", g * C + c, (double)totals[2 * g * C + c], m, eps * size_a / (double)n);
                    near("total 1", g * C + c, (double)totals[(2 * g + 1) * C + c], b * r * r / (double)n,
                         eps * size_b * r * r / (double)n);
                    all_g += a, size_g += size_a, all_gx += b * r, size_gx += size_b * r;
                }
            }
            if (how.out == DG_EPILOGUE_STATS) {
                near("running mean", c, (double)running[c], run[0], eps * (fabs(run[0]) + 1));
                near("running variance", c, (double)running[C + c], run[1], eps * run[1]);
            } else if (how.wanted) {
                near("dbeta", c, (double)dbeta[c], all_g, eps * size_g);
                near("dgamma", c, (double)dgamma[c], all_gx, eps * size_gx);
            }
        }
    }

    /* Checks the rounded operands for the weight gradient. */
    void compare_factors(const std::vector<uint32_t> &words)
    {
        size_t bad = 0, at = 0;
        for (size_t i = 0; i < factors.size(); i++) {
            const int half = (int)(words[i / 2] >> i % 2 * 16 & 0xffff), places = half >> 10 & 31;
            const uint32_t bits = (uint32_t)half << 16;
            float f;
            memcpy(&f, &bits, sizeof f);
            double v = (double)f;
            if (gpu.math == DG_MATH_FP16)
                v = ldexp((half & 1023) + (places ? 1024 : 0), (places ? places : 1) - 25) * (half >> 15 ? -1 : 1);
            if (!(v == ldexp(factors[i], shift)) && !bad++) at = i;
        }
        DG_CHECKF(!bad, "%s: %zu of %zu factors wrong, the first is %zu", name, bad, factors.size(), at);
    }

    /* False if there is no such kernel. `times` is the number of consecutive launches. */
    bool run(const dg_variant *variant, const tile *tile, int split, int times)
    {
        dg_op op = {};
        op.kind = dir == FWD ? DG_OP_conv_fwd : DG_OP_conv_dx;
        op.u.conv = dg_conv_args{nullptr, nullptr, nullptr, nullptr, s.N, s.H, s.W, s.Ci,
                                 s.Ho,    s.Wo,    s.Co,    s.K,     s.S, s.P, 0,   0};
        (dir == FWD ? op.u.conv.shift_x : op.u.conv.shift_y) = shift;
        tune.variant = variant;
        tune.tile_m = tile->m;
        tune.tile_n = tile->n;
        tune.split = split;
        gpu = dev_gpu_of(variant, gpu);
        const char *const why = dg_variant_check(&op, &tune, DG_F32, &gpu);
        if (why) return false;
        const size_t sums = (size_t)(how.out_groups * to_C);
        char text[150];
        snprintf(name, sizeof name, "%s %s: %s", dg_precision_name(DG_F32, gpu.math), how.name,
                 dg_tune_text(text, sizeof text, &op, &tune));
        dev_op = name;
        dev_buffer<char> b_rounded(w.size() * sizeof(float));
        dev_buffer<float> b_x(x), b_pre(pre), b_w(w), b_to(y_or_pre), result(want.size());
        dev_buffer<float> in_mean(in.mean), in_rstd(in.rstd), in_gamma(in.gamma), in_beta(in.beta),
            in_totals(in.totals);
        dev_buffer<float> mean(sums), rstd(sums), gamma(out.gamma), beta(out.beta), totals(2 * sums),
            dgamma((size_t)to_C), dbeta((size_t)to_C), running((size_t)(2 * to_C));
        if (how.out == DG_EPILOGUE_NORM_DX) mean.put(out.mean), rstd.put(out.rstd);
        dg_fused_conv f = {};
        f.conv = op.u.conv;
        const dg_rounded weights = {b_w.p, b_rounded.p, (int64_t)w.size(), gpu.math};
        dg_round_weights(&weights, 0);
        f.conv.w = nullptr; /* not read */
        f.rounded = b_rounded.p;
        dev_buffer<uint32_t> b_factors(std::vector<uint32_t>(x.size(), 0xffffffff));
        f.factors = b_factors.p;
        (dir == FWD ? f.conv.y : f.conv.x) = result.p;
        f.in = dg_prologue{how.in,    b_x.p,       b_pre.p, in_mean.p,     in_rstd.p, in_gamma.p,
                           in_beta.p, in_totals.p, factor,  how.in_groups, false};
        f.out.kind = how.out;
        f.out.act = DG_ACT_LEAKY;
        f.out.slope = slope;
        f.out.factor = factor;
        f.out.groups = how.out_groups;
        f.out.y = f.out.pre = b_to.p;
        f.out.mean = mean.p;
        f.out.rstd = rstd.p;
        f.out.running_mean = running.p;
        f.out.running_var = running.p + to_C;
        f.out.eps = 1e-3;
        f.out.momentum = 0.25;
        f.out.gamma = gamma.p;
        f.out.beta = beta.p;
        f.out.totals = totals.p;
        if (how.wanted) f.out.dgamma = dgamma.p, f.out.dbeta = dbeta.p;
        const char *const refuses = dg_fused_conv_refuses(op.kind, &f, &tune, &gpu);
        if (!DG_CHECKF(!refuses, "%s: %s", name, refuses)) return true;
        const dg_fused_size size = dg_fused_conv_size(op.kind, &f, &tune);
        dev_buffer<char> scratch(size.bytes);
        dev_buffer<unsigned> counters(std::vector<unsigned>((size_t)size.counters, 0u));
        f.scratch = (float *)scratch.p;
        f.counters = counters.p;
        const bool halves = gpu.math == DG_MATH_BF16;
        const dev_buffer<uint16_t> h_x(dev_halves(x)), h_pre(dev_halves(pre)), h_to(dev_halves(y_or_pre));
        dev_buffer<uint16_t> h_result(want.size());
        std::vector<std::vector<float>> before;
        for (int k = 0; k < times + halves; k++) {
            const bool rounded = k == times;
            std::vector<float> start((size_t)(2 * to_C), 0.25f);
            for (int c = 0; c < to_C; c++) start[(size_t)c] = 0.5f;
            running.put(start);
            result.put(std::vector<float>(want.size(), NAN));
            if (rounded) {
                /* kernels can read rounded operands only in these cases */
                f.in.rounded = dir == FWD || how.in != DG_PROLOGUE_PLAIN;
                if (f.in.rounded) f.in.x = (const float *)h_x.p, f.in.pre = (const float *)h_pre.p;
                f.out.rounded = f.out.rounded_y = true;
                f.out.y = f.out.pre = (const float *)h_to.p;
                (dir == FWD ? f.conv.y : f.conv.x) = h_result.p;
                b_factors.put(std::vector<uint32_t>(x.size(), 0xffffffff));
            }
            dg_fused_conv_launch(op.kind, &f, &tune, 0);
            if (!dev_ok(name)) return true;
            const std::vector<float> m = mean.get(), r = rstd.get(), t = totals.get();
            const std::vector<std::vector<float>> sums = {m, r, t, running.get(), dgamma.get(), dbeta.get()};
            if (rounded) {
                DG_CHECKF(h_result.get() == dev_halves(got), "%s: other results of rounded tensors", name);
                for (size_t i = 0; i < sums.size(); i++)
                    DG_CHECKF(!memcmp(sums[i].data(), before[i].data(), sums[i].size() * sizeof(float)),
                              "%s: other sums (%zu) of rounded tensors", name, i);
                if (!f.in.rounded || how.in != DG_PROLOGUE_PLAIN) compare_factors(b_factors.get());
                break;
            }
            before = sums;
            got = result.get();
            dev_bits(got.data(), got.size() * sizeof(float));
            dev_bits(m.data(), m.size() * sizeof(float));
            if (how.out == DG_EPILOGUE_NORM_DX) dev_bits(t.data(), t.size() * sizeof(float));
            for (unsigned left : counters.get()) DG_CHECKF(left == 0, "%s: a counter is left at %u", name, left);
            size_t bad = 0, at = 0;
            for (size_t i = 0; i < got.size(); i++) {
                if (fabs((double)got[i] - want[i]) <= 8 * sqrt(terms[i]) * (double)FLT_EPSILON * mass[i]) continue;
                if (!bad++) at = i;
            }
            DG_CHECKF(!bad, "%s: %zu of %zu wrong, at %zu %.9g instead of %.9g", name, bad, got.size(), at,
                      (double)got[at], want[at]);
            compare_factors(b_factors.get());
            if (how.out == DG_EPILOGUE_STATS || how.out == DG_EPILOGUE_NORM_DX)
                compare_sums(m, r, running.get(), t, dgamma.get(), dbeta.get());
        }
        return true;
    }
};

static int launched;

static void one(int dir, const setup &how, const int *shape, int list, int k, int split, int times)
{
    static const dg_math maths[] = {DG_MATH_BF16, DG_MATH_BF16, DG_MATH_FP16};
    launch l(dir, how, shape, maths[list]);
    if (!dev_fuses(maths[list], &l.gpu)) return;
    const dg_variant *const variant = list == WGMMA ? &dg_conv_variant_wgmma : &dg_conv_variant_mma;
    launched += l.run(variant, tile_of(list, dir, shape[2] / 2 <= DG_MMA_SMALL, k), split, times);
}

int main()
{
    const int count = (int)(sizeof setups / sizeof *setups);
    int used[count] = {}, list[2][count], lists[2] = {}, turn[2] = {};
    for (int k = 0; k < count; k++) {
        const int two = setups[k].in == DG_PROLOGUE_NORM_DX;
        list[two][lists[two]++] = k;
    }
    /* every kernel runs the setups that it supports, in turn */
    for (int i = 0; i < 48; i++) {
        const int dir = i & 1, tile = i >> 1 & 1, large = i >> 2 & 1, two = i >> 3 & 1, of = i >> 4, t = turn[two]++;
        const int k = list[two][t / 2 % lists[two]];
        used[k] |= 1 << dir;
        if (dev_small() && i % 5 != 1) continue;
        const int *const shape = shapes[dev_small() ? large * 2 : large ? 2 + t % 3 : t % 2];
        one(dir, setups[k], shape, of, tile, 1 + i % 3 % (shape[3] / 16), i % 8 == 3 ? 3 : 1);
    }
    /* runs every tile of wgmma, and clusters of blocks, with cells, rows and columns outside the map */
    const int before = launched, all = dev_small() ? 0 : 3 * count;
    for (int i = 0; i < all; i++) {
        static const int parts[] = {1, 3, 8, 2, 5, 4}, deep[2][5] = {{2, 10, 14, 144, 72}, {2, 6, 8, 144, 72}};
        one(i & 1, setups[i / 3], deep[i >> 1 & 1], WGMMA, i / 4, parts[(i / 3 + i) % 6], 1 + i % 2);
    }
    DG_CHECKF(launched == before || launched == before + all, "%d launches of %d", launched - before, all);
    for (int k = 0; k < count; k++) DG_CHECKF(used[k] == 3, "%s was not tested", setups[k].name);
    if (!dev_small()) { /* runs enough blocks that their sums are merged in two steps */
        static const int many[2][5] = {{280, 4, 4, 16, 8}, {148, 3, 4, 16, 8}};
        one(FWD, setups[2], many[0], MMA, 0, 1, 2);
        one(DX, setups[1], many[1], MMA, 0, 1, 2);
    }
    printf("%d launches compared\n", launched);
    return dg_test_report();
}
