/* Plans with their own backend and arena. Matrix products on the CPU as 1 x 1 convolutions, with reproducible bits. */
#pragma once

#include "core/plan/plan.h"

typedef struct {
    dg_backend *b;
    dg_arena arena;
    dg_plan plan;
} dg_own_plan;

/* Begin a plan on backend b, or on the CPU if b is NULL. dg_own_close closes b. Close p also after errors. */
dg_err dg_own_begin(dg_own_plan *p, const char *name, dg_backend *b, int threads, dg_type type);
/* Place and allocate the plan's arena rows, after the last op was added. */
dg_err dg_own_ready(dg_own_plan *p);
void dg_own_close(dg_own_plan *p);

dg_err dg_own_put(dg_own_plan *p, int row, const void *host, size_t bytes);
dg_err dg_own_get(dg_own_plan *p, void *host, int row, size_t bytes);

/* Append the op y (rows, columns) = x (rows, k) w (columns, k)^T. `xwy` has the arena rows of x, w and y. `x_at` and
 * `y_at` are offsets in values. */
void dg_own_product(dg_own_plan *p, const int xwy[3], int64_t x_at, int64_t y_at, int rows, int k, int columns);

typedef struct {
    dg_own_plan own;
    int rows, k, columns; /* rows: max rows of x and y per call */
    dg_type type;
    int x, y;
} dg_products;

/* Products are y (n, columns) = x (n, k) w^T + bias, n <= p->rows. Weights w have shape (columns, k); bias has shape
 * (columns) or is NULL. Set p->rows, k, columns and type first. Close p also after errors. */
dg_err dg_products_open(dg_products *p, int threads, const void *w, const void *bias);
void dg_products_close(dg_products *p);

dg_err dg_products_take(dg_products *p, const void *x, int n, void *y);
