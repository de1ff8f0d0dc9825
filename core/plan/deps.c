#include "core/plan/deps.h"

#include <stdlib.h>
#include <string.h>

/* True if an operand that begins in tensor `first` extends into tensor r. An operand of Adam spans all tensors of one
 * kind and one network, such as G's gradients. */
static bool goes_on(const dg_row *first, size_t to, const dg_row *r)
{
    return to > first->bytes && r > first && r->kind == first->kind && r->net == first->net;
}

static int add_operand(const dg_plan *p, int i, int k, const dg_operand *o, dg_access *out)
{
    const dg_op *op = &p->op[i];
    const dg_row *r = dg_plan_row(p, op, k);
    if (!r) return 0;
    const size_t each = dg_value_bytes(r), from = o->anywhere ? 0 : (size_t)op->operand[k].offset * each;
    const bool whole = o->anywhere || o->role == DG_SCRATCH || r->kind == DG_STATE;
    const size_t to = whole ? r->bytes : from + (size_t)dg_operand_count(op, k) * each;
    const dg_access a = {.op = i,
                         .operand = k,
                         .row = op->operand[k].row,
                         .from = from,
                         .to = to < r->bytes ? to : r->bytes,
                         .written = o->role != DG_IN,
                         .metrics = o->element == DG_ALL_STEPS && o->role & DG_OUT};
    int n = 0;
    if (out) out[n] = a;
    n++;
    for (int row = a.row + 1; to > r->bytes && row < p->arena->rows; row++) {
        const dg_row *next = &p->arena->row[row];
        if (!goes_on(r, to, next)) continue;
        if (out) {
            out[n] = a;
            out[n].row = row;
            out[n].from = 0;
            out[n].to = next->bytes;
            out[n].beyond = true;
        }
        n++;
    }
    return n;
}

static int add_op(const dg_plan *p, int i, dg_access *out)
{
    int operands, n = 0;
    const dg_operand *list = dg_operands(p->op[i].kind, &operands);
    for (int k = 0; k < operands; k++) n += add_operand(p, i, k, &list[k], out ? out + n : NULL);
    return n;
}

static void sort_by_row(dg_deps *d, int accesses)
{
    for (int i = 0; i < accesses; i++) d->of_row[d->access[i].row + 1]++;
    for (int r = 0; r < d->rows; r++) d->of_row[r + 1] += d->of_row[r];
    for (int i = 0; i < accesses; i++) d->by_row[d->of_row[d->access[i].row]++] = i;
    for (int r = d->rows; r > 0; r--) d->of_row[r] = d->of_row[r - 1];
    d->of_row[0] = 0;
}

static void find_writers(dg_deps *d)
{
    for (int i = 0; i < d->ops * DG_MAX_OPERANDS; i++) d->writer[i] = -1;
    for (int r = 0; r < d->rows; r++) {
        int last = -1, before = -1;
        for (int n = d->of_row[r]; n < d->of_row[r + 1]; n++) {
            const dg_access *a = &d->access[d->by_row[n]];
            if (!a->beyond) d->writer[a->op * DG_MAX_OPERANDS + a->operand] = last == a->op ? before : last;
            if (!a->written || last == a->op) continue;
            before = last;
            last = a->op;
        }
    }
}

dg_err dg_deps_find(dg_deps *d, const dg_plan *p)
{
    int accesses = 0;
    *d = (dg_deps){.ops = p->ops, .rows = p->arena->rows};
    for (int i = 0; i < p->ops; i++) accesses += add_op(p, i, NULL);
    d->access = calloc((size_t)accesses + 1, sizeof *d->access);
    d->of_op = calloc((size_t)p->ops + 1, sizeof *d->of_op);
    d->by_row = calloc((size_t)accesses + 1, sizeof *d->by_row);
    d->of_row = calloc((size_t)d->rows + 1, sizeof *d->of_row);
    d->writer = calloc((size_t)p->ops * DG_MAX_OPERANDS + 1, sizeof *d->writer);
    if (!d->access || !d->of_op || !d->by_row || !d->of_row || !d->writer)
        return dg_fail(DG_DEVICE, "out of memory while planning");
    for (int i = 0; i < p->ops; i++) d->of_op[i + 1] = d->of_op[i] + add_op(p, i, d->access + d->of_op[i]);
    sort_by_row(d, accesses);
    find_writers(d);
    return DG_OK;
}

void dg_deps_free(dg_deps *d)
{
    free(d->access);
    free(d->of_op);
    free(d->by_row);
    free(d->of_row);
    free(d->writer);
    memset(d, 0, sizeof *d);
}

int dg_deps_writer(const dg_deps *d, int op, int operand)
{
    return operand < 0 ? -1 : d->writer[op * DG_MAX_OPERANDS + operand];
}

bool dg_deps_conflict(const dg_access *a, const dg_access *b)
{
    return (a->written || b->written) && !(a->metrics && b->metrics) && a->row == b->row && a->from < b->to &&
           b->from < a->to;
}
