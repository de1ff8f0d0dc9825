#include "host/checkpoint/difference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double value(const dg_st_tensor *t, size_t i)
{
    if (t->type == DG_F64) return ((const double *)t->data)[i];
    return t->type == DG_I64 ? (double)((const int64_t *)t->data)[i] : (double)((const float *)t->data)[i];
}

static bool same_shape(const dg_st_tensor *a, const dg_st_tensor *b)
{
    return a->type == b->type && a->bytes == b->bytes && a->rank == b->rank &&
           !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

static void describe(const dg_st_tensor *a, const dg_st_tensor *b, dg_difference *out)
{
    const size_t each = dg_type_bytes(a->type);
    snprintf(out->name, sizeof out->name, "%s", a->name);
    if (!b || !same_shape(a, b)) return;
    out->of = a->bytes / each;
    for (size_t i = 0; i < out->of; i++) {
        if (!memcmp((const char *)a->data + i * each, (const char *)b->data + i * each, each)) continue;
        const double d = fabs(value(a, i) - value(b, i));
        out->values++;
        if (!(d <= out->largest)) out->largest = isnan(d) ? INFINITY : d;
    }
}

static bool is_checksum(const char *key) { return !strncmp(key, DG_ST_CRC, sizeof DG_ST_CRC - 1); }

/* Find the first metadata of a that b lacks or has with another value. */
static void compare_metadata(const dg_st *a, const dg_st *b, dg_difference *out)
{
    for (int i = 0; i < dg_st_meta_count(a) && !*out->key; i++) {
        const dg_st_meta m = dg_st_meta_at(a, i);
        const char *other = dg_st_get(b, m.key);
        if (!is_checksum(m.key) && (!other || strcmp(other, m.value) != 0))
            snprintf(out->key, sizeof out->key, "%s", m.key);
    }
}

void dg_checkpoint_difference(const dg_st *a, const dg_st *b, dg_difference *out)
{
    *out = (dg_difference){.tensors = dg_st_count(a)};
    for (int i = 0; i < dg_st_count(a); i++) {
        const dg_st_tensor *t = dg_st_at(a, i), *other = dg_st_find(b, t->name);
        if (other && same_shape(t, other) && !memcmp(t->data, other->data, t->bytes)) continue;
        if (!out->others++) describe(t, other, out);
    }
    for (int i = 0; i < dg_st_count(b); i++)
        if (!dg_st_find(a, dg_st_at(b, i)->name) && !out->others++) describe(dg_st_at(b, i), NULL, out);
    compare_metadata(a, b, out);
    compare_metadata(b, a, out);
}
