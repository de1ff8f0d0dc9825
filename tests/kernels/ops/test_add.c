/* A sum of two tensors with an activation: against plain loops, in place, NaN, sums that cancel, threads. */
#include "reference.h"
#include "test.h"

static const int64_t sizes[] = {1,   2,   3,   4,    5,    7,    8,    15,   16,   17,   31,   33,    67,
                                100, 127, 256, 1000, 1021, 4095, 4096, 4097, 8191, 8192, 8193, 12289, 50001};
typedef enum { APART, Y_IS_A, Y_IS_B, A_IS_B, ALL_ONE, PLACES } place;
enum { SIZES = sizeof sizes / sizeof *sizes };

static dg_op add_op(int k, int64_t n)
{
    dg_op op = {.name = "add", .kind = DG_OP_add};
    op.u.add = (dg_add_args){.y = dg_case_numbers((size_t)n, 1, 0),
                             .a = dg_case_numbers((size_t)n, 2, 0),
                             .b = dg_case_numbers((size_t)n, 2, 0),
                             .n = n,
                             .act = (dg_act)k,
                             .slope = 0.2};
    return op;
}

static void check(dg_backend *b, int k, int64_t n, place p)
{
    dg_op op = add_op(k, n), want;
    dg_add_args *a = &op.u.add;
    if (p >= A_IS_B) a->b = a->a;
    want = op;
    want.u.add.y = dg_case_copy(a->y, (size_t)n);
    dg_ref_run(&want);
    if (p == Y_IS_A || p == ALL_ONE) a->y = a->a;
    if (p == Y_IS_B) a->y = a->b;
    const char *wrong = dg_case_run(b, &op);
    DG_CHECKF(!wrong, "%s: %s of %ld: %s", b->name, dg_acts[k].word, (long)n, wrong);
    const double e = dg_case_error(a->y, want.u.add.y, (size_t)n, 0);
    DG_CHECKF(e <= 8 * dg_case_eps(b), "%s: %s of %ld, %d: error %g", b->name, dg_acts[k].word, (long)n, (int)p, e);
}

static void check_special(dg_backend *b, int k)
{
    dg_op op = add_op(k, 67), want = op;
    double *a = op.u.add.a, *other = op.u.add.b, *y = op.u.add.y;
    a[3] = other[66] = a[5] = other[5] = NAN;
    a[7] = INFINITY, other[7] = -INFINITY;
    other[9] = -a[9];
    DG_CHECK(!dg_case_run(b, &op));
    for (int i = 0; i < 67; i++)
        DG_CHECKF(isnan(y[i]) == (i == 3 || i == 66 || i == 5 || i == 7), "%s: %s: y[%d] is %g", b->name,
                  dg_acts[k].word, i, y[i]);
    want.u.add.y = dg_case_copy(y, 67);
    dg_ref_run(&want);
    DG_NEAR(y[9], ((double *)want.u.add.y)[9], 4 * dg_case_eps(b)); /* act(0) */
}

static void check_threads(int k)
{
    static const int threads[] = {1, 2, 3, 7};
    const size_t n = dg_case_slowness() == 2 ? 3011 : 60011;
    double *first = dg_case_numbers(n, 1, 0);
    dg_op op = add_op(k, (int64_t)n);
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < 4; t++) {
            dg_backend *b;
            if (!dg_case_open(i, threads[t], &b)) return;
            DG_CHECK(!dg_case_run(b, &op));
            if (t == 0) memcpy(first, op.u.add.y, n * sizeof *first);
            DG_CHECKF(!memcmp(first, op.u.add.y, n * sizeof *first), "%s: not one thread's bits", b->name);
            b->close(b);
        }
}

int main(void)
{
    dg_backend *b;
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        for (int k = 0; k < DG_ACT_KINDS; k++) {
            for (int s = 0; s < SIZES; s++)
                if (dg_case_slowness() < 2 || sizes[s] < 1100)
                    for (int p = 0; p < PLACES; p++) check(b, k, sizes[s], (place)p);
            check_special(b, k);
            dg_case_free();
        }
        b->close(b);
    }
    for (int k = DG_ACT_LEAKY; k < DG_ACT_KINDS; k++) check_threads(k);
    dg_case_free();
    return dg_test_report();
}
