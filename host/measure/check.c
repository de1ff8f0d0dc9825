#include "host/measure/check_internal.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/precision.h"

typedef struct {
    dg_job *job[2];
    const dg_op *op[2];
    double eps;
    dg_check_operand operand[DG_MAX_OPERANDS];
    int operands;
} checker;

void *dg_check_memory(const dg_job *job, const dg_row *r)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): only scratch has no row, and no caller passes scratch */
    return (char *)job->arena.base + r->offset;
}

/* Returns the number of bytes, from the start of the operand's row, that an op uses. An optimizer's operand extends
 * beyond the end of its row. */
size_t dg_check_bytes(const dg_op *op, int operand, const dg_row *r)
{
    if (r->kind == DG_STATE) return r->bytes;
    const int64_t end = op->operand[operand].offset + dg_operand_count(op, operand);
    const size_t bytes = (size_t)end * dg_type_bytes(r->type);
    return bytes > r->bytes ? bytes : r->bytes;
}

static dg_err get(checker *c, int side, void *host, const dg_check_operand *o)
{
    dg_backend *b = c->job[side]->backend;
    return b->get(b, host, (char *)dg_check_memory(c->job[side], o->row[side]) + o->skip, o->bytes);
}

static dg_err put(checker *c, int side, const dg_check_operand *o, const void *host)
{
    dg_backend *b = c->job[side]->backend;
    return b->put(b, (char *)dg_check_memory(c->job[side], o->row[side]) + o->skip, host, o->bytes);
}

static dg_err run(checker *c, int side)
{
    dg_backend *b = c->job[side]->backend;
    return b->run_op(b, c->op[side], NULL);
}

static dg_err no_memory(void) { return dg_fail(DG_DEVICE, "out of memory for comparing"); }

static dg_err put_magnitudes(checker *c, const dg_check_operand *o)
{
    void *copy = malloc(o->bytes);
    if (!copy) return no_memory();
    memcpy(copy, o->before, o->bytes);
    for (size_t i = 0; i < o->count; i++) {
        if (o->row[0]->type == DG_F32) ((float *)copy)[i] = fabsf(((float *)copy)[i]);
        else ((double *)copy)[i] = fabs(((double *)copy)[i]);
    }
    dg_err e = put(c, 0, o, copy);
    free(copy);
    return e;
}

/* Compute sums of |a||b|: run the op on the reference with absolute values of its inputs, then restore the operands. */
static dg_err weigh(checker *c)
{
    dg_err e = DG_OK;
    for (int k = 0; k < c->operands && !e; k++)
        if (c->operand[k].before && c->operand[k].role == DG_IN) e = put_magnitudes(c, &c->operand[k]);
    if (!e) e = run(c, 0);
    for (int k = 0; k < c->operands && !e; k++) {
        dg_check_operand *o = &c->operand[k];
        if (!o->limit) continue;
        o->weight = malloc(o->bytes);
        e = o->weight ? get(c, 0, o->weight, o) : no_memory();
    }
    for (int k = 0; k < c->operands && !e; k++) {
        const dg_check_operand *o = &c->operand[k];
        if (o->before) e = put(c, 0, o, o->role == DG_OUT ? o->want : o->before);
    }
    return e;
}

/* Statistics of shards are parts of a table (host/net/shards.h), and the limits of these ops count from the part. */
static bool is_norm(dg_op_kind kind)
{
    return kind == DG_OP_norm_stats || kind == DG_OP_norm_act || kind == DG_OP_norm_act_dx;
}

static dg_err both(checker *c)
{
    dg_err e = DG_OK;
    const dg_operand *list = dg_operands(c->op[0]->kind, &c->operands);
    for (int k = 0; k < c->operands && !e; k++) {
        dg_check_operand *o = &c->operand[k];
        if (!o->row[0] || o->row[0]->kind == DG_OUTSIDE) continue;
        const dg_type type = o->row[0]->type;
        o->bytes = dg_check_bytes(c->op[0], k, o->row[0]);
        if (is_norm(c->op[0]->kind) && list[k].element == DG_REAL && !list[k].anywhere) {
            o->skip = (size_t)c->op[0]->operand[k].offset * dg_type_bytes(type);
            o->bytes = o->role == DG_IN ? o->bytes - o->skip
                                        : (size_t)dg_operand_count(c->op[0], k) * dg_type_bytes(type);
        }
        o->count = type == DG_F32 || type == DG_F64 ? o->bytes / dg_type_bytes(type) : 0;
        o->before = malloc(o->bytes);
        o->want = malloc(o->bytes);
        o->got = malloc(o->bytes);
        if (o->role & DG_OUT) o->limit = calloc(o->count + 1, sizeof *o->limit);
        if (!o->before || !o->want || !o->got || (o->role & DG_OUT && !o->limit)) return no_memory();
        e = get(c, 0, o->before, o);
    }
    if (!e) e = run(c, 0);
    for (int k = 0; k < c->operands && !e; k++) {
        dg_check_operand *o = &c->operand[k];
        if (o->before) e = get(c, 0, o->want, o);
        if (o->before && !e) e = put(c, 1, o, o->before);
    }
    if (!e) e = run(c, 1);
    for (int k = 0; k < c->operands && !e; k++)
        if (c->operand[k].before) e = get(c, 1, c->operand[k].got, &c->operand[k]);
    if (e) return e;
    if (dg_op_info_of(c->op[0]->kind)->weighed) e = weigh(c);
    if (e) return e;
    return dg_op_limits(&(dg_op_values){{c->op[0], c->op[1]}, c->operand, c->operands, c->eps});
}

static dg_err compare(const checker *c, const dg_check_operand *o, double *worst)
{
    const dg_op *op = c->op[1];
    const char *name[2] = {c->job[0]->backend->name, c->job[1]->backend->name};
    if (!o->count && memcmp(o->want, o->got, o->bytes))
        return dg_fail(DG_FAILED, "%s (%s, %s): %s differs between %s and %s", op->name, dg_op_kind_name(op->kind),
                       op->tune.variant->name, o->name, name[0], name[1]);
    for (size_t i = 0; i < o->count; i++) {
        const double want = dg_check_value(o, o->want, i), got = dg_check_value(o, o->got, i), off = fabs(got - want);
        if (off <= o->limit[i]) { /* the comparison is false for NaN */
            if (off > 0) *worst = fmax(*worst, off / o->limit[i]);
            continue;
        }
        const dg_shape s = o->row[0]->shape;
        const size_t C = (size_t)s.C, W = (size_t)s.W, H = (size_t)s.H,
                     at = i + o->skip / dg_type_bytes(o->row[0]->type);
        return dg_fail(
            DG_FAILED,
            "%s (%s, %s): %s[%zu,%zu,%zu,%zu] of %dx%dx%dx%d is %.9g on %s and %.9g on %s: difference %.3g, limit %.3g",
            op->name, dg_op_kind_name(op->kind), op->tune.variant->name, o->name, at / C / W / H, at / C / W % H,
            at / C % W, at % C, s.N, s.H, s.W, s.C, want, name[0], got, name[1], off, o->limit[i]);
    }
    return DG_OK;
}

static dg_err check_op(checker *c, const dg_plan *p, const dg_plan *q, double *worst)
{
    memset(c->operand, 0, sizeof c->operand);
    const dg_operand *list = dg_operands(c->op[0]->kind, &c->operands);
    for (int k = 0; k < c->operands; k++) {
        dg_check_operand *o = &c->operand[k];
        o->name = list[k].name;
        o->role = list[k].role;
        if (o->role == DG_SCRATCH) continue;
        o->row[0] = dg_plan_row(p, c->op[0], k);
        o->row[1] = dg_plan_row(q, c->op[1], k);
    }
    dg_err e = both(c);
    for (int k = 0; k < c->operands && !e; k++)
        if (c->operand[k].limit) e = compare(c, &c->operand[k], worst);
    for (int k = 0; k < c->operands; k++) {
        free(c->operand[k].before);
        free(c->operand[k].want);
        free(c->operand[k].got);
        free(c->operand[k].weight);
        free(c->operand[k].limit);
    }
    return e;
}

dg_err dg_check_op(dg_job *job, const dg_plan *p, const dg_op *reference, const dg_op *other, double *worst)
{
    checker c = {.job = {job, job},
                 .op = {reference, other},
                 .eps = job->backend->real == DG_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2};
    *worst = 0;
    return check_op(&c, p, p, worst);
}

dg_err dg_check_plan(dg_job *reference, dg_job *other, const char *name, FILE *to, dg_check_result *result)
{
    const dg_plan *p = dg_job_plan(reference, name), *q = dg_job_plan(other, name);
    const dg_type real = reference->backend->real;
    checker c = {.job = {reference, other}, .eps = real == DG_F64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2};
    if (!p || p->ops != q->ops) return dg_fail(DG_FAILED, "the two backends have different ops in plan %s", name);
    dg_err e = DG_OK;
    for (int i = 0; i < p->ops && !e; i++) {
        double worst = 0;
        c.op[0] = &p->op[i];
        c.op[1] = &q->op[i];
        e = check_op(&c, p, q, &worst);
        if (e && e != DG_FAILED) return dg_context(e, "%s", c.op[1]->name);
        if (to) {
            const dg_op *op = c.op[1];
            fprintf(to, "%4d  %-30s %-12s %-10s ", i + 1, op->name, dg_op_kind_name(op->kind), op->tune.variant->name);
            fprintf(to, e ? "DIFFERS\n" : "%5.1f%%\n", 100 * worst);
        }
        if (e) return e;
        result->ops++;
        if (worst < result->worst) continue;
        result->worst = worst;
        snprintf(result->where, sizeof result->where, "%s", c.op[1]->name);
    }
    return e;
}

/* Returns the largest relative difference between squares[n] and |v_n|^2; infinity if one is NaN. Tensor v has shape
 * (N, each). */
static double off_identity(const void *v, const void *squares, dg_type type, int N, size_t each)
{
    double worst = 0;
    for (int n = 0; n < N; n++) {
        double sum = 0;
        for (size_t i = (size_t)n * each; i < (size_t)(n + 1) * each; i++) {
            const double x = type == DG_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
            sum += x * x;
        }
        const double got = type == DG_F32 ? (double)((const float *)squares)[n] : ((const double *)squares)[n];
        const double off = got == sum ? 0 : fabs(got - sum) / sum;
        worst = fmax(worst, isnan(off) ? INFINITY : off);
    }
    return worst;
}

dg_err dg_check_penalty(const dg_job *job, dg_plan_role role, double *worst)
{
    dg_backend *b = job->backend;
    const dg_row *v = &job->arena.row[job->gradient[role]], *squares = &job->arena.row[job->squares[role]];
    char *host = malloc(v->bytes + squares->bytes);
    if (!host) return no_memory();
    dg_err e = b->get(b, host, dg_check_memory(job, v), v->bytes);
    if (!e) e = b->get(b, host + v->bytes, dg_check_memory(job, squares), squares->bytes);
    const int N = v->shape.N;
    if (!e) *worst = off_identity(host, host + v->bytes, v->type, N, dg_count(v->shape) / (size_t)N);
    free(host);
    /* in bf16, the limit is about 15 times the largest measured difference */
    const double limit = 4096 * (v->type == DG_F64 ? DBL_EPSILON : (double)FLT_EPSILON) + 4 * dg_math_error(b->math);
    if (e || *worst <= limit) return e;
    return dg_fail(DG_FAILED,
                   "%s: the squared norm of D's gradient and the tangent of D's output differ by %.3g, limit %.3g",
                   dg_plan_role_name[role], *worst, limit);
}
