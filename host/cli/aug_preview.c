/* `dcgan data --aug-preview`: shows the discriminator's augmented input for a few images. */
#include <stdlib.h>
#include <string.h>

#include "core/base/build_info.h"
#include "host/cli/commands.h"
#include "host/figure/images.h"
#include "host/whiten/products.h"

enum { IMAGES = 8, STEPS = 7 };

typedef struct {
    dg_own_plan own;
    int x, pixels, state;
} augmenter;

static int kept(augmenter *a, const char *name, dg_type type, dg_shape shape)
{
    const int row = dg_arena_row(&a->own.arena, name, DG_WORK, 0, type, shape);
    a->own.arena.row[row].keep = true;
    return row;
}

static dg_err open_augmenter(augmenter *a, int N, dg_size size, int channels, int what)
{
    const dg_shape s = dg_size_shape(N, size, channels);
    const dg_err e = dg_own_begin(&a->own, "augment", NULL, 0, DG_F32);
    if (e) return e;
    a->x = kept(a, "x", DG_F32, s);
    a->pixels = kept(a, "pixels", DG_U8, s);
    a->state = kept(a, "state", DG_U8, (dg_shape){1, 1, 1, (int)sizeof(dg_step_state)});
    const int seen = kept(a, "seen", DG_F32, s);
    dg_op *op = dg_plan_add(&a->own.plan, DG_OP_augment, "augment");
    op->u.augment = (dg_augment_args){.N = N, .H = size.H, .W = size.W, .C = channels, .what = what};
    dg_plan_operand(op, "y", seen, 0);
    dg_plan_operand(op, "x", a->x, 0);
    dg_plan_operand(op, "state", a->state, 0);
    op = dg_plan_add(&a->own.plan, DG_OP_to_u8, "to_u8");
    op->u.to_u8 = (dg_to_u8_args){.n = (int64_t)dg_count(s)};
    dg_plan_operand(op, "out", a->pixels, 0);
    dg_plan_operand(op, "x", seen, 0);
    return dg_own_ready(&a->own);
}

static dg_err fill(augmenter *a, const uint8_t *pixels, size_t bytes, uint64_t seed, uint8_t *out)
{
    float *x = malloc(bytes * sizeof *x);
    if (!x) return dg_fail(DG_DEVICE, "out of memory for a preview");
    for (size_t i = 0; i < bytes; i++) x[i] = (float)pixels[i] / 127.5f - 1;
    memcpy(out, pixels, bytes);
    dg_err e = dg_own_put(&a->own, a->x, x, bytes * sizeof *x);
    for (int s = 0; s < STEPS && !e; s++) {
        const dg_step_state state = {.seed = seed, .step = (uint64_t)s, .augment = 1};
        e = dg_own_put(&a->own, a->state, &state, sizeof state);
        if (!e) e = a->own.b->run(a->own.b, &a->own.plan);
        if (!e) e = dg_own_get(&a->own, out + (size_t)(s + 1) * bytes, a->pixels, bytes);
    }
    free(x);
    return e;
}

static dg_err draw(const dg_options *o, const dg_dataset *d)
{
    const int n = d->count < IMAGES ? d->count : IMAGES;
    const size_t bytes = (size_t)n * dg_size_values(d->size, d->channels);
    augmenter a = {.x = 0};
    dg_image sheet = {0};
    uint8_t *all = malloc((STEPS + 1) * bytes);
    dg_err e = all ? open_augmenter(&a, n, d->size, d->channels, o->job.augment)
                   : dg_fail(DG_DEVICE, "out of memory for a preview");
    if (!e) e = fill(&a, d->pixels, bytes, o->seed, all);
    if (!e) e = dg_sheet(all, (STEPS + 1) * n, d->size, d->channels, STEPS + 1, n, &sheet);
    if (!e) e = dg_enlarge(&sheet, dg_scale_of(0, sheet.W, sheet.H));
    if (!e) e = dg_png_write(o->aug_preview, &sheet, &(dg_text){"Software", dg_version}, 1);
    dg_image_free(&sheet);
    dg_own_close(&a.own);
    free(all);
    return e;
}

dg_err dg_aug_preview(const dg_options *o, const dg_dataset_options *images)
{
    dg_dataset d;
    dg_dataset_options some = *images;
    if (!some.limit || some.limit > IMAGES) some.limit = IMAGES;
    some.progress = NULL;
    some.cache = NULL;
    some.may_stay = false;
    some.least = 1;
    some.labelled = false;
    some.test = NULL;
    dg_err e = dg_dataset_load(&some, &d);
    if (e) return e;
    e = draw(o, &d);
    dg_dataset_free(&d);
    return e;
}
