/* Test cases for fused launches (kernels/fused/fused.h), with prologues and epilogues in double on the host. Operands
 * are small multiples of powers of two, so that values after a prologue and bf16 tensors are exact. */
#pragma once

#include <float.h>

#include "tests/all_ops.h"
#include "tests/devtest.h"
#include "kernels/fused/fuse.cuh"
extern "C" {
#include "core/plan/precision.h"
#include "tests/reference_conv.h"
}

/* Returns n random multiples of `step`, never 0, with magnitudes up to `most`. */
static std::vector<float> coarse(size_t n, unsigned long long seed, double step, double most)
{
    std::vector<float> v = dev_random(n, seed);
    for (float &f : v) {
        f = (float)(round((double)f * most / step) * step);
        if (f == 0) f = (float)step;
    }
    return v;
}

/* Statistics and parameters of a batch norm, on host and device. Each of `groups` parts of the batch has its own
 * statistics. */
struct fused_norm {
    int C;
    std::vector<float> mean, rstd, gamma, beta, totals;
    dev_buffer<float> d_mean, d_rstd, d_gamma, d_beta, d_totals;

    static std::vector<float> positive(std::vector<float> v)
    {
        for (float &f : v) f = fabsf(f);
        return v;
    }
    fused_norm(int groups, int C_, unsigned long long seed)
        : C(C_), mean(coarse((size_t)(groups * C), seed, 0.125, 0.5)),
          rstd(positive(coarse((size_t)(groups * C), seed + 1, 0.5, 1.5))), gamma(coarse((size_t)C, seed + 2, 0.5, 1)),
          beta(coarse((size_t)C, seed + 3, 0.125, 0.5)),
          totals(coarse((size_t)(2 * groups * C), seed + 4, 0.125, 0.25)), d_mean(mean), d_rstd(rstd), d_gamma(gamma),
          d_beta(beta), d_totals(totals)
    {}
    double scale(int g, int c) const { return (double)gamma[(size_t)c] * (double)rstd[(size_t)(g * C + c)]; }
    double centred(int g, int c, double x) const { return x - (double)mean[(size_t)(g * C + c)]; }
    double z(int g, int c, double x) const { return scale(g, c) * centred(g, c, x) + (double)beta[(size_t)c]; }
};

/* A tensor (N, pixels, C) in fp32 and in bf16. */
struct fused_tensor {
    int C;
    size_t per_group;
    std::vector<float> values;
    dev_buffer<float> whole;
    dev_buffer<uint16_t> half;

    fused_tensor(int N, int pixels, int C_, int groups, unsigned long long seed, double most)
        : C(C_), per_group((size_t)(N / groups) * (size_t)(pixels * C)),
          values(coarse((size_t)N * (size_t)(pixels * C), seed, 0.125, most)), whole(values), half(dev_halves(values))
    {}
    void put(const std::vector<float> &v)
    {
        values = v;
        whole.put(v), half.put(dev_halves(v));
    }
    const float *at(bool rounded) const { return rounded ? (const float *)(const void *)half.p : whole.p; }
    int channel(size_t i) const { return (int)(i % (size_t)C); }
    int group(size_t i) const { return (int)(i / per_group); }
};

struct fused_prologue {
    dg_prologue s = {};
    fused_norm norm;
    fused_tensor x, pre;

    fused_prologue(dg_prologue_kind kind, int N, int pixels, int C, int groups, float factor, unsigned long long seed)
        : norm(groups, C, seed + 10), x(N, pixels, C, groups, seed, 2), pre(N, pixels, C, groups, seed + 1, 1)
    {
        s = dg_prologue{kind,          x.whole.p,       pre.whole.p, norm.d_mean.p, norm.d_rstd.p, norm.d_gamma.p,
                        norm.d_beta.p, norm.d_totals.p, factor,      groups,        false};
    }
    void round(bool rounded)
    {
        s.rounded = rounded;
        s.x = x.at(rounded), s.pre = pre.at(rounded);
    }
    void shrink(int shift)
    {
        for (float &v : x.values) v = ldexpf(v, -shift);
        for (float &v : norm.totals) v = ldexpf(v, -shift);
        x.put(x.values), norm.d_totals.put(norm.totals);
    }
    double value(size_t i) const
    {
        const int c = x.channel(i), g = x.group(i);
        const double v = (double)x.values[i];
        if (s.kind == DG_PROLOGUE_PLAIN) return v;
        const size_t at = (size_t)(2 * g * x.C + c);
        if (s.kind == DG_PROLOGUE_NORM_DX)
            return norm.scale(g, c) *
                   (v - (double)norm.totals[at] -
                    norm.centred(g, c, (double)pre.values[i]) * (double)norm.totals[at + (size_t)x.C]);
        const double z = norm.z(g, c, v);
        return z > 0 ? z : (double)s.factor * z;
    }
    std::vector<double> values(dg_math math = DG_MATH_FP32, int shift = 0) const
    {
        std::vector<double> v(x.values.size());
        for (size_t i = 0; i < v.size(); i++)
            v[i] = math == DG_MATH_FP32 ? value(i) : dev_rounded(value(i), math, shift);
        return v;
    }
};

/* The tensors that an epilogue reads and writes. Results have the shape (N, pixels, C). `old` is the activation's
 * output or the norm's input. */
struct fused_epilogue {
    dg_epilogue s = {};
    fused_norm norm;
    fused_tensor old;
    size_t count;
    std::vector<float> running;
    dev_buffer<float> mean, rstd, d_running, dgamma, dbeta, totals, out;
    dev_buffer<uint16_t> half;

    fused_epilogue(dg_epilogue_kind kind, int N, int pixels, int C, int groups, dg_act act, unsigned long long seed)
        : norm(groups, C, seed + 20), old(N, pixels, C, groups, seed + 1, 1), count(old.values.size()),
          running(dev_random((size_t)(2 * C), seed + 2)), mean((size_t)(groups * C)), rstd((size_t)(groups * C)),
          d_running(running), dgamma((size_t)C), dbeta((size_t)C), totals((size_t)(2 * groups * C)), out(count),
          half(count)
    {
        s.kind = kind;
        s.act = act;
        s.slope = act == DG_ACT_RELU ? 0 : 0.125f;
        s.factor = 2 * s.slope;
        s.groups = groups;
        const bool stats = kind == DG_EPILOGUE_STATS;
        s.mean = stats ? mean.p : norm.d_mean.p;
        s.rstd = stats ? rstd.p : norm.d_rstd.p;
        s.running_mean = d_running.p, s.running_var = d_running.p + C;
        s.eps = 1e-3, s.momentum = 0.25;
        s.gamma = norm.d_gamma.p, s.beta = norm.d_beta.p;
        s.dgamma = dgamma.p, s.dbeta = dbeta.p, s.totals = totals.p;
    }
    void again(bool rounded)
    {
        s.rounded = s.rounded_y = rounded;
        s.y = s.pre = old.at(rounded);
        d_running.put(running);
        if (!rounded) out.put(std::vector<float>(count, NAN));
    }
    void *result() const { return s.rounded ? (void *)half.p : (void *)out.p; }
    bool sums() const { return s.kind == DG_EPILOGUE_STATS || s.kind == DG_EPILOGUE_NORM_DX; }
    std::vector<std::vector<float>> outputs() const
    {
        if (!sums()) return {out.get()};
        return {out.get(), mean.get(), rstd.get(), totals.get(), d_running.get(), dgamma.get(), dbeta.get()};
    }

    /* Returns the factor by which the epilogue multiplies value i. v has the sign of the value before the epilogue. */
    double times(size_t i, double v) const
    {
        const double below = dg_act_factor(s.act, (double)s.slope), y = (double)old.values[i];
        switch (s.kind) {
        case DG_EPILOGUE_ACT: return v > 0 ? 1 : below;
        case DG_EPILOGUE_ACT_DX: return s.act == DG_ACT_TANH ? 1 - y * y : y > 0 ? 1 : below;
        case DG_EPILOGUE_NORM_DX: return norm.z(old.group(i), old.channel(i), y) > 0 ? 1 : (double)s.factor;
        case DG_EPILOGUE_PLAIN:
        case DG_EPILOGUE_STATS: break;
        }
        return 1;
    }

    /* Checks all outputs of the epilogue. `expected` contains its inputs in double, and `slack` the tolerance of each
     * result. */
    void check(const std::vector<double> &expected, const std::vector<double> &slack, const char *name) const
    {
        const std::vector<float> got = out.get();
        dev_bits(got.data(), got.size() * sizeof(float));
        const bool curved = s.act == DG_ACT_TANH;
        size_t bad = 0, at = 0;
        std::vector<double> want(count);
        for (size_t i = 0; i < count; i++) {
            const double v = expected[i], by = times(i, v);
            want[i] = curved && s.kind == DG_EPILOGUE_ACT ? tanh(v) : by * v;
            const double off = (s.kind == DG_EPILOGUE_ACT ? slack[i] : slack[i] * fabs(by)) +
                               (curved ? 4 * (double)FLT_EPSILON * (1 + fabs(v)) : 0);
            if (!(fabs((double)got[i] - want[i]) <= off) && !bad++) at = i;
        }
        DG_CHECKF(!bad, "%s: %zu of %zu wrong, at %zu %.9g instead of %.9g", name, bad, count, at, (double)got[at],
                  want[at]);
        if (!sums()) return;
        const std::vector<std::vector<float>> all = outputs();
        for (size_t c = 0; c < (size_t)old.C; c++) check_channel(all, c, name);
    }

  private:
    static void near(const char *name, const char *what, size_t c, float got, double want, double tolerance)
    {
        DG_CHECKF(fabs((double)got - want) <= tolerance, "%s: %s of channel %zu is %.9g instead of %.9g (%.2g)", name,
                  what, c, (double)got, want, tolerance);
    }
    void check_channel(const std::vector<std::vector<float>> &is, size_t c, const char *name) const
    {
        const std::vector<float> &got = is[0];
        const bool stats = s.kind == DG_EPILOGUE_STATS;
        const size_t C = (size_t)old.C, n = old.per_group / C;
        const double eps = 16 * (double)FLT_EPSILON;
        double all_g = 0, all_gx = 0, size_g = 0, size_gx = 0;
        double run[2] = {(double)running[c], (double)running[C + c]};
        for (size_t g = 0; g < (size_t)s.groups; g++) {
            double a = 0, b = 0, size_a = 0, size_b = 0, squares = 0;
            for (size_t i = g * old.per_group + c; i < (g + 1) * old.per_group; i += C) {
                const double v = (double)got[i], d = norm.centred((int)g, (int)c, (double)old.values[i]);
                a += v, size_a += fabs(v), b += v * d, size_b += fabs(v * d);
            }
            const double m = a / (double)n, r = stats ? 1 : (double)norm.rstd[g * C + c];
            for (size_t i = g * old.per_group + c; i < (g + 1) * old.per_group; i += C)
                squares += ((double)got[i] - m) * ((double)got[i] - m);
            if (stats) {
                const double want = 1 / sqrt(squares / (double)n + s.eps);
                near(name, "mean", c, is[1][g * C + c], m, eps * size_a / (double)n);
                near(name, "rstd", c, is[2][g * C + c], want, eps * want);
                run[0] += s.momentum * (m - run[0]);
                run[1] += s.momentum * (squares / (double)(n > 1 ? n - 1 : 1) - run[1]);
            } else {
                near(name, "total 0", c, is[3][2 * g * C + c], m, eps * size_a / (double)n);
                near(name, "total 1", c, is[3][(2 * g + 1) * C + c], b * r * r / (double)n,
                     eps * size_b * r * r / (double)n);
            }
            all_g += a, size_g += size_a, all_gx += b * r, size_gx += size_b * r;
        }
        if (stats) {
            near(name, "running mean", c, is[4][c], run[0], eps * (fabs(run[0]) + 1));
            near(name, "running variance", c, is[4][C + c], run[1], eps * (fabs(run[1]) + 1));
        } else if (s.dbeta) {
            near(name, "dgamma", c, is[5][c], all_gx, eps * size_gx);
            near(name, "dbeta", c, is[6][c], all_g, eps * size_g);
        }
    }
};

/* Scratch memory filled with NaN, and counters that must be 0 after each launch. */
struct fused_room {
    dev_buffer<char> scratch;
    dev_buffer<unsigned> counters;

    explicit fused_room(const dg_fused_size &size)
        : scratch(size.bytes), counters(std::vector<unsigned>((size_t)size.counters, 0u))
    {}
    float *memory() const { return (float *)(void *)scratch.p; }
    void check(const char *name) const
    {
        for (unsigned n : counters.get()) DG_CHECKF(n == 0, "%s left a counter at %u", name, n);
    }
    /* Launches `times` times, then once more with a bf16 operand (halves[0]) or bf16 results (halves[1]). All launches
     * must give equal bits. If a launch fails, prints its error and returns false. */
    template <class launch>
    bool same(const char *name, fused_prologue *in, fused_epilogue *out, int times, const bool (&halves)[2],
              launch run) const
    {
        std::vector<std::vector<float>> first;
        for (int k = 0; k < times + (halves[0] || halves[1]); k++) {
            in->round(k == times && halves[0]);
            out->again(k == times && halves[1]);
            dev_op = name;
            run();
            if (!dev_ok(name)) return false;
            check(name);
            const std::vector<std::vector<float>> now = out->outputs();
            if (!k) first = now;
            if (out->s.rounded) DG_CHECKF(out->half.get() == dev_halves(now[0]), "%s: other results in bf16", name);
            for (size_t i = 0; i < now.size(); i++)
                DG_CHECKF(!memcmp(now[i].data(), first[i].data(), now[i].size() * sizeof(float)),
                          "%s: launch %d has other bits in output %zu", name, k, i);
        }
        return true;
    }
};

/* The tolerances equal those of test_conv_mma.cu. */
static inline std::vector<double> fused_slack(const std::vector<double> &mass, const std::vector<int> &terms)
{
    std::vector<double> slack(mass.size());
    for (size_t i = 0; i < slack.size(); i++) slack[i] = 8 * sqrt(terms[i]) * (double)FLT_EPSILON * mass[i];
    return slack;
}

struct fused_conv {
    const dg_op_kind kind;
    const char *const more; /* last part of the test case's name */
    dg_op op = {};
    dg_tune tune = {};
    fused_prologue in;
    fused_epilogue out;
    std::vector<float> w;
    dev_buffer<float> d_w;
    dg_fused_conv f = {};

    fused_conv(bool forward, const dg_conv_args &s, dg_prologue_kind from, int in_groups, float factor,
               dg_epilogue_kind to, int out_groups, dg_act act, const char *called)
        : kind(forward ? DG_OP_conv_fwd : DG_OP_conv_dx), more(called),
          in(from, s.N, forward ? s.H * s.W : s.Ho * s.Wo, forward ? s.Ci : s.Co, in_groups, factor, 1),
          out(to, s.N, forward ? s.Ho * s.Wo : s.H * s.W, forward ? s.Co : s.Ci, out_groups, act, 50),
          w(dev_random((size_t)(s.Co * s.K * s.K * s.Ci), 3)), d_w(w)
    {
        op.kind = kind;
        op.u.conv = f.conv = s;
        f.conv.w = d_w.p;
    }
    /* The name is valid until the next call. */
    const char *name() const
    {
        static char text[300];
        char row[200];
        snprintf(text, sizeof text, "%s %s, prologue %d, epilogue %d of %d, act %d, %s",
                 dg_precision_name(DG_F32, tune.math), dg_tune_text(row, sizeof row, &op, &tune), in.s.kind, out.s.kind,
                 out.s.groups, out.s.act, more);
        return text;
    }
    /* Runs launch() `times` times and checks the results. `check` tests further outputs. `shift` is the operand's
     * exponent shift in fp16. */
    template <class after> bool run(const dg_gpu &gpu, int times, const bool (&halves)[2], int shift, after check)
    {
        const char *why = dg_variant_check(&op, &tune, DG_F32, &gpu);
        f.in = in.s, f.out = out.s;
        if (!why) why = dg_fused_conv_refuses(kind, &f, &tune, &gpu);
        if (!DG_CHECKF(!why, "%s: %s", name(), why)) return false;
        const fused_room room(dg_fused_conv_size(kind, &f, &tune));
        f.scratch = room.memory();
        f.counters = room.counters.p;
        const bool ran = room.same(name(), &in, &out, times, halves, [&] {
            f.in = in.s, f.out = out.s;
            (kind == DG_OP_conv_fwd ? f.conv.y : f.conv.x) = out.result();
            dg_fused_conv_launch(kind, &f, &tune, 0);
            check();
        });
        if (!ran) return false;
        std::vector<double> value = in.values(tune.math, shift), weight(w.begin(), w.end()), want(out.count),
                            mass(out.count);
        std::vector<int> terms(out.count);
        if (tune.math != DG_MATH_FP32)
            for (double &x : weight) x = dev_rounded(x, tune.math);
        dg_conv_args a = op.u.conv;
        a.w = weight.data();
        a.x = kind == DG_OP_conv_fwd ? value.data() : want.data();
        a.y = kind == DG_OP_conv_fwd ? want.data() : value.data();
        dg_ref_conv(kind, &a, 1, mass.data(), terms.data());
        out.check(want, fused_slack(mass, terms), name());
        return true;
    }
};
