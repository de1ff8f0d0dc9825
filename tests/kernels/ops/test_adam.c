/* Adam as torch.optim.Adam does it. */
#include "host/net/gan.h"
#include "golden_ops.h"
#include "reference.h"
#include "test.h"

static dg_step_state state = {.seed = 1, .lr = {2e-4, 1e-3}};
static dg_metrics ring[DG_RING], want_ring[DG_RING];

static dg_op adam_op(int64_t n, int net)
{
    size_t k = (size_t)n;
    dg_op op = {.name = "adam", .kind = DG_OP_adam};
    op.u.adam = (dg_adam_args){.p = dg_case_numbers(k, 1, 0),
                               .m = dg_case_numbers(k, 0.1, 0),
                               .v = dg_case_numbers(k, 0.1, 0.2),
                               .ring = ring,
                               .g = dg_case_numbers(k, 0.5, 0),
                               .state = &state,
                               .n = n,
                               .beta1 = 0.5,
                               .beta2 = 0.999,
                               .eps = 1e-8,
                               .net = net,
                               .bad = net == DG_G ? DG_BAD_G : DG_BAD_D};
    return op;
}

/* The reference keeps double moments; a float backend rounds them, so each step starts from the same numbers. */
static void check(dg_backend *b, int64_t n, int net)
{
    size_t k = (size_t)n;
    dg_op op = adam_op(n, net);
    for (int step = 0; step < 3; step++) {
        dg_op want = op;
        dg_adam_args *u = &want.u.adam, *got = &op.u.adam;
        u->p = dg_case_copy(got->p, k);
        u->m = dg_case_copy(got->m, k);
        u->v = dg_case_copy(got->v, k);
        u->ring = want_ring;
        state.step = (uint64_t)step * 1500;
        dg_ref_run(&want);
        const char *wrong = dg_case_run(b, &op);
        DG_CHECKF(!wrong, "%s: n %ld: %s", b->name, (long)n, wrong ? wrong : "");
        double eps = dg_case_eps(b);
        DG_CHECKF(dg_case_error(got->m, u->m, k, 0.5) <= 4 * eps, "%s: n %ld: m", b->name, (long)n);
        DG_CHECKF(dg_case_error(got->v, u->v, k, 0) <= 4 * eps, "%s: n %ld: v", b->name, (long)n);
        DG_CHECKF(dg_case_error(got->p, u->p, k, 0.01) <= 4 * eps, "%s: n %ld: p", b->name, (long)n);
        DG_CHECK(ring[state.step % DG_RING].value[op.u.adam.bad] == 0);
        got->g = dg_case_numbers(k, 0.5, 0);
    }
}

static void check_bad(dg_backend *b)
{
    enum { N = 20000 };
    dg_op op = adam_op(N, DG_D);
    double *g = op.u.adam.g, *p = op.u.adam.p;
    static const int at[] = {0, 1, 15, 4095, 4096, 17000, N - 1};
    for (int i = 0; i < 7; i++) g[at[i]] = i & 1 ? NAN : 0;
    p[5] = INFINITY;
    state.step = 4 + DG_RING;
    for (size_t i = 0; i < DG_RING; i++)
        for (int k = 0; k < DG_METRICS_MAX; k++) ring[i].value[k] = -1;
    DG_CHECK(!dg_case_run(b, &op));
    DG_CHECK(ring[4].value[DG_BAD_D] == 3 + 1);
    for (size_t i = 0; i < DG_RING; i++)
        for (int k = 0; k < DG_METRICS_MAX; k++)
            if (i != 4 || k != DG_BAD_D) DG_CHECK(ring[i].value[k] == -1);
}

/* No gradient ever: nothing moves, and nothing becomes NaN by 0 / 0. */
static void check_zero(dg_backend *b)
{
    dg_op op = adam_op(40, DG_G);
    memset(op.u.adam.g, 0, 40 * sizeof(double));
    memset(op.u.adam.m, 0, 40 * sizeof(double));
    memset(op.u.adam.v, 0, 40 * sizeof(double));
    double *before = dg_case_copy(op.u.adam.p, 40);
    state.step = 0;
    DG_CHECK(!dg_case_run(b, &op));
    DG_CHECK(memcmp(op.u.adam.p, before, 40 * sizeof(double)) == 0);
}

static void check_golden(dg_backend *b)
{
    dg_op op = adam_op(5, DG_G);
    op.u.adam.p = dg_case_copy(golden_adam_p0, 5);
    memset(op.u.adam.m, 0, 5 * sizeof(double));
    memset(op.u.adam.v, 0, 5 * sizeof(double));
    const double *const g[] = {golden_adam_g0, golden_adam_g1, golden_adam_g2};
    const double *const p[] = {golden_adam_p1, golden_adam_p2, golden_adam_p3};
    for (int step = 0; step < 3; step++) {
        state.step = (uint64_t)step;
        op.u.adam.g = dg_case_copy(g[step], 5);
        DG_CHECK(!dg_case_run(b, &op));
        double e = dg_case_error(op.u.adam.p, p[step], 5, 0);
        DG_CHECKF(e <= (b->real == DG_F64 ? 4 : 2) * dg_case_eps(b), "%s: step %d: %g", b->name, step, e);
    }
}

static void check_threads(void)
{
    const size_t N = dg_case_slowness() == 2 ? 4009 : 40009;
    static const int threads[] = {1, 2, 3, 7};
    dg_op op = adam_op((int64_t)N, DG_G);
    double *p0 = dg_case_copy(op.u.adam.p, N), *m0 = dg_case_copy(op.u.adam.m, N), *v0 = dg_case_copy(op.u.adam.v, N);
    double *first = dg_case_numbers(N, 1, 0);
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < 4; t++) {
            dg_backend *b;
            if (!dg_case_open(i, threads[t], &b)) return;
            memcpy(op.u.adam.p, p0, N * sizeof *p0);
            memcpy(op.u.adam.m, m0, N * sizeof *p0);
            memcpy(op.u.adam.v, v0, N * sizeof *p0);
            DG_CHECK(!dg_case_run(b, &op));
            if (t == 0) memcpy(first, op.u.adam.p, N * sizeof *first);
            DG_CHECKF(memcmp(first, op.u.adam.p, N * sizeof *first) == 0, "%s: not one thread's bits", b->name);
            b->close(b);
        }
}

int main(void)
{
    static const int64_t sizes[] = {1, 2, 3, 7, 16, 17, 63, 100, 1025, 4096, 4097, 20000, 70001};
    dg_backend *b;
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            if (dg_case_slowness() == 2 && sizes[k] > 1100) continue;
            check(b, sizes[k], (int)k % 2);
            dg_case_free();
        }
        check_bad(b);
        check_zero(b);
        check_golden(b);
        dg_case_free();
        b->close(b);
    }
    check_threads();
    dg_case_free();
    return dg_test_report();
}
