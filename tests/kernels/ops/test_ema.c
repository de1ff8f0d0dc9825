/* Running averages of weights: against plain loops and a sum written out, the ramp of their first steps, NaN,
 * threads. */
#include "reference.h"
#include "test.h"

static dg_step_state state;

static dg_op ema_op(int64_t n, uint64_t step, double decay)
{
    dg_op op = {.name = "ema", .kind = DG_OP_ema};
    state = (dg_step_state){.seed = 1, .step = step};
    op.u.ema = (dg_ema_args){.average = dg_case_numbers((size_t)n, 1, 0),
                             .p = dg_case_numbers((size_t)n, 1, 0.5),
                             .state = &state,
                             .n = n,
                             .decay = decay};
    return op;
}

static void run(dg_backend *b, const dg_op *op)
{
    const char *wrong = dg_case_run(b, op);
    DG_CHECKF(!wrong, "%s: n %ld: %s", b->name, (long)op->u.ema.n, wrong);
}

static void check(dg_backend *b, int64_t n, uint64_t step, double decay)
{
    dg_op op = ema_op(n, step, decay), want = op;
    want.u.ema.average = dg_case_copy(op.u.ema.average, (size_t)n);
    dg_ref_run(&want);
    run(b, &op);
    const double e = dg_case_error(op.u.ema.average, want.u.ema.average, (size_t)n, 1);
    DG_CHECKF(e <= 4 * dg_case_eps(b), "%s: n %ld, step %ld, decay %g: %g off", b->name, (long)n, (long)step, decay, e);
}

/* The weights of step s are s + 1; the average by its definition, from nothing, even where NaN lay before. */
static void check_ramp(dg_backend *b)
{
    dg_op op = ema_op(3, 0, 0.75);
    double want = 0;
    for (int k = 0; k < 3; k++) ((double *)op.u.ema.average)[k] = NAN;
    for (int s = 0; s < 100; s++) {
        const double d = s < 30 ? s / (s + 10.0) : 0.75;
        want = s ? d * want + (1 - d) * (s + 1) : 1;
        state.step = (uint64_t)s;
        for (int k = 0; k < 3; k++) ((double *)op.u.ema.p)[k] = s + 1;
        run(b, &op);
        for (int k = 0; k < 3; k++) DG_NEAR(((double *)op.u.ema.average)[k] / want, 1, 10 * dg_case_eps(b));
    }
    DG_NEAR(want, 100 - 3, 0.01); /* three steps behind: 0.75 / 0.25 */
}

/* A weight that is NaN makes its own average NaN, at any step, and no other one. */
static void check_nan(dg_backend *b)
{
    for (uint64_t step = 0; step < 3; step++) {
        dg_op op = ema_op(11, step, 0.9);
        ((double *)op.u.ema.p)[6] = NAN;
        run(b, &op);
        for (int k = 0; k < 11; k++)
            DG_CHECKF(!isnan(((double *)op.u.ema.average)[k]) == (k != 6), "%s: step %d, weight %d", b->name, (int)step,
                      k);
    }
}

static void check_threads(void)
{
    enum { MOST = 70001 };
    const int N = dg_case_slowness() == 2 ? 3011 : MOST;
    static const int threads[] = {1, 2, 3, 7};
    static double first[MOST];
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < 4; t++) {
            dg_backend *b;
            dg_op op = ema_op(N, 77, 0.9);
            for (int k = 0; k < N; k++)
                ((double *)op.u.ema.average)[k] = k % 17, ((double *)op.u.ema.p)[k] = 0.375 * (k % 13);
            if (!dg_case_open(i, threads[t], &b)) return;
            run(b, &op);
            const size_t bytes = (size_t)N * sizeof *first;
            if (t == 0) memcpy(first, op.u.ema.average, bytes);
            DG_CHECKF(!memcmp(first, op.u.ema.average, bytes), "%s: not one thread's bits", b->name);
            b->close(b);
            dg_case_free();
        }
}

int main(void)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 31, 64, 67, 1000, 4099};
    dg_backend *b;
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            check(b, sizes[k], 0, 0.999);
            check(b, sizes[k], 3, 0.999);
            check(b, sizes[k], 1000000, 0.999);
        }
        check_ramp(b);
        check_nan(b);
        dg_case_free();
        b->close(b);
    }
    check_threads();
    dg_case_free();
    return dg_test_report();
}
