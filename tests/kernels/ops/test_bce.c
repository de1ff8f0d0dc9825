/* Binary cross entropy on logits. */
#include "host/net/gan.h"
#include "golden_ops.h"
#include "reference.h"
#include "test.h"

static dg_step_state state = {.seed = 1, .step = 5};
static dg_metrics ring[DG_RING], want_ring[DG_RING];

static dg_op bce_op(int n, double scale, double target)
{
    dg_op op = {.name = "bce", .kind = DG_OP_bce};
    op.u.bce = (dg_bce_args){.dlogit = dg_case_numbers((size_t)n, 1, 0),
                             .ring = ring,
                             .logit = dg_case_numbers((size_t)n, scale, 0),
                             .state = &state,
                             .n = n,
                             .target = target,
                             .loss = DG_LOSS_D_FAKE,
                             .prob = DG_D_GZ1};
    return op;
}

static void check(dg_backend *b, int n, double scale, double target)
{
    for (size_t i = 0; i < DG_RING; i++)
        for (int k = 0; k < DG_METRICS_MAX; k++) ring[i].value[k] = want_ring[i].value[k] = (double)i + k;
    dg_op op = bce_op(n, scale, target), want = op;
    want.u.bce.dlogit = dg_case_copy(op.u.bce.dlogit, (size_t)n);
    want.u.bce.ring = want_ring;
    dg_ref_run(&want);
    const char *wrong = dg_case_run(b, &op);
    DG_CHECKF(!wrong, "%s: n %d: %s", b->name, n, wrong ? wrong : "");
    double e = dg_case_error(op.u.bce.dlogit, want.u.bce.dlogit, (size_t)n, 0.1 / n);
    DG_CHECKF(e <= 4 * dg_case_eps(b), "%s: n %d scale %g target %g: dlogit %g", b->name, n, scale, target, e);
    dg_metrics *got = &ring[state.step % DG_RING], *ref = &want_ring[state.step % DG_RING];
    DG_NEAR(got->value[DG_LOSS_D_FAKE], ref->value[DG_LOSS_D_FAKE], 1e-14 * (1 + fabs(ref->value[DG_LOSS_D_FAKE])));
    DG_NEAR(got->value[DG_D_GZ1], ref->value[DG_D_GZ1], 1e-14);
    got->value[DG_LOSS_D_FAKE] = ref->value[DG_LOSS_D_FAKE];
    got->value[DG_D_GZ1] = ref->value[DG_D_GZ1];
    DG_CHECKF(memcmp(ring, want_ring, sizeof ring) == 0, "%s: wrote elsewhere in the ring", b->name);
}

static void check_differences(dg_backend *b, double target)
{
    const double h = 1e-5;
    dg_op op = bce_op(11, 3, target);
    double *l = op.u.bce.logit, *gradient = op.u.bce.dlogit;
    for (int i = 0; i < 11; i++) {
        double keep = l[i], loss[2];
        for (int s = 0; s < 2; s++) {
            l[i] = keep + (s ? h : -h);
            DG_CHECK(!dg_case_run(b, &op));
            loss[s] = ring[state.step % DG_RING].value[DG_LOSS_D_FAKE];
        }
        l[i] = keep;
        DG_CHECK(!dg_case_run(b, &op));
        DG_NEAR(gradient[i], (loss[1] - loss[0]) / (2 * h), 1e-9);
    }
}

/* What a clamped log cannot do: finite and right where sigmoid rounds to 0 or 1. */
static void check_extremes(dg_backend *b)
{
    static const double l[] = {800, -800, 120, -120, 40, -40, 0, -0.0};
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 8; i++) {
            dg_op op = bce_op(1, 1, t);
            *(double *)op.u.bce.logit = l[i];
            DG_CHECK(!dg_case_run(b, &op));
            double wrong_by = t ? -l[i] : l[i]; /* loss = softplus of it */
            double loss = wrong_by > 0 ? wrong_by + log1p(exp(-wrong_by)) : log1p(exp(wrong_by));
            if (loss > 1e-300) DG_NEAR(ring[state.step % DG_RING].value[DG_LOSS_D_FAKE] / loss, 1, 1e-14);
            double d = (t ? -1 : 1) / (1 + exp(-wrong_by));
            if (fabs(d) > 1e-37) DG_NEAR(*(double *)op.u.bce.dlogit / d, 1, 3 * dg_case_eps(b));
        }
    dg_op op = bce_op(5, 1, 1);
    ((double *)op.u.bce.logit)[3] = NAN;
    DG_CHECK(!dg_case_run(b, &op));
    DG_CHECK(isnan(ring[state.step % DG_RING].value[DG_LOSS_D_FAKE]));
    DG_CHECK(isnan(((double *)op.u.bce.dlogit)[3]) && !isnan(((double *)op.u.bce.dlogit)[2]));
}

static void check_golden(dg_backend *b)
{
    for (int t = 0; t < 2; t++) {
        dg_op op = bce_op(9, 1, t);
        op.u.bce.logit = dg_case_copy(golden_bce_logit, 9);
        DG_CHECK(!dg_case_run(b, &op));
        DG_NEAR(ring[state.step % DG_RING].value[DG_LOSS_D_FAKE], t ? *golden_bce_loss1 : *golden_bce_loss0, 1e-14);
        DG_NEAR(ring[state.step % DG_RING].value[DG_D_GZ1], *golden_bce_prob, 1e-15);
        DG_CHECK(dg_case_error(op.u.bce.dlogit, t ? golden_bce_dlogit1 : golden_bce_dlogit0, 9, 0.1) <=
                 4 * dg_case_eps(b));
    }
}

int main(void)
{
    static const int sizes[] = {1, 2, 3, 5, 31, 64, 127, 128, 1000};
    dg_backend *b;
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            state.step = k * 700; /* also beyond the ring's end */
            check(b, sizes[k], 2, 0);
            check(b, sizes[k], 15, 1);
            check(b, sizes[k], 5, 0.9);
        }
        if (b->real == DG_F64) {
            check_differences(b, 0);
            check_differences(b, 1);
            check_differences(b, 0.7);
        }
        check_extremes(b);
        check_golden(b);
        dg_case_free();
        b->close(b);
    }
    return dg_test_report();
}
