/* Softmax and its cross entropy: against plain loops, differences and PyTorch; extremes, ties, NaN, threads. */
#include <float.h>

#include "golden_ops.h"
#include "reference.h"
#include "test.h"

enum { LOSS = 1, RIGHT = 3, MOST = 1100 };
enum { TRAIN, TEST, CLASSIFY, ALL, USES };

static dg_step_state state = {.seed = 1, .step = 5};
static dg_metrics ring[DG_RING], want_ring[DG_RING];
static int32_t labels[MOST];

static const int counts[] = {1, 3, 8, 17, 63, 129, 257};
static const int classes[] = {2, 3, 7, 10, 31, 32, 33, 64, 100, 101, 1000};

static dg_op softmax_op(int N, int C, double scale, double smoothing)
{
    const size_t n = (size_t)N, all = n * (size_t)C;
    dg_op op = {.name = "softmax", .kind = DG_OP_softmax};
    op.u.softmax = (dg_softmax_args){.dlogit = dg_case_numbers(all, 1, 0),
                                     .p = dg_case_numbers(all, 1, 0),
                                     .each = dg_case_numbers(n, 1, 0),
                                     .ring = ring,
                                     .logit = dg_case_numbers(all, scale, 0),
                                     .label = labels,
                                     .state = &state,
                                     .N = N,
                                     .C = C,
                                     .smoothing = smoothing,
                                     .loss = LOSS,
                                     .right = RIGHT};
    for (int i = 0; i < N; i++) labels[i] = (i * 7 + i / C) % C;
    return op;
}

/* Leaves out what plans of that use do not want. */
static void leave_out(dg_softmax_args *a, int use)
{
    if (use == TRAIN) a->p = a->each = NULL;
    if (use == TEST) a->dlogit = a->ring = NULL, a->state = NULL;
    if (use == CLASSIFY) a->dlogit = a->each = a->ring = NULL, a->label = NULL, a->state = NULL;
}

static void check_numbers(const char *name, const char *what, const double *got, const double *want, size_t n,
                          double relative, double absolute)
{
    size_t bad = 0, at = 0;
    for (size_t i = 0; i < n && got; i++)
        if (!(fabs(got[i] - want[i]) <= relative * fabs(want[i]) + absolute) && !bad++) at = i;
    DG_CHECKF(!bad, "%s: %zu of %s, at %zu %.17g instead of %.17g", name, bad, what, at, got ? got[at] : 0,
              got ? want[at] : 0);
}

static void check_ring(const char *name, bool written)
{
    dg_metrics *got = &ring[state.step % DG_RING], *want = &want_ring[state.step % DG_RING];
    if (written) {
        const double w = want->value[LOSS];
        DG_CHECKF(fabs(got->value[LOSS] - w) <= 1e-12 * (1e-3 + w), "%s: loss %.17g, not %.17g", name, got->value[LOSS],
                  w);
        DG_CHECKF(got->value[RIGHT] == want->value[RIGHT], "%s: %g right", name, got->value[RIGHT]);
        got->value[LOSS] = w;
    }
    DG_CHECKF(memcmp(ring, want_ring, sizeof ring) == 0, "%s: wrote elsewhere in the ring", name);
}

static void check(dg_backend *b, dg_op op, int use)
{
    char name[160];
    dg_softmax_args *a = &op.u.softmax;
    leave_out(a, use);
    const size_t n = (size_t)a->N, all = n * (size_t)a->C;
    for (size_t i = 0; i < DG_RING; i++)
        for (int k = 0; k < DG_METRICS_MAX; k++) ring[i].value[k] = want_ring[i].value[k] = (double)i + k;
    dg_op want = op;
    want.u.softmax.dlogit = dg_case_copy(a->dlogit, all);
    want.u.softmax.p = dg_case_copy(a->p, all);
    want.u.softmax.each = dg_case_copy(a->each, n);
    if (a->ring) want.u.softmax.ring = want_ring;
    dg_ref_run(&want);
    const char *wrong = dg_case_run(b, &op);
    snprintf(name, sizeof name, "%s: N %d C %d smoothing %g use %d", b->name, a->N, a->C, a->smoothing, use);
    DG_CHECKF(!wrong, "%s: %s", name, wrong ? wrong : "");
    const double sum = (a->C + 800) * DBL_EPSILON, r = 2 * dg_case_eps(b) + sum;
    check_numbers(name, "dlogit", a->dlogit, want.u.softmax.dlogit, all, r, sum / a->N);
    check_numbers(name, "p", a->p, want.u.softmax.p, all, r, FLT_MIN);
    check_numbers(name, "each", a->each, want.u.softmax.each, n, r, sum);
    check_ring(name, a->ring != NULL);
}

static void check_shapes(dg_backend *b)
{
    static const double scales[] = {1, 5, 80, 1e4};
    static const int most[] = {70000, 7000, 150};
    int tested = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t k = 0; k < sizeof classes / sizeof *classes; k++) {
            if (counts[i] * classes[k] > most[dg_case_slowness()]) continue;
            state.step = (i + k) * 331; /* also beyond the ring's end */
            check(b, softmax_op(counts[i], classes[k], scales[(i + k) % 4], k % 2 ? 0.1 : 0), (int)(i + 2 * k) % USES);
            check(b, softmax_op(counts[i], classes[k], scales[k % 4], k % 2 ? 0 : 0.1), ALL);
            dg_case_free();
            tested++;
        }
    for (int use = 0; use < USES; use++)
        for (int smooth = 0; smooth < 2; smooth++)
            check(b, softmax_op(dg_case_slowness() == 2 ? 300 : 1033, 3, 5, smooth * 0.1), use);
    DG_CHECKF(dg_case_slowness() || tested > 60, "%d shapes", tested);
}

static double loss_now(void) { return ring[state.step % DG_RING].value[LOSS]; }

static void check_differences(dg_backend *b, double smoothing)
{
    const double h = 1e-5;
    dg_op op = softmax_op(3, 7, 4, smoothing);
    double *l = op.u.softmax.logit, *gradient = dg_case_numbers(21, 1, 0);
    DG_CHECK(!dg_case_run(b, &op));
    memcpy(gradient, op.u.softmax.dlogit, 21 * sizeof *gradient);
    for (int i = 0; i < 21; i++) {
        double keep = l[i], loss[2];
        for (int s = 0; s < 2; s++) {
            l[i] = keep + (s ? h : -h);
            DG_CHECK(!dg_case_run(b, &op));
            loss[s] = loss_now();
        }
        l[i] = keep;
        DG_NEAR(gradient[i], (loss[1] - loss[0]) / (2 * h), 1e-9);
    }
}

/* Two classes d apart, the label below the other or above it: what is small stays right beside 1. */
static void check_sure(dg_backend *b)
{
    static const double d[] = {800, 120, 80, 40, 1, 0, -1, -40, -80, -120, -800, 2e4, -2e4};
    for (size_t i = 0; i < sizeof d / sizeof *d; i++) {
        dg_op op = softmax_op(1, 2, 1, 0);
        double *l = op.u.softmax.logit, *dlogit = op.u.softmax.dlogit;
        labels[0] = (int)i % 2;
        l[labels[0]] = -d[i] / 2;
        l[!labels[0]] = d[i] / 2;
        DG_CHECK(!dg_case_run(b, &op));
        const double loss = d[i] > 0 ? d[i] + log1p(exp(-d[i])) : log1p(exp(d[i])), p = 1 / (1 + exp(-d[i]));
        DG_CHECKF(fabs(loss_now() - loss) <= 1e-14 * loss, "%s: %g apart, loss %g", b->name, d[i], loss_now());
        for (int c = 0; c < 2; c++)
            DG_CHECKF(fabs(dlogit[c] - (c == labels[0] ? -p : p)) <= 3 * dg_case_eps(b) * p + FLT_MIN,
                      "%s: %g apart, gradient %g instead of %g", b->name, d[i], dlogit[c], p);
    }
}

/* Equal logits: only the first of them can be right. */
static void check_ties(dg_backend *b)
{
    for (int C = 2; C < 70; C += 11) {
        dg_op op = softmax_op(C, C, 1, 0.1);
        double *l = op.u.softmax.logit, *each = op.u.softmax.each;
        for (int i = 0; i < C * C; i++) l[i] = i % C < i / C % 3 && C > 2 ? -9 : 0.25; /* first of equals: row % 3 */
        for (int n = 0; n < C; n++) labels[n] = n;
        check(b, op, ALL);
        DG_NEAR(ring[state.step % DG_RING].value[RIGHT], (C > 2 ? 3.0 : 1.0) / C, 1e-15);
        DG_NEAR(each[0], log(C), C * 4 * dg_case_eps(b));
    }
}

/* A row with NaN, or whose largest is infinite, is NaN and not right; the others are as they were. */
static void check_nan(dg_backend *b, int C, int at, double what, bool lost)
{
    dg_op op = softmax_op(5, C, 3, 0.1);
    double *l = op.u.softmax.logit;
    for (int n = 0; n < 5; n++) labels[n] = at, l[n * C + at] = 9;
    l[2 * C + at] = what;
    DG_CHECK(!dg_case_run(b, &op));
    const double *p = op.u.softmax.p, *each = op.u.softmax.each, *dlogit = op.u.softmax.dlogit;
    for (int n = 0; n < 5; n++)
        for (int c = 0; c < C; c++) {
            const bool is = isnan(p[n * C + c]), gone = isnan(dlogit[n * C + c]);
            DG_CHECKF(is == (lost && n == 2) && gone == is, "%s: p %g at %d, %d of %d", b->name, p[n * C + c], n, c, C);
        }
    for (int n = 0; n < 5; n++) DG_CHECK(n == 2 ? lost ? isnan(each[n]) : isinf(each[n]) : each[n] > 0);
    DG_CHECKF(lost ? isnan(loss_now()) : isinf(loss_now()), "%s: loss %g", b->name, loss_now());
    DG_CHECKF(ring[state.step % DG_RING].value[RIGHT] == 0.8, "%s: a lost row is right", b->name);
}

static void check_golden(dg_backend *b)
{
    enum { N = 4, C = 5 };
    for (int smooth = 0; smooth < 2; smooth++) {
        dg_op op = softmax_op(N, C, 1, smooth * 0.1);
        op.u.softmax.logit = dg_case_copy(golden_softmax_logit, N * C);
        for (int n = 0; n < N; n++) labels[n] = (int)golden_softmax_label[n];
        DG_CHECK(!dg_case_run(b, &op));
        DG_NEAR(loss_now(), smooth ? *golden_softmax_loss_smooth : *golden_softmax_loss, 1e-14);
        const double *want = smooth ? golden_softmax_dlogit_smooth : golden_softmax_dlogit;
        check_numbers(b->name, "PyTorch's dlogit", op.u.softmax.dlogit, want, N * C, 2 * dg_case_eps(b), 1e-15);
        check_numbers(b->name, "PyTorch's p", op.u.softmax.p, golden_softmax_p, N * C, 4 * dg_case_eps(b), 0);
    }
}

static void check_threads(void)
{
    static const int threads[] = {1, 2, 3, 7};
    const size_t N = dg_case_slowness() == 2 ? 41 : 397, all = N * 10;
    dg_op op = softmax_op((int)N, 10, 5, 0.1);
    double *first = dg_case_numbers(2 * all + N + 1, 1, 0);
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < 4; t++) {
            dg_backend *b;
            if (!dg_case_open(i, threads[t], &b)) return;
            DG_CHECK(!dg_case_run(b, &op));
            const double loss = loss_now();
            const struct {
                const double *values;
                size_t n, at;
            } of[] = {{op.u.softmax.dlogit, all, 0},
                      {op.u.softmax.p, all, all},
                      {op.u.softmax.each, N, 2 * all},
                      {&loss, 1, 2 * all + N}};
            for (int k = 0; k < 4; k++) {
                if (t == 0) memcpy(first + of[k].at, of[k].values, of[k].n * sizeof *first);
                DG_CHECKF(!memcmp(first + of[k].at, of[k].values, of[k].n * sizeof *first),
                          "%s: result %d has not one thread's bits", b->name, k);
            }
            b->close(b);
        }
}

int main(void)
{
    dg_backend *b;
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        check_shapes(b);
        if (b->real == DG_F64 && dg_case_slowness() < 2) check_differences(b, 0), check_differences(b, 0.1);
        check_sure(b);
        check_ties(b);
        check_nan(b, 3, 0, NAN, true);
        check_nan(b, 45, 0, NAN, true);
        check_nan(b, 45, 40, NAN, true);
        check_nan(b, 45, 33, INFINITY, true);
        check_nan(b, 45, 7, -INFINITY, false);
        check_golden(b);
        dg_case_free();
        b->close(b);
    }
    check_threads();
    dg_case_free();
    return dg_test_report();
}
