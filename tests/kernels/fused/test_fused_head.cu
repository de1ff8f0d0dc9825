/* Compares the fused last layer of D with its ops in double on the host. The losses must equal those of gan_loss.cu bit
 * for bit. */
#include "fused_case.h"
extern "C" {
#include "host/net/gan.h"
}

struct head_case {
    int N, pixels, C, losses, groups;
    dg_prologue_kind in;
    dg_epilogue_kind out;
    bool small;
};
static const head_case cases[] = {
    {4, 16, 8, 2, 2, DG_PROLOGUE_NORM, DG_EPILOGUE_NORM_DX, true},
    {3, 5, 12, 1, 1, DG_PROLOGUE_NORM, DG_EPILOGUE_NORM_DX, true},
    {34, 3, 20, 1, 1, DG_PROLOGUE_NORM, DG_EPILOGUE_NORM_DX, true},
    {66, 2, 4, 2, 2, DG_PROLOGUE_NORM, DG_EPILOGUE_NORM_DX, true},
    {6, 16, 256, 2, 2, DG_PROLOGUE_NORM, DG_EPILOGUE_NORM_DX, false},
    {2, 19, 1028, 1, 1, DG_PROLOGUE_NORM, DG_EPILOGUE_NORM_DX, false},
    {2, 70, 132, 2, 1, DG_PROLOGUE_NORM, DG_EPILOGUE_NORM_DX, false},
    {4, 9, 24, 2, 1, DG_PROLOGUE_PLAIN, DG_EPILOGUE_PLAIN, true},
    {300, 1, 4, 1, 3, DG_PROLOGUE_NORM, DG_EPILOGUE_NORM_DX, false},
    {3, 16, 40, 1, 1, DG_PROLOGUE_PLAIN, DG_EPILOGUE_ACT_DX, true},
    {1, 1, 4, 1, 1, DG_PROLOGUE_NORM, DG_EPILOGUE_PLAIN, true},
    {530, 1, 4, 2, 1, DG_PROLOGUE_PLAIN, DG_EPILOGUE_PLAIN, false},
};

static bool same(double a, double b) { return a == b || fabs(a - b) <= 1e-13 * fabs(b) || (isnan(a) && isnan(b)); }

static void check_losses(const dg_fused_head &h, const std::vector<float> &logit, const std::vector<float> &dlogit,
                         const dg_metrics &row, const char *name)
{
    const size_t n = (size_t)(h.N / h.losses);
    for (int k = 0; k < h.losses; k++) {
        const std::vector<float> mine(logit.begin() + (long)(n * (size_t)k),
                                      logit.begin() + (long)(n * (size_t)(k + 1)));
        dev_buffer<float> l(mine), d(n);
        dev_buffer<dg_metrics> ring(DG_RING);
        dg_gan_loss_args a = {};
        a.dlogit = d.p, a.ring = ring.p, a.logit = l.p, a.state = h.state, a.n = (int)n;
        a.form = DG_GAN_CROSS, a.target = h.target[k], a.loss = h.loss[k], a.prob = h.prob[k];
        const dg_tune tune = {};
        dg_cuda_gan_loss<float>(&a, &tune, 0);
        if (!dev_ok("gan_loss")) return;
        const std::vector<float> want = d.get();
        const dg_metrics other = ring.get()[5];
        DG_CHECKF(memcmp(want.data(), dlogit.data() + n * (size_t)k, n * sizeof(float)) == 0,
                  "%s: dlogit of loss %d is not gan_loss's", name, k);
        DG_CHECKF(same(row.value[h.loss[k]], other.value[h.loss[k]]) &&
                      same(row.value[h.prob[k]], other.value[h.prob[k]]),
                  "%s: loss %d is %.17g, gan_loss has %.17g", name, k, row.value[h.loss[k]], other.value[h.loss[k]]);
    }
}

static void run(const head_case &k)
{
    char name[200];
    snprintf(name, sizeof name, "head N=%d pixels=%d C=%d losses=%d groups=%d prologue %d epilogue %d", k.N, k.pixels,
             k.C, k.losses, k.groups, k.in, k.out);
    fused_prologue in(k.in, k.N, k.pixels, k.C, k.groups, 0.25f, 11);
    fused_epilogue out(k.out, k.N, k.pixels, k.C, k.groups, DG_ACT_LEAKY, 1); /* its norm equals the norm of `in` */
    const size_t image = (size_t)(k.pixels * k.C);
    std::vector<float> w = dev_random(image, 7);
    for (float &f : w) f *= 4 / sqrtf((float)image); /* scales the weights so that logits have typical magnitudes */
    dev_buffer<float> d_w(w), logit((size_t)k.N), dlogit((size_t)k.N);
    dev_buffer<dg_metrics> ring(DG_RING);
    std::vector<dg_step_state> now(1);
    memset(now.data(), 0, sizeof now[0]);
    now[0].step = 3 * DG_RING + 5;
    dev_buffer<dg_step_state> state(now);
    if (k.out == DG_EPILOGUE_NORM_DX) {
        out.old.put(in.x.values);
        if (k.losses == 1) out.s.dgamma = out.s.dbeta = nullptr;
    }
    dg_fused_head h = {};
    h.in = in.s;
    h.out = out.s;
    h.N = k.N;
    h.pixels = k.pixels;
    h.C = k.C;
    h.w = d_w.p;
    h.logit = logit.p;
    h.dlogit = dlogit.p;
    h.losses = k.losses;
    h.target[0] = k.losses == 1 ? 1 : 0.9;
    h.target[1] = 0;
    h.loss[0] = DG_LOSS_D_REAL;
    h.loss[1] = DG_LOSS_D_FAKE;
    h.prob[0] = DG_D_X;
    h.prob[1] = DG_D_GZ1;
    h.ring = ring.p;
    h.state = state.p;
    const char *why = dg_fused_head_refuses(&h);
    DG_CHECKF(!why, "%s: %s", name, why);
    fused_room room(dg_fused_head_size(&h));
    h.scratch = room.memory();
    h.counters = room.counters.p;
    std::vector<float> l;
    const bool norm = k.out == DG_EPILOGUE_NORM_DX;
    if (!room.same(name, &in, &out, 2, {norm, norm}, [&] {
            h.in = in.s, h.out = out.s;
            h.g = (float *)out.result();
            dg_fused_head_launch(&h, 0);
            const std::vector<float> before = l;
            l = logit.get();
            DG_CHECKF(before.empty() || before == l, "%s: other logits", name);
        }))
        return;

    const std::vector<double> x = in.values();
    std::vector<double> want(x.size()), slack(x.size());
    const std::vector<float> d = dlogit.get();
    dev_bits(l.data(), l.size() * sizeof(float));
    for (size_t n = 0; n < (size_t)k.N; n++) {
        double sum = 0, mass = 0;
        for (size_t i = 0; i < image; i++)
            sum += x[n * image + i] * (double)w[i], mass += fabs(x[n * image + i] * (double)w[i]);
        const double off = 8 * (double)FLT_EPSILON * mass * sqrt((double)image);
        DG_CHECKF(fabs((double)l[n] - sum) <= off, "%s: logit %zu is %.9g instead of %.9g", name, n, (double)l[n], sum);
        const int which = (int)n / (k.N / k.losses);
        const double slope = (1 / (1 + exp(-sum)) - h.target[which]) / (k.N / k.losses);
        for (size_t i = 0; i < image; i++) {
            want[n * image + i] = slope * (double)w[i];
            slack[n * image + i] = (off / (k.N / k.losses) + 4 * (double)FLT_EPSILON * fabs(slope)) *
                                   fabs((double)w[i]);
        }
    }
    out.check(want, slack, name);
    check_losses(h, l, d, ring.get()[5], name);
}

int main()
{
    for (const head_case &k : cases)
        if (k.small || !dev_small()) run(k);
    dg_fused_head h = {};
    h.N = 4;
    h.pixels = 1;
    h.C = 4;
    h.losses = h.in.groups = h.out.groups = 1;
    DG_CHECK(!dg_fused_head_refuses(&h));
    h.out.kind = DG_EPILOGUE_NORM_DX; /* an invalid epilogue, because the layer has no norm */
    DG_CHECK(dg_fused_head_refuses(&h));
    h.out.kind = DG_EPILOGUE_PLAIN;
    h.C = 6;
    DG_CHECK(dg_fused_head_refuses(&h));
    h.C = 4;
    h.losses = 3;
    DG_CHECK(dg_fused_head_refuses(&h));
    return dg_test_report();
}
