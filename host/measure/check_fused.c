/* Compares fused launches with the unfused ops. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/measure/check_internal.h"
#include "kernels/fused/fused.h"
#include "core/plan/precision.h"

typedef struct {
    dg_job *job[2];
    const dg_plan *plan[2];
} sides;

static const dg_op *same_op(const dg_plan *p, const char *name)
{
    for (int i = 0; i < p->ops; i++)
        if (!strcmp(p->op[i].name, name)) return &p->op[i];
    return NULL;
}

/* True for a row with the result or the scratch of op norm_act_dx, because fusion changes these values. */
static bool differs(const dg_plan *fused, int row)
{
    for (int i = 0; i < fused->ops; i++)
        for (int k = 0; k < DG_MAX_OPERANDS; k++) {
            const int from = fused->op[i].operand[k].from - 1;
            if (from < 0 || fused->op[from].kind != DG_OP_norm_act_dx) continue;
            int n;
            const dg_operand *list = dg_operands(DG_OP_norm_act_dx, &n);
            for (int o = 0; o < n; o++)
                if ((o == 0 || list[o].role == DG_SCRATCH) && fused->op[from].operand[o].row == row) return true;
        }
    return false;
}

typedef struct {
    const dg_row *row[2];
    size_t first, bytes;
} pair;

static bool pair_of(const sides *s, const dg_op *fused, int k, pair *out)
{
    const dg_op *plain = same_op(s->plan[0], fused->name);
    int n;
    const dg_operand *list = dg_operands(fused->kind, &n);
    if (k >= n || list[k].role == DG_SCRATCH || differs(s->plan[1], fused->operand[k].row)) return false;
    out->row[0] = dg_plan_row(s->plan[0], plain, k);
    out->row[1] = dg_plan_row(s->plan[1], fused, k);
    if (!out->row[0] || !out->row[1] || out->row[1]->absent || out->row[0]->kind == DG_OUTSIDE) return false;
    const dg_row *r = out->row[0];
    out->first = (size_t)plain->operand[k].offset * dg_type_bytes(r->type);
    out->bytes = r->kind == DG_STATE ? r->bytes : (size_t)dg_operand_count(plain, k) * dg_type_bytes(r->type);
    return true;
}

static void widen(void *host, size_t bytes)
{
    for (size_t i = bytes / sizeof(float); i-- > 0;) {
        uint16_t half;
        memcpy(&half, (char *)host + i * sizeof half, sizeof half);
        const uint32_t word = (uint32_t)half << 16;
        memcpy((char *)host + i * sizeof word, &word, sizeof word);
    }
}
static void narrow(void *host, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(float); i++) {
        uint32_t word;
        memcpy(&word, (char *)host + i * sizeof word, sizeof word);
        const uint16_t half = (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
        memcpy((char *)host + i * sizeof half, &half, sizeof half);
    }
}

static dg_err fetch(const sides *s, int side, const pair *p, void *host)
{
    dg_backend *b = s->job[side]->backend;
    const size_t part = p->row[side]->rounded ? 2 : 1;
    dg_err e = b->get(b, host, (char *)dg_check_memory(s->job[side], p->row[side]) + p->first / part, p->bytes / part);
    if (part == 2) widen(host, p->bytes);
    return e;
}

/* If the fused job stores a row in bf16, round the values in both jobs, so that rounding causes no difference. */
static dg_err hand_over(const sides *s, const dg_op *fused)
{
    dg_err e = DG_OK;
    for (int k = 0; k < DG_MAX_OPERANDS && !e; k++) {
        pair p;
        if (!pair_of(s, fused, k, &p)) continue;
        void *copy = malloc(p.bytes);
        if (!copy) return dg_fail(DG_DEVICE, "out of memory for comparing");
        dg_backend *b = s->job[1]->backend;
        const size_t part = p.row[1]->rounded ? 2 : 1;
        e = fetch(s, 0, &p, copy);
        if (part == 2) narrow(copy, p.bytes);
        if (!e) e = b->put(b, (char *)dg_check_memory(s->job[1], p.row[1]) + p.first / part, copy, p.bytes / part);
        if (part == 2 && !e) e = fetch(s, 1, &p, copy);
        b = s->job[0]->backend;
        if (part == 2 && !e) e = b->put(b, (char *)dg_check_memory(s->job[0], p.row[0]) + p.first, copy, p.bytes);
        free(copy);
    }
    return e;
}

static double distance(const dg_row *row, size_t bytes, const void *want, const void *got)
{
    if (row->type == DG_U8 || row->type == DG_I32) return memcmp(want, got, bytes) ? INFINITY : 0;
    double length = 0, apart = 0;
    for (size_t i = 0; i < bytes / dg_type_bytes(row->type); i++) {
        const double a = row->type == DG_F32 ? (double)((const float *)want)[i] : ((const double *)want)[i];
        const double b = row->type == DG_F32 ? (double)((const float *)got)[i] : ((const double *)got)[i];
        length += a * a;
        apart += (a - b) * (a - b);
    }
    return apart == 0 ? 0 : sqrt(apart / fmax(length, 1e-60));
}

static dg_err compare(const sides *s, const dg_launch *l, const dg_op *fused, double limit, double *worst)
{
    int n;
    dg_err e = DG_OK;
    const dg_operand *list = dg_operands(fused->kind, &n);
    for (int k = 0; k < n && !e; k++) {
        pair p;
        if (!(list[k].role & DG_OUT) || !pair_of(s, fused, k, &p)) continue;
        char *memory = malloc(2 * p.bytes);
        if (!memory) return dg_fail(DG_DEVICE, "out of memory for comparing");
        e = fetch(s, 0, &p, memory);
        if (!e) e = fetch(s, 1, &p, memory + p.bytes);
        const double off = e ? 0 : distance(p.row[0], p.bytes, memory, memory + p.bytes);
        free(memory);
        if (!e && !(off <= limit))
            e = dg_fail(DG_FAILED,
                        "fused launch of %s: result %s of %s (tensor %s) has a relative error of %.3g against the "
                        "single op; the limit is %.3g",
                        s->plan[1]->op[l->main].name, list[k].name, fused->name, p.row[1]->name, off, limit);
        if (off > *worst) *worst = off;
    }
    return e;
}

/* True if the launch reads a bf16 gradient that hand_over does not copy. */
static bool reads_rounded_twice(const dg_plan *fused, const dg_launch *l)
{
    for (int i = l->first; i < l->first + l->count; i++)
        for (int k = 0; k < DG_MAX_OPERANDS; k++) {
            const dg_row *r = dg_plan_row(fused, &fused->op[i], k);
            if (r && r->rounded && differs(fused, fused->op[i].operand[k].row)) return true;
        }
    return false;
}

static dg_err check_launch(const sides *s, const dg_launch *l, double limit, double *worst)
{
    const dg_plan *q = s->plan[1];
    dg_backend *plain = s->job[0]->backend, *fused = s->job[1]->backend;
    dg_err e = DG_OK;
    for (int i = l->first; i < l->first + l->count && !e; i++) {
        e = hand_over(s, &q->op[i]);
        for (int k = 0; k < DG_MAX_OPERANDS && !e; k++)
            if (q->op[i].operand[k].from) e = hand_over(s, &q->op[q->op[i].operand[k].from - 1]);
    }
    for (int i = l->first; i < l->first + l->count && !e; i++)
        e = plain->run_op(plain, same_op(s->plan[0], q->op[i].name), NULL);
    if (!e) e = fused->run_launch(fused, q, (int)(l - q->launch));
    for (int i = l->first; i < l->first + l->count && !e; i++) e = compare(s, l, &q->op[i], limit, worst);
    return e;
}

dg_err dg_check_fused(dg_job *plain, dg_job *fused, const char *name, FILE *to, dg_check_result *result)
{
    const sides s = {.job = {plain, fused}, .plan = {dg_job_plan(plain, name), dg_job_plan(fused, name)}};
    if (!s.plan[0] || !s.plan[1] || s.plan[0]->ops != s.plan[1]->ops)
        return dg_fail(DG_FAILED, "plan %s has different ops with and without fusion", name);
    /* limit for operands that differ in the last bit and are rounded to different values */
    const double once = 1e-5 + dg_math_error(plain->backend->math);
    dg_err e = DG_OK;
    for (int i = 0; i < s.plan[1]->launches && !e; i++) {
        const dg_launch *l = &s.plan[1]->launch[i];
        const double limit = reads_rounded_twice(s.plan[1], l) ? 2 * once : once;
        double worst = 0;
        e = check_launch(&s, l, limit, &worst);
        if (to)
            fprintf(to, "%4d  %-30s %3d op%s ", i + 1, s.plan[1]->op[l->main].name, l->count,
                    l->count == 1 ? " " : "s");
        if (to) fprintf(to, e ? "DIFFERS\n" : "%5.1f%%\n", 100 * worst / limit);
        if (e) return e;
        result->ops++;
        if (worst / limit < result->worst && *result->where) continue;
        result->worst = worst / limit;
        snprintf(result->where, sizeof result->where, "%s", s.plan[1]->op[l->main].name);
    }
    return e;
}
