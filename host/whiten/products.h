/* Plans with a backend and an arena of their own, and matrix products as 1 x 1 convolutions on the CPU. The results
 * have the same bits with any number of threads. */
#ifndef DG_PRODUCTS_H
#define DG_PRODUCTS_H

#include "core/plan/plan.h"

typedef struct {
    dg_backend *b;
    dg_arena arena;
    dg_plan plan;
} dg_own_plan;

/* Begin the plan. b NULL: open the CPU for values of this type. Close p also after errors; this closes b. */
dg_err dg_own_begin(dg_own_plan *p, const char *name, dg_backend *b, int threads, dg_type type);
/* Place and allocate the rows after the last op was added. */
dg_err dg_own_ready(dg_own_plan *p);
void dg_own_close(dg_own_plan *p);

dg_err dg_own_put(dg_own_plan *p, int row, const void *host, size_t bytes);
dg_err dg_own_get(dg_own_plan *p, void *host, int row, size_t bytes);

/* Append y (rows, columns) = x (rows, k) w (columns, k)'. xwy: rows of the arena; x_at, y_at: offsets in values. */
void dg_own_product(dg_own_plan *p, const int xwy[3], int64_t x_at, int64_t y_at, int rows, int k, int columns);

typedef struct {
    dg_own_plan own;
    int rows, k, columns; /* rows: max per call */
    dg_type type;
    int x, y;
} dg_products;

/* Set p->rows, k, columns and type before the call. w: (columns, k), bias: (columns) of that type; bias NULL: none.
 * Close also after errors. */
dg_err dg_products_open(dg_products *p, int threads, const void *w, const void *bias);
void dg_products_close(dg_products *p);

/* y = x w' + bias; x: (n, k), y: (n, columns); n <= rows. */
dg_err dg_products_take(dg_products *p, const void *x, int n, void *y);

#endif
