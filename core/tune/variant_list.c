/* Lists all variants and launch parameters that can run an op, by calling dg_variant_check() for each combination. */
#include "core/tune/tune.h"

#include <stdbool.h>

typedef struct {
    const dg_op *op;
    dg_type real;
    const dg_gpu *gpu;
    dg_tune *out;
    int room, count;
} list;

static bool same(const dg_tune *a, const dg_tune *b)
{
    return a->variant == b->variant && a->block == b->block && a->tile_m == b->tile_m && a->tile_n == b->tile_n &&
           a->stages == b->stages && (a->split > 1 ? a->split : 1) == (b->split > 1 ? b->split : 1);
}

static bool offer(list *l, dg_tune t)
{
    t.why = "tried";
    if (dg_variant_check(l->op, &t, l->real, l->gpu)) return false;
    for (int i = 0; i < l->count; i++)
        if (same(&l->out[i], &t)) return true;
    if (l->count < l->room) l->out[l->count++] = t;
    return true;
}

static void offer_launches(list *l, dg_tune t)
{
    static const int blocks[] = {64, 128, 256, 512, 1024};
    for (t.split = 0; t.split <= 1024; t.split = t.split ? 2 * t.split : 1) {
        t.block = 0;
        if (!offer(l, t)) continue;
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
            t.block = blocks[i];
            (void)offer(l, t);
        }
    }
}

int dg_variant_list(const dg_op *op, dg_tune *out, int room, dg_type real, const dg_gpu *gpu)
{
    static const int sides[] = {16, 32, 64, 128, 256};
    enum { SIDES = sizeof sides / sizeof *sides, MOST_STAGES = 8 };
    list l = {op, real, gpu, out, room, 0};
    for (const dg_variant *const *v = dg_op_info_of(op->kind)->variants; *v; v++)
        for (int tile = 0; tile <= SIDES * SIDES; tile++)
            for (int stages = 0; stages <= MOST_STAGES; stages++) {
                dg_tune t = {.variant = *v, .stages = stages};
                if (tile) {
                    t.tile_m = sides[(tile - 1) / SIDES];
                    t.tile_n = sides[(tile - 1) % SIDES];
                }
                const dg_tune bare = t;
                if (!dg_variant_check(op, &t, real, gpu)) offer_launches(&l, bare);
            }
    return l.count;
}
