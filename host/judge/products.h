/* Products of many rows with the same others, as 1 x 1 convolutions on the CPU: y (n, columns) = x (n, k) w (columns,
 * k)'. The same bits with any number of threads. */
#ifndef DG_PRODUCTS_H
#define DG_PRODUCTS_H

#include "core/plan/plan.h"

typedef struct {
    dg_backend *b;
    dg_arena arena;
    dg_plan plan;
    int rows, k, columns; /* rows: at a time */
    int x, w, y;          /* rows of the arena */
    dg_type type;
} dg_products;

/* rows, k, columns and type are set. w: values of that type. Close it after errors, too. */
dg_err dg_products_open(dg_products *p, int threads, const void *w);
void dg_products_close(dg_products *p);

/* n <= rows of x. */
dg_err dg_products_take(dg_products *p, const void *x, int n, void *y);

#endif
