/* Losses of a GAN: against plain loops, differences and PyTorch; NaN. */
#include "host/net/gan.h"
#include "golden_ops.h"
#include "reference.h"
#include "test.h"

static dg_step_state state = {.seed = 1, .step = 5};
static dg_metrics ring[DG_RING], want_ring[DG_RING];

/* The three losses of a step with each --loss; the last part is cross entropy with a smoothed label. */
enum { REAL, FAKE, OF_G, OF_STEP, PARTS = DG_LOSS_KINDS * OF_STEP + 1 };

static dg_gan_loss_args part_of(int part)
{
    if (part == PARTS - 1) return (dg_gan_loss_args){.form = DG_GAN_CROSS, .target = 0.9};
    const dg_loss_info *l = &dg_losses[part / OF_STEP];
    const int which = part % OF_STEP;
    return (dg_gan_loss_args){.form = which == OF_G ? l->form_g : l->form_d,
                              .both = l->paired && which == OF_G,
                              .target = which == FAKE ? l->low : 1,
                              .low = l->low};
}

static bool is_paired(int part) { return part < PARTS - 1 && dg_losses[part / OF_STEP].paired; }

static const char *name_of(int part)
{
    static const char *const which[] = {"real", "fake", "g"};
    static char name[64];
    if (part == PARTS - 1) return "bce with target 0.9";
    snprintf(name, sizeof name, "%s, %s", dg_losses[part / OF_STEP].word, which[part % OF_STEP]);
    return name;
}

static dg_op loss_op(int part, int n, double scale)
{
    dg_op op = {.name = "gan_loss", .kind = DG_OP_gan_loss};
    dg_gan_loss_args *a = &op.u.gan_loss;
    *a = part_of(part);
    a->dlogit = dg_case_numbers((size_t)n, 1, 0);
    a->ring = ring;
    a->logit = dg_case_numbers((size_t)n, scale, 0.25);
    a->other = is_paired(part) ? dg_case_numbers((size_t)n, scale, -0.5) : NULL;
    a->state = &state;
    a->n = n;
    a->loss = DG_LOSS_G;
    a->prob = DG_D_GZ2;
    return op;
}

static dg_metrics *now(void) { return &ring[state.step % DG_RING]; }

static void check(dg_backend *b, int part, int n, double scale)
{
    for (size_t i = 0; i < DG_RING; i++)
        for (int k = 0; k < DG_METRICS_MAX; k++) ring[i].value[k] = want_ring[i].value[k] = (double)i + k;
    dg_op op = loss_op(part, n, scale), want = op;
    want.u.gan_loss.dlogit = dg_case_copy(op.u.gan_loss.dlogit, (size_t)n);
    want.u.gan_loss.ring = want_ring;
    dg_ref_run(&want);
    const char *wrong = dg_case_run(b, &op);
    DG_CHECKF(!wrong, "%s: %s, n %d: %s", b->name, name_of(part), n, wrong ? wrong : "");
    const double e = dg_case_error(op.u.gan_loss.dlogit, want.u.gan_loss.dlogit, (size_t)n,
                                   (op.u.gan_loss.form == DG_GAN_CROSS ? 0.1 : scale) / n);
    DG_CHECKF(e <= 4 * dg_case_eps(b), "%s: %s, n %d: dlogit is %g off", b->name, name_of(part), n, e);
    const dg_metrics *ref = &want_ring[state.step % DG_RING];
    const double off = fabs(now()->value[DG_LOSS_G] - ref->value[DG_LOSS_G]);
    DG_CHECKF(off <= 1e-14 * (1 + scale * scale), "%s: %s, n %d: loss is %g off", b->name, name_of(part), n, off);
    DG_NEAR(now()->value[DG_D_GZ2], ref->value[DG_D_GZ2], 1e-14 + n * 1e-16);
    now()->value[DG_LOSS_G] = ref->value[DG_LOSS_G];
    now()->value[DG_D_GZ2] = ref->value[DG_D_GZ2];
    DG_CHECKF(!memcmp(ring, want_ring, sizeof ring), "%s: wrote elsewhere in the ring", b->name);
}

/* The loss that the gradient is of: of a relativistic one both halves, which the second run takes from the other side.
 */
static double whole_loss(dg_backend *b, const dg_op *op)
{
    dg_op whole = *op;
    dg_gan_loss_args *a = &whole.u.gan_loss;
    a->dlogit = dg_case_copy(a->dlogit, (size_t)a->n);
    a->both = 0;
    DG_CHECK(!dg_case_run(b, &whole));
    double loss = now()->value[DG_LOSS_G];
    if (!a->other) return loss;
    void *const swap = a->logit;
    a->logit = a->other, a->other = swap, a->target = -a->target;
    DG_CHECK(!dg_case_run(b, &whole));
    return loss + now()->value[DG_LOSS_G];
}

static void check_differences(dg_backend *b, int part)
{
    const double h = 1e-5;
    dg_op op = loss_op(part, 11, 1.5);
    DG_CHECK(!dg_case_run(b, &op));
    const double told = now()->value[DG_LOSS_G], all = whole_loss(b, &op);
    if (op.u.gan_loss.both || !op.u.gan_loss.other) DG_NEAR(told, all, 1e-14);
    double *l = op.u.gan_loss.logit, *gradient = op.u.gan_loss.dlogit;
    for (int i = 0; i < 11; i++) {
        const double keep = l[i];
        double loss[2];
        for (int s = 0; s < 2; s++) {
            l[i] = keep + (s ? h : -h);
            loss[s] = whole_loss(b, &op);
        }
        l[i] = keep;
        DG_NEAR(gradient[i], (loss[1] - loss[0]) / (2 * h), 1e-9);
    }
}

/* What a clamped log cannot do: finite and right where sigmoid rounds to 0 or 1. */
static void check_extremes(dg_backend *b)
{
    static const double l[] = {800, -800, 120, -120, 40, -40, 0, -0.0};
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 8; i++) {
            dg_op op = loss_op(DG_LOSS_BCE * OF_STEP + (t ? REAL : FAKE), 1, 1);
            *(double *)op.u.gan_loss.logit = l[i];
            DG_CHECK(!dg_case_run(b, &op));
            double wrong_by = t ? -l[i] : l[i]; /* loss = softplus of it */
            double loss = wrong_by > 0 ? wrong_by + log1p(exp(-wrong_by)) : log1p(exp(wrong_by));
            if (loss > 1e-300) DG_NEAR(now()->value[DG_LOSS_G] / loss, 1, 1e-14);
            double d = (t ? -1 : 1) / (1 + exp(-wrong_by));
            if (fabs(d) > 1e-37) DG_NEAR(*(double *)op.u.gan_loss.dlogit / d, 1, 3 * dg_case_eps(b));
        }
}

/* PyTorch's losses of the same logits, NULL: not computed there, and their gradients (tools/pytorch/golden_ops.py). */
static const struct {
    const double *logit, *loss, *slope;
} golden[DG_LOSS_KINDS][OF_STEP] = {
#define GAN(n)                                                     \
    {                                                              \
        golden_gan_logit, golden_gan_loss##n, golden_gan_dlogit##n \
    }
    [DG_LOSS_BCE] = {{golden_bce_logit, golden_bce_loss1, golden_bce_dlogit1},
                     {golden_bce_logit, golden_bce_loss0, golden_bce_dlogit0},
                     {golden_bce_logit, golden_bce_loss1, golden_bce_dlogit1}},
    [DG_LOSS_LSGAN] = {GAN(0), GAN(1), GAN(0)},
    [DG_LOSS_HINGE] = {GAN(2), GAN(3), GAN(4)},
    [DG_LOSS_RALSGAN] = {{golden_gan_logit, NULL, golden_gan_dlogit5},
                         {golden_gan_logit, NULL, golden_gan_dlogit6},
                         GAN(7)},
#undef GAN
};

static void check_golden(dg_backend *b)
{
    for (int part = 0; part < PARTS - 1; part++) {
        const int k = part / OF_STEP, which = part % OF_STEP;
        const double *const logit = golden[k][which].logit, *const loss = golden[k][which].loss;
        DG_CHECKF(logit, "%s: no numbers of PyTorch; add it to tools/pytorch/golden_ops.py", name_of(part));
        if (!logit) continue;
        dg_op op = loss_op(part, 9, 1);
        op.u.gan_loss.logit = dg_case_copy(logit, 9);
        if (is_paired(part)) op.u.gan_loss.other = dg_case_copy(golden_gan_other, 9);
        DG_CHECK(!dg_case_run(b, &op));
        if (loss) DG_NEAR(now()->value[DG_LOSS_G], *loss, 1e-14);
        if (k == DG_LOSS_BCE) DG_NEAR(now()->value[DG_D_GZ2], *golden_bce_prob, 1e-15);
        const double e = dg_case_error(op.u.gan_loss.dlogit, golden[k][which].slope, 9, 0.1);
        DG_CHECKF(e <= 4 * dg_case_eps(b), "%s: %s: dlogit is %g off PyTorch's", b->name, name_of(part), e);
    }
}

static void check_nan(dg_backend *b)
{
    for (int part = 0; part < PARTS; part++) {
        dg_op op = loss_op(part, 5, 1);
        ((double *)op.u.gan_loss.logit)[3] = NAN;
        DG_CHECK(!dg_case_run(b, &op));
        DG_CHECKF(isnan(now()->value[DG_LOSS_G]) && isnan(now()->value[DG_D_GZ2]), "%s: %s hides NaN", b->name,
                  name_of(part));
        const bool says_nothing = op.u.gan_loss.form == DG_GAN_SCORE; /* its gradient is the same for all logits */
        DG_CHECKF(says_nothing || isnan(((double *)op.u.gan_loss.dlogit)[3]), "%s: %s hides NaN", b->name,
                  name_of(part));
    }
}

int main(void)
{
    static const int sizes[] = {1, 2, 3, 5, 31, 64, 255, 256, 257, 1000};
    dg_backend *b;
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        for (int part = 0; part < PARTS; part++) {
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
                state.step = k * 700; /* also beyond the ring's end */
                check(b, part, sizes[k], k % 2 ? 1.5 : 20);
            }
            if (b->real == DG_F64 && dg_case_slowness() < 2) check_differences(b, part);
        }
        check_extremes(b);
        check_golden(b);
        check_nan(b);
        dg_case_free();
        b->close(b);
    }
    return dg_test_report();
}
