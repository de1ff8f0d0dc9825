/* Losses of a GAN besides cross entropy: against plain loops, differences and PyTorch; NaN. */
#include "host/net/gan.h"
#include "golden_ops.h"
#include "reference.h"
#include "test.h"

static dg_step_state state = {.seed = 1, .step = 5};
static dg_metrics ring[DG_RING], want_ring[DG_RING];

/* Every loss of a step of every kind. */
static const struct {
    dg_gan_form form;
    bool other, both;
    double target, low;
} parts[] = {{DG_GAN_SQUARES, false, false, 1, 0},  {DG_GAN_SQUARES, false, false, 0, 0},
             {DG_GAN_HINGE, false, false, 1, -1},   {DG_GAN_HINGE, false, false, -1, -1},
             {DG_GAN_SCORE, false, false, 1, -1},   {DG_GAN_SQUARES, true, false, 1, -1},
             {DG_GAN_SQUARES, true, false, -1, -1}, {DG_GAN_SQUARES, true, true, 1, -1}};
enum { PARTS = sizeof parts / sizeof *parts };

static dg_op loss_op(int part, int n, double scale)
{
    dg_op op = {.name = "gan_loss", .kind = DG_OP_gan_loss};
    op.u.gan_loss = (dg_gan_loss_args){.dlogit = dg_case_numbers((size_t)n, 1, 0),
                                       .ring = ring,
                                       .logit = dg_case_numbers((size_t)n, scale, 0.25),
                                       .other = parts[part].other ? dg_case_numbers((size_t)n, scale, -0.5) : NULL,
                                       .state = &state,
                                       .n = n,
                                       .form = parts[part].form,
                                       .both = parts[part].both,
                                       .target = parts[part].target,
                                       .low = parts[part].low,
                                       .loss = DG_LOSS_G,
                                       .prob = DG_D_GZ2};
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
    DG_CHECKF(!wrong, "%s: part %d, n %d: %s", b->name, part, n, wrong ? wrong : "");
    const double e = dg_case_error(op.u.gan_loss.dlogit, want.u.gan_loss.dlogit, (size_t)n, scale / n);
    DG_CHECKF(e <= 4 * dg_case_eps(b), "%s: part %d, n %d: dlogit is %g off", b->name, part, n, e);
    const dg_metrics *ref = &want_ring[state.step % DG_RING];
    DG_NEAR(now()->value[DG_LOSS_G], ref->value[DG_LOSS_G], 1e-14 * (1 + scale * scale));
    DG_NEAR(now()->value[DG_D_GZ2], ref->value[DG_D_GZ2], 1e-14);
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
    if (parts[part].both || !parts[part].other) DG_NEAR(told, all, 1e-14);
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

/* PyTorch's losses of the same logits, and their gradients. */
static void check_golden(dg_backend *b)
{
    static const double *const loss[] = {
        golden_gan_loss0, golden_gan_loss1, golden_gan_loss2, golden_gan_loss3, golden_gan_loss4, NULL, NULL,
        golden_gan_loss7};
    static const double *const slope[] = {golden_gan_dlogit0, golden_gan_dlogit1, golden_gan_dlogit2,
                                          golden_gan_dlogit3, golden_gan_dlogit4, golden_gan_dlogit5,
                                          golden_gan_dlogit6, golden_gan_dlogit7};
    for (int part = 0; part < PARTS; part++) {
        dg_op op = loss_op(part, 9, 1);
        op.u.gan_loss.logit = dg_case_copy(golden_gan_logit, 9);
        if (parts[part].other) op.u.gan_loss.other = dg_case_copy(golden_gan_other, 9);
        DG_CHECK(!dg_case_run(b, &op));
        if (loss[part]) DG_NEAR(now()->value[DG_LOSS_G], *loss[part], 1e-14);
        const double e = dg_case_error(op.u.gan_loss.dlogit, slope[part], 9, 0.1);
        DG_CHECKF(e <= 4 * dg_case_eps(b), "%s: part %d: dlogit is %g off PyTorch's", b->name, part, e);
    }
}

static void check_nan(dg_backend *b)
{
    for (int part = 0; part < PARTS; part++) {
        dg_op op = loss_op(part, 5, 1);
        ((double *)op.u.gan_loss.logit)[3] = NAN;
        DG_CHECK(!dg_case_run(b, &op));
        DG_CHECKF(isnan(now()->value[DG_LOSS_G]) && isnan(now()->value[DG_D_GZ2]), "%s: part %d hides NaN", b->name,
                  part);
        const bool says_nothing = parts[part].form == DG_GAN_SCORE; /* its gradient is the same for all logits */
        DG_CHECKF(says_nothing || isnan(((double *)op.u.gan_loss.dlogit)[3]), "%s: part %d hides NaN", b->name, part);
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
        check_golden(b);
        check_nan(b);
        dg_case_free();
        b->close(b);
    }
    return dg_test_report();
}
