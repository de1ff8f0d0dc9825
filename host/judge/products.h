/* Matrix products as 1 x 1 convolutions on the CPU: y (n, columns) = x (n, k) w (columns, k)'. The bits do not depend
 * on the number of threads. */
#ifndef DG_PRODUCTS_H
#define DG_PRODUCTS_H

#include "core/plan/plan.h"

typedef struct {
    dg_backend *b;
    dg_arena arena;
    dg_plan plan;
    int rows, k, columns; /* rows: max per call */
    int x, w, y;
    dg_type type;
} dg_products;

/* Set rows, k, columns and type before. w: (columns, k) of that type. Close also after errors. */
dg_err dg_products_open(dg_products *p, int threads, const void *w);
void dg_products_close(dg_products *p);

/* x: (n, k), y: (n, columns); n <= rows. */
dg_err dg_products_take(dg_products *p, const void *x, int n, void *y);

#endif
