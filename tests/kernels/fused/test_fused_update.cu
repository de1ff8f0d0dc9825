/* The fused update compared with the launches that it replaces: norm_act, norm_act_dx, conv_dw and adam with equal
 * inputs. The jobs do not form a network; each has a shape of its own. */
#include <float.h>
#include <memory>

#include "tests/run_conv.h"
#include "kernels/fused/fuse.cuh"
#include "update_jobs.h"
extern "C" {
#include "core/tune/conv_tiles.h"
#include "core/plan/precision.h"
#include "host/net/gan.h"
#include "core/tune/tune.h"
}

/* Jobs of updates of D, then of G. Both lists have maps of odd sizes, partly filled tiles and both cell sizes. */
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
    {DG_FUSED_THIN_MMA, 4, 11, 10, 3, 40, PLAIN, NORM, 4},
};
/* No job uses tensor cores, so one precision is enough. */
static const std::vector<job_case> no_mma = {
    {DG_FUSED_GEMV, 10, 2, 2, 8, 3, DX, PLAIN, 1},
    {DG_FUSED_DENSE, 4, 2, 2, 4, 5, NORM, PLAIN, 1},
};

/* Three blocks: one recomputes an operand, one updates weights, one updates the norm. ThreadSanitizer can track three
 * blocks and checks that the last block waits. */
static const std::vector<job_case> alone = {{DG_FUSED_DENSE, 4, 2, 2, 4, 8, DX, PLAIN, 1}};

static bool rounds(dg_fused_family kind) { return dg_update_has_factors(kind) || kind == DG_FUSED_THIN_MMA; }

static unsigned long long seed = 5;
static std::vector<float> numbers(size_t n, float around, float spread)
{
    std::vector<float> v = dev_random(n, seed += 77);
    for (float &f : v) f = around + spread * f;
    return v;
}

/* One operand of a job: a tensor and the vectors of its prologue; `dense`: the same operand computed by unfused ops. */
struct side {
    dg_prologue s = {};
    int N, H, W, C, groups;
    int64_t norm = 0; /* index of gamma in the weights; beta follows gamma */
    std::vector<float> dy, pre, mean, rstd;
    dev_buffer<float> tensor, before, means, rstds, totals, dense;

    side(dg_prologue_kind kind, int n, int h, int w, int c, int g, float size)
        : N(n), H(h), W(w), C(c), groups(g), dy(numbers((size_t)n * h * w * c, 0, size)),
          pre(numbers(dy.size(), 0.2f, 1)), mean(numbers((size_t)g * c, 0.1f, 0.3f)),
          rstd(numbers((size_t)g * c, 1.2f, 0.4f)), tensor(dy), before(pre), means(mean), rstds(rstd),
          totals((size_t)2 * g * c), dense(dy.size())
    {
        s.kind = kind;
        s.x = kind == NORM ? before.p : tensor.p;
        s.groups = kind == PLAIN ? 1 : g;
        if (kind == PLAIN) return;
        s.mean = means.p;
        s.rstd = rstds.p;
        s.factor = 0.2f;
        s.pre = kind == DX ? before.p : nullptr;
        s.totals = kind == DX ? totals.p : nullptr;
    }

    /* Computes the inputs of the prologue and the result of the unfused op from these weights. */
    void prepare(float *p, float *g, bool *ok)
    {
        if (s.kind == PLAIN) return dense.put(dy);
        s.gamma = p + norm;
        s.beta = s.kind == NORM ? s.gamma + C : nullptr;
        dg_norm_act_args a = {};
        a.N = N, a.H = H, a.W = W, a.C = C, a.groups = groups;
        a.act = DG_ACT_LEAKY;
        a.slope = (double)s.factor;
        a.mean = means.p, a.rstd = rstds.p, a.gamma = p + norm, a.beta = p + norm + C, a.x = before.p;
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
        extern_scratch.reset(new dev_buffer<char>(scratch_bytes(&op)));
        dev_buffer<float> given(dy);
        a.dx = dense.p, a.dy = given.p, a.dgamma = g + norm, a.dbeta = g + norm + C, a.scratch = extern_scratch->p;
        dg_cuda_norm_act_dx<float>(&a, &tune, 0);
        *ok = dev_ok("norm_act_dx") && *ok;
    }

  private:
    std::unique_ptr<dev_buffer<char>> extern_scratch;
    static size_t scratch_bytes(const dg_op *op);

    /* Stores gradients before the norm and their means, as DG_EPILOGUE_NORM_DX writes them. */
    void leave_gradient(const float *p)
    {
        std::vector<float> affine((size_t)(2 * C)), left(dy.size()), sums((size_t)(2 * groups * C));
        DG_CHECK(cudaMemcpy(affine.data(), p + norm, affine.size() * sizeof(float), cudaMemcpyDeviceToHost) ==
                 cudaSuccess);
        const size_t per_group = dy.size() / (size_t)groups;
        std::vector<double> total(sums.size());
        for (size_t i = 0; i < dy.size(); i++) {
            const size_t c = i % (size_t)C, group = i / per_group, at = group * (size_t)C + c;
            const float d = pre[i] - mean[at], z = d * (affine[c] * rstd[at]) + affine[(size_t)C + c];
            left[i] = z > 0 ? dy[i] : s.factor * dy[i];
            total[2 * group * (size_t)C + c] += (double)left[i];
            total[(2 * group + 1) * (size_t)C + c] += (double)left[i] * (double)d;
        }
        for (size_t i = 0; i < total.size(); i++) {
            const size_t c = i % (size_t)C, group = i / (2 * (size_t)C);
            const double r = (double)rstd[group * (size_t)C + c];
            sums[i] = (float)(total[i] * (i / (size_t)C % 2 ? r * r : 1) * (double)C / (double)per_group);
        }
        tensor.put(left);
        totals.put(sums);
    }
};

extern "C" {
#include "core/plan/work.h"
}
size_t side::scratch_bytes(const dg_op *op) { return dg_scratch_of(op, DG_F32); }

/* Replaces cases that this precision lacks: thin_mma has no fp16 kernels. */
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

struct problem {
    const std::vector<job_case> cases;
    const dg_math math;
    std::vector<std::unique_ptr<side>> x, y;
    std::vector<std::unique_ptr<dev_buffer<char>>> factors;
    dg_fused_update u = {};
    std::vector<float> start;
    const char *name;

    problem(const std::vector<job_case> &c, int groups, dg_math m, const char *called)
        : cases(suited(c, m)), math(m), name(called)
    {
        int64_t at = cases.size() > 1 ? 8 : 0; /* a gap between tensors, as after each job */
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
            for (int i = 0; i < 2 && dg_update_has_factors(k.kind); i++) {
                const size_t values = (i ? y : x).back()->dy.size();
                factors.emplace_back(new dev_buffer<char>(values * 2));
                j->factors[i] = factors.back()->p;
            }
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

    /* Shift for gradients that would otherwise be subnormal in fp16. */
    static constexpr int SHIFT = 18;
    bool scaled(const job_case &k) const { return math == DG_MATH_FP16 && k.kind == DG_FUSED_MMA; }

    /* Computes the gradient of job i by the unfused op into g. */
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

    /* Compares the fused gradient of job i. A transformed operand may be rounded to the neighbouring value. */
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

    /* Runs several consecutive steps with one set of counters. */
    void run(int steps, bool advance)
    {
        dg_gpu gpu = dev_gpu(200 << 10, math);
        if (!dev_fuses(math, &gpu)) return;
        const char *why = dg_fused_update_refuses(&u, &gpu);
        if (!DG_CHECKF(!why, "%s: %s", name, why)) return;
        const dg_fused_size size = dg_fused_update_size(&u);
        const size_t n = start.size();
        std::vector<float> zero(n), weights = start;
        /* two weights that are not finite */
        weights[0] = INFINITY, weights[(size_t)u.job[u.jobs - 1].offset + 3] = NAN;
        dev_buffer<float> p(weights), m(zero), v(zero), g(zero), wp(weights), wm(zero), wv(zero), wg(zero);
        dev_buffer<char> scratch(size.bytes ? size.bytes : 1);
        dev_buffer<unsigned> counters(std::vector<unsigned>((size_t)size.counters, 0));
        dev_buffer<unsigned> adam_counters(std::vector<unsigned>(DG_OP_COUNTERS, 0));
        dg_step_state now = {};
        now.seed = 3;
        now.step = 6;
        now.cursor = 40;
        now.lr[DG_D] = 0.01;
        now.beta2 = 0.999;
        dev_buffer<dg_step_state> state(std::vector<dg_step_state>(1, now)), other(std::vector<dg_step_state>(1, now));
        dev_buffer<dg_metrics> ring(DG_RING), other_ring(DG_RING);
        for (int step = 0; step < steps; step++) {
            bool ok = true;
            for (int i = 0; i < u.jobs && ok; i++) {
                x[(size_t)i]->prepare(wp.p, wg.p, &ok);
                y[(size_t)i]->prepare(wp.p, wg.p, &ok);
                ok = ok && unfused(i, wg.p);
            }
            if (!ok) return;
            const std::vector<float> want = wg.get();
            std::vector<float> there = want; /* values outside of all jobs must not change */
            for (int i = 0; i < u.jobs; i++) {
                dg_update_job *j = &u.job[i];
                std::fill_n(there.begin() + j->offset, (int64_t)j->conv.Co * j->conv.K * j->conv.K * j->conv.Ci, NAN);
                j->x = x[(size_t)i]->s;
                j->y = y[(size_t)i]->s;
                for (dg_prologue *s : {&j->x, &j->y}) {
                    if (s->gamma) s->gamma = p.p + (s->gamma - wp.p);
                    if (s->beta) s->beta = p.p + (s->beta - wp.p);
                }
                j->conv.w = g.p + j->offset;
            }
            g.put(there);
            u.adam.p = p.p, u.adam.m = m.p, u.adam.v = v.p, u.adam.g = g.p, u.adam.ring = ring.p,
            u.adam.state = state.p;
            u.advance = {advance ? state.p : nullptr, 7};
            u.scratch = (float *)(void *)scratch.p;
            u.counters = counters.p;
            dev_op = name;
            dg_fused_update_launch(&u, 0);
            if (!dev_ok(name)) return;
            const std::vector<float> got = g.get();
            for (int i = 0; i < u.jobs; i++) compare(i, got, want);
            dev_bits(got.data(), got.size() * sizeof(float));

            /* Adam with this gradient must give the same bits. */
            dg_adam_args a = u.adam;
            wg.put(got);
            a.p = wp.p, a.m = wm.p, a.v = wv.p, a.g = wg.p, a.ring = other_ring.p, a.state = other.p;
            a.counters = adam_counters.p;
            dg_tune tune = {};
            tune.variant = &dg_vector;
            tune.block = 256;
            dg_cuda_adam<float>(&a, &tune, 0);
            if (!dev_ok("adam")) return;
            same("p", p, wp), same("m", m, wm), same("v", v, wv);
            const double bad = ring.get()[now.step].value[DG_BAD_D],
                         wanted = other_ring.get()[now.step].value[DG_BAD_D];
            DG_CHECKF(bad == wanted && bad >= 2, "%s: %g weights are not finite, not %g", name, bad, wanted);
            if (advance) now.step++, now.cursor += 7;
            const dg_step_state then = state.get()[0];
            DG_CHECKF(!memcmp(&then, &now, sizeof now), "%s: step %d at row %d", name, (int)then.step,
                      (int)then.cursor);
            other.put(std::vector<dg_step_state>(1, now));
            for (unsigned c : counters.get()) DG_CHECKF(!c, "%s: a counter is left at %u", name, c);
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
