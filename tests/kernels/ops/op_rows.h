/* An op_row describes the test cases of an op. test_each_op.c compares results with the reference (also in place, with
 * NaN and with several numbers of threads), and gradients with finite differences. */
#pragma once

#include <float.h>

#include "tests/reference.h"
#include "tests/test.h"

/* Values for the dimensions of the op's shape in the order of op_info.h, followed by values for op_row.set. */
enum { OP_NUMBERS = 10 };
typedef const int op_shape[OP_NUMBERS];

/* A result is correct if |got - expected| <= relative |expected| + absolute. */
typedef struct {
    double relative, absolute;
} op_bound;

typedef struct op_row {
    int variations; /* number of variations of values and attributes, or 0 for one */
    int usual;      /* index of the variation that runs if only the shape matters */
    bool turns;     /* whether shape s runs only with variation s % variations */
    op_shape *shapes;
    int count;
    op_shape threads[2]; /* large shapes for many threads, for CPUs and for the simulator */
    /* Sets values and attributes of a variation, after all operands have random values in (-1, 1). */
    void (*set)(dg_op *op, int variation);
    op_bound within; /* tolerance of all results in multiples of the type's eps, if bound is NULL */
    op_bound (*bound)(const dg_op *want, const char *result, double eps);
    const char *nan_untested; /* an input for which NaN is not tested, or "all" */
    op_bound gpu;             /* additional tolerance on a GPU, whose math library differs */
    /* each row names operands that may share one pointer */
    const char *same[5][4];

    /* The gradient of loss(), or of sum(y * weights) if loss is NULL. y is the first operand. */
    struct {
        const char *of[3][2]; /* each pair names an input, and its gradient in op `kind` */
        dg_op_kind kind;
        const char *weights;
        double (*loss)(dg_backend *b, const dg_op *op);
        void (*before)(dg_backend *b, const dg_op *op); /* runs the ops whose results the gradient op reads */
        /* number of variations that have a gradient, or 0 for all */
        int variations;
        int most; /* maximum number of values of y in a test case */
    } gradient;
    void (*more)(dg_backend *b); /* additional checks, whose arrays the caller frees */
} op_row;

#define OP_SHAPES(array) .shapes = array, .count = (int)(sizeof(array) / sizeof *(array))

static dg_type op_type;    /* type of real operands on the backend that runs next */
static const int *op_more; /* values for op_row.set, which follow the shape */
static dg_step_state op_state;
static dg_metrics op_ring[DG_RING];

static inline double *op_metric(int k) { return &op_ring[op_state.step % DG_RING].value[k]; }

/* ---- Operands by name ---- */

static inline int op_operand(const dg_op *op, const char *name)
{
    const int i = dg_operand_index(op->kind, name);
    if (i >= 0) return i;
    DG_CHECKF(false, "%s has no operand %s", dg_op_kind_name(op->kind), name);
    exit(dg_test_report());
}

static inline double *op_values(const dg_op *op, const char *name) { return *dg_ref_pointer(op, op_operand(op, name)); }

static inline size_t op_count(const dg_op *op, const char *name)
{
    size_t count;
    dg_type type;
    dg_ref_operand(op, op_operand(op, name), &count, &type);
    return count;
}

static inline void op_point(dg_op *op, const char *name, void *at)
{
    const int i = op_operand(op, name);
    *dg_ref_pointer(op, i) = at;
    if (!at) op->operand[i].row = -1;
}

/* Fills an operand with random values in (-scale, scale) + shift. */
static inline void op_fill(dg_op *op, const char *name, double scale, double shift)
{
    op_point(op, name, dg_case_numbers(op_count(op, name), scale, shift));
}

static inline void op_zero(const dg_op *op, const char *name)
{
    memset(op_values(op, name), 0, op_count(op, name) * sizeof(double));
}

/* Returns the largest magnitude in an operand, and ignores NaN. */
static inline double op_largest(const dg_op *op, const char *name)
{
    const double *x = op_values(op, name);
    const size_t n = op_count(op, name);
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    return most;
}

static inline double op_length(const dg_op *op, const char *name)
{
    const double *x = op_values(op, name);
    const size_t n = op_count(op, name);
    double squares = 0;
    for (size_t i = 0; i < n; i++) squares += isnan(x[i]) ? 0 : x[i] * x[i];
    return sqrt(squares);
}

static inline bool op_is_real(const dg_operand *o) { return o->element == DG_REAL || o->element == DG_NUMBER; }

/* ---- Making a test case ---- */

/* Returns a copy in which operands that only other ops use are NULL. */
static inline dg_op op_alone(const dg_op *op)
{
    static const char *const member[] = {
#define X(kind, member, cpu) #member,
        DG_OPS(X)
#undef X
    };
    dg_op own = *op;
    for (int k = 0; k < DG_OP_KINDS; k++) {
        if (strcmp(member[k], member[op->kind]) != 0) continue;
        for (const dg_operand *o = dg_op_info_of((dg_op_kind)k)->operand; o->name; o++)
            if (dg_operand_index(op->kind, o->name) < 0) memset((char *)&own.u + o->member, 0, sizeof(void *));
    }
    return own;
}

static inline void op_add_operands(dg_op *op)
{
    int n;
    const dg_operand *list = dg_operands(op->kind, &n);
    for (int i = 0; i < n; i++) {
        void **at = dg_ref_pointer(op, i);
        if (*at || list[i].role == DG_SCRATCH || list[i].element == DG_COUNTERS || list[i].anywhere) continue;
        if (list[i].element == DG_ONE_STEP) *at = &op_state;
        else if (list[i].element == DG_ALL_STEPS) *at = op_ring;
        else *at = dg_case_numbers((size_t)dg_operand_count(op, i), 1, 0);
    }
}

static inline dg_op op_make(const op_row *r, dg_op_kind kind, const int *shape, int variation)
{
    dg_op op = {.kind = kind};
    snprintf(op.name, sizeof op.name, "%s", dg_op_kind_name(kind));
    op_state =
        (dg_step_state){.seed = 0x0123456789abcdefull, .step = 5, .lr = {2e-4, 0.05}, .beta2 = 0.999, .augment = 1};
    for (size_t i = 0; i < DG_RING; i++)
        for (int k = 0; k < DG_METRICS_MAX; k++) op_ring[i].value[k] = -1 - (double)i - k / 8.0;
    const dg_op_info *info = dg_op_info_of(kind);
    int words = 0;
    for (; info->shape[words].name; words++) dg_field_set(&op, &info->shape[words].field, shape[words]);
    const char *why = info->complete ? info->complete(&op) : NULL;
    DG_CHECKF(!why, "%s: %s", op.name, why);
    op_add_operands(&op);
    op_more = shape + words;
    if (r->set) r->set(&op, variation);
    return op;
}

/* Returns a name such as "cpu avx2 fp32: bias_act N=2 H=3 W=1 C=5, variation 2". */
static inline const char *op_text(const dg_backend *b, const dg_op *op, int variation)
{
    static char text[240];
    int n = snprintf(text, sizeof text, "%s: %s", b->name, dg_op_kind_name(op->kind));
    for (const dg_shape_word *w = dg_op_info_of(op->kind)->shape; w->name && n < 200; w++)
        n += snprintf(text + n, sizeof text - (size_t)n, " %s=%ld", w->name, (long)dg_field_get(op, &w->field));
    snprintf(text + n, sizeof text - (size_t)n, ", variation %d", variation);
    return text;
}

static inline size_t op_bytes(const dg_op *op, int i)
{
    size_t count;
    dg_type type;
    dg_ref_operand(op, i, &count, &type);
    return count * dg_type_bytes(type);
}

/* Returns a copy of op with its own results, initialised with the values of op's results. */
static inline dg_op op_own(const dg_op *op)
{
    int n;
    dg_op own = *op;
    const dg_operand *list = dg_operands(op->kind, &n);
    for (int i = 0; i < n; i++)
        if (list[i].role & DG_OUT && list[i].element != DG_COUNTERS)
            *dg_ref_pointer(&own, i) = dg_case_copy(*dg_ref_pointer(op, i), (op_bytes(op, i) + 7) / 8);
    return own;
}

/* ---- Running and comparing ---- */

static inline bool op_run(dg_backend *b, const dg_op *op)
{
    const dg_op own = op_alone(op);
    const char *wrong = dg_case_run(b, &own);
    return DG_CHECKF(!wrong, "%s: %s", op_text(b, op, 0), wrong);
}

static inline bool op_near(double got, double want, double limit)
{
    if (isnan(want)) return isnan(got);
    return got == want || (isfinite(want) && isfinite(limit) && fabs(got - want) <= limit);
}

/* Compares all metrics. Metrics that the reference did not write must be unchanged. */
static inline void op_compare_ring(const dg_metrics *got, const dg_metrics *want, op_bound bound, const char *name)
{
    for (int i = 0; i < DG_RING; i++)
        for (int k = 0; k < DG_METRICS_MAX; k++) {
            const double g = got[i].value[k], w = want[i].value[k], limit = bound.relative * fabs(w) + bound.absolute;
            if (!op_near(g, w, w == -1 - (double)i - k / 8.0 ? 0 : limit))
                DG_CHECKF(false, "%s: ring[%d][%d] is %.17g, not %.17g", name, i, k, g, w);
        }
}

static inline void op_compare(const dg_backend *b, const op_row *r, const dg_op *got, const dg_op *want,
                              const char *name)
{
    int n;
    const dg_operand *list = dg_operands(got->kind, &n);
    for (int i = 0; i < n; i++) {
        const void *g = *dg_ref_pointer(got, i), *w = *dg_ref_pointer(want, i);
        if (!(list[i].role & DG_OUT) || !g || list[i].element == DG_COUNTERS) continue;
        const double eps = dg_case_eps(b);
        op_bound bound = r->bound ? r->bound(want, list[i].name, eps)
                                  : (op_bound){r->within.relative * eps, r->within.absolute * eps};
        if (strncmp(b->name, "cpu", 3) != 0) bound.relative += r->gpu.relative, bound.absolute += r->gpu.absolute;
        if (list[i].element == DG_ALL_STEPS) op_compare_ring(g, w, bound, name);
        else if (!op_is_real(&list[i])) DG_CHECKF(!memcmp(g, w, op_bytes(got, i)), "%s: %s", name, list[i].name);
        else {
            const double *gs = g, *ws = w;
            size_t bad = 0, at = 0, count = op_bytes(got, i) / sizeof *gs;
            for (size_t k = 0; k < count; k++)
                if (!op_near(gs[k], ws[k], bound.relative * fabs(ws[k]) + bound.absolute) && !bad++) at = k;
            DG_CHECKF(!bad, "%s: %s: %zu of %zu wrong, at %zu %.17g instead of %.17g", name, list[i].name, bad, count,
                      at, gs[at], ws[at]);
        }
    }
}

/* Makes all operands `names` of `got` share one array. In `expected`, only inputs share the array. */
static inline void op_share(dg_op *got, dg_op *expected, const char *const names[4])
{
    double *input = NULL, *shared = NULL;
    for (int k = 0; k < 4 && names[k]; k++) {
        const dg_operand *o = &dg_op_info_of(got->kind)->operand[op_operand(got, names[k])];
        if (!(o->role & DG_IN)) continue;
        if (!input) input = op_values(expected, names[k]), shared = dg_case_copy(input, op_count(got, names[k]));
        op_point(expected, names[k], input);
    }
    for (int k = 0; k < 4 && names[k]; k++) op_point(got, names[k], shared);
}

/* If same >= 0, the operands in r->same[same] share one pointer. */
static inline void op_check(dg_backend *b, const op_row *r, dg_op_kind kind, const int *shape, int variation, int same)
{
    dg_op got = op_make(r, kind, shape, variation), want = op_own(&got);
    if (same >= 0) op_share(&got, &want, r->same[same]);
    dg_ref_run(&want);
    if (op_run(b, &got)) op_compare(b, r, &got, &want, op_text(b, &got, variation));
    dg_case_free();
}

/* Checks that NaN in one input gives NaN in exactly those results that are NaN in the reference. */
static inline void op_check_nan(dg_backend *b, const op_row *r, dg_op_kind kind, const int *shape, int variation)
{
    int n;
    const dg_operand *list = dg_operands(kind, &n);
    for (int i = 0; i < n; i++) {
        if (!(list[i].role & DG_IN) || !op_is_real(&list[i])) continue;
        if (r->nan_untested && strcmp(r->nan_untested, list[i].name) == 0) continue;
        dg_op got = op_make(r, kind, shape, variation), want = op_own(&got);
        double *const at[] = {*dg_ref_pointer(&got, i), *dg_ref_pointer(&want, i)};
        const size_t count = (size_t)dg_operand_count(&got, i);
        for (int k = 0; k < 2 && at[0]; k++) at[k][count / 2] = NAN;
        dg_ref_run(&want);
        if (at[0] && op_run(b, &got)) {
            char name[300];
            snprintf(name, sizeof name, "%s, NaN in %s", op_text(b, &got, variation), list[i].name);
            op_compare(b, r, &got, &want, name);
        }
        dg_case_free();
    }
}

/* Checks that results have equal bits for any number of threads and, on a GPU, for any order of blocks. */
static inline void op_check_threads(const op_row *r, dg_op_kind kind, int variation)
{
    int n;
    const dg_operand *list = dg_operands(kind, &n);
    for (int i = 0; i < 6; i++)
        for (int t = 0; t < 4; t++) {
            static dg_op op, first;
            dg_backend *b;
            if (!dg_case_open(i, (const int[]){1, 2, 3, 7}[t], &b)) break;
            op_type = b->real;
            if (t == 0) op = op_make(r, kind, r->threads[dg_case_slowness() > 0], variation), first = op_own(&op);
            dg_op now = t ? op_own(&op) : first;
            const bool ran = op_run(b, &now);
            for (int k = 0; k < n && ran; k++)
                if (list[k].role & DG_OUT && list[k].element != DG_COUNTERS && *dg_ref_pointer(&op, k))
                    DG_CHECKF(!memcmp(*dg_ref_pointer(&now, k), *dg_ref_pointer(&first, k), op_bytes(&op, k)),
                              "%s: %s has not one thread's bits", op_text(b, &op, variation), list[k].name);
            b->close(b);
        }
    dg_case_free();
}

/* ---- Finite differences ---- */

/* Returns the loss whose gradient the op computes, for finite differences. */
static inline double op_loss(dg_backend *b, const op_row *r, const dg_op *op, const double *weights)
{
    if (r->gradient.before) r->gradient.before(b, op);
    if (r->gradient.loss) return r->gradient.loss(b, op);
    double sum = 0;
    op_run(b, op);
    const double *y = *dg_ref_pointer(op, 0);
    for (int64_t i = 0; i < dg_operand_count(op, 0); i++) sum += y[i] * weights[i];
    return sum;
}

static inline void op_check_differences(dg_backend *b, const op_row *r, dg_op_kind kind, const int *shape,
                                        int variation)
{
    const double h = 1e-6;
    dg_op op = op_make(r, kind, shape, variation), back = op;
    back.kind = r->gradient.kind;
    if (dg_operand_count(&op, 0) > r->gradient.most) return;
    op_add_operands(&back);
    const double *weights = r->gradient.weights ? op_values(&back, r->gradient.weights) : NULL;
    op_loss(b, r, &op, weights);
    op_run(b, &back);
    for (int k = 0; k < 3 && r->gradient.of[k][0]; k++) {
        double *x = op_values(&op, r->gradient.of[k][0]);
        const size_t n = op_count(&op, r->gradient.of[k][0]);
        const double *dx = op_values(&back, r->gradient.of[k][1]);
        if (!dx) continue;
        dx = dg_case_copy(dx, n);
        for (size_t i = 0; i < n; i += 1 + n / 12) {
            const double was = x[i];
            x[i] = was + h;
            const double up = op_loss(b, r, &op, weights);
            x[i] = was - h;
            const double d = (up - op_loss(b, r, &op, weights)) / (2 * h);
            x[i] = was;
            DG_CHECKF(fabs(d - dx[i]) <= 1e-6 * (1 + fabs(d)), "%s: %s[%zu] is %.12g, by differences %.12g",
                      op_text(b, &back, variation), r->gradient.of[k][1], i, dx[i], d);
        }
    }
    dg_case_free();
}
