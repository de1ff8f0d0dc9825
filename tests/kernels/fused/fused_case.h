/* Prologues and epilogues of fused launches (kernels/fused/fused.h) in double on the host. */
#ifndef FUSED_CASE_H
#define FUSED_CASE_H

#include <float.h>

#include "tests/all_ops.h"
#include "tests/devtest.h"
#include "kernels/fused/fuse.cuh"

/* Statistics and parameters of a norm over `groups` parts of a batch, on the host and on the device. */
struct fused_norm {
    int groups, C;
    std::vector<float> mean, rstd, gamma, beta, totals;
    dev_buffer<float> d_mean, d_rstd, d_gamma, d_beta, d_totals;

    static std::vector<float> away_from_0(size_t n, unsigned long long seed)
    {
        std::vector<float> v = dev_random(n, seed);
        for (float &f : v) f = 0.75f + 0.5f * f;
        return v;
    }
    fused_norm(int groups_, int C_, unsigned long long seed)
        : groups(groups_), C(C_), mean(dev_random((size_t)(groups * C), seed)),
          rstd(away_from_0((size_t)(groups * C), seed + 1)), gamma(away_from_0((size_t)C, seed + 2)),
          beta(dev_random((size_t)C, seed + 3)), totals(dev_random((size_t)(2 * groups * C), seed + 4)), d_mean(mean),
          d_rstd(rstd), d_gamma(gamma), d_beta(beta), d_totals(totals)
    {}
    double scale(int g, int c) const { return (double)gamma[(size_t)c] * (double)rstd[(size_t)(g * C + c)]; }
    double centred(int g, int c, double x) const { return x - (double)mean[(size_t)(g * C + c)]; }
    double z(int g, int c, double x) const { return scale(g, c) * centred(g, c, x) + (double)beta[(size_t)c]; }
};

/* An operand (N, pixels, C) that is read through a prologue. */
struct fused_prologue {
    dg_prologue s = {};
    fused_norm norm;
    int N, pixels, C;
    std::vector<float> x, pre;
    dev_buffer<float> d_x, d_pre;

    fused_prologue(dg_prologue_kind kind, int N_, int pixels_, int C_, int groups, float factor,
                   unsigned long long seed)
        : norm(groups, C_, seed + 10), N(N_), pixels(pixels_), C(C_),
          x(dev_random((size_t)N * (size_t)pixels * (size_t)C, seed)), pre(dev_random(x.size(), seed + 1)), d_x(x),
          d_pre(pre)
    {
        s.kind = kind;
        s.x = d_x.p;
        s.groups = groups;
        if (kind == DG_PROLOGUE_PLAIN) return;
        s.mean = norm.d_mean.p;
        s.rstd = norm.d_rstd.p;
        s.gamma = norm.d_gamma.p;
        s.beta = norm.d_beta.p;
        s.factor = factor;
        if (kind != DG_PROLOGUE_NORM_DX) return;
        s.pre = d_pre.p;
        s.totals = norm.d_totals.p;
    }
    int group(size_t i) const { return (int)(i / ((size_t)pixels * (size_t)C)) / (N / s.groups); }
    /* Value i after the prologue, as the convolution reads it. */
    double value(size_t i) const
    {
        const int c = (int)(i % (size_t)C), g = group(i);
        if (s.kind == DG_PROLOGUE_PLAIN) return (double)x[i];
        if (s.kind == DG_PROLOGUE_NORM) {
            const double z = norm.z(g, c, (double)x[i]);
            return z > 0 ? z : (double)s.factor * z;
        }
        const size_t at = (size_t)(2 * g * C + c);
        return norm.scale(g, c) * ((double)x[i] - (double)norm.totals[at] -
                                   norm.centred(g, c, (double)pre[i]) * (double)norm.totals[at + (size_t)C]);
    }
    std::vector<double> values() const
    {
        std::vector<double> v(x.size());
        for (size_t i = 0; i < v.size(); i++) v[i] = value(i);
        return v;
    }
};

/* Results (N, pixels, C) and the outputs of an epilogue. */
struct fused_epilogue {
    dg_epilogue s = {};
    fused_norm norm;
    int N, pixels, C;
    size_t count;
    std::vector<float> y, pre, running;
    dev_buffer<float> d_y, d_pre, d_mean, d_rstd, d_running_mean, d_running_var, d_dgamma, d_dbeta, d_totals, d_out;

    /* Moves values such that z, the value before the activation, is not close to 0, where rounding could change its
     * sign. */
    std::vector<float> clear_of_0(std::vector<float> v, int groups) const
    {
        for (size_t i = 0; i < v.size(); i++) {
            const int c = (int)(i % (size_t)C), g = (int)(i / ((size_t)pixels * (size_t)C)) / (N / groups);
            while (fabs(norm.z(g, c, (double)v[i])) < 1e-3) v[i] += 0.01f;
        }
        return v;
    }
    fused_epilogue(dg_epilogue_kind kind, int N_, int pixels_, int C_, int groups, dg_act act, unsigned long long seed)
        : norm(groups, C_, seed + 20), N(N_), pixels(pixels_), C(C_), count((size_t)N * (size_t)pixels * (size_t)C),
          y(dev_random(count, seed)), pre(clear_of_0(dev_random(count, seed + 1), groups)),
          running(dev_random((size_t)C, seed + 2)), d_y(y), d_pre(pre), d_mean((size_t)(groups * C)),
          d_rstd((size_t)(groups * C)), d_running_mean(running), d_running_var(running), d_dgamma((size_t)C),
          d_dbeta((size_t)C), d_totals((size_t)(2 * groups * C)), d_out(count)
    {
        s.kind = kind;
        s.act = act;
        s.slope = 0.2f;
        s.factor = act == DG_ACT_RELU ? 0 : 0.2f;
        s.groups = groups;
        if (kind == DG_EPILOGUE_ACT_DX) s.y = d_y.p;
        if (kind == DG_EPILOGUE_STATS) {
            s.mean = d_mean.p;
            s.rstd = d_rstd.p;
            s.running_mean = d_running_mean.p;
            s.running_var = d_running_var.p;
            s.eps = 1e-5;
            s.momentum = 0.1;
        }
        if (kind == DG_EPILOGUE_NORM_DX) {
            s.pre = d_pre.p;
            s.mean = norm.d_mean.p;
            s.rstd = norm.d_rstd.p;
            s.gamma = norm.d_gamma.p;
            s.beta = norm.d_beta.p;
            s.dgamma = d_dgamma.p;
            s.dbeta = d_dbeta.p;
            s.totals = d_totals.p;
        }
    }
    /* Restores the values that a launch updates. */
    void again()
    {
        d_running_mean.put(running);
        d_running_var.put(running);
    }

    double result(size_t i, double v) const
    {
        const int c = (int)(i % (size_t)C), g = (int)(i / ((size_t)pixels * (size_t)C)) / (N / s.groups);
        const double below = dg_act_factor(s.act, (double)s.slope), old = (double)y[i];
        switch (s.kind) {
        case DG_EPILOGUE_ACT: return s.act == DG_ACT_TANH ? tanh(v) : v > 0 ? v : below * v;
        case DG_EPILOGUE_ACT_DX: return s.act == DG_ACT_TANH ? v * (1 - old * old) : old > 0 ? v : below * v;
        case DG_EPILOGUE_NORM_DX: return norm.z(g, c, (double)pre[i]) > 0 ? v : (double)s.factor * v;
        case DG_EPILOGUE_PLAIN:
        case DG_EPILOGUE_STATS: break;
        }
        return v;
    }

    /* Checks all outputs of the epilogue. `expected` has the results before the epilogue in double, and `slack` the
     * tolerance of each result. */
    void check(const std::vector<double> &expected, const std::vector<double> &slack, const char *name) const
    {
        const std::vector<float> got = d_out.get();
        dev_bits(got.data(), got.size() * sizeof(float));
        size_t bad = 0, at = 0;
        std::vector<double> v(count);
        for (size_t i = 0; i < count; i++) {
            v[i] = result(i, expected[i]);
            if (fabs((double)got[i] - v[i]) <= slack[i] + 4 * (double)FLT_EPSILON * (1 + fabs(v[i]))) continue;
            if (!bad++) at = i;
        }
        DG_CHECKF(!bad, "%s: %zu of %zu wrong, at %zu %.9g instead of %.9g", name, bad, count, at,
                  bad ? (double)got[at] : 0, bad ? v[at] : 0);
        if (s.kind == DG_EPILOGUE_STATS) check_stats(v, slack, name);
        if (s.kind == DG_EPILOGUE_NORM_DX) check_gradients(v, slack, name);
    }
    void near(const char *name, const char *what, int c, double got, double want, double tolerance) const
    {
        DG_CHECKF(fabs(got - want) <= tolerance, "%s: %s of channel %d is %.9g instead of %.9g (%.2g)", name, what, c,
                  got, want, tolerance);
    }
    void check_stats(const std::vector<double> &v, const std::vector<double> &slack, const char *name) const
    {
        const std::vector<float> mean = d_mean.get(), rstd = d_rstd.get(), r_mean = d_running_mean.get(),
                                 r_var = d_running_var.get();
        dev_bits(mean.data(), mean.size() * sizeof(float));
        dev_bits(rstd.data(), rstd.size() * sizeof(float));
        const size_t C1 = (size_t)C, rows = count / C1 / (size_t)s.groups;
        for (size_t c = 0; c < C1; c++) {
            double of_mean = (double)running[c], of_var = (double)running[c];
            for (size_t g = 0; g < (size_t)s.groups; g++) {
                double sum = 0, m2 = 0, off = 0;
                for (size_t r = 0; r < rows; r++)
                    sum += v[(g * rows + r) * C1 + c], off = fmax(off, slack[(g * rows + r) * C1 + c]);
                const double m = sum / (double)rows;
                for (size_t r = 0; r < rows; r++)
                    m2 += (v[(g * rows + r) * C1 + c] - m) * (v[(g * rows + r) * C1 + c] - m);
                const double want = 1 / sqrt(m2 / (double)rows + s.eps);
                near(name, "mean", (int)c, (double)mean[g * C1 + c], m, off + 1e-6);
                near(name, "rstd", (int)c, (double)rstd[g * C1 + c], want, want * (1e-5 + off * want));
                of_mean = 0.9 * of_mean + 0.1 * m;
                of_var = 0.9 * of_var + 0.1 * (rows > 1 ? m2 / (double)(rows - 1) : m2);
            }
            near(name, "running mean", (int)c, (double)r_mean[c], of_mean, 1e-5);
            near(name, "running variance", (int)c, (double)r_var[c], of_var, 1e-5 * (1 + fabs(of_var)));
        }
    }
    void check_gradients(const std::vector<double> &v, const std::vector<double> &slack, const char *name) const
    {
        const std::vector<float> dgamma = d_dgamma.get(), dbeta = d_dbeta.get(), totals = d_totals.get();
        dev_bits(totals.data(), totals.size() * sizeof(float));
        const size_t C1 = (size_t)C, rows = count / C1 / (size_t)s.groups;
        for (size_t c = 0; c < C1; c++) {
            double all_g = 0, all_gx = 0, all_off = 0;
            for (size_t g = 0; g < (size_t)s.groups; g++) {
                double sum = 0, sum_x = 0, off = 0;
                for (size_t r = 0; r < rows; r++) {
                    const size_t i = (g * rows + r) * C1 + c;
                    const double x = norm.centred((int)g, (int)c, (double)pre[i]);
                    sum += v[i];
                    sum_x += v[i] * x;
                    off += (slack[i] + 1e-6 * fabs(v[i])) * (1 + fabs(x));
                }
                const double rstd = (double)norm.rstd[g * C1 + c], n = (double)rows;
                near(name, "total 0", (int)c, (double)totals[2 * g * C1 + c], sum / n, off / n);
                near(name, "total 1", (int)c, (double)totals[(2 * g + 1) * C1 + c], sum_x * rstd * rstd / n,
                     off * rstd * rstd / n);
                all_g += sum;
                all_gx += sum_x * rstd;
                all_off += off * (1 + rstd);
            }
            if (s.dbeta) near(name, "dbeta", (int)c, (double)dbeta[c], all_g, all_off);
            if (s.dgamma) near(name, "dgamma", (int)c, (double)dgamma[c], all_gx, all_off);
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
    void check(const char *name) const
    {
        for (unsigned n : counters.get()) DG_CHECKF(n == 0, "%s left a counter at %u", name, n);
    }
    /* Launches twice and compares the bits. False: a launch failed, which has been reported. */
    template <class launch> bool same_twice(const char *name, const dev_buffer<float> &out, launch run) const
    {
        std::vector<float> first;
        for (int time = 0; time < 2; time++) {
            dev_op = name;
            run();
            if (!dev_ok(name)) return false;
            check(name);
            const std::vector<float> got = out.get();
            if (time)
                DG_CHECKF(memcmp(got.data(), first.data(), got.size() * sizeof(float)) == 0,
                          "%s: other bits the second time", name);
            first = got;
        }
        return true;
    }
};

#endif
