/* Optimisers as torch.optim.SGD, Adagrad and Adadelta are: against plain loops and PyTorch's numbers. */
#include "golden_ops.h"
#include "reference.h"
#include "test.h"

enum { NET = 1, BAD = 6 };

static dg_step_state state = {.seed = 1, .lr = {2e-4, 0.05}};
static dg_metrics ring[DG_RING], want_ring[DG_RING];

static const struct optimizer {
    const char *name;
    dg_op_kind kind;
    bool m, v;
    double momentum, eps;
    int nesterov;
    const double *golden; /* five weights after each of five steps */
} optimizers[] = {
    {"sgd", DG_OP_sgd, false, false, 0, 0, 0, golden_update_sgd},
    {"momentum", DG_OP_sgd, true, false, 0.9, 0, 0, golden_update_momentum},
    {"nesterov", DG_OP_sgd, true, false, 0.9, 0, 1, golden_update_nesterov},
    {"adagrad", DG_OP_adagrad, false, true, 0, 1e-10, 0, golden_update_adagrad},
    {"adadelta", DG_OP_adadelta, true, true, 0, 1e-6, 0, golden_update_adadelta},
};
enum { OPTIMIZERS = sizeof optimizers / sizeof *optimizers };

static dg_op update_op(const struct optimizer *o, int64_t n, int64_t decayed)
{
    const size_t k = (size_t)n;
    dg_op op = {.name = "update", .kind = o->kind};
    op.u.update = (dg_update_args){.p = dg_case_numbers(k, 1, 0),
                                   .m = o->m ? dg_case_numbers(k, 0.1, 0.125) : NULL,
                                   .v = o->v ? dg_case_numbers(k, 0.1, 0.125) : NULL,
                                   .ring = ring,
                                   .g = dg_case_numbers(k, 0.5, 0),
                                   .state = &state,
                                   .n = n,
                                   .decayed = decayed,
                                   .momentum = o->momentum,
                                   .rho = 0.9,
                                   .eps = o->eps,
                                   .decay = 0.01,
                                   .nesterov = o->nesterov,
                                   .net = NET,
                                   .bad = BAD};
    return op;
}

static void zero(dg_op *op, bool weights)
{
    const dg_update_args *a = &op->u.update;
    const size_t bytes = (size_t)a->n * sizeof(double);
    if (weights) memset(a->p, 0, bytes);
    memset(a->g, 0, bytes);
    if (a->m) memset(a->m, 0, bytes);
    if (a->v) memset(a->v, 0, bytes);
}

/* The loops keep double moments; a float backend rounds them, so each step starts from the same numbers. */
static void check(dg_backend *b, const struct optimizer *o, int64_t n, int64_t decayed)
{
    const size_t k = (size_t)n;
    dg_op op = update_op(o, n, decayed);
    for (int step = 0; step < 2; step++) {
        dg_op want = op;
        dg_update_args *w = &want.u.update, *got = &op.u.update;
        w->p = dg_case_copy(got->p, k);
        w->m = dg_case_copy(got->m, k);
        w->v = dg_case_copy(got->v, k);
        w->ring = want_ring;
        state.step = (uint64_t)step * 1500;
        dg_ref_run(&want);
        const char *wrong = dg_case_run(b, &op);
        DG_CHECKF(!wrong, "%s: %s: n %ld: %s", b->name, o->name, (long)n, wrong ? wrong : "");
        const double eps = dg_case_eps(b), floors[] = {0.1, 1, 0.02};
        const double *const is[] = {got->p, got->m, got->v}, *const should[] = {w->p, w->m, w->v};
        for (int i = 0; i < 3; i++) {
            const double e = is[i] ? dg_case_error(is[i], should[i], k, floors[i]) : 0;
            DG_CHECKF(e <= 6 * eps, "%s: %s: n %ld, %ld decayed, step %d: %c is %g off", b->name, o->name, (long)n,
                      (long)decayed, step, "pmv"[i], e / eps);
        }
        DG_CHECK(ring[state.step % DG_RING].value[BAD] == 0);
        got->g = dg_case_numbers(k, 0.5, 0);
    }
}

static void check_shapes(dg_backend *b)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 7, 16, 17, 63, 68, 100, 1025, 4096, 4097, 8191, 20000, 50001};
    int tested = 0;
    for (int o = 0; o < OPTIMIZERS; o++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            const int64_t n = sizes[k], decayed[] = {0, 1, n / 2, n / 3 + 1, n};
            if (dg_case_slowness() && n > (dg_case_slowness() == 2 ? 100 : 4100)) continue;
            for (size_t d = k % 2; d < 5; d += 2, tested++) check(b, &optimizers[o], n, decayed[d]);
            dg_case_free();
        }
    DG_CHECKF(dg_case_slowness() || tested >= 5 * 40, "%d cases", tested);
}

/* All that is not finite is counted, wherever it is, and nothing else of the ring is written. */
static void check_bad(dg_backend *b, const struct optimizer *o)
{
    enum { N = 20000 };
    static const int at[] = {0, 1, 15, 4095, 4096, 17000, N - 1};
    dg_op op = update_op(o, N, 4090);
    double *g = op.u.update.g, *p = op.u.update.p;
    for (int i = 0; i < 7; i++) g[at[i]] = i & 1 ? NAN : 0;
    p[5] = p[N - 9] = INFINITY; /* where it decays, and where it does not */
    state.step = 4 + DG_RING;
    for (size_t i = 0; i < DG_RING; i++)
        for (int k = 0; k < DG_METRICS_MAX; k++) ring[i].value[k] = -1;
    DG_CHECK(!dg_case_run(b, &op));
    DG_CHECKF(ring[4].value[BAD] == 3 + 2, "%s: %s: %g are bad", b->name, o->name, ring[4].value[BAD]);
    DG_CHECKF(isinf(p[N - 9]) && !isnan(p[17001]), "%s: %s: %g does not decay", b->name, o->name, p[N - 9]);
    for (size_t i = 0; i < DG_RING; i++)
        for (int k = 0; k < DG_METRICS_MAX; k++)
            if (i != 4 || k != BAD) DG_CHECK(ring[i].value[k] == -1);
}

/* What lies between tensors is zero and stays so; without a gradient and without decay no weight moves. */
static void check_zero(dg_backend *b, const struct optimizer *o)
{
    enum { N = 40 };
    static const double zeros[N];
    dg_op op = update_op(o, N, N);
    const dg_update_args *a = &op.u.update;
    zero(&op, true);
    for (state.step = 0; state.step < 3; state.step++) DG_CHECK(!dg_case_run(b, &op));
    const double *const is[] = {a->p, a->m, a->v};
    for (int i = 0; i < 3; i++)
        DG_CHECKF(!is[i] || !memcmp(is[i], zeros, sizeof zeros), "%s: %s: zeros of %c move", b->name, o->name,
                  "pmv"[i]);
    op = update_op(o, N, 0);
    zero(&op, false);
    double *before = dg_case_copy(op.u.update.p, N);
    DG_CHECK(!dg_case_run(b, &op));
    DG_CHECKF(!memcmp(op.u.update.p, before, sizeof zeros), "%s: %s: moves without gradient", b->name, o->name);
}

static void check_golden(dg_backend *b, const struct optimizer *o)
{
    dg_op op = update_op(o, 5, 3);
    dg_update_args *a = &op.u.update;
    zero(&op, false);
    for (int i = 0; i < 5 && o->kind == DG_OP_adagrad; i++) ((double *)a->v)[i] = 0.125;
    a->p = dg_case_copy(golden_update_p0, 5);
    for (int step = 0; step < 5; step++) {
        state.step = (uint64_t)step;
        a->g = dg_case_copy(golden_update_g + 5 * step, 5);
        DG_CHECK(!dg_case_run(b, &op));
        const double e = dg_case_error(a->p, o->golden + 5 * step, 5, 0.01);
        DG_CHECKF(e <= 16 * dg_case_eps(b), "%s: %s: step %d is %g off PyTorch's", b->name, o->name, step,
                  e / dg_case_eps(b));
    }
}

static void check_threads(const struct optimizer *o)
{
    const size_t N = dg_case_slowness() == 2 ? 4009 : 40009;
    static const int threads[] = {1, 2, 3, 7};
    dg_op op = update_op(o, (int64_t)N, (int64_t)N / 2);
    double *const now[] = {op.u.update.p, op.u.update.m, op.u.update.v};
    double *before[3], *first[3];
    for (int k = 0; k < 3; k++) before[k] = dg_case_copy(now[k], N), first[k] = dg_case_copy(now[k], N);
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < 4; t++) {
            dg_backend *b;
            if (!dg_case_open(i, threads[t], &b)) return;
            for (int k = 0; k < 3; k++)
                if (now[k]) memcpy(now[k], before[k], N * sizeof **now);
            DG_CHECK(!dg_case_run(b, &op));
            for (int k = 0; k < 3; k++) {
                if (!now[k]) continue;
                if (t == 0) memcpy(first[k], now[k], N * sizeof **now);
                DG_CHECKF(!memcmp(first[k], now[k], N * sizeof **now), "%s: %s: not one thread's bits", b->name,
                          o->name);
            }
            b->close(b);
        }
}

int main(void)
{
    dg_backend *b;
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        check_shapes(b);
        for (int o = 0; o < OPTIMIZERS; o++) {
            check_bad(b, &optimizers[o]);
            check_zero(b, &optimizers[o]);
            check_golden(b, &optimizers[o]);
            dg_case_free();
        }
        b->close(b);
    }
    for (int o = 0; o < OPTIMIZERS; o++) {
        check_threads(&optimizers[o]);
        dg_case_free();
    }
    return dg_test_report();
}
