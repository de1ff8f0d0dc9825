/* Differentiable augmentation: against plain loops, known numbers, its adjoint, a whole image that comes back, NaN,
 * threads. */
#include "core/plan/op_info.h"
#include "reference.h"
#include "test.h"

static dg_step_state state;
static const int shapes[][4] = {{1, 1, 1, 1}, {3, 5, 7, 3}, {2, 8, 8, 1}, {3, 16, 9, 4}, {2, 4, 3, 2}, {5, 28, 28, 3}};
enum { SHAPES = sizeof shapes / sizeof *shapes, ALL = 7 };

static size_t values(const dg_op *op)
{
    const dg_augment_args *a = &op->u.augment;
    return (size_t)a->N * (size_t)a->H * (size_t)a->W * (size_t)a->C;
}

static dg_op augment_op(const int *d, int what, uint64_t step, bool back)
{
    dg_op op = {.kind = back ? DG_OP_augment_dx : DG_OP_augment};
    snprintf(op.name, sizeof op.name, "%s", dg_op_kind_name(op.kind));
    state = (dg_step_state){.seed = 0x0123456789abcdefull, .step = step};
    op.u.augment = (dg_augment_args){
        .state = &state, .N = d[0], .H = d[1], .W = d[2], .C = d[3], .what = what, .order = (int)(step % 3)};
    const size_t n = values(&op);
    double *out = dg_case_numbers(n, 1, 0), *in = dg_case_numbers(n, 1, 0.25);
    if (back) op.u.augment.dx = out, op.u.augment.dy = in;
    else op.u.augment.y = out, op.u.augment.x = in;
    return op;
}

static double *out_of(const dg_op *op) { return op->kind == DG_OP_augment ? op->u.augment.y : op->u.augment.dx; }
static double *in_of(const dg_op *op) { return op->kind == DG_OP_augment ? op->u.augment.x : op->u.augment.dy; }

static void run(dg_backend *b, const dg_op *op)
{
    const char *wrong = dg_case_run(b, op);
    DG_CHECKF(!wrong, "%s: %s: %s", b->name, op->name, wrong);
}

static void check(dg_backend *b, const int *d, int what, uint64_t step, bool back)
{
    dg_op op = augment_op(d, what, step, back), want = op;
    const size_t n = values(&op);
    if (back) want.u.augment.dx = dg_case_copy(out_of(&op), n);
    else want.u.augment.y = dg_case_copy(out_of(&op), n);
    dg_ref_run(&want);
    run(b, &op);
    const double e = dg_case_error(out_of(&op), out_of(&want), n, 1);
    DG_CHECKF(e <= 4 * dg_case_eps(b) + (double)(d[1] * d[2] * d[3]) * 0x1p-54,
              "%s: %s of %d x %d x %d x %d, what %d, step %ld: %g off", b->name, op.name, d[0], d[1], d[2], d[3], what,
              (long)step, e);
}

/* <A(u) - A(0), v> is <u, A'(v)>: colours also add a constant. */
static void check_adjoint(dg_backend *b, const int *d, int what)
{
    dg_op op = augment_op(d, what, 4, false), back = augment_op(d, what, 4, true);
    const size_t n = values(&op);
    double *u = dg_case_copy(in_of(&op), n), *v = in_of(&back), sums[2] = {0, 0};
    run(b, &op);
    for (size_t i = 0; i < n; i++) sums[0] += out_of(&op)[i] * v[i];
    for (size_t i = 0; i < n; i++) in_of(&op)[i] = 0;
    run(b, &op);
    for (size_t i = 0; i < n; i++) sums[0] -= out_of(&op)[i] * v[i];
    run(b, &back);
    for (size_t i = 0; i < n; i++) sums[1] += out_of(&back)[i] * u[i];
    DG_NEAR(sums[0], sums[1], 8 * (double)n * dg_case_eps(b));
}

/* Without colours values are moved as they are: each is one of the input's or 0, as many rows and columns are empty as
 * the shift says, and the box has half the side. */
static void check_moves(dg_backend *b)
{
    static const int d[] = {64, 16, 16, 1};
    int least = 99, most = -99, moved = 0, empty = 0;
    dg_op op = augment_op(d, DG_AUGMENT_TRANSLATION, 9, false);
    for (int i = 0; i < 64 * 256; i++) in_of(&op)[i] = 1 + i % 256;
    run(b, &op);
    for (int n = 0; n < 64; n++) {
        const double *y = out_of(&op) + n * 256;
        const int shift = (int)y[8 * 16 + 8] - 1 - (8 * 16 + 8), rows = (int)floor((shift + 8.0) / 16);
        least = rows < least ? rows : least, most = rows > most ? rows : most;
        moved += shift != 0;
        for (int i = 0; i < 256; i++) DG_CHECK(y[i] == 0 || (int)y[i] - 1 - i == shift);
    }
    DG_CHECKF(least == -2 && most == 2 && moved > 50, "%s: shifts from %d to %d rows, %d moved", b->name, least, most,
              moved);
    op = augment_op(d, DG_AUGMENT_CUTOUT, 9, false);
    run(b, &op);
    for (int n = 0; n < 64; n++) {
        int zeros = 0;
        for (int i = 0; i < 256; i++) {
            const double was = in_of(&op)[n * 256 + i], is = out_of(&op)[n * 256 + i];
            zeros += is == 0;
            DG_CHECK(is == 0 || is == was);
        }
        DG_CHECKF(zeros >= 16 && zeros <= 64, "%s: picture %d: a box of %d pixels", b->name, n, zeros);
        empty += zeros == 64;
    }
    DG_CHECKF(empty > 5 && empty < 40, "%s: %d boxes of 64 lie inside", b->name, empty);
}

/* A value that is NaN makes the colours of its pixel NaN and, where colours change, through the mean those of others;
 * never alpha, nor another image. */
static void check_nan(dg_backend *b, bool back)
{
    static const int d[] = {3, 7, 5, 4};
    enum { EACH = 7 * 5 * 4 };
    for (int what = 0; what <= ALL; what += dg_case_slowness() == 2 ? ALL : 1) {
        dg_op op = augment_op(d, what, 21, back), clean = op;
        double *whole = dg_case_copy(out_of(&op), 3 * EACH), *in = in_of(&op);
        if (back) clean.u.augment.dx = whole;
        else clean.u.augment.y = whole;
        run(b, &clean);
        in[EACH + 4 * 17 + 1] = NAN; /* of the middle image, where neither box nor shift has cut it off */
        run(b, &op);
        int nans = 0, alphas = 0, others = 0;
        for (int i = 0; i < 3 * EACH; i++) {
            const bool is = isnan(out_of(&op)[i]);
            nans += is;
            alphas += is && i % 4 == 3;
            others += !is && memcmp(&out_of(&op)[i], &whole[i], sizeof *whole) != 0;
            DG_CHECKF(!is || i / EACH == 1, "%s: %s, what %d: NaN in another picture", b->name, op.name, what);
        }
        DG_CHECKF(what & DG_AUGMENT_COLOR ? nans > 3 : nans == 3, "%s: %s, what %d: %d NaN", b->name, op.name, what,
                  nans);
        DG_CHECKF(!alphas && !others, "%s: %s, what %d: %d NaN of alpha, %d others", b->name, op.name, what, alphas,
                  others);
    }
}

/* Nothing asked for, nothing changed; another step, order or seed, other numbers. */
static void check_draws(dg_backend *b)
{
    dg_op op = augment_op(shapes[1], 0, 6, false);
    const size_t n = values(&op);
    run(b, &op);
    DG_CHECK(!memcmp(out_of(&op), in_of(&op), n * sizeof(double)));
    op.u.augment.what = ALL;
    run(b, &op);
    double *first = dg_case_copy(out_of(&op), n);
    DG_CHECK(memcmp(first, in_of(&op), n * sizeof *first) != 0);
    run(b, &op);
    DG_CHECK(!memcmp(first, out_of(&op), n * sizeof *first));
    state.step++;
    run(b, &op);
    DG_CHECK(memcmp(first, out_of(&op), n * sizeof *first) != 0);
    state.step--;
    op.u.augment.order++;
    run(b, &op);
    DG_CHECK(memcmp(first, out_of(&op), n * sizeof *first) != 0);
    op.u.augment.order--;
    state.seed++;
    run(b, &op);
    DG_CHECK(memcmp(first, out_of(&op), n * sizeof *first) != 0);
}

static void check_threads(void)
{
    static const int threads[] = {1, 2, 3, 7};
    static double first[2][5 * 28 * 28 * 3];
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < 4; t++)
            for (int back = 0; back < 2; back++) {
                dg_backend *b;
                dg_op op = augment_op(shapes[5], ALL, 2, back);
                for (size_t k = 0; k < values(&op); k++) in_of(&op)[k] = (double)(k % 251) / 256;
                if (!dg_case_open(i, threads[t], &b)) return;
                run(b, &op);
                if (t == 0) memcpy(first[back], out_of(&op), sizeof first[back]);
                DG_CHECKF(!memcmp(first[back], out_of(&op), sizeof first[back]), "%s: not one thread's bits", b->name);
                b->close(b);
                dg_case_free();
            }
}

int main(void)
{
    dg_backend *b;
    const bool slow = dg_case_slowness() == 2;
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        for (int k = 0; k < SHAPES - 1; k++)
            for (int what = 0; what <= ALL; what++)
                for (int back = 0; back < 2; back++)
                    for (int step = 0; step < (slow ? 1 : 3); step++)
                        check(b, shapes[k], what, (uint64_t)(1000 * step + 3), back);
        check(b, shapes[5], ALL, 11, false);
        for (int what = 1; !slow && what <= ALL; what++) check_adjoint(b, shapes[3], what);
        if (!slow) check_adjoint(b, shapes[5], ALL);
        if (!slow) check_moves(b);
        check_nan(b, false);
        check_nan(b, true);
        check_draws(b);
        dg_case_free();
        b->close(b);
    }
    check_threads();
    dg_case_free();
    return dg_test_report();
}
