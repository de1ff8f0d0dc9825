/* Activations without a norm. */
#include <float.h>
#include "reference.h"
#include "test.h"

static const int64_t sizes[] = {1, 2, 3, 7, 15, 16, 17, 31, 33, 100, 127, 256, 1000, 4095, 4096, 4097, 8191, 50001};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static dg_op act_op(dg_op_kind kind, int k, int64_t n)
{
    dg_op op = {.name = "act", .kind = kind};
    op.u.act = (dg_act_args){.y = dg_case_numbers((size_t)n, 4, 0),
                             .x = dg_case_numbers((size_t)n, 4, 0),
                             .dx = dg_case_numbers((size_t)n, 1, 0),
                             .dy = dg_case_numbers((size_t)n, 1, 0),
                             .n = n,
                             .act = (dg_act)k,
                             .slope = 0.2};
    if (kind == DG_OP_act || dg_act_is_linear((dg_act)k)) return op;
    op.kind = DG_OP_act; /* y is what the curve gives, exact as float */
    dg_ref_run(&op);
    for (int64_t i = 0; i < n; i++) ((double *)op.u.act.y)[i] = (double)(float)((double *)op.u.act.y)[i];
    op.kind = kind;
    return op;
}

static void check(dg_backend *b, int k, int64_t n, bool in_place)
{
    double tol = 6 * dg_case_eps(b); /* tanh: three ulp */
    dg_op op = act_op(DG_OP_act, k, n), want = op;
    want.u.act.y = dg_case_copy(want.u.act.y, (size_t)n);
    dg_ref_run(&want);
    if (in_place) op.u.act.y = op.u.act.x;
    const char *wrong = dg_case_run(b, &op);
    DG_CHECKF(!wrong, "%s: %s of %ld: %s", b->name, dg_acts[k].word, (long)n, wrong ? wrong : "");
    double e = dg_case_error(op.u.act.y, want.u.act.y, (size_t)n, 0);
    DG_CHECKF(e <= tol, "%s: %s of %ld: error %g", b->name, dg_acts[k].word, (long)n, e);

    op = act_op(DG_OP_act_dx, k, n), want = op;
    want.u.act.dx = dg_case_copy(want.u.act.dx, (size_t)n);
    dg_ref_run(&want);
    if (in_place) op.u.act.dx = op.u.act.dy;
    wrong = dg_case_run(b, &op);
    DG_CHECKF(!wrong, "%s: %s dx of %ld: %s", b->name, dg_acts[k].word, (long)n, wrong ? wrong : "");
    e = dg_case_error(op.u.act.dx, want.u.act.dx, (size_t)n, 1e-2);
    DG_CHECKF(e <= 16 * dg_case_eps(b), "%s: %s dx of %ld: error %g", b->name, dg_acts[k].word, (long)n, e);
}

static void check_differences(dg_backend *b, int k)
{
    enum { N = 200 };
    const double h = 1e-6;
    dg_op op = act_op(DG_OP_act, k, N);
    double *x = op.u.act.x, *y = op.u.act.y, *dy = op.u.act.dy, up[N];
    for (int i = 0; i < N; i++)
        if (fabs(x[i]) < 1e-3) x[i] = 1;
    for (int i = 0; i < N; i++) x[i] += h;
    DG_CHECK(!dg_case_run(b, &op));
    memcpy(up, y, sizeof up);
    for (int i = 0; i < N; i++) x[i] -= 2 * h;
    DG_CHECK(!dg_case_run(b, &op));
    for (int i = 0; i < N; i++) up[i] = (up[i] - y[i]) / (2 * h) * dy[i];
    for (int i = 0; i < N; i++) x[i] += h;
    DG_CHECK(!dg_case_run(b, &op));
    op.kind = DG_OP_act_dx;
    DG_CHECK(!dg_case_run(b, &op));
    DG_CHECKF(dg_case_error(op.u.act.dx, up, N, 1) < 1e-8, "%s: differences of %s", b->name, dg_acts[k].word);
}

/* Over the whole line: within three ulp, odd, never beyond 1, and special values. */
static void check_tanh(dg_backend *b)
{
    const int N = dg_case_slowness() == 2 ? 3000 : 60000;
    dg_op op = act_op(DG_OP_act, DG_ACT_TANH, N);
    double *x = op.u.act.x, *y = op.u.act.y;
    double limit = b->real == DG_F64 ? 22 : 11, worst = 0;
    for (int i = 0; i < N; i++) {
        double t = (i / 2 + 1) / (double)(N / 2), v = i % 4 < 2 ? t * limit : exp(-30 * t);
        x[i] = i & 1 ? -(double)(float)v : (double)(float)v;
    }
    DG_CHECK(!dg_case_run(b, &op));
    for (int i = 0; i < N; i++) {
        long double want = tanhl((long double)x[i]);
        double ulp = ldexp(2 * dg_case_eps(b), ilogb((double)want)), e = (double)fabsl(y[i] - want) / ulp;
        if (!(e <= worst)) worst = e;
        if (fabs(y[i]) > 1 || (i & 1 && y[i] != -y[i - 1])) worst = INFINITY;
    }
    DG_CHECKF(worst <= 3, "%s: tanh is %g ulp off", b->name, worst);
    static const double in[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1e30, -1e30, FLT_MIN};
    static const double out[] = {0, -0.0, 1, -1, NAN, 1, -1, FLT_MIN};
    memcpy(x, in, sizeof in);
    op.u.act.n = 8;
    DG_CHECK(!dg_case_run(b, &op));
    for (int i = 0; i < 8; i++)
        DG_CHECKF(isnan(out[i]) ? isnan(y[i]) : y[i] == out[i] && !signbit(y[i]) == !signbit(out[i]),
                  "%s: tanh(%g) = %g", b->name, in[i], y[i]);
}

static void check_specials(dg_backend *b)
{
    for (int k = 0; k < DG_ACT_KINDS; k++) {
        dg_op op = act_op(DG_OP_act, k, 40);
        double *x = op.u.act.x, *y = op.u.act.y, *dx = op.u.act.dx;
        x[3] = x[39] = NAN;
        DG_CHECK(!dg_case_run(b, &op));
        DG_CHECKF(isnan(y[3]) && isnan(y[39]) && !isnan(y[4]), "%s: %s loses NaN", b->name, dg_acts[k].word);
        op = act_op(DG_OP_act_dx, k, 40);
        ((double *)op.u.act.dy)[5] = NAN;
        dx = op.u.act.dx;
        DG_CHECK(!dg_case_run(b, &op));
        DG_CHECKF(isnan(dx[5]) && !isnan(dx[4]), "%s: %s dx loses NaN", b->name, dg_acts[k].word);
    }
    /* at zero, PyTorch's side: relu 0, leaky the slope */
    for (int k = DG_ACT_RELU; k <= DG_ACT_LEAKY; k++) {
        dg_op op = act_op(DG_OP_act_dx, k, 3);
        ((double *)op.u.act.y)[1] = 0;
        DG_CHECK(!dg_case_run(b, &op));
        DG_NEAR(((double *)op.u.act.dx)[1], dg_act_factor((dg_act)k, 0.2) * ((double *)op.u.act.dy)[1], 1e-7);
    }
}

static void check_threads(void)
{
    const size_t N = dg_case_slowness() == 2 ? 3011 : 60011;
    static const int threads[] = {1, 2, 3, 7};
    double *first = dg_case_numbers(N, 1, 0);
    dg_op op = act_op(DG_OP_act, DG_ACT_TANH, (int64_t)N);
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < 4; t++) {
            dg_backend *b;
            if (!dg_case_open(i, threads[t], &b)) return;
            DG_CHECK(!dg_case_run(b, &op));
            if (t == 0) memcpy(first, op.u.act.y, N * sizeof *first);
            DG_CHECKF(memcmp(first, op.u.act.y, N * sizeof *first) == 0, "%s: not one thread's bits", b->name);
            b->close(b);
        }
}

int main(void)
{
    dg_backend *b;
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        for (int k = 0; k < DG_ACT_KINDS; k++) {
            for (int s = 0; s < SIZES; s++) {
                if (dg_case_slowness() == 2 && sizes[s] > 1000) continue;
                check(b, k, sizes[s], false);
                check(b, k, sizes[s], true);
            }
            if (b->real == DG_F64) check_differences(b, k);
            dg_case_free();
        }
        check_tanh(b);
        check_specials(b);
        dg_case_free();
        b->close(b);
    }
    check_threads();
    dg_case_free();
    return dg_test_report();
}
