#include "host/whiten/products.h"

dg_err dg_own_begin(dg_own_plan *p, const char *name, dg_backend *b, int threads, dg_type type)
{
    dg_err e = DG_OK;
    *p = (dg_own_plan){.b = b};
    if (!b) e = dg_cpu_open(&(dg_cpu_options){.threads = threads, .real = type}, &p->b);
    if (!e) e = dg_arena_begin(&p->arena);
    if (!e) dg_plan_begin(&p->plan, &p->arena, name);
    return e;
}

dg_err dg_own_ready(dg_own_plan *p)
{
    dg_plan *plan = &p->plan;
    dg_err e = dg_arena_place(&p->arena, &plan, 1, p->b);
    if (!e) e = dg_arena_alloc(&p->arena, p->b);
    return e ? e : dg_plan_bind(plan);
}

void dg_own_close(dg_own_plan *p)
{
    dg_plan_free(&p->plan);
    if (!p->b) return;
    dg_arena_free(&p->arena, p->b);
    p->b->close(p->b);
    p->b = NULL;
}

static void *memory(const dg_own_plan *p, int row) { return (char *)p->arena.base + p->arena.row[row].offset; }

dg_err dg_own_put(dg_own_plan *p, int row, const void *host, size_t bytes)
{
    return p->b->put(p->b, memory(p, row), host, bytes);
}

dg_err dg_own_get(dg_own_plan *p, void *host, int row, size_t bytes)
{
    return p->b->get(p->b, host, memory(p, row), bytes);
}

void dg_own_product(dg_own_plan *p, const int xwy[3], int64_t x_at, int64_t y_at, int rows, int k, int columns)
{
    dg_op *op = dg_plan_add(&p->plan, DG_OP_conv_fwd, "product");
    op->u.conv = (dg_conv_args){.N = rows, .H = 1, .W = 1, .Ci = k, .Ho = 1, .Wo = 1, .Co = columns, .K = 1, .S = 1};
    dg_plan_operand(op, "x", xwy[0], x_at);
    dg_plan_operand(op, "w", xwy[1], 0);
    dg_plan_operand(op, "y", xwy[2], y_at);
}

static size_t bytes(const dg_products *p, int rows, int values)
{
    return (size_t)rows * (size_t)values * dg_type_bytes(p->type);
}

dg_err dg_products_open(dg_products *p, int threads, const void *w, const void *bias)
{
    dg_own_plan *own = &p->own;
    dg_err e = dg_own_begin(own, "products", NULL, threads, p->type);
    if (e) return e;
    p->x = dg_arena_row(&own->arena, "x", DG_STATE, 0, p->type, (dg_shape){p->rows, 1, 1, p->k});
    p->y = dg_arena_row(&own->arena, "y", DG_STATE, 0, p->type, (dg_shape){p->rows, 1, 1, p->columns});
    const int weight = dg_arena_row(&own->arena, "w", DG_STATE, 0, p->type, (dg_shape){p->columns, 1, 1, p->k}),
              b = dg_arena_row(&own->arena, "b", DG_STATE, 0, p->type, (dg_shape){1, 1, 1, p->columns});
    dg_own_product(own, (const int[]){p->x, weight, p->y}, 0, 0, p->rows, p->k, p->columns);
    if (bias) {
        dg_op *op = dg_plan_add(&own->plan, DG_OP_bias_act, "bias");
        op->u.bias_act = (dg_bias_act_args){.N = p->rows, .H = 1, .W = 1, .C = p->columns};
        dg_plan_operand(op, "x", p->y, 0);
        dg_plan_operand(op, "y", p->y, 0);
        dg_plan_operand(op, "b", b, 0);
    }
    e = dg_own_ready(own);
    if (!e && bias) e = dg_own_put(own, b, bias, bytes(p, 1, p->columns));
    return e ? e : dg_own_put(own, weight, w, bytes(p, p->columns, p->k));
}

dg_err dg_products_take(dg_products *p, const void *x, int n, void *y)
{
    dg_err e = dg_own_put(&p->own, p->x, x, bytes(p, n, p->k));
    if (!e) e = p->own.b->run(p->own.b, &p->own.plan);
    return e ? e : dg_own_get(&p->own, y, p->y, bytes(p, n, p->columns));
}

void dg_products_close(dg_products *p) { dg_own_close(&p->own); }
