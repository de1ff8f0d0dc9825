/* Compares the fused update with the launches that it replaces: norm_act, norm_act_dx, conv_dw and adam. A job is the
 * weight gradient of one convolution. Each job has a different shape. In bf16 the first step is repeated with bf16
 * tensors. */
#include <memory>

#include "fused_case.h"
#include "update_jobs.h"
extern "C" {
#include "core/plan/work.h"
#include "host/net/gan.h"
}

/* Jobs of the updates of D and G, with odd sizes, partly filled tiles, and cells of 4x4 and 8x8. */
static const std::vector<job_case> in_D = {
    {DG_FUSED_THIN, 2, 18, 68, 3, 36, PLAIN, PLAIN, 3},     {DG_FUSED_MMA, 2, 20, 22, 16, 16, PLAIN, DX, 5},
    {DG_FUSED_MMA, 4, 10, 11, 24, 72, NORM, DX, 1},         {DG_FUSED_MMA, 6, 8, 7, 16, 24, NORM, DX, 2},
    {DG_FUSED_GEMV, 6, 4, 4, 68, 1, NORM, PLAIN, 1},        {DG_FUSED_THIN, 4, 8, 8, 1, 16, PLAIN, DX, 2},
    {DG_FUSED_THIN_MMA, 2, 14, 70, 3, 20, PLAIN, PLAIN, 3}, {DG_FUSED_THIN_MMA, 4, 8, 9, 1, 36, PLAIN, DX, 2},
};
static const std::vector<job_case> in_G = {
    {DG_FUSED_THIN, 4, 12, 10, 3, 8, PLAIN, NORM, 4},      {DG_FUSED_MMA, 2, 18, 20, 24, 16, DX, PLAIN, 3},
    {DG_FUSED_MMA, 4, 12, 10, 16, 8, DX, NORM, 1},         {DG_FUSED_MMA, 6, 6, 8, 8, 80, DX, NORM, 1},
    {DG_FUSED_DENSE, 36, 3, 3, 12, 132, DX, PLAIN, 1},     {DG_FUSED_THIN, 3, 10, 66, 1, 4, PLAIN, PLAIN, 20},
    {DG_FUSED_THIN_MMA, 4, 11, 10, 3, 40, PLAIN, NORM, 4}, {DG_FUSED_THIN_MMA, 4, 8, 34, 1, 12, PLAIN, NORM, 2},
};
/* These weight gradients do not use tensor cores and need only one precision. */
static const std::vector<job_case> no_mma = {
    {DG_FUSED_GEMV, 10, 2, 2, 8, 3, DX, PLAIN, 1},
    {DG_FUSED_DENSE, 4, 2, 2, 4, 5, NORM, PLAIN, 1},
};

/* An update with only three blocks for ThreadSanitizer, which checks that the last block waits. */
static const std::vector<job_case> alone = {{DG_FUSED_DENSE, 4, 2, 2, 4, 8, DX, PLAIN, 1}};

static bool rounds(dg_fused_family kind) { return dg_update_has_factors(kind) || kind == DG_FUSED_THIN_MMA; }

static unsigned long long seed = 5;
static std::vector<float> numbers(size_t n, float around, float spread)
{
    std::vector<float> v = dev_random(n, seed += 77);
    for (float &f : v) f = around + spread * f;
    return v;
}

/* One operand of a weight gradient. `dense` is the operand after its prologue, computed by unfused ops. */
struct side {
    dg_prologue s = {};
    int N, H, W, C, groups;
    int64_t norm = 0;           /* index of gamma in the weights, followed by beta */
    fused_tensor dy, pre, left; /* left is dy, or the gradient that DG_EPILOGUE_NORM_DX stores */
    std::vector<float> mean, rstd;
    dev_buffer<float> means, rstds, totals, dense;
    dev_buffer<uint16_t> factors;

    side(dg_prologue_kind kind, int n, int h, int w, int c, int g, float size)
        : N(n), H(h), W(w), C(c), groups(g), dy(n, h * w, c, 1, ++seed, 1), pre(n, h * w, c, 1, ++seed, 1),
          left(n, h * w, c, 1, 1, 1), mean(numbers((size_t)g * c, 0.1f, 0.3f)),
          rstd(numbers((size_t)g * c, 1.2f, 0.4f)), means(mean), rstds(rstd), totals((size_t)2 * g * c),
          dense(dy.values.size()), factors(dy.values.size())
    {
        for (float &v : dy.values) v *= size;
        dy.put(dy.values), left.put(dy.values);
        s.kind = kind;
        s.groups = kind == PLAIN ? 1 : g;
        s.factor = 0.25f;
        s.mean = means.p, s.rstd = rstds.p, s.totals = totals.p;
    }

    dg_prologue read(const float *p, bool rounded)
    {
        s.rounded = rounded;
        s.x = (s.kind == NORM ? pre : left).at(rounded);
        s.pre = pre.at(rounded);
        s.gamma = p + norm, s.beta = p + norm + C;
        return s;
    }

    /* Computes the prologue's inputs from weights p, and the prologue's result by unfused ops. */
    void prepare(float *p, float *g, bool *ok)
    {
        if (s.kind == PLAIN) return dense.put(dy.values);
        dg_norm_act_args a = {};
        a.N = N, a.H = H, a.W = W, a.C = C, a.groups = groups;
        a.act = DG_ACT_LEAKY;
        a.slope = (double)s.factor;
        a.mean = means.p, a.rstd = rstds.p, a.gamma = p + norm, a.beta = p + norm + C, a.x = pre.whole.p;
        dg_tune tune = {};
        tune.variant = &dg_direct;
        tune.block = 64;
        if (s.kind == NORM) {
            a.y = dense.p;
            dg_cuda_norm_act<float>(&a, &tune, 0);
            *ok = dev_ok("norm_act") && *ok;
            return;
        }
        leave_gradient(p);
        dg_op op = {};
        op.kind = DG_OP_norm_act_dx;
        op.u.norm_act = a;
        op.tune = tune;
        const dev_buffer<char> scratch(dg_scratch_of(&op, DG_F32));
        a.dx = dense.p, a.dy = dy.whole.p, a.dgamma = g + norm, a.dbeta = g + norm + C, a.scratch = scratch.p;
        dg_cuda_norm_act_dx<float>(&a, &tune, 0);
        *ok = dev_ok("norm_act_dx") && *ok;
    }

  private:
    /* Stores gradients before the norm and their means, as DG_EPILOGUE_NORM_DX writes them. */
    void leave_gradient(const float *p)
    {
        std::vector<float> affine((size_t)(2 * C)), sums((size_t)(2 * groups * C));
        DG_CHECK(cudaMemcpy(affine.data(), p + norm, affine.size() * sizeof(float), cudaMemcpyDeviceToHost) ==
                 cudaSuccess);
        const size_t per_group = dy.values.size() / (size_t)groups;
        std::vector<double> total(sums.size());
        for (size_t i = 0; i < dy.values.size(); i++) {
            const size_t c = i % (size_t)C, group = i / per_group, at = group * (size_t)C + c;
            const float d = pre.values[i] - mean[at], z = d * (affine[c] * rstd[at]) + affine[(size_t)C + c];
            left.values[i] = z > 0 ? dy.values[i] : s.factor * dy.values[i];
            total[2 * group * (size_t)C + c] += (double)left.values[i];
            total[(2 * group + 1) * (size_t)C + c] += (double)left.values[i] * (double)d;
        }
        for (size_t i = 0; i < total.size(); i++) {
            const size_t c = i % (size_t)C, group = i / (2 * (size_t)C);
            const double r = (double)rstd[group * (size_t)C + c];
            sums[i] = (float)(total[i] * (i / (size_t)C % 2 ? r * r : 1) * (double)C / (double)per_group);
        }
        left.put(left.values);
        totals.put(sums);
    }
};

/* Replaces thin_mma by thin in fp16, because thin_mma has no fp16 kernels. */
static std::vector<job_case> suited(std::vector<job_case> cases, dg_math math)
{
    for (job_case &k : cases)
        if (math == DG_MATH_FP16 && k.kind == DG_FUSED_THIN_MMA) k.kind = DG_FUSED_THIN;
    return cases;
}

static std::vector<job_case> by_warpgroups(std::vector<job_case> cases)
{
    for (job_case &k : cases)
        if (k.kind == DG_FUSED_MMA) k.kind = DG_FUSED_WGMMA;
    return cases;
}

struct weights {
    dev_buffer<float> p, m, v, g;

    explicit weights(const std::vector<float> &start)
        : p(start), m(std::vector<float>(start.size())), v(m.get()), g(m.get())
    {}
    weights(const weights &w) : p(w.p.get()), m(w.m.get()), v(w.v.get()), g(w.g.get()) {}
};

struct problem {
    const std::vector<job_case> cases;
    const dg_math math;
    std::vector<std::unique_ptr<side>> x, y;
    dg_fused_update u = {};
    std::vector<float> start;
    const char *name;

    problem(const std::vector<job_case> &c, int groups, dg_math m, const char *called)
        : cases(suited(c, m)), math(m), name(called)
    {
        int64_t at = cases.size() > 1 ? 8 : 0; /* a gap between tensors, as after each weight tensor */
        for (const job_case &k : cases) {
            dg_update_job *j = &u.job[u.jobs++];
            const int parts = k.N % groups ? 1 : groups;
            j->conv = shape_of(k);
            j->kind = k.kind;
            j->tune.split = k.split;
            j->tune.math = m;
            const int up = scaled(k) ? SHIFT : 0;
            (k.x == DX ? j->conv.shift_x : j->conv.shift_y) = up;
            x.emplace_back(new side(k.x, k.N, k.H, k.W, k.Ci, parts, k.x == DX ? ldexpf(1, -up) : 1));
            y.emplace_back(new side(k.y, k.N, j->conv.Ho, j->conv.Wo, k.Co, parts, k.y == DX ? ldexpf(1, -up) : 1));
            if (dg_update_has_factors(k.kind)) j->factors[0] = x.back()->factors.p, j->factors[1] = y.back()->factors.p;
            j->offset = at;
            at += (int64_t)k.Co * j->conv.K * j->conv.K * k.Ci;
            for (side *s : {x.back().get(), y.back().get()}) {
                s->norm = at;
                at += (2 * s->C + 7) / 4 * 4;
            }
        }
        u.adam.n = at;
        u.adam.beta1 = 0.5, u.adam.eps = 1e-8;
        u.adam.net = DG_D, u.adam.bad = DG_BAD_D;
        start = numbers((size_t)at, 0.4f, 0.5f);
    }

    /* Exponent shift for gradients that would otherwise be subnormal in fp16. */
    static constexpr int SHIFT = 18;
    bool scaled(const job_case &k) const { return math == DG_MATH_FP16 && k.kind == DG_FUSED_MMA; }

    bool unfused(int i, float *g)
    {
        const job_case &k = cases[(size_t)i];
        const dg_gpu gpu = dev_gpu(200 << 10, rounds(k.kind) ? math : DG_MATH_FP32);
        dg_op op = {};
        op.kind = DG_OP_conv_dw;
        op.u.conv = u.job[i].conv;
        dg_tune tune = {};
        for (const dg_variant *v : dg_op_info_of(op.kind)->variants)
            if (v && v->fused == (k.kind == DG_FUSED_WGMMA ? DG_FUSED_MMA : k.kind)) tune.variant = v;
        if (!tune.variant) tune.variant = &dg_conv_variant_direct;
        const char *why = dg_variant_check(&op, &tune, DG_F32, &gpu);
        if (!DG_CHECKF(!why, "%s job %d: %s", name, i, why)) return false;
        op.u.conv.x = x[(size_t)i]->dense.p;
        op.u.conv.y = y[(size_t)i]->dense.p;
        op.u.conv.w = g + u.job[i].offset;
        dg_cuda_conv_dw<float>(&op.u.conv, &tune, 0);
        return dev_ok(tune.variant->name);
    }

    /* Compares weight gradient i of the fused update. A transformed operand may be rounded to the neighbouring
     * value. */
    void compare(int i, const std::vector<float> &got, const std::vector<float> &want)
    {
        const dg_conv_args *a = &u.job[i].conv;
        const double terms = (double)a->N * a->Ho * a->Wo;
        const double flip = !rounds(cases[(size_t)i].kind) ? 0 : math == DG_MATH_BF16 ? 1.0 / 64 : 1.0 / 512;
        const double tolerance = ldexp(8 * sqrt(terms) * (double)FLT_EPSILON * sqrt(terms) + flip,
                                       scaled(cases[(size_t)i]) ? -SHIFT : 0);
        const size_t first = (size_t)u.job[i].offset, count = (size_t)a->Co * (size_t)(a->K * a->K) * (size_t)a->Ci;
        size_t bad = 0, at = 0;
        for (size_t k = first; k < first + count; k++)
            if (!(fabs((double)got[k] - (double)want[k]) <= tolerance) && !bad++) at = k;
        DG_CHECKF(!bad, "%s %s job %d: %zu of %zu wrong, at %zu %.9g instead of %.9g", name,
                  dg_precision_name(DG_F32, math), i, bad, count, at - first, bad ? (double)got[at] : 0,
                  bad ? (double)want[at] : 0);
    }

    /* True if kernels of this family can read a bf16 tensor as operand y, or as operand x if is_y is false. */
    static bool reads_halves(dg_fused_family kind, bool is_y)
    {
        if (kind == DG_FUSED_THIN || kind == DG_FUSED_THIN_MMA) return is_y && kind == DG_FUSED_THIN_MMA;
        return dg_update_has_factors(kind) || !is_y;
    }

    bool launch(weights *w, bool halves)
    {
        for (int i = 0; i < u.jobs; i++) {
            dg_update_job *j = &u.job[i];
            j->x = x[(size_t)i]->read(w->p.p, halves && reads_halves(j->kind, false));
            j->y = y[(size_t)i]->read(w->p.p, halves && reads_halves(j->kind, true));
            j->conv.w = w->g.p + j->offset;
            /* without a prologue, a bf16 tensor is the rounded operand */
            j->there[0] = halves && dg_update_has_factors(j->kind) && j->x.kind == PLAIN;
            if (dg_update_has_factors(j->kind))
                j->factors[0] = j->there[0] ? (void *)x[(size_t)i]->left.half.p : x[(size_t)i]->factors.p;
        }
        u.adam.p = w->p.p, u.adam.m = w->m.p, u.adam.v = w->v.p, u.adam.g = w->g.p;
        dev_op = name;
        dg_fused_update_launch(&u, 0);
        return dev_ok(name);
    }

    /* Without Adam, the launch writes gradients only. */
    bool gradients_alone(weights *w, const dg_gpu &gpu)
    {
        const dg_adam_args adam = u.adam;
        const weights before(*w);
        u.adam.n = 0;
        const char *why = dg_fused_update_refuses(&u, &gpu);
        DG_CHECKF(!why, "%s without Adam: %s", name, why);
        DG_CHECK(dg_fused_update_size(&u).counters == 0);
        const bool ok = !why && launch(w, false);
        if (ok) same("p without Adam", w->p, before.p), same("v without Adam", w->v, before.v);
        u.adam = adam;
        return ok;
    }

    void run(int steps, bool advance)
    {
        dg_gpu gpu = dev_gpu(200 << 10, math);
        if (!dev_fuses(math, &gpu)) return;
        const char *why = dg_fused_update_refuses(&u, &gpu);
        if (!DG_CHECKF(!why, "%s: %s", name, why)) return;
        const fused_room room(dg_fused_update_size(&u));
        start[0] = INFINITY, start[(size_t)u.job[u.jobs - 1].offset + 3] = NAN;
        weights own(start), wanted(start);
        dev_buffer<unsigned> adam_counters(std::vector<unsigned>(DG_OP_COUNTERS, 0));
        dg_step_state now = {};
        now.seed = 3;
        now.step = 6;
        now.cursor = 40;
        now.lr[DG_D] = 0.01;
        static int runs;
        static const double beta2[] = {0.999, 0.9, 0.99};
        now.beta2 = beta2[runs++ % 3];
        dev_buffer<dg_step_state> state(std::vector<dg_step_state>(1, now)), other(std::vector<dg_step_state>(1, now));
        dev_buffer<dg_metrics> ring(DG_RING), other_ring(DG_RING);
        u.adam.ring = ring.p, u.adam.state = state.p;
        u.scratch = room.memory();
        u.counters = room.counters.p;
        for (int step = 0; step < steps; step++) {
            bool ok = true;
            for (int i = 0; i < u.jobs && ok; i++) {
                x[(size_t)i]->prepare(wanted.p.p, wanted.g.p, &ok);
                y[(size_t)i]->prepare(wanted.p.p, wanted.g.p, &ok);
                ok = ok && unfused(i, wanted.g.p);
            }
            if (!ok) return;
            const std::vector<float> want = wanted.g.get();
            std::vector<float> there = want; /* values outside of all weight tensors must not change */
            for (int i = 0; i < u.jobs; i++) {
                const dg_conv_args *a = &u.job[i].conv;
                std::fill_n(there.begin() + u.job[i].offset, (int64_t)a->Co * a->K * a->K * a->Ci, NAN);
            }
            own.g.put(there);
            std::unique_ptr<weights> in_bf16, gradients(new weights(own));
            u.advance = {nullptr, 0};
            if (!step && math == DG_MATH_BF16) {
                in_bf16.reset(new weights(own));
                if (!launch(in_bf16.get(), true)) return;
            }
            if (!gradients_alone(gradients.get(), gpu)) return;
            u.advance = {advance ? state.p : nullptr, 7};
            if (!launch(&own, false)) return;
            same("g without Adam", gradients->g, own.g);
            const std::vector<float> got = own.g.get();
            for (int i = 0; i < u.jobs; i++) compare(i, got, want);
            if (in_bf16) same("g of bf16 tensors", in_bf16->g, own.g), same("p of bf16 tensors", in_bf16->p, own.p);
            dev_bits(got.data(), got.size() * sizeof(float));

            /* op adam with the fused gradient must give equal bits */
            dg_adam_args a = u.adam;
            wanted.g.put(got);
            a.p = wanted.p.p, a.m = wanted.m.p, a.v = wanted.v.p, a.g = wanted.g.p;
            a.ring = other_ring.p, a.state = other.p;
            a.counters = adam_counters.p;
            dg_tune tune = {};
            tune.variant = &dg_vector;
            tune.block = 256;
            dg_cuda_adam<float>(&a, &tune, 0);
            if (!dev_ok("adam")) return;
            same("p", own.p, wanted.p), same("m", own.m, wanted.m), same("v", own.v, wanted.v);
            const double bad = ring.get()[now.step].value[DG_BAD_D],
                         other_bad = other_ring.get()[now.step].value[DG_BAD_D];
            DG_CHECKF(bad == other_bad && bad >= 2, "%s: %g weights are not finite, not %g", name, bad, other_bad);
            if (advance) now.step++, now.cursor += 7;
            const dg_step_state then = state.get()[0];
            DG_CHECKF(!memcmp(&then, &now, sizeof now), "%s: step %d at row %d", name, (int)then.step,
                      (int)then.cursor);
            other.put(std::vector<dg_step_state>(1, now));
            room.check(name);
        }
    }

    void same(const char *what, const dev_buffer<float> &a, const dev_buffer<float> &b)
    {
        const std::vector<float> got = a.get(), want = b.get();
        size_t bad = 0, at = 0;
        for (size_t i = 0; i < got.size(); i++)
            if (memcmp(&got[i], &want[i], sizeof(float)) && !(isnan(got[i]) && isnan(want[i])) && !bad++) at = i;
        DG_CHECKF(!bad, "%s: %zu of %s wrong, at %zu %.9g instead of %.9g", name, bad, what, at,
                  bad ? (double)got[at] : 0, bad ? (double)want[at] : 0);
        dev_bits(got.data(), got.size() * sizeof(float));
    }
};

int main()
{
    const dg_math all[] = {DG_MATH_BF16, DG_MATH_FP16};
    for (dg_math math : all) {
        const int odd = math == DG_MATH_FP16;
        problem(in_D, 1 + !odd, math, odd ? "D, one group" : "D, two groups")
            .run(dev_small() || math == DG_MATH_FP16 ? 1 : 2, false);
        problem(in_G, 1 + odd, math, odd ? "G, two groups" : "G, one group")
            .run(dev_small() || math == DG_MATH_FP16 ? 1 : 2, true);
    }
    if (dev_gpu(200 << 10, DG_MATH_BF16).wgmma) {
        problem(by_warpgroups(in_D), 2, DG_MATH_BF16, "D by warpgroups").run(dev_small() ? 1 : 2, false);
        problem(by_warpgroups(in_G), 1, DG_MATH_BF16, "G by warpgroups").run(dev_small() ? 1 : 2, true);
    } else {
        dg_test_skip("only sm_90 has wgmma");
    }
    problem(no_mma, 2, DG_MATH_FP32, "fp32").run(2, true);
    problem(alone, 1, DG_MATH_FP32, "one job").run(1, false);
    return dg_test_report();
}
