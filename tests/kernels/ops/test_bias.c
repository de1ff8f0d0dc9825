/* A bias and an activation: against plain loops and finite differences at awkward shapes, in place, NaN, threads. */
#include "reference.h"
#include "test.h"

/* N, H, W: one row, dense layers, a few pieces of rows, more pieces than a warp has lanes, more than there may be */
static const int maps[][3] = {{1, 1, 1}, {2, 1, 1},   {1, 1, 3},   {3, 5, 7},   {128, 1, 1}, {1, 9, 4},
                              {5, 6, 5}, {300, 1, 1}, {4, 13, 11}, {2, 17, 19}, {2, 65, 67}, {5, 115, 117}};
static const int channels[] = {1, 3, 5, 67, 4, 20, 64, 256, 257, 516};
enum { MAPS = sizeof maps / sizeof *maps, CHANNELS = sizeof channels / sizeof *channels, DB = 1 };

static size_t volume(const dg_bias_act_args *a) { return (size_t)a->N * (size_t)a->H * (size_t)a->W * (size_t)a->C; }

static dg_op bias_op(int k, const int map[3], int C)
{
    dg_op op = {.name = "bias"};
    dg_bias_act_args *a = &op.u.bias_act;
    *a = (dg_bias_act_args){.N = map[0], .H = map[1], .W = map[2], .C = C, .act = (dg_act)k, .slope = 0.2};
    a->x = dg_case_numbers(volume(a), 2, 0);
    a->b = dg_case_numbers((size_t)C, 1, 0);
    a->y = dg_case_numbers(volume(a), 1, 0);
    a->dy = dg_case_numbers(volume(a), 1, 0.1);
    a->dx = dg_case_numbers(volume(a), 1, 0);
    a->db = dg_case_numbers((size_t)C, 1, 0);
    return op;
}

/* One of the two ops: it has its own operands alone. */
static const char *run(dg_backend *b, dg_op *op, dg_op_kind kind)
{
    dg_op own = *op;
    dg_bias_act_args *a = &own.u.bias_act;
    own.kind = op->kind = kind;
    if (kind == DG_OP_bias_act) a->dx = a->dy = a->db = NULL;
    else a->x = a->b = NULL;
    return dg_case_run(b, &own);
}

static void describe(char out[160], const dg_backend *b, const dg_bias_act_args *a)
{
    snprintf(out, 160, "%s: %s N=%d H=%d W=%d C=%d", b->name, dg_acts[a->act].word, a->N, a->H, a->W, a->C);
}

static void check_forward(dg_backend *b, dg_op op, bool in_place)
{
    char name[160];
    dg_bias_act_args *a = &op.u.bias_act;
    describe(name, b, a);
    dg_op want = op;
    want.kind = DG_OP_bias_act;
    want.u.bias_act.y = dg_case_copy(a->y, volume(a));
    dg_ref_run(&want);
    if (in_place) a->y = a->x = dg_case_copy(a->x, volume(a));
    const char *wrong = run(b, &op, DG_OP_bias_act);
    DG_CHECKF(!wrong, "%s: %s", name, wrong);
    const double e = dg_case_error(a->y, want.u.bias_act.y, volume(a), 0);
    DG_CHECKF(e <= 8 * dg_case_eps(b), "%s: y is %g off", name, e); /* tanh: three ulp */
}

/* db against what it adds up: by rounding it may be so many parts of that away. */
static void check_sums(const dg_backend *b, const dg_op *want, const double *db, const char *name)
{
    const dg_bias_act_args *w = &want->u.bias_act;
    for (int c = 0; c < w->C; c++) {
        double terms = 0;
        for (size_t i = (size_t)c; i < volume(w); i += (size_t)w->C) terms += fabs(((double *)w->dx)[i]);
        const double e = fabs(db[c] - ((double *)w->db)[c]);
        DG_CHECKF(e <= 8 * dg_case_eps(b) * terms, "%s: db[%d] is %g off", name, c, e);
    }
}

static void check_backward(dg_backend *b, dg_op op, bool in_place, bool sums)
{
    char name[160];
    dg_bias_act_args *a = &op.u.bias_act;
    describe(name, b, a);
    dg_op want = op;
    want.kind = DG_OP_bias_act_dx;
    want.u.bias_act.dx = dg_case_copy(a->dx, volume(a));
    want.u.bias_act.db = dg_case_copy(a->db, (size_t)a->C);
    dg_ref_run(&want);
    if (in_place) a->dx = a->dy = dg_case_copy(a->dy, volume(a));
    if (!sums) a->db = NULL, op.operand[DB].row = -1;
    const char *wrong = run(b, &op, DG_OP_bias_act_dx);
    DG_CHECKF(!wrong, "%s dx: %s", name, wrong);
    const double e = dg_case_error(a->dx, want.u.bias_act.dx, volume(a), 1e-2);
    DG_CHECKF(e <= 16 * dg_case_eps(b), "%s: dx is %g off", name, e);
    if (sums) check_sums(b, &want, a->db, name);
    else DG_CHECKF(b->scratch(b, &op) == 0, "%s: scratch memory, but no sums", name);
}

/* d sum(y dy) by x and b, where no value is near the kink. */
static void check_differences(dg_backend *b, dg_op op)
{
    const double h = 1e-6;
    const dg_bias_act_args *a = &op.u.bias_act;
    double *x = a->x, *bias = a->b;
    for (size_t i = 0; i < volume(a); i++)
        if (fabs(x[i] + bias[i % (size_t)a->C]) < 1e-3) x[i] += 0.01;
    DG_CHECK(!run(b, &op, DG_OP_bias_act) && !run(b, &op, DG_OP_bias_act_dx));
    const struct {
        double *value, *gradient;
        size_t n;
    } of[] = {{x, a->dx, volume(a)}, {bias, a->db, (size_t)a->C}};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < of[k].n; i += 1 + of[k].n / 9) {
            double sum[2] = {0, 0};
            const double was = of[k].value[i];
            for (int side = 0; side < 2; side++) {
                of[k].value[i] = was + (side ? h : -h);
                DG_CHECK(!run(b, &op, DG_OP_bias_act));
                for (size_t j = 0; j < volume(a); j++) sum[side] += ((double *)a->y)[j] * ((double *)a->dy)[j];
            }
            of[k].value[i] = was;
            const double d = (sum[1] - sum[0]) / (2 * h), got = of[k].gradient[i];
            DG_CHECKF(fabs(d - got) < 1e-6 * (1 + fabs(d)), "%s: %s: gradient %d[%zu] is %g, by differences %g",
                      b->name, dg_acts[a->act].word, k, i, got, d);
        }
}

static void check_nan(dg_backend *b, int k)
{
    enum { C = 5, AT = 3 * C + 2 };
    dg_op op = bias_op(k, (const int[3]){2, 2, 3}, C);
    double *x = op.u.bias_act.x, *y = op.u.bias_act.y, *dx = op.u.bias_act.dx, *db = op.u.bias_act.db;
    x[AT] = ((double *)op.u.bias_act.b)[4] = ((double *)op.u.bias_act.dy)[AT] = NAN;
    DG_CHECK(!run(b, &op, DG_OP_bias_act));
    for (int i = 0; i < 12 * C; i++)
        DG_CHECKF(isnan(y[i]) == (i == AT || i % C == 4), "%s: y[%d] is %g", dg_acts[k].word, i, y[i]);
    for (int i = 0; i < 12 * C; i++) y[i] = 0.5 - i % 2;
    DG_CHECK(!run(b, &op, DG_OP_bias_act_dx));
    for (int i = 0; i < 12 * C; i++)
        DG_CHECKF(isnan(dx[i]) == (i == AT), "%s: dx[%d] is %g", dg_acts[k].word, i, dx[i]);
    for (int c = 0; c < C; c++) DG_CHECKF(isnan(db[c]) == (c == AT % C), "%s: db[%d] is %g", dg_acts[k].word, c, db[c]);
}

static void check_threads(int k)
{
    static const int threads[] = {1, 2, 3, 7};
    const int slow = dg_case_slowness(), side = slow == 2 ? 9 : slow ? 17 : 29; /* several pieces of rows */
    dg_op op = bias_op(k, (const int[3]){6, side, side + 2}, 12);
    const dg_bias_act_args *a = &op.u.bias_act;
    const size_t n = volume(a) * sizeof(double);
    double *y = dg_case_copy(a->y, volume(a)), *dx = dg_case_copy(a->dx, volume(a)), *db = dg_case_copy(a->db, 12);
    double *given = dg_case_copy(a->y, volume(a));
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < 4; t++) {
            dg_backend *b;
            if (!dg_case_open(i, threads[t], &b)) return;
            DG_CHECK(!run(b, &op, DG_OP_bias_act));
            if (t == 0) memcpy(y, a->y, n);
            DG_CHECKF(!memcmp(y, a->y, n), "%s: y has not one thread's bits", b->name);
            memcpy(a->y, given, n);
            DG_CHECK(!run(b, &op, DG_OP_bias_act_dx));
            if (t == 0) memcpy(dx, a->dx, n), memcpy(db, a->db, 12 * sizeof *db);
            DG_CHECKF(!memcmp(dx, a->dx, n) && !memcmp(db, a->db, 12 * sizeof *db),
                      "%s: the gradient has not one thread's bits", b->name);
            b->close(b);
        }
}

int main(void)
{
    dg_backend *b;
    const int slow = dg_case_slowness();
    const int64_t most = slow == 2 ? 700 : slow ? 9000 : 150000;
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        int shapes = 0;
        for (int m = 0; m < MAPS * CHANNELS; m++) {
            const int *map = maps[m / CHANNELS], C = channels[m % CHANNELS];
            if ((int64_t)map[0] * map[1] * map[2] * C > most) continue;
            shapes++;
            for (int k = 0; k < DG_ACT_KINDS; k++) {
                check_forward(b, bias_op(k, map, C), (m + k) % 2);
                check_backward(b, bias_op(k, map, C), (m + k) % 2, (m + k) % 3);
                if (b->real == DG_F64 && !slow && (int64_t)map[0] * map[1] * map[2] * C < 800)
                    check_differences(b, bias_op(k, map, C));
                dg_case_free();
            }
        }
        DG_CHECKF(shapes >= (slow == 2 ? 40 : 60), "%d shapes", shapes);
        for (int k = 0; k < DG_ACT_KINDS; k++) check_nan(b, k);
        dg_case_free();
        b->close(b);
    }
    for (int k = DG_ACT_RELU; k < DG_ACT_KINDS; k++) check_threads(k);
    dg_case_free();
    return dg_test_report();
}
