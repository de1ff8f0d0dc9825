/* Test cases for the ops of class-conditional GANs. */
#include "op_rows.h"

static void draw_labels(const int32_t *label, int count, int classes)
{
    int32_t *to = (int32_t *)(uintptr_t)label;
    for (int i = 0; i < count; i++) to[i] = (i * 7 + i / classes) % classes;
}

/* N, width, latent */
static op_shape onehot_shapes[] = {{1, 3, 1}, {3, 5, 3}, {7, 110, 100}, {130, 67, 1}, {5, 1101, 101}};

static void onehot_set(dg_op *op, int variation)
{
    (void)variation;
    const dg_onehot_args *a = &op->u.onehot;
    draw_labels(a->label, a->N, a->width - a->latent);
}

static const op_row row_onehot = {OP_SHAPES(onehot_shapes), .threads = {{300, 301, 100}, {30, 131, 100}},
                                  .set = onehot_set};

/* N, width, labels */
static op_shape pick_shapes[] = {{1, 3, 1}, {6, 3, 3}, {14, 11, 7}, {130, 11, 65}, {64, 1001, 64}, {258, 34, 129}};

/* Variation 1 fades the classes in, and variation 2 has no state. */
static void pick_set(dg_op *op, int variation)
{
    const dg_pick_args *a = &op->u.pick;
    draw_labels(a->label, a->labels, a->width - 1);
    op_state.classes = variation == 1 ? 0.3 : 1;
    if (variation == 2) op_point(op, "state", NULL);
}

static op_bound pick_bound(const dg_op *want, const char *result, double eps)
{
    (void)result;
    return (op_bound){eps, 2 * eps * op_largest(want, "x")};
}

static const op_row row_pick = {.variations = 3,
                                OP_SHAPES(pick_shapes),
                                .threads = {{600, 101, 300}, {64, 101, 32}},
                                .set = pick_set,
                                .bound = pick_bound,
                                .gradient = {.of = {{"x", "dx"}}, .kind = DG_OP_pick_dx, .weights = "dy", .most = 300}};

static const op_row row_pick_dx = {.variations = 3,
                                   OP_SHAPES(pick_shapes),
                                   .threads = {{600, 101, 300}, {64, 101, 32}},
                                   .set = pick_set,
                                   .within = {2, 0}};
