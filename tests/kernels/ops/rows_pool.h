/* Test cases for max and mean pooling. */
#include "op_rows.h"

/* N, H, W, C, K, S, P, with overlapping windows, gaps between windows, padding, and windows of one pixel. */
static op_shape pool_shapes[] = {
    {1, 4, 4, 1, 2, 2, 0},    {3, 5, 7, 3, 2, 2, 0},   {2, 7, 5, 8, 3, 2, 1},     {1, 6, 9, 20, 3, 2, 0},
    {5, 8, 8, 4, 3, 1, 1},    {2, 1, 1, 68, 1, 1, 0},  {1, 2, 3, 10, 2, 1, 0},    {2, 9, 4, 17, 4, 2, 1},
    {1, 5, 5, 3, 5, 5, 0},    {3, 6, 6, 3, 2, 3, 0},   {2, 3, 3, 8, 3, 1, 2},     {1, 11, 6, 20, 4, 4, 0},
    {5, 5, 9, 4, 5, 1, 4},    {2, 7, 7, 68, 1, 3, 0},  {1, 16, 17, 10, 16, 1, 3}, {2, 13, 3, 17, 3, 3, 1},
    {1, 10, 8, 1, 4, 2, 0},   {3, 11, 13, 3, 4, 2, 2}, {1, 13, 10, 20, 2, 2, 1},  {5, 17, 9, 4, 4, 4, 3},
    {2, 15, 11, 68, 3, 2, 2}, {1, 9, 14, 10, 4, 2, 3}, {2, 8, 8, 8, 2, 2, 0},     {1, 6, 5, 3, 3, 1, 1},
};
/* N, H, W, C, K, S, P for mean pooling, whose windows may exceed 16 x 16 or cover whole maps. */
static op_shape mean_shapes[] = {
    {1, 4, 4, 1, 2, 2, 0},     {3, 5, 7, 3, 2, 2, 0},     {2, 7, 5, 8, 3, 2, 1},     {1, 6, 9, 20, 3, 2, 0},
    {5, 8, 8, 4, 3, 1, 1},     {2, 9, 4, 17, 4, 2, 1},    {2, 3, 3, 8, 3, 1, 2},     {5, 5, 9, 4, 5, 1, 4},
    {2, 7, 7, 68, 1, 3, 0},    {1, 16, 17, 10, 16, 1, 3}, {1, 17, 19, 20, 17, 2, 1}, {3, 20, 23, 3, 18, 3, 5},
    {2, 15, 11, 68, 3, 2, 2},  {1, 1, 1, 8, 1, 1, 0},     {2, 2, 2, 15, 2, 1, 0},    {2, 3, 3, 2, 3, 1, 0},
    {1, 4, 4, 9, 4, 1, 0},     {2, 7, 7, 10, 7, 1, 0},    {1, 8, 8, 17, 8, 1, 0},    {2, 13, 13, 12, 13, 1, 0},
    {2, 14, 14, 19, 14, 1, 0}, {1, 31, 31, 18, 31, 1, 0}, {1, 32, 32, 5, 32, 1, 0},  {1, 40, 40, 1, 40, 1, 0},
};

/* x has any numbers, many equal numbers, or NaN and infinity. */
enum { ANY, EQUAL, SPECIAL, POOL_VALUES };

static void pool_set(dg_op *op, int variation)
{
    op_fill(op, "x", 3, 0);
    double *x = op->u.pool.x;
    for (size_t i = 0, n = op_count(op, "x"); i < n; i++) {
        if (variation == EQUAL) x[i] = floor(x[i]) * 0.5 - 2;
        if (variation == SPECIAL && i % 7 == 0) x[i] = i % 2 ? NAN : INFINITY;
    }
}

static void pool_dx_set(dg_op *op, int variation)
{
    dg_op forward = {.kind = DG_OP_maxpool, .u.pool = op->u.pool};
    op_add_operands(&forward);
    pool_set(&forward, variation);
    dg_ref_run(&forward);
}

static void check_places(dg_backend *b)
{
    (void)b;
    dg_op op = {.kind = DG_OP_maxpool, .u.pool = {.N = 1, .H = 20, .W = 20, .C = 1, .K = 17, .S = 1}};
    DG_CHECK(dg_op_info_of(op.kind)->complete(&op)); /* a window has more positions than a byte can index */
}

static const op_row row_maxpool = {.variations = POOL_VALUES,
                                   OP_SHAPES(pool_shapes),
                                   .threads = {{3, 23, 21, 68, 5, 3, 1}, {3, 13, 11, 68, 5, 3, 1}},
                                   .set = pool_set,
                                   .gradient = {{{"x", "dx"}}, DG_OP_maxpool_dx, "dy", .variations = 1, .most = 300},
                                   .more = check_places};

static const op_row row_maxpool_dx = {.variations = POOL_VALUES,
                                      OP_SHAPES(pool_shapes),
                                      .threads = {{3, 23, 21, 68, 3, 2, 1}, {3, 13, 11, 68, 3, 2, 1}},
                                      .set = pool_dx_set,
                                      .within = {64, 64}};

static const op_row row_meanpool = {.variations = POOL_VALUES,
                                    OP_SHAPES(mean_shapes),
                                    .threads = {{3, 23, 21, 68, 3, 2, 1}, {3, 13, 11, 68, 3, 2, 1}},
                                    .set = pool_set,
                                    .within = {64, 64},
                                    .gradient = {{{"x", "dx"}}, DG_OP_meanpool_dx, "dy", .variations = 1, .most = 300}};

static const op_row row_meanpool_dx = {OP_SHAPES(mean_shapes),
                                       .threads = {{3, 23, 21, 68, 3, 2, 1}, {3, 13, 11, 68, 3, 2, 1}},
                                       .within = {64, 64}};
