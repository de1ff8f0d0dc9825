#include <stdlib.h>
#include <string.h>

#include "core/plan/branches.h"
#include "core/base/grow.h"
#include "core/plan/deps.h"

static size_t round_up(size_t n) { return (n + 255) & ~(size_t)255; }

static bool has_room(dg_arena *a)
{
    dg_row *row = dg_grow(a->row, a->rows, &a->capacity, sizeof *row);
    a->full |= !row;
    if (row) a->row = row;
    return row != NULL;
}

dg_err dg_arena_begin(dg_arena *a) { return has_room(a) ? DG_OK : dg_fail(DG_DEVICE, "out of memory while planning"); }

int dg_arena_row(dg_arena *a, const char *name, dg_row_kind kind, int net, dg_type type, dg_shape shape)
{
    if (!has_room(a)) return 0;
    dg_row *r = &a->row[a->rows];
    memset(r, 0, sizeof *r);
    dg_shard_name(a, kind == DG_WORK, r->name, sizeof r->name, name);
    r->kind = kind;
    r->net = net;
    r->type = type;
    r->shape = shape;
    r->bytes = dg_count(shape) * dg_type_bytes(type);
    r->plan = a->plans;
    return a->rows++;
}

int dg_arena_bytes(dg_arena *a, const char *name, dg_row_kind kind, size_t bytes)
{
    /* H exceeds 1 only if W would exceed an int */
    const size_t units = (bytes + 63) / 64, rows = units / INT32_MAX + 1;
    return dg_arena_row(a, name, kind, 0, DG_U8, (dg_shape){1, (int)rows, (int)((units + rows - 1) / rows), 64});
}

int dg_arena_find(const dg_arena *a, const char *name)
{
    for (int i = 0; i < a->rows; i++)
        if (!strcmp(a->row[i].name, name)) return i;
    return -1;
}

static dg_err choose(dg_plan *p, dg_backend *b)
{
    for (int i = 0; i < p->ops; i++) {
        dg_op *op = &p->op[i];
        if (op->wrong)
            return dg_fail(DG_FAILED, "%s: %s has no operand %s", op->name, dg_op_kind_name(op->kind), op->wrong);
        const char *why = b->refuses(b, op);
        if (why) return dg_fail(DG_DEVICE, "%s: %s cannot run this op: %s", op->name, b->name, why);
    }
    return b->fuse ? b->fuse(b, p) : DG_OK;
}

/* All ops share one tensor of counters, because no two ops that use the counters run concurrently. */
static int counters_of(dg_arena *a)
{
    const int row = dg_arena_find(a, "counters");
    if (row >= 0) return row;
    return dg_arena_row(a, "counters", DG_STATE, 0, DG_I32, (dg_shape){1, 1, 1, DG_OP_COUNTERS});
}

static void add_scratch(dg_plan *p, dg_op *op, dg_backend *b)
{
    int n;
    const dg_operand *operand = dg_operands(op->kind, &n);
    for (int k = 0; k < n; k++) {
        if (operand[k].element == DG_COUNTERS) op->operand[k].row = counters_of(p->arena);
        size_t bytes = operand[k].role == DG_SCRATCH ? b->scratch(b, op) : 0;
        if (!bytes) continue;
        char name[64];
        snprintf(name, sizeof name, "%s.scratch", op->name);
        op->operand[k].row = dg_arena_bytes(p->arena, name, DG_WORK, bytes);
        p->arena->row[op->operand[k].row].plan = p->id;
    }
}

static void add_scratch_rows(dg_plan *p, dg_backend *b)
{
    if (!p->launch) {
        for (int i = 0; i < p->ops; i++) add_scratch(p, &p->op[i], b);
        return;
    }
    for (int i = 0; i < p->launches; i++)
        if (p->launch[i].kind == DG_LAUNCH_OP) add_scratch(p, &p->op[p->launch[i].first], b);
}

static void live(dg_arena *a, int row, int first, int last)
{
    dg_row *r = row < 0 ? NULL : &a->row[row];
    if (!r || r->kind != DG_WORK || r->absent) return;
    if (r->first > first) r->first = first;
    if (r->last < last) r->last = last;
}

static void live_op(const dg_plan *p, const dg_deps *d, int op, int first, int last)
{
    for (int n = d->of_op[op]; n < d->of_op[op + 1]; n++) live(p->arena, d->access[n].row, first, last);
}

/* Extends the lifetimes of a launch's tensors to all ops of the launch, `first` to `last`. Operands of recomputed ops
 * are included. */
static void live_ops(const dg_plan *p, const dg_deps *d, int first, int last)
{
    for (int i = first; i <= last; i++) {
        live_op(p, d, i, first, last);
        for (int k = 0; k < DG_MAX_OPERANDS; k++) {
            const int from = p->op[i].operand[k].from;
            if (from) live_op(p, d, from - 1, first, last);
            if (p->op[i].operand[k].factors) live(p->arena, p->op[i].operand[k].factors, first, last);
        }
    }
}

static dg_err find_lifetimes(dg_plan *p)
{
    dg_arena *a = p->arena;
    dg_deps d;
    const dg_err e = dg_deps_find(&d, p);
    for (int i = 0; i < a->rows && !e; i++) {
        dg_row *r = &a->row[i];
        if (r->kind != DG_WORK || r->plan != p->id) continue;
        r->first = r->keep ? 0 : p->ops;
        r->last = r->keep ? p->ops : -1;
    }
    for (int i = 0; i < p->ops && !p->launch && !e; i++) live_ops(p, &d, i, i);
    for (int i = 0; i < p->launches && !e; i++) {
        const dg_launch *l = &p->launch[i];
        live_ops(p, &d, l->first, l->first + l->count - 1);
        live(a, l->row, l->first, l->first + l->count - 1);
    }
    dg_deps_free(&d);
    return e;
}

typedef struct {
    size_t bytes;
    int row;
} sized;

static int larger_first(const void *x, const void *y)
{
    const sized *a = x, *b = y;
    return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : a->row - b->row;
}

/* Returns the lowest offset at which r overlaps no placed tensor that is used at the same time. `apart` is the result
 * of dg_plan_apart, or NULL if the ops run in plan order. */
static size_t lowest_gap(const dg_arena *a, const sized *order, int placed, const dg_row *r, const bool *apart)
{
    const bool *others = apart ? apart + (r - a->row) * a->rows : NULL;
    size_t at = a->persistent;
    for (int again = 1; again;) {
        again = 0;
        for (int i = 0; i < placed; i++) {
            const dg_row *o = &a->row[order[i].row];
            if (others && !r->keep && !o->keep ? others[order[i].row] : o->last < r->first || r->last < o->first)
                continue;
            if (at < o->offset + round_up(o->bytes) && o->offset < at + round_up(r->bytes)) {
                at = o->offset + round_up(o->bytes);
                again = 1;
            }
        }
    }
    return at;
}

static dg_err place_work(dg_plan *p)
{
    dg_arena *a = p->arena;
    bool *apart = NULL;
    sized *order = malloc(((size_t)a->rows + 1) * sizeof *order);
    int n = 0;
    if (!order) return dg_fail(DG_DEVICE, "out of memory while planning");
    for (int i = 0; i < a->rows; i++)
        if (a->row[i].kind == DG_WORK && a->row[i].plan == p->id && !a->row[i].absent)
            order[n++] = (sized){a->row[i].bytes, i};
    const dg_err e = p->branches ? dg_plan_apart(p, &apart) : DG_OK;
    qsort(order, (size_t)n, sizeof *order, larger_first);
    for (int i = 0; i < n && !e; i++) {
        dg_row *r = &a->row[order[i].row];
        r->offset = lowest_gap(a, order, i, r, apart);
        if (r->offset + round_up(r->bytes) > a->bytes) a->bytes = r->offset + round_up(r->bytes);
    }
    free(apart);
    free(order);
    return e;
}

static void place_persistent(dg_arena *a, int first)
{
    for (int kind = DG_PARAM; kind <= DG_STATE; kind++) {
        for (int net = 0; net < DG_NETS_MAX; net++) {
            for (int i = first; i < a->rows; i++) {
                dg_row *r = &a->row[i];
                if ((int)r->kind != kind || r->net != net) continue;
                r->offset = a->bytes;
                a->bytes += round_up(r->bytes);
            }
        }
    }
}

dg_err dg_arena_place(dg_arena *a, dg_plan *const *plans, int n, dg_backend *b)
{
    a->bytes = 0;
    place_persistent(a, 0);
    const int placed = a->rows;
    for (int i = 0; i < n && !a->full; i++) {
        dg_err e = choose(plans[i], b);
        if (e) return e;
        add_scratch_rows(plans[i], b);
    }
    if (a->full) return dg_fail(DG_DEVICE, "out of memory while planning");
    place_persistent(a, placed);
    a->persistent = a->bytes;
    for (int i = 0; i < n; i++) {
        dg_err e = find_lifetimes(plans[i]);
        if (!e) e = place_work(plans[i]);
        if (e) return e;
    }
    return DG_OK;
}

dg_err dg_arena_alloc(dg_arena *a, dg_backend *b)
{
    return dg_context(b->alloc(b, a->bytes, &a->base), "the arena of weights and activations");
}

void dg_arena_free(dg_arena *a, dg_backend *b)
{
    if (a->base) b->release(b, a->base);
    free(a->row);
    memset(a, 0, sizeof *a);
}
