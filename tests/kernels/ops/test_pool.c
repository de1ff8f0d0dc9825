/* Max and mean pooling: against plain loops and finite differences at awkward shapes, equal values, NaN, threads. */
#include <float.h>
#include "reference.h"
#include "test.h"

/* H, W, K, S, P: windows that overlap, that leave pixels out, with padding, one pixel, one window */
static const int windows[][5] = {{4, 4, 2, 2, 0},   {5, 7, 2, 2, 0},   {7, 5, 3, 2, 1},    {6, 9, 3, 2, 0},
                                 {8, 8, 3, 1, 1},   {1, 1, 1, 1, 0},   {2, 3, 2, 1, 0},    {9, 4, 4, 2, 1},
                                 {5, 5, 5, 5, 0},   {6, 6, 2, 3, 0},   {3, 3, 3, 1, 2},    {11, 6, 4, 4, 0},
                                 {5, 9, 5, 1, 4},   {7, 7, 1, 3, 0},   {16, 17, 16, 1, 3}, {13, 3, 3, 3, 1},
                                 {10, 8, 4, 2, 0},  {11, 13, 4, 2, 2}, {17, 19, 17, 2, 1}, {20, 23, 18, 3, 5},
                                 {13, 10, 2, 2, 1}, {17, 9, 4, 4, 3},  {15, 11, 3, 2, 2},  {9, 14, 4, 2, 3}};
static const int batches[][2] = {{1, 1}, {3, 3}, {2, 8}, {1, 20}, {5, 4}, {2, 68}, {1, 10}, {2, 17}}; /* N, C */
enum { WINDOWS = sizeof windows / sizeof *windows, BATCHES = sizeof batches / sizeof *batches };

static size_t inputs(const dg_pool_args *a) { return (size_t)a->N * (size_t)a->H * (size_t)a->W * (size_t)a->C; }
static size_t outputs(const dg_pool_args *a) { return (size_t)a->N * (size_t)a->Ho * (size_t)a->Wo * (size_t)a->C; }

/* Of either, the op and its gradient. */
typedef struct {
    dg_op_kind forward, backward;
} pool;
static const pool largest = {DG_OP_maxpool, DG_OP_maxpool_dx}, mean = {DG_OP_meanpool, DG_OP_meanpool_dx};

/* A place in a window is a byte; means have none. */
static bool takes(const pool *p, const int window[5]) { return p == &mean || window[2] <= 16; }

static dg_op pool_op(const pool *p, const int window[5], const int batch[2])
{
    dg_op op = {.name = "pool", .kind = p->forward};
    dg_pool_args *a = &op.u.pool;
    *a = (dg_pool_args){
        .N = batch[0], .H = window[0], .W = window[1], .C = batch[1], .K = window[2], .S = window[3], .P = window[4]};
    DG_CHECK(!dg_op_info_of(op.kind)->complete(&op));
    a->x = dg_case_numbers(inputs(a), 3, 0);
    a->dx = dg_case_numbers(inputs(a), 1, 0);
    a->y = dg_case_numbers(outputs(a), 1, 0);
    a->dy = dg_case_numbers(outputs(a), 1, 0);
    if (p == &largest) a->place = (uint8_t *)dg_case_numbers(outputs(a) / 8 + 1, 1, 0);
    return op;
}

/* The same op with results of its own, by plain loops. */
static dg_op by_loops(dg_op op)
{
    dg_pool_args *a = &op.u.pool;
    a->y = dg_case_copy(a->y, outputs(a));
    a->dx = dg_case_copy(a->dx, inputs(a));
    if (op.kind == DG_OP_maxpool) a->place = (uint8_t *)dg_case_numbers(outputs(a) / 8 + 1, 1, 0);
    dg_ref_run(&op);
    return op;
}

/* The op or its gradient, which has its own operands alone. */
static const char *run(dg_backend *b, dg_op *op, dg_op_kind kind)
{
    dg_op own = *op;
    own.kind = op->kind = kind;
    if (kind == DG_OP_maxpool || kind == DG_OP_meanpool) own.u.pool.dx = own.u.pool.dy = NULL;
    else own.u.pool.y = own.u.pool.x = NULL;
    return dg_case_run(b, &own);
}

static void describe(char out[160], const dg_backend *b, const dg_op *op)
{
    const dg_pool_args *a = &op->u.pool;
    snprintf(out, 160, "%s: %s N=%d H=%d W=%d C=%d K=%d S=%d P=%d", b->name, dg_op_kind_name(op->kind), a->N, a->H,
             a->W, a->C, a->K, a->S, a->P);
}

/* Means are sums, which have a size of their own. */
static void check(dg_backend *b, const pool *p, dg_op op)
{
    char name[160];
    describe(name, b, &op);
    dg_op want = by_loops(op);
    const size_t n = outputs(&op.u.pool);
    const char *wrong = run(b, &op, p->forward);
    DG_CHECKF(!wrong, "%s: %s", name, wrong);
    double e = dg_case_error(op.u.pool.y, want.u.pool.y, n, p == &mean);
    DG_CHECKF(e <= (p == &mean ? 64 * dg_case_eps(b) : 0), "%s: y is %g off", name, e);
    DG_CHECKF(p == &mean || !memcmp(op.u.pool.place, want.u.pool.place, n), "%s: places", name);
    op.kind = p->backward;
    want = by_loops(op);
    wrong = run(b, &op, p->backward);
    DG_CHECKF(!wrong, "%s dx: %s", name, wrong);
    e = dg_case_error(op.u.pool.dx, want.u.pool.dx, inputs(&op.u.pool), 1);
    DG_CHECKF(e <= 64 * dg_case_eps(b), "%s: dx is %g off", name, e);
}

/* Many equal values: the first of them has the gradient. */
static void check_equals(dg_backend *b, const int window[5])
{
    dg_op op = pool_op(&largest, window, (const int[2]){2, 8});
    double *x = op.u.pool.x;
    for (size_t i = 0; i < inputs(&op.u.pool); i++) x[i] = floor(x[i]) * 0.5 - 2;
    check(b, &largest, op);
}

/* One NaN: it is the largest, whose place has the gradient, and every mean over it. */
static void check_special(dg_backend *b, const pool *p, const int window[5])
{
    dg_op op = pool_op(p, window, (const int[2]){2, 8});
    double *x = op.u.pool.x;
    for (size_t i = 0; i < inputs(&op.u.pool); i += 7) x[i] = i % 2 ? NAN : INFINITY;
    dg_op want = by_loops(op);
    DG_CHECK(!run(b, &op, p->forward));
    for (size_t i = 0; i < outputs(&op.u.pool); i++) {
        const double v = ((double *)op.u.pool.y)[i], w = ((double *)want.u.pool.y)[i];
        const bool near = p == &mean && fabs(v - w) <= 64 * dg_case_eps(b);
        DG_CHECKF(isnan(w) ? isnan(v) : v == w || near, "%s: %g instead of %g", b->name, v, w);
    }
    DG_CHECKF(p == &mean || !memcmp(op.u.pool.place, want.u.pool.place, outputs(&op.u.pool)), "%s: places of NaN",
              b->name);
}

/* d sum(y dy) / dx by central differences, where no two values of a window are close. */
static void check_differences(dg_backend *b, const pool *p, const int window[5])
{
    const double h = 1e-7;
    dg_op op = pool_op(p, window, (const int[2]){1, 3}), dx = op;
    const dg_pool_args *a = &op.u.pool;
    double *x = a->x;
    DG_CHECK(!run(b, &op, p->forward) && !run(b, &dx, p->backward));
    for (size_t i = 0; i < inputs(a); i += 5) {
        double sum[2] = {0, 0};
        const double was = x[i];
        for (int side = 0; side < 2; side++) {
            x[i] = was + (side ? h : -h);
            DG_CHECK(!run(b, &op, p->forward));
            for (size_t k = 0; k < outputs(a); k++) sum[side] += ((double *)a->y)[k] * ((double *)a->dy)[k];
        }
        x[i] = was;
        const double d = (sum[1] - sum[0]) / (2 * h), got = ((double *)dx.u.pool.dx)[i];
        DG_CHECKF(fabs(d - got) < 1e-5, "%s: dx[%zu] is %g, by differences %g", b->name, i, got, d);
    }
}

static void check_threads(const pool *p, const int window[5])
{
    dg_op op = pool_op(p, window, (const int[2]){3, 68}); /* enough for a team */
    const size_t n = inputs(&op.u.pool), m = outputs(&op.u.pool);
    double *dx = dg_case_numbers(n, 1, 0), *y = dg_case_numbers(m, 1, 0);
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < 4; t++) {
            dg_backend *b;
            if (!dg_case_open(i, (const int[]){1, 2, 3, 7}[t], &b)) return;
            DG_CHECK(!run(b, &op, p->forward) && !run(b, &op, p->backward));
            if (!t) memcpy(dx, op.u.pool.dx, n * sizeof *dx), memcpy(y, op.u.pool.y, m * sizeof *y);
            DG_CHECKF(!memcmp(dx, op.u.pool.dx, n * sizeof *dx) && !memcmp(y, op.u.pool.y, m * sizeof *y),
                      "%s: not one thread's bits", b->name);
            b->close(b);
        }
}

static void check_shapes(dg_backend *b, const pool *p)
{
    for (int w = 0; w < WINDOWS; w++) {
        if (!takes(p, windows[w])) continue;
        for (int k = 0; k < BATCHES; k++) {
            if (dg_case_slowness() == 2 && batches[k][0] * batches[k][1] > 20) continue;
            check(b, p, pool_op(p, windows[w], batches[k]));
        }
        if (p == &largest) check_equals(b, windows[w]);
        check_special(b, p, windows[w]);
        if (b->real == DG_F64 && !dg_case_slowness()) check_differences(b, p, windows[w]);
        dg_case_free();
    }
}

/* Means of whole maps; the numbers of channels change along. */
static void check_whole(dg_backend *b)
{
    const bool slow = dg_case_slowness() == 2;
    for (int n = 1; n <= (slow ? 14 : 40); n += slow ? 13 : 1) {
        check(b, &mean, pool_op(&mean, (const int[5]){n, n, n, 1, 0}, (const int[2]){1 + n % 2, 1 + n * 7 % 20}));
        dg_case_free();
    }
}

int main(void)
{
    dg_backend *b;
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        check_shapes(b, &largest);
        check_shapes(b, &mean);
        check_whole(b);
        b->close(b);
    }
    check_threads(&largest, (const int[5]){23, 21, 3, 2, 1});
    if (dg_case_slowness() < 2) check_threads(&largest, (const int[5]){23, 21, 5, 3, 1});
    check_threads(&mean, (const int[5]){23, 21, 3, 2, 1});
    dg_op op = {.kind = DG_OP_maxpool, .u.pool = {.N = 1, .H = 20, .W = 20, .C = 1, .K = 17, .S = 1}};
    DG_CHECK(dg_op_info_of(op.kind)->complete(&op)); /* more places than a byte names */
    dg_case_free();
    return dg_test_report();
}
