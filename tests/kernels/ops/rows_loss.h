/* Test cases for losses: softmax with cross entropy, and the losses of GANs. */
#include "host/net/gan_losses.h"
#include "op_rows.h"

enum { LOSS = 1, SHARE = 3 };

static double loss_now(void) { return *op_metric(LOSS); }
static double share_now(void) { return *op_metric(SHARE); }

/* ---- Softmax ---- */

/* N, C, ten times the logits' scale, step. Some steps exceed DG_RING. */
static op_shape softmax_shapes[] = {
    {1, 2, 10, 0},       {1, 1000, 800, 331},  {3, 3, 50, 662},  {3, 101, 100000, 993}, {8, 7, 10, 1324},
    {8, 100, 50, 1655},  {17, 10, 800, 1986},  {17, 64, 10, 5},  {17, 101, 50, 2317},   {63, 31, 100000, 2648},
    {63, 33, 800, 2979}, {63, 1000, 50, 3310}, {129, 32, 10, 7}, {129, 2, 50, 3641},    {257, 3, 100000, 3972},
    {257, 33, 10, 11},   {257, 100, 800, 13},  {300, 3, 50, 15}, {1033, 3, 50, 17},
};

/* Combinations of operands that plans use, each without and with label smoothing. */
enum { TRAIN, EVERYTHING, TEST, CLASSIFY, USES };

static void softmax_set(dg_op *op, int variation)
{
    dg_softmax_args *a = &op->u.softmax;
    op_state.step = (uint64_t)op_more[1];
    op_fill(op, "logit", op_more[0] / 10.0, 0);
    int32_t *label = (int32_t *)(uintptr_t)a->label;
    for (int i = 0; i < a->N; i++) label[i] = (i * 7 + i / a->C) % a->C;
    a->smoothing = variation % 2 * 0.1;
    a->loss = LOSS, a->right = SHARE;
    const int use = variation / 2;
    if (use == TRAIN || use == CLASSIFY) op_point(op, "each", NULL);
    if (use == TRAIN) op_point(op, "p", NULL);
    if (use == TEST || use == CLASSIFY)
        op_point(op, "dlogit", NULL), op_point(op, "ring", NULL), op_point(op, "state", NULL);
    if (use == CLASSIFY) op_point(op, "label", NULL);
}

static op_bound softmax_bound(const dg_op *want, const char *result, double eps)
{
    const double sum = (want->u.softmax.C + 800) * DBL_EPSILON, relative = 2 * eps + sum;
    if (strcmp(result, "ring") == 0) return (op_bound){1e-12, 1e-15};
    if (strcmp(result, "p") == 0) return (op_bound){relative, (double)FLT_MIN};
    return (op_bound){relative, sum / (strcmp(result, "dlogit") == 0 ? want->u.softmax.N : 1)};
}

static double softmax_loss(dg_backend *b, const dg_op *op)
{
    op_run(b, op);
    return loss_now();
}

static const op_row row_softmax;

static dg_op softmax_op(int N, int C, double scale, int smooth)
{
    const int shape[] = {N, C, (int)(10 * scale), 5};
    return op_make(&row_softmax, DG_OP_softmax, shape, 2 * EVERYTHING + smooth);
}

static int32_t *labels_of(const dg_op *op) { return (int32_t *)(uintptr_t)op->u.softmax.label; }

/* Tests two classes whose logits differ by d. A small probability must be accurate although the other probability is
 * near 1. */
static void check_sure(dg_backend *b)
{
    static const double d[] = {800, 120, 80, 40, 1, 0, -1, -40, -80, -120, -800, 2e4, -2e4};
    for (size_t i = 0; i < sizeof d / sizeof *d; i++) {
        dg_op op = softmax_op(1, 2, 1, 0);
        double *l = op.u.softmax.logit, *dlogit = op.u.softmax.dlogit;
        const int label = labels_of(&op)[0] = (int)i % 2;
        l[label] = -d[i] / 2;
        l[!label] = d[i] / 2;
        op_run(b, &op);
        const double loss = d[i] > 0 ? d[i] + log1p(exp(-d[i])) : log1p(exp(d[i])), p = 1 / (1 + exp(-d[i]));
        DG_CHECKF(fabs(loss_now() - loss) <= 1e-14 * loss, "%s: %g apart, loss %g", b->name, d[i], loss_now());
        for (int c = 0; c < 2; c++)
            DG_CHECKF(fabs(dlogit[c] - (c == label ? -p : p)) <= 3 * dg_case_eps(b) * p + FLT_MIN,
                      "%s: %g apart, gradient %g instead of %g", b->name, d[i], dlogit[c], p);
    }
}

/* Checks that the prediction is the first of equal largest logits. */
static void check_ties(dg_backend *b)
{
    for (int C = 2; C < 70; C += 11) {
        dg_op op = softmax_op(C, C, 1, 1);
        double *l = op.u.softmax.logit, *each = op.u.softmax.each;
        /* in row r, all columns from r % 3 on have the largest logit */
        for (int i = 0; i < C * C; i++) l[i] = i % C < i / C % 3 && C > 2 ? -9 : 0.25;
        for (int n = 0; n < C; n++) labels_of(&op)[n] = n;
        op_run(b, &op);
        DG_NEAR(share_now(), (C > 2 ? 3.0 : 1.0) / C, 1e-15);
        DG_NEAR(each[0], log(C), C * 4 * dg_case_eps(b));
    }
}

/* Checks that logits with a NaN, or with an infinite largest value, give the loss NaN and a wrong prediction. Other
 * rows of the batch are unaffected. */
static void check_lost(dg_backend *b, int C, int at, double what, bool lost)
{
    dg_op op = softmax_op(5, C, 3, 1);
    double *l = op.u.softmax.logit;
    for (int n = 0; n < 5; n++) labels_of(&op)[n] = at, l[n * C + at] = 9;
    l[2 * C + at] = what;
    op_run(b, &op);
    const double *p = op.u.softmax.p, *each = op.u.softmax.each, *dlogit = op.u.softmax.dlogit;
    for (int n = 0; n < 5; n++)
        for (int c = 0; c < C; c++) {
            const bool is = isnan(p[n * C + c]), gone = isnan(dlogit[n * C + c]);
            DG_CHECKF(is == (lost && n == 2) && gone == is, "%s: p %g at %d, %d of %d", b->name, p[n * C + c], n, c, C);
        }
    for (int n = 0; n < 5; n++) DG_CHECK(n == 2 ? lost ? isnan(each[n]) : isinf(each[n]) : each[n] > 0);
    DG_CHECKF(lost ? isnan(loss_now()) : isinf(loss_now()), "%s: loss %g", b->name, loss_now());
    DG_CHECKF(share_now() == 0.8, "%s: a lost row is right", b->name);
}

static void check_softmax(dg_backend *b)
{
    check_sure(b);
    check_ties(b);
    check_lost(b, 3, 0, NAN, true);
    check_lost(b, 45, 0, NAN, true);
    check_lost(b, 45, 40, NAN, true);
    check_lost(b, 45, 33, INFINITY, true);
    check_lost(b, 45, 7, -INFINITY, false);
}

static const op_row row_softmax = {
    .variations = 2 * USES,
    .usual = 2 * EVERYTHING + 1,
    OP_SHAPES(softmax_shapes),
    .threads = {{397, 10, 50, 5}, {41, 10, 50, 5}},
    .set = softmax_set,
    .bound = softmax_bound,
    .gradient = {{{"logit", "dlogit"}}, DG_OP_softmax, .loss = softmax_loss, .variations = 4, .most = 60},
    .more = check_softmax,
};

/* ---- GANs ---- */

/* For each --loss, the variations are the losses of D (real), of D (generated) and of G. One more has a smoothed label.
 */
enum { REAL, FAKE, OF_G, OF_STEP, PARTS = DG_LOSS_KINDS * OF_STEP + 1 };

/* n, scale of logits, step. Some steps exceed DG_RING. */
static op_shape gan_shapes[] = {{1, 20, 0},     {2, 2, 700},     {3, 20, 1400},  {5, 2, 2100},
                                {11, 1, 5},     {31, 20, 2800},  {64, 2, 3500},  {255, 20, 4200},
                                {256, 2, 4900}, {257, 20, 5600}, {1000, 2, 6300}};

static void gan_set(dg_op *op, int part)
{
    dg_gan_loss_args *a = &op->u.gan_loss;
    const dg_loss_info *l = &dg_losses[part / OF_STEP % DG_LOSS_KINDS];
    const int which = part % OF_STEP;
    a->form = which == OF_G ? l->form_g : l->form_d;
    a->both = l->paired && which == OF_G;
    a->target = which == FAKE ? l->low : 1;
    a->low = l->low;
    if (part == PARTS - 1) a->form = DG_GAN_CROSS, a->both = 0, a->target = 0.9, a->low = 0;
    op_state.step = (uint64_t)op_more[1];
    op_fill(op, "logit", op_more[0], 0.25);
    op_fill(op, "other", op_more[0], -0.5);
    if (part == PARTS - 1 || !l->paired) op_point(op, "other", NULL);
    a->loss = LOSS, a->prob = SHARE;
}

static op_bound gan_bound(const dg_op *want, const char *result, double eps)
{
    const dg_gan_loss_args *a = &want->u.gan_loss;
    const double scale = op_largest(want, "logit");
    if (strcmp(result, "ring") == 0) return (op_bound){0, 1e-14 * (1 + scale * scale)};
    return (op_bound){4 * eps, 4 * eps * (a->form == DG_GAN_CROSS ? 0.1 : scale) / a->n};
}

/* Returns the GAN loss whose gradient the op computes. For a relativistic loss, a second run swaps the logits. */
static double gan_loss_of(dg_backend *b, const dg_op *op)
{
    dg_op whole = *op;
    dg_gan_loss_args *a = &whole.u.gan_loss;
    a->both = 0;
    op_run(b, op);
    const double told = loss_now();
    op_run(b, &whole);
    double loss = loss_now();
    if (a->other) {
        void *const swap = a->logit;
        a->dlogit = dg_case_copy(a->dlogit, (size_t)a->n);
        a->logit = a->other, a->other = swap, a->target = -a->target;
        op_run(b, &whole);
        loss += loss_now();
    }
    if (op->u.gan_loss.both || !a->other) DG_NEAR(told, loss, 1e-15 * (1 + fabs(loss)));
    return loss;
}

static const op_row row_gan_loss;

static dg_op gan_op(int part, int n)
{
    const int shape[] = {n, 1, 5};
    return op_make(&row_gan_loss, DG_OP_gan_loss, shape, part);
}

/* Checks that cross entropy is finite and correct even if the sigmoid rounds to 0 or 1. */
static void check_extremes(dg_backend *b)
{
    static const double l[] = {800, -800, 120, -120, 40, -40, 0, -0.0};
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 8; i++) {
            dg_op op = gan_op(DG_LOSS_BCE * OF_STEP + (t ? REAL : FAKE), 1);
            *(double *)op.u.gan_loss.logit = l[i];
            op_run(b, &op);
            const double wrong_by = t ? -l[i] : l[i], d = (t ? -1 : 1) / (1 + exp(-wrong_by));
            const double loss = wrong_by > 0 ? wrong_by + log1p(exp(-wrong_by)) : log1p(exp(wrong_by));
            if (loss > 1e-300) DG_NEAR(loss_now() / loss, 1, 1e-14);
            if (fabs(d) > 1e-37) DG_NEAR(*(double *)op.u.gan_loss.dlogit / d, 1, 3 * dg_case_eps(b));
        }
}

static void check_gan(dg_backend *b)
{
    bool seen[DG_GAN_FORM_KINDS] = {false};
    check_extremes(b);
    for (int part = 0; part < PARTS - 1; part++) seen[gan_op(part, 9).u.gan_loss.form] = true;
    static const char *const form[] = {
#define X(NAME, flops) #NAME,
        DG_GAN_FORMS(X)
#undef X
    };
    for (int k = 0; k < DG_GAN_FORM_KINDS; k++) DG_CHECKF(seen[k], "no --loss has form %s", form[k]);
}

static const op_row row_gan_loss = {
    .variations = PARTS,
    .usual = DG_LOSS_RALSGAN * OF_STEP + OF_G,
    OP_SHAPES(gan_shapes),
    .threads = {{1000, 2, 5}, {257, 2, 5}},
    .set = gan_set,
    .bound = gan_bound,
    .gradient = {{{"logit", "dlogit"}}, DG_OP_gan_loss, .loss = gan_loss_of, .most = 11},
    .more = check_gan,
};
