/* Batch norm with an activation: every instruction set, float and double, against plain loops in double. */
#include "golden_ops.h"
#include "reference.h"
#include "test.h"

typedef struct {
    int N, H, W, C, groups;
    dg_act act;
    double slope, shift, scale; /* of x */
} shape;

static const shape shapes[] = {
    {2, 1, 1, 1, 1, DG_ACT_NONE, 0, 0, 1},
    {4, 1, 1, 1, 2, DG_ACT_RELU, 0, 0, 1},
    {1, 3, 5, 1, 1, DG_ACT_LEAKY, 0.2, 0, 1},
    {1, 7, 3, 3, 1, DG_ACT_RELU, 0, 0, 1},
    {6, 5, 7, 3, 2, DG_ACT_LEAKY, 0.2, 0, 1},
    {2, 3, 3, 5, 2, DG_ACT_LEAKY, 0.01, 0, 1},
    {3, 9, 9, 5, 3, DG_ACT_RELU, 0, 0, 1},
    {1, 1, 2, 31, 1, DG_ACT_NONE, 0, 0, 1},
    {2, 13, 11, 31, 1, DG_ACT_LEAKY, 0.2, 0, 1},
    {4, 8, 9, 31, 2, DG_ACT_RELU, 0, 0, 1},
    {2, 16, 16, 32, 1, DG_ACT_RELU, 0, 0, 1},
    {2, 33, 16, 32, 2, DG_ACT_LEAKY, 0.2, 0, 1},
    {1, 17, 17, 64, 1, DG_ACT_LEAKY, 0.3, 0, 1},
    {2, 4, 4, 127, 1, DG_ACT_RELU, 0, 0, 1},
    {4, 5, 3, 127, 2, DG_ACT_LEAKY, 0.2, 0, 1},
    {2, 9, 7, 128, 1, DG_ACT_NONE, 0, 0, 1},
    {2, 4, 4, 255, 2, DG_ACT_RELU, 0, 0, 1},
    {4, 4, 4, 256, 2, DG_ACT_LEAKY, 0.2, 0, 1},
    {1, 6, 11, 256, 1, DG_ACT_RELU, 0, 0, 1},
    {2, 4, 5, 257, 1, DG_ACT_LEAKY, 0.2, 0, 1},
    {2, 3, 7, 300, 2, DG_ACT_RELU, 0, 0, 1},
    {2, 5, 5, 513, 1, DG_ACT_LEAKY, 0.2, 0, 1},
    {1, 2, 1, 1024, 1, DG_ACT_RELU, 0, 0, 1},
    {2, 61, 67, 1, 1, DG_ACT_LEAKY, 0.2, 0, 1},
    {2, 111, 113, 1, 2, DG_ACT_RELU, 0, 0, 1},
    {3, 41, 43, 6, 1, DG_ACT_LEAKY, 0.2, 0, 1},
    {10, 3, 3, 16, 5, DG_ACT_RELU, 0, 0, 1},
    {2, 19, 21, 24, 2, DG_ACT_RELU, 0, 0, 1},
    /* means far from zero, tiny and huge spreads */
    {4, 16, 15, 33, 2, DG_ACT_LEAKY, 0.2, 1000, 1},
    {2, 31, 29, 8, 1, DG_ACT_RELU, 0, -50, 0.01},
    {2, 20, 20, 16, 1, DG_ACT_NONE, 0, 3e4, 0.1},
    {2, 15, 9, 40, 1, DG_ACT_LEAKY, 0.2, 0, 1e-4},
    {2, 8, 8, 48, 2, DG_ACT_RELU, 0, 3, 1e6},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static size_t volume(const shape *s) { return (size_t)s->N * (size_t)s->H * (size_t)s->W * (size_t)s->C; }

static dg_op stats_op(const shape *s, double *x)
{
    size_t gc = (size_t)s->groups * (size_t)s->C, c = (size_t)s->C;
    dg_op op = {.name = "norm.stats", .kind = DG_OP_norm_stats};
    op.u.norm_stats = (dg_norm_stats_args){.mean = dg_case_numbers(gc, 1, 0),
                                           .rstd = dg_case_numbers(gc, 1, 0),
                                           .running_mean = dg_case_numbers(c, 1, 0),
                                           .running_var = dg_case_numbers(c, 0.5, 1),
                                           .x = x,
                                           .N = s->N,
                                           .H = s->H,
                                           .W = s->W,
                                           .C = s->C,
                                           .groups = s->groups,
                                           .eps = 1e-5,
                                           .momentum = 0.1};
    return op;
}

/* x with statistics by the reference; no pre-activation within 1e-3 of the kink. */
static dg_op act_op(const shape *s)
{
    size_t n = volume(s), c = (size_t)s->C;
    double *x = dg_case_numbers(n, s->scale, s->shift);
    dg_op stats = stats_op(s, x);
    dg_ref_run(&stats);
    double *mean = stats.u.norm_stats.mean, *rstd = stats.u.norm_stats.rstd;
    double *gamma = dg_case_numbers(c, 0.5, 1), *beta = dg_case_numbers(c, 0.5, 0);
    size_t gc = c * (size_t)s->groups;
    for (size_t i = 0; i < gc; i++) {
        mean[i] = (double)(float)mean[i];
        rstd[i] = (double)(float)rstd[i];
    }
    for (size_t i = 0; i < n; i++) {
        size_t g = i / (n / (size_t)s->groups) * c + i % c;
        for (;;) {
            double z = gamma[i % c] * (x[i] - mean[g]) * rstd[g] + beta[i % c];
            if (fabs(z) > 1e-3) break;
            x[i] = (double)(float)(x[i] + 0.1 / rstd[g]);
        }
    }
    dg_op op = {.name = "norm.act", .kind = DG_OP_norm_act};
    op.u.norm_act = (dg_norm_act_args){.y = dg_case_numbers(n, 1, 0),
                                       .dx = dg_case_numbers(n, 1, 0),
                                       .dgamma = dg_case_numbers(c, 1, 0),
                                       .dbeta = dg_case_numbers(c, 1, 0),
                                       .dy = dg_case_numbers(n, 1, 0),
                                       .x = x,
                                       .mean = mean,
                                       .rstd = rstd,
                                       .gamma = gamma,
                                       .beta = beta,
                                       .N = s->N,
                                       .H = s->H,
                                       .W = s->W,
                                       .C = s->C,
                                       .groups = s->groups,
                                       .act = s->act,
                                       .slope = s->slope};
    return op;
}

static void fine(const char *wrong, const shape *s, const dg_backend *b)
{
    DG_CHECKF(!wrong, "%s: (%d,%d,%d,%d)/%d: %s", b->name, s->N, s->H, s->W, s->C, s->groups, wrong ? wrong : "");
}

#define BELOW(error, tol)                                                                                       \
    DG_CHECKF((error) <= (tol), "%s: (%d,%d,%d,%d)/%d: %s %g > %g", b->name, s->N, s->H, s->W, s->C, s->groups, \
              #error, (double)(error), (double)(tol))

static void check_stats(dg_backend *b, const shape *s)
{
    double eps = dg_case_eps(b), *x = dg_case_numbers(volume(s), s->scale, s->shift);
    size_t c = (size_t)s->C, gc = c * (size_t)s->groups;
    dg_op op = stats_op(s, x), want = op;
    dg_norm_stats_args *u = &want.u.norm_stats, *got = &op.u.norm_stats;
    u->mean = dg_case_copy(u->mean, gc);
    u->rstd = dg_case_copy(u->rstd, gc);
    u->running_mean = dg_case_copy(u->running_mean, c);
    u->running_var = dg_case_copy(u->running_var, c);
    dg_ref_run(&want);
    fine(dg_case_run(b, &op), s, b);
    /* the mean is right to a rounding of itself or of a small part of the spread, whatever the mean is */
    double mean = dg_case_error(got->mean, u->mean, gc, s->scale), rstd = dg_case_error(got->rstd, u->rstd, gc, 0);
    double running_mean = dg_case_error(got->running_mean, u->running_mean, c, s->scale);
    double running_var = dg_case_error(got->running_var, u->running_var, c, 0);
    BELOW(mean, 2 * eps);
    BELOW(rstd, 12 * eps + 1e-17 * fabs(s->shift) / s->scale); /* chunks' means meet as doubles */
    BELOW(running_mean, 4 * eps);
    BELOW(running_var, 16 * eps);
}

static void check_frozen(dg_backend *b, const shape *s)
{
    size_t c = (size_t)s->C;
    dg_op op = {.kind = DG_OP_norm_frozen};
    op.u.norm_frozen = (dg_norm_frozen_args){.mean = dg_case_numbers(c, 1, 0),
                                             .rstd = dg_case_numbers(c, 1, 0),
                                             .running_mean = dg_case_numbers(c, 1, 0),
                                             .running_var = dg_case_numbers(c, 0.5, 1),
                                             .C = s->C,
                                             .eps = 1e-5};
    dg_op want = op;
    want.u.norm_frozen.mean = dg_case_copy(op.u.norm_frozen.mean, c);
    want.u.norm_frozen.rstd = dg_case_copy(op.u.norm_frozen.rstd, c);
    dg_ref_run(&want);
    fine(dg_case_run(b, &op), s, b);
    BELOW(dg_case_error(op.u.norm_frozen.mean, want.u.norm_frozen.mean, c, 0), 0.0);
    BELOW(dg_case_error(op.u.norm_frozen.rstd, want.u.norm_frozen.rstd, c, 0), 2 * dg_case_eps(b));
}

static double largest(const double *x, size_t n)
{
    double m = 0;
    for (size_t i = 0; i < n; i++) m = fmax(m, fabs(x[i]));
    return m;
}

static void check_act(dg_backend *b, const shape *s, bool in_place)
{
    double eps = dg_case_eps(b);
    size_t n = volume(s), c = (size_t)s->C;
    dg_op op = act_op(s), want = op;
    dg_norm_act_args *u = &want.u.norm_act, *got = &op.u.norm_act;
    u->y = dg_case_copy(u->y, n);
    u->dx = dg_case_copy(u->dx, n);
    u->dgamma = dg_case_copy(u->dgamma, c);
    u->dbeta = dg_case_copy(u->dbeta, c);
    dg_ref_run(&want);
    if (in_place) got->y = got->x = dg_case_copy(got->x, n);
    fine(dg_case_run(b, &op), s, b);
    /* x - mean rounds once however large the mean is; then a handful of roundings of numbers near 1 */
    double y = dg_case_error(got->y, u->y, n, 1);
    BELOW(y, 8 * eps);

    op.kind = want.kind = DG_OP_norm_act_dx;
    got->x = u->x;
    dg_ref_run(&want);
    if (in_place) got->dx = got->dy = dg_case_copy(got->dy, n);
    if (in_place && s->groups == 1) got->dgamma = got->dbeta = NULL;
    fine(dg_case_run(b, &op), s, b);
    /* against the largest term: what is left of the terms may be next to nothing */
    double scale = largest(u->gamma, c) * largest(u->rstd, c * (size_t)s->groups);
    double dx = dg_case_error(got->dx, u->dx, n, scale * largest(u->dy, n));
    BELOW(dx, 8 * eps);
    /* sums of `rows` numbers near 1: the error grows with the terms, not with what is left of them */
    double terms = sqrt((double)(n / c)) * eps, sums = 0;
    if (got->dgamma) {
        sums = fmax(dg_case_error(got->dgamma, u->dgamma, c, 2 * sqrt((double)(n / c))),
                    dg_case_error(got->dbeta, u->dbeta, c, 2 * sqrt((double)(n / c))));
        BELOW(sums, fmax(terms, 8 * eps));
    }
}

/* Loss = sum of weight * act(norm(x)); its differences against norm_act_dx, through the statistics. */
static double loss_of(dg_backend *b, const shape *s, dg_op *op, const double *weight)
{
    double loss = 0;
    dg_op stats = stats_op(s, op->u.norm_act.x);
    stats.u.norm_stats.mean = op->u.norm_act.mean;
    stats.u.norm_stats.rstd = op->u.norm_act.rstd;
    fine(dg_case_run(b, &stats), s, b);
    op->kind = DG_OP_norm_act;
    fine(dg_case_run(b, op), s, b);
    for (size_t i = 0; i < volume(s); i++) loss += weight[i] * ((double *)op->u.norm_act.y)[i];
    return loss;
}

static void check_differences(dg_backend *b, const shape *s)
{
    const double h = 1e-5;
    dg_op op = act_op(s);
    dg_norm_act_args *a = &op.u.norm_act;
    (void)loss_of(b, s, &op, a->dy); /* statistics in double */
    op.kind = DG_OP_norm_act_dx;
    fine(dg_case_run(b, &op), s, b);
    struct {
        double *value, *gradient;
        size_t n;
    } of[] = {{a->x, dg_case_copy(a->dx, volume(s)), volume(s)},
              {a->gamma, dg_case_copy(a->dgamma, (size_t)s->C), (size_t)s->C},
              {a->beta, dg_case_copy(a->dbeta, (size_t)s->C), (size_t)s->C}};
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < of[k].n; i += 1 + of[k].n / 12) {
            double keep = of[k].value[i];
            of[k].value[i] = keep + h;
            double up = loss_of(b, s, &op, a->dy);
            of[k].value[i] = keep - h;
            double down = loss_of(b, s, &op, a->dy), difference = (up - down) / (2 * h);
            of[k].value[i] = keep;
            DG_CHECKF(fabs(difference - of[k].gradient[i]) <= 1e-6 * (1 + fabs(difference)),
                      "(%d,%d,%d,%d)/%d: operand %d[%zu]: gradient %.12g, difference %.12g", s->N, s->H, s->W, s->C,
                      s->groups, k, i, of[k].gradient[i], difference);
        }
}

/* The same bits for any number of threads, and NaN does not vanish. */
static void check_threads(void)
{
    const int slow = dg_case_slowness(), side = slow == 2 ? 7 : slow ? 15 : 29; /* several chunks of rows, though */
    const shape s = {6, side, side + 2, 24, 2, DG_ACT_LEAKY, 0.2, 0, 1};
    size_t n = volume(&s);
    dg_op act = act_op(&s), stats = stats_op(&s, act.u.norm_act.x);
    static const int threads[] = {1, 2, 3, 7};
    dg_norm_act_args *a = &act.u.norm_act;
    double *dx = dg_case_numbers(n, 1, 0), *y = dg_case_numbers(n, 1, 0), *mean = dg_case_numbers(48, 1, 0);
    double *rstd = dg_case_numbers(48, 1, 0), *dgamma = dg_case_numbers(24, 1, 0), *rv = dg_case_numbers(24, 1, 0);
    double *var = stats.u.norm_stats.running_var, *var0 = dg_case_copy(var, 24);
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < 4; t++) {
            dg_backend *b;
            if (!dg_case_open(i, threads[t], &b)) return;
            memcpy(var, var0, 24 * sizeof *var);
            fine(dg_case_run(b, &stats), &s, b);
            act.kind = DG_OP_norm_act;
            fine(dg_case_run(b, &act), &s, b);
            act.kind = DG_OP_norm_act_dx;
            fine(dg_case_run(b, &act), &s, b);
            struct {
                double *first, *now;
                size_t n;
            } same[] = {{dx, a->dx, n},
                        {y, a->y, n},
                        {mean, stats.u.norm_stats.mean, 48},
                        {rstd, stats.u.norm_stats.rstd, 48},
                        {dgamma, a->dgamma, 24},
                        {rv, var, 24}};
            for (int k = 0; k < 6; k++) {
                if (t == 0) memcpy(same[k].first, same[k].now, same[k].n * sizeof(double));
                DG_CHECKF(memcmp(same[k].first, same[k].now, same[k].n * sizeof(double)) == 0,
                          "%s: result %d differs from one thread's", b->name, k);
            }
            b->close(b);
        }
}

static void check_nan(dg_backend *b)
{
    static const shape s = {2, 5, 5, 33, 1, DG_ACT_RELU, 0, 0, 1};
    dg_op op = act_op(&s);
    double *x = op.u.norm_act.x, *dy = op.u.norm_act.dy, *y = op.u.norm_act.y, *dx = op.u.norm_act.dx;
    x[100] = NAN;
    fine(dg_case_run(b, &op), &s, b);
    DG_CHECK(isnan(y[100]) && !isnan(y[101]));
    dg_op stats = stats_op(&s, x);
    fine(dg_case_run(b, &stats), &s, b);
    DG_CHECK(isnan(((double *)stats.u.norm_stats.mean)[100 % 33]));
    DG_CHECK(isnan(((double *)stats.u.norm_stats.running_var)[100 % 33]));
    DG_CHECK(!isnan(((double *)stats.u.norm_stats.mean)[0]));
    x[100] = 0;
    dy[7] = NAN;
    op.kind = DG_OP_norm_act_dx;
    fine(dg_case_run(b, &op), &s, b);
    DG_CHECK(isnan(dx[7]));
}

/* PyTorch's numbers for one small norm. */
static void check_golden(dg_backend *b)
{
    static const shape s = {2, 2, 2, 2, 1, DG_ACT_LEAKY, 0.2, 0, 1};
    dg_op op = {.kind = DG_OP_norm_act}, stats = stats_op(&s, dg_case_copy(golden_norm_x, 16));
    dg_norm_stats_args *t = &stats.u.norm_stats;
    t->running_mean = dg_case_copy(golden_norm_mean0, 2);
    t->running_var = dg_case_copy(golden_norm_var0, 2);
    fine(dg_case_run(b, &stats), &s, b);
    op.u.norm_act = (dg_norm_act_args){.y = dg_case_numbers(16, 1, 0),
                                       .dx = dg_case_numbers(16, 1, 0),
                                       .dgamma = dg_case_numbers(2, 1, 0),
                                       .dbeta = dg_case_numbers(2, 1, 0),
                                       .dy = dg_case_copy(golden_norm_weight, 16),
                                       .x = t->x,
                                       .mean = t->mean,
                                       .rstd = t->rstd,
                                       .gamma = dg_case_copy(golden_norm_gamma, 2),
                                       .beta = dg_case_copy(golden_norm_beta, 2),
                                       .N = 2,
                                       .H = 2,
                                       .W = 2,
                                       .C = 2,
                                       .groups = 1,
                                       .act = DG_ACT_LEAKY,
                                       .slope = 0.2};
    fine(dg_case_run(b, &op), &s, b);
    double tol = 20 * dg_case_eps(b);
    DG_CHECK(dg_case_error(op.u.norm_act.y, golden_norm_y, 16, 1) <= tol);
    DG_CHECK(dg_case_error(t->running_mean, golden_norm_mean, 2, 1) <= tol);
    DG_CHECK(dg_case_error(t->running_var, golden_norm_var, 2, 1) <= tol);
    op.kind = DG_OP_norm_act_dx;
    fine(dg_case_run(b, &op), &s, b);
    DG_CHECK(dg_case_error(op.u.norm_act.dx, golden_norm_dx, 16, 1) <= tol);
    DG_CHECK(dg_case_error(op.u.norm_act.dgamma, golden_norm_dgamma, 2, 1) <= tol);
    DG_CHECK(dg_case_error(op.u.norm_act.dbeta, golden_norm_dbeta, 2, 1) <= tol);
}

int main(void)
{
    dg_backend *b;
    const int slow = dg_case_slowness();
    const size_t largest = slow == 2 ? 1500 : slow ? 15000 : SIZE_MAX, differences = slow == 2 ? 0 : slow ? 200 : 5000;
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        for (int k = 0; k < SHAPES; k++) {
            if (volume(&shapes[k]) > largest) continue;
            check_stats(b, &shapes[k]);
            check_frozen(b, &shapes[k]);
            check_act(b, &shapes[k], false);
            check_act(b, &shapes[k], true);
            if (b->real == DG_F64 && volume(&shapes[k]) < differences && shapes[k].scale == 1 && shapes[k].shift == 0 &&
                shapes[k].N / shapes[k].groups * shapes[k].H * shapes[k].W > 4)
                check_differences(b, &shapes[k]);
            dg_case_free();
        }
        check_nan(b);
        check_golden(b);
        dg_case_free();
        b->close(b);
    }
    check_threads();
    dg_case_free();
    return dg_test_report();
}
