/* Spectral norm of weights: against plain loops, PyTorch and a known spectrum; its gradient by differences; lengths
 * below eps, NaN, threads. */
#include <float.h>

#include "golden_ops.h"
#include "reference.h"
#include "test.h"

static const int shapes[][2] = {{1, 1}, {1, 17}, {5, 1}, {3, 5}, {31, 33}, {7, 513}, {64, 100}, {130, 67}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static size_t values(const dg_spectral_args *a) { return (size_t)a->rows * (size_t)a->cols; }

static double length_of(const double *x, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) squares += x[i] * x[i];
    return sqrt(squares);
}

/* n numbers of this length. */
static double *direction(size_t n)
{
    double *x = dg_case_numbers(n, 1, 0.1), length = length_of(x, n);
    for (size_t i = 0; i < n; i++) x[i] = (double)(float)(x[i] / length);
    return x;
}

static dg_op spectral_op(dg_op_kind kind, int rows, int cols, int iterate)
{
    dg_op op = {.kind = kind};
    const size_t n = (size_t)rows * (size_t)cols;
    snprintf(op.name, sizeof op.name, "%s %d x %d, %d", dg_op_kind_name(kind), rows, cols, iterate);
    op.u.spectral = (dg_spectral_args){.wn = dg_case_numbers(n, 1, 0),
                                       .sigma = dg_case_numbers(1, 0.5, 1),
                                       .u = direction((size_t)rows),
                                       .v = direction((size_t)cols),
                                       .w = dg_case_numbers(n, 1, 0),
                                       .dw = dg_case_numbers(n, 1, 0),
                                       .dwn = dg_case_numbers(n, 1, 0),
                                       .rows = rows,
                                       .cols = cols,
                                       .iterate = iterate,
                                       .eps = 1e-12};
    return op;
}

/* With the operands of its kind alone. */
static void run(dg_backend *b, const dg_op *op)
{
    dg_op own = *op;
    if (op->kind == DG_OP_spectral) own.u.spectral.dw = own.u.spectral.dwn = NULL;
    else own.u.spectral.w = NULL;
    const char *wrong = dg_case_run(b, &own);
    DG_CHECKF(!wrong, "%s: %s: %s", b->name, op->name, wrong);
}

/* The same op with results of its own. */
static dg_op copy_of(const dg_op *op)
{
    dg_op copy = *op;
    dg_spectral_args *a = &copy.u.spectral;
    const size_t rows = (size_t)a->rows, cols = (size_t)a->cols;
    a->u = dg_case_copy(a->u, rows);
    a->v = dg_case_copy(a->v, cols);
    a->sigma = dg_case_copy(a->sigma, 1);
    a->wn = dg_case_copy(a->wn, rows * cols);
    a->dw = dg_case_copy(a->dw, rows * cols);
    return copy;
}

static void near(const dg_backend *b, const dg_op *op, const char *what, const double *is, const double *want, size_t n,
                 double within)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        const double e = fabs(is[i] - want[i]);
        if (!(e <= worst)) worst = e;
    }
    DG_CHECKF(worst <= within, "%s: %s: %s is %g off, more than %g", b->name, op->name, what, worst, within);
}

/* What cancels in a product with W does so beside |W|, and is divided by sigma. */
static void check(dg_backend *b, const int *d, int iterate)
{
    dg_op op = spectral_op(DG_OP_spectral, d[0], d[1], iterate), want = copy_of(&op);
    const dg_spectral_args *a = &op.u.spectral, *w = &want.u.spectral;
    dg_ref_run(&want);
    run(b, &op);
    const double sigma = fabs(*(double *)w->sigma), whole = length_of(a->w, values(a)),
                 eps = 8 * dg_case_eps(b) * (1 + whole / sigma);
    near(b, &op, "v", a->v, w->v, (size_t)d[1], eps);
    near(b, &op, "u", a->u, w->u, (size_t)d[0], eps);
    near(b, &op, "sigma", a->sigma, w->sigma, 1, eps * sigma);
    near(b, &op, "wn", a->wn, w->wn, values(a), eps / sigma);

    dg_op back = spectral_op(DG_OP_spectral_dw, d[0], d[1], iterate), want_back = copy_of(&back);
    dg_ref_run(&want_back);
    run(b, &back);
    const dg_spectral_args *g = &back.u.spectral;
    const double sum = length_of(g->dwn, values(g)) * length_of(g->wn, values(g));
    near(b, &back, "dw", g->dw, want_back.u.spectral.dw, values(g), 8 * dg_case_eps(b) * (1 + sum) / 0.5);
}

/* Without iterating the bits of u and v stay. */
static void check_stays(dg_backend *b)
{
    dg_op op = spectral_op(DG_OP_spectral, 9, 11, 0), before = copy_of(&op);
    run(b, &op);
    DG_CHECK(!memcmp(op.u.spectral.u, before.u.spectral.u, 9 * sizeof(double)));
    DG_CHECK(!memcmp(op.u.spectral.v, before.u.spectral.v, 11 * sizeof(double)));
    op.u.spectral.iterate = 1;
    run(b, &op);
    DG_CHECK(memcmp(op.u.spectral.u, before.u.spectral.u, 9 * sizeof(double)) != 0);
    DG_CHECK(memcmp(op.u.spectral.v, before.u.spectral.v, 11 * sizeof(double)) != 0);
}

/* W = 3 p q^T + 1 r s^T with p, r and q, s at right angles and of length 1: sigma goes to 3, u and v to p and q. */
static void check_converges(dg_backend *b)
{
    static const double p[4] = {0.5, 0.5, 0.5, 0.5}, r[4] = {0.5, -0.5, 0.5, -0.5};
    static const double q[5] = {0.6, 0, -0.8, 0, 0}, s[5] = {0, 1, 0, 0, 0};
    dg_op op = spectral_op(DG_OP_spectral, 4, 5, 1);
    const dg_spectral_args *a = &op.u.spectral;
    for (int i = 0; i < 20; i++) ((double *)a->w)[i] = 3 * p[i / 5] * q[i % 5] + r[i / 5] * s[i % 5];
    for (int i = 0; i < 40; i++) run(b, &op);
    const double *u = a->u, *v = a->v, eps = 16 * dg_case_eps(b), sign = u[0] < 0 ? -1 : 1;
    DG_NEAR(*(double *)a->sigma, 3, 3 * eps);
    for (int i = 0; i < 4; i++) DG_NEAR(sign * u[i], p[i], eps);
    for (int i = 0; i < 5; i++) DG_NEAR(sign * v[i], q[i], eps);
}

static void check_torch(dg_backend *b)
{
    dg_op op = spectral_op(DG_OP_spectral, 3, 5, 1), back;
    dg_spectral_args *a = &op.u.spectral;
    const double eps = 8 * dg_case_eps(b);
    memcpy(a->w, golden_spectral_w, sizeof golden_spectral_w);
    memcpy(a->u, golden_spectral_u0, sizeof golden_spectral_u0);
    run(b, &op);
    near(b, &op, "u", a->u, golden_spectral_u, 3, eps);
    near(b, &op, "v", a->v, golden_spectral_v, 5, eps);
    near(b, &op, "wn", a->wn, golden_spectral_wn, 15, eps);
    memcpy(a->dwn, golden_spectral_dwn, sizeof golden_spectral_dwn);
    back = op;
    back.kind = DG_OP_spectral_dw;
    run(b, &back);
    near(b, &back, "dw", a->dw, golden_spectral_dw, 15, 8 * eps);
}

/* The sum of wn dwn, by differences of each weight; u and v stay. */
static void check_differences(dg_backend *b)
{
    dg_op op = spectral_op(DG_OP_spectral, 6, 7, 0), back;
    const dg_spectral_args *a = &op.u.spectral;
    double *w = a->w, *wn = a->wn;
    const double h = 1e-5;
    if (b->real != DG_F64) return;
    run(b, &op);
    back = op;
    back.kind = DG_OP_spectral_dw;
    run(b, &back);
    for (size_t i = 0; i < values(a); i++) {
        double loss[2] = {0, 0};
        const double was = w[i];
        for (int k = 0; k < 2; k++) {
            w[i] = was + (k ? h : -h);
            run(b, &op);
            for (size_t j = 0; j < values(a); j++) loss[k] += wn[j] * ((double *)a->dwn)[j];
        }
        w[i] = was;
        const double slope = (loss[1] - loss[0]) / (2 * h), is = ((double *)a->dw)[i];
        DG_CHECKF(fabs(slope - is) <= 1e-6 * (1 + fabs(slope)), "%s: weight %zu: %g, by differences %g", b->name, i, is,
                  slope);
    }
}

/* Weights so small that eps is the larger one: u and v are no longer of length 1. */
static void check_small(dg_backend *b)
{
    dg_op op = spectral_op(DG_OP_spectral, 4, 6, 1), want = copy_of(&op);
    dg_spectral_args *a = &op.u.spectral;
    a->eps = want.u.spectral.eps = 64;
    dg_ref_run(&want);
    run(b, &op);
    near(b, &op, "v", a->v, want.u.spectral.v, 6, dg_case_eps(b));
    near(b, &op, "u", a->u, want.u.spectral.u, 4, dg_case_eps(b));
    DG_CHECK(length_of(a->v, 6) < 0.1 && length_of(a->u, 4) < 0.1);
    DG_NEAR(*(double *)a->sigma / *(double *)want.u.spectral.sigma, 1, 64 * dg_case_eps(b));
}

/* A weight that is NaN makes all of them NaN, and so do weights that are all 0; of a gradient NaN goes on, too. */
static void check_nan(dg_backend *b)
{
    for (int iterate = 0; iterate < 2; iterate++)
        for (int zero = 0; zero < 2; zero++) {
            dg_op op = spectral_op(DG_OP_spectral, 5, 9, iterate);
            double *w = op.u.spectral.w, *wn = op.u.spectral.wn;
            for (int i = 0; i < 45; i++) w[i] = zero ? 0 : i == 22 ? NAN : w[i];
            run(b, &op);
            DG_CHECK(zero ? *(double *)op.u.spectral.sigma == 0 : isnan(*(double *)op.u.spectral.sigma));
            for (int i = 0; i < 45; i++) DG_CHECKF(isnan(wn[i]), "%s: %s: weight %d is %g", b->name, op.name, i, wn[i]);
        }
    dg_op back = spectral_op(DG_OP_spectral_dw, 5, 9, 0);
    ((double *)back.u.spectral.dwn)[31] = NAN;
    run(b, &back);
    for (int i = 0; i < 45; i++) DG_CHECK(isnan(((double *)back.u.spectral.dw)[i]));
}

/* u, v, wn and dw, one behind the other. */
static size_t gather_results(const dg_spectral_args *a, double *out)
{
    const struct {
        const void *from;
        size_t n;
    } part[] = {{a->u, (size_t)a->rows}, {a->v, (size_t)a->cols}, {a->wn, values(a)}, {a->dw, values(a)}};
    size_t n = 0;
    for (int i = 0; i < 4; i++) {
        memcpy(out + n, part[i].from, part[i].n * sizeof *out);
        n += part[i].n;
    }
    return n * sizeof *out;
}

static void check_threads(void)
{
    enum { ROWS = 130, COLS = 700, ALL = 2 * ROWS * COLS + ROWS + COLS };
    static const int threads[] = {1, 2, 3, 7};
    static double first[ALL], now[ALL];
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < 4; t++) {
            dg_backend *b;
            dg_op op = spectral_op(DG_OP_spectral, ROWS, COLS, 1);
            const dg_spectral_args *a = &op.u.spectral;
            for (int k = 0; k < ROWS * COLS; k++)
                ((double *)a->w)[k] = (k % 251 - 125) / 256.0, ((double *)a->dwn)[k] = (k % 127 - 60) / 128.0;
            for (int r = 0; r < ROWS; r++) ((double *)a->u)[r] = 0.0625 * (r % 3 - 1);
            if (!dg_case_open(i, threads[t], &b)) return;
            run(b, &op);
            op.kind = DG_OP_spectral_dw;
            run(b, &op);
            const size_t bytes = gather_results(a, t ? now : first);
            DG_CHECKF(t == 0 || !memcmp(first, now, bytes), "%s: not one thread's bits", b->name);
            b->close(b);
            dg_case_free();
        }
}

int main(void)
{
    dg_backend *b;
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        for (int k = 0; k < SHAPES - (dg_case_slowness() > 1); k++)
            for (int iterate = 0; iterate < 2; iterate++) check(b, shapes[k], iterate);
        check_stays(b);
        if (dg_case_slowness() < 2) check_converges(b);
        check_torch(b);
        if (dg_case_slowness() < 2) check_differences(b);
        check_small(b);
        check_nan(b);
        dg_case_free();
        b->close(b);
    }
    if (dg_case_slowness() < 2) check_threads();
    dg_case_free();
    return dg_test_report();
}
