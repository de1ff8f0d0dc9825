#include "host/judge/products.h"

static void *memory(const dg_products *p, int row) { return (char *)p->arena.base + p->arena.row[row].offset; }

static size_t bytes(const dg_products *p, int rows, int values)
{
    return (size_t)rows * (size_t)values * dg_type_bytes(p->type);
}

dg_err dg_products_open(dg_products *p, int threads, const void *w)
{
    dg_err e = dg_cpu_open(&(dg_cpu_options){.threads = threads, .real = p->type}, &p->b);
    if (e) return e;
    dg_plan *plan = &p->plan;
    dg_plan_begin(plan, &p->arena, "products");
    p->x = dg_arena_row(&p->arena, "x", DG_STATE, 0, p->type, (dg_shape){p->rows, 1, 1, p->k});
    p->w = dg_arena_row(&p->arena, "w", DG_STATE, 0, p->type, (dg_shape){p->columns, 1, 1, p->k});
    p->y = dg_arena_row(&p->arena, "y", DG_STATE, 0, p->type, (dg_shape){p->rows, 1, 1, p->columns});
    dg_op *op = dg_plan_add(plan, DG_OP_conv_fwd, "products");
    op->u.conv =
        (dg_conv_args){.N = p->rows, .H = 1, .W = 1, .Ci = p->k, .Ho = 1, .Wo = 1, .Co = p->columns, .K = 1, .S = 1};
    dg_plan_operand(op, "x", p->x, 0);
    dg_plan_operand(op, "w", p->w, 0);
    dg_plan_operand(op, "y", p->y, 0);
    e = dg_arena_place(&p->arena, &plan, 1, p->b);
    if (!e) e = dg_arena_alloc(&p->arena, p->b);
    if (!e) e = dg_plan_bind(plan);
    return e ? e : p->b->put(p->b, memory(p, p->w), w, bytes(p, p->columns, p->k));
}

dg_err dg_products_take(dg_products *p, const void *x, int n, void *y)
{
    dg_err e = p->b->put(p->b, memory(p, p->x), x, bytes(p, n, p->k));
    if (!e) e = p->b->run(p->b, &p->plan);
    return e ? e : p->b->get(p->b, y, memory(p, p->y), bytes(p, n, p->columns));
}

void dg_products_close(dg_products *p)
{
    dg_plan_free(&p->plan);
    if (!p->b) return;
    dg_arena_free(&p->arena, p->b);
    p->b->close(p->b);
    p->b = NULL;
}
