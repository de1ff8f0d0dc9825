#include "host/data/looks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/data/dataset_internal.h"
#include "host/data/sides.h"

static int by_hash(const void *a, const void *b)
{
    const dg_twin *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_group(const void *a, const void *b)
{
    const dg_twin *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_value(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void find_twins(const dg_dataset *d, dg_looks *l)
{
    for (int i = 0; i < d->count; i++) l->twin[i] = (dg_twin){d->hash[i], i, i};
    qsort(l->twin, (size_t)d->count, sizeof *l->twin, by_hash);
    for (int i = 1; i < d->count; i++)
        if (l->twin[i].hash == l->twin[i - 1].hash) l->twin[i].group = l->twin[i - 1].group;
    qsort(l->twin, (size_t)d->count, sizeof *l->twin, by_group);
    for (int i = 1; i < d->count; i++) {
        if (l->twin[i].group != l->twin[i - 1].group) continue;
        l->copies++;
        l->groups += l->twin[i - 1].index == l->twin[i].group;
    }
}

dg_err dg_looks_at(const dg_dataset *d, dg_looks *out)
{
    const size_t n = d->count ? (size_t)d->count : 1;
    *out = (dg_looks){.twin = calloc(n, sizeof *out->twin)};
    int *side = malloc(n * sizeof *side);
    if (!out->twin || !side) {
        free(side);
        dg_looks_free(out);
        return dg_fail(DG_DEVICE, "no memory to check %d images", d->count);
    }
    for (int i = 0; i < d->count; i++) {
        const int shorter = d->width[i] < d->height[i] ? d->width[i] : d->height[i];
        out->grey += d->channels != 3 || d->did[i] & DG_GREY;
        for (int k = 0; k < DG_DIDS; k++) out->did[k] += d->did[i] >> k & 1;
        if (d->width[i] < d->size.W || d->height[i] < d->size.H) side[out->small++] = shorter;
    }
    qsort(side, (size_t)out->small, sizeof *side, by_value);
    if (out->small) out->side = side[out->small / 2];
    free(side);
    if (d->count) find_twins(d, out);
    return DG_OK;
}

void dg_looks_free(dg_looks *l)
{
    free(l->twin);
    *l = (dg_looks){0};
}

static const char *const alpha_way[] = {
    [DG_ALPHA_DROP] = "ignored ({alpha} white composites the images over white)",
    [DG_ALPHA_WHITE] =
        "composited over white ({channels} 4 keeps transparency; {alpha} black and drop are alternatives)",
    [DG_ALPHA_BLACK] = "composited over black ({channels} 4 keeps transparency)"};

int dg_looks_advice(const dg_looks *l, const dg_dataset *d, const dg_dataset_options *o,
                    char out[DG_ADVICE][DG_ADVICE_BYTES])
{
    int n = 0;
    char size[64];
    const bool other = dg_model_side(l->side) && dg_is_square(d->size) && !o->fixed_shape;
    snprintf(size, sizeof size, "; {size} %d matches these images", dg_model_side(l->side));
    if (d->count && d->channels == 3 && l->grey == d->count && !o->fixed_shape)
        snprintf(out[n++], DG_ADVICE_BYTES,
                 DG_MSG("advice-grey", "all images are grey: {channels} 1 gives a smaller network"));
    if (l->did[DG_DID_ALPHA])
        snprintf(out[n++], DG_ADVICE_BYTES, "%d of %d images %s transparency, which is %s", l->did[DG_DID_ALPHA],
                 d->count, l->did[DG_DID_ALPHA] == 1 ? "has" : "have",
                 d->channels == 4 ? "learned" : alpha_way[o->decode.alpha]);
    if (l->did[DG_DID_HALVE])
        snprintf(out[n++], DG_ADVICE_BYTES,
                 DG_MSG("advice-16-bits", "%d of %d images %s 16 bits per channel, of which only the upper 8 are used; "
                                          "stretch dark images to the full range first"),
                 l->did[DG_DID_HALVE], d->count, l->did[DG_DID_HALVE] == 1 ? "has" : "have");
    if (2 * l->small > d->count)
        snprintf(out[n++], DG_ADVICE_BYTES,
                 DG_MSG("advice-small", "most images (%d of %d) are smaller than %d x %d (median shorter side: %d "
                                        "pixels) and are enlarged%s%s"),
                 l->small, d->count, d->size.W, d->size.H, l->side,
                 o->resize == DG_RESIZE_NEAREST ? "" : "; for pixel art, {resize} nearest keeps the edges",
                 other ? size : "");
    if (l->copies)
        snprintf(out[n++], DG_ADVICE_BYTES,
                 DG_MSG("advice-copies", "%d image%s (identical pixels); training shows them more often"), l->copies,
                 l->copies == 1 ? " is a duplicate" : "s are duplicates");
    return n;
}
