/* Dropout: its mask against words of Philox that were computed elsewhere, the same bits on every backend; plain loops,
 * the share that is kept, its adjoint, in place, NaN, threads. */
#include "core/base/rng.h"
#include "reference.h"
#include "test.h"

/* Philox4x32-10 of key SEED, counter (0, 0 .. 5) and (DROPOUT << 56 | LAYER << 40 | STEP), by a program of its own that
 * gives Random123's known answers. */
static const uint32_t table[24] = {0x912f41d4, 0x878514de, 0x256623b8, 0xfec39aa9, 0x1414e91b, 0x2f1c5926,
                                   0xf47dabf3, 0x34352723, 0xb80b68e3, 0xe5674c47, 0x848cf0a1, 0x1536e695,
                                   0xad02e4d1, 0xaf844a7b, 0xf45a3fdf, 0x41ae177e, 0xcdfbb772, 0x4cfc3168,
                                   0x769fa060, 0x5c8dede3, 0xb0adc1fe, 0x9b96e09a, 0xdae91d9a, 0xd620a6ce};
#define SEED 0x0123456789abcdefull
enum { LAYER = 0x2b5, STEP = 41, WORDS = 24 };
static dg_step_state state;

static const int64_t sizes[] = {1,  2,   3,   4,   5,   6,   7,   8,   9,    15,   16,   17,   31,    33,   63,
                                67, 100, 127, 255, 256, 257, 259, 511, 1000, 1021, 4096, 4099, 50002, 65537};
static const double shares[] = {0, 0.25, 0.5, 0.8};
enum { SIZES = sizeof sizes / sizeof *sizes, SHARES = sizeof shares / sizeof *shares };

static dg_op dropout_op(int64_t n, double p)
{
    dg_op op = {.name = "dropout", .kind = DG_OP_dropout};
    state = (dg_step_state){.seed = SEED, .step = STEP};
    op.u.dropout = (dg_dropout_args){.y = dg_case_numbers((size_t)n, 1, 0),
                                     .x = dg_case_numbers((size_t)n, 1, 3),
                                     .state = &state,
                                     .n = n,
                                     .p = p,
                                     .layer = LAYER};
    return op;
}

static void run(dg_backend *b, const dg_op *op)
{
    const char *wrong = dg_case_run(b, op);
    DG_CHECKF(!wrong, "%s: n %ld, p %g: %s", b->name, (long)op->u.dropout.n, op->u.dropout.p, wrong);
}

/* The mask to the bit, and what is kept to the bit, too: one factor, rounded once. */
static void check(dg_backend *b, int64_t n, double p, bool in_place)
{
    dg_op op = dropout_op(n, p), want = op;
    double *x = dg_case_copy(op.u.dropout.x, (size_t)n), *y = op.u.dropout.y;
    want.u.dropout.y = dg_case_copy(y, (size_t)n);
    dg_ref_run(&want);
    if (in_place) op.u.dropout.x = y = op.u.dropout.y = dg_case_copy(x, (size_t)n);
    run(b, &op);
    const double *w = want.u.dropout.y, scale = 1 / (1 - p);
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) {
        const double kept = b->real == DG_F64 ? x[i] * scale : (double)((float)x[i] * (float)scale);
        bad += y[i] != (w[i] != 0 ? kept : 0) || signbit(y[i]);
    }
    const double e = dg_case_error(y, w, (size_t)n, 0);
    DG_CHECKF(!bad && e <= 3 * dg_case_eps(b), "%s: n %ld, p %g: %ld are wrong, %g off", b->name, (long)n, p, (long)bad,
              e);
}

/* A word is kept where it is at least p * 2^32: p at, just above and between words. */
static void check_table(dg_backend *b)
{
    for (int k = 0; k < WORDS; k++)
        for (int above = -1; above < 3; above++) {
            const double limit = (double)table[k] + above * 0.5;
            dg_op op = dropout_op(WORDS, ldexp(limit, -32));
            run(b, &op);
            for (int i = 0; i < WORDS; i++)
                DG_CHECKF((((double *)op.u.dropout.y)[i] != 0) == ((double)table[i] >= limit),
                          "%s: word %d at word %d + %g", b->name, i, k, above * 0.5);
        }
    dg_op op = dropout_op(WORDS, 1 - 0x1p-53); /* the largest p: no word is so large */
    run(b, &op);
    for (int i = 0; i < WORDS; i++) DG_CHECK(((double *)op.u.dropout.y)[i] == 0);
}

/* How many of the first's n values the second op keeps and drops as the first does. */
static int64_t agree(dg_backend *b, const dg_op *op, const double *first)
{
    int64_t same = 0;
    run(b, op);
    for (int64_t i = 0; i < op->u.dropout.n; i++) same += (first[i] != 0) == (((double *)op->u.dropout.y)[i] != 0);
    return same;
}

/* The bounds are five standard deviations. */
static void check_masks(dg_backend *b)
{
    const int64_t n = dg_case_slowness() == 2 ? 4000 : 40000;
    const double five = 5 * sqrt((double)n);
    for (int s = 0; s < SHARES; s++) {
        const double p = shares[s];
        dg_op op = dropout_op(n, p);
        int64_t kept = 0;
        run(b, &op);
        for (int64_t i = 0; i < n; i++) kept += ((double *)op.u.dropout.y)[i] != 0;
        DG_NEAR((double)kept, (double)n * (1 - p), five * sqrt(p * (1 - p)));
    }
    dg_op op = dropout_op(n, 0.5);
    run(b, &op);
    double *first = dg_case_copy(op.u.dropout.y, (size_t)n);
    DG_CHECK(agree(b, &op, first) == n);
    op.u.dropout.x = dg_case_numbers((size_t)n, 1, -9); /* of dy, backward */
    DG_CHECK(agree(b, &op, first) == n);
    const dg_step_state others[] = {{.seed = SEED, .step = STEP + 1},
                                    {.seed = SEED, .step = STEP + (1ull << 32)},
                                    {.seed = SEED + 1, .step = STEP},
                                    {.seed = SEED + (1ull << 32), .step = STEP}};
    for (int k = 0; k < 4; k++) {
        state = others[k];
        DG_NEAR((double)agree(b, &op, first), (double)n / 2, five / 2);
    }
    state = (dg_step_state){.seed = SEED, .step = STEP};
    static const int layers[] = {LAYER + 1, LAYER + 256, 0, 65535};
    for (int k = 0; k < 4; k++) {
        op.u.dropout.layer = layers[k];
        DG_NEAR((double)agree(b, &op, first), (double)n / 2, five / 2);
    }
    op.u.dropout.layer = LAYER;
    DG_CHECK(agree(b, &op, first) == n);
}

/* <dropout(u), v> is <u, dropout(v)>. */
static void check_adjoint(dg_backend *b)
{
    enum { N = 1021 };
    dg_op op = dropout_op(N, 0.3);
    double *u = op.u.dropout.x, *v = dg_case_numbers(N, 1, 0), sums[2] = {0, 0};
    run(b, &op);
    for (int i = 0; i < N; i++) sums[0] += ((double *)op.u.dropout.y)[i] * v[i];
    op.u.dropout.x = v;
    run(b, &op);
    for (int i = 0; i < N; i++) sums[1] += ((double *)op.u.dropout.y)[i] * u[i];
    DG_NEAR(sums[0], sums[1], 1e4 * dg_case_eps(b));
}

/* What is kept stays NaN; what is dropped is 0, whatever it was. */
static void check_nan(dg_backend *b)
{
    dg_op op = dropout_op(67, 0.5);
    run(b, &op);
    double *mask = dg_case_copy(op.u.dropout.y, 67), *y = op.u.dropout.y;
    for (int i = 0; i < 67; i++) ((double *)op.u.dropout.x)[i] = NAN;
    run(b, &op);
    for (int i = 0; i < 67; i++) DG_CHECKF(mask[i] != 0 ? isnan(y[i]) : y[i] == 0, "%s: y[%d] is %g", b->name, i, y[i]);
}

/* The same bits for any number of threads, and the same values dropped by all backends. */
static void check_threads(void)
{
    static const int threads[] = {1, 2, 3, 7};
    const int64_t n = dg_case_slowness() == 2 ? 3011 : 30011;
    double *first = dg_case_numbers((size_t)n, 1, 0), *mask = NULL;
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < 4; t++) {
            dg_backend *b;
            dg_op op = dropout_op(n, 0.4);
            double *x = op.u.dropout.x = dg_case_numbers((size_t)n, 0.1, 1);
            for (int64_t k = 0; k < n; k++) x[k] = 1 + (double)(k % 7);
            if (!dg_case_open(i, threads[t], &b)) return;
            run(b, &op);
            if (t == 0) memcpy(first, op.u.dropout.y, (size_t)n * sizeof *first);
            DG_CHECKF(!memcmp(first, op.u.dropout.y, (size_t)n * sizeof *first), "%s: not one thread's bits", b->name);
            if (!mask) mask = dg_case_copy(first, (size_t)n);
            int64_t bad = 0;
            for (int64_t k = 0; k < n; k++) bad += (mask[k] != 0) != (first[k] != 0);
            DG_CHECKF(!bad, "%s: %ld of another mask", b->name, (long)bad);
            b->close(b);
        }
}

int main(void)
{
    dg_backend *b;
    const int slow = dg_case_slowness();
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        for (int s = 0; s < SIZES * SHARES; s++)
            if (slow < 2 || sizes[s / SHARES] < 1100) check(b, sizes[s / SHARES], shares[s % SHARES], s % 3 == 0);
        check_table(b);
        check_masks(b);
        check_adjoint(b);
        check_nan(b);
        dg_case_free();
        b->close(b);
    }
    check_threads();
    dg_case_free();
    return dg_test_report();
}
