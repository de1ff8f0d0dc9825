#include "host/cli/latents.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/files/made.h"
#include "host/judge/directions.h"

dg_err dg_latents_open(const dg_options *o, const dg_generator *g, int seeds, dg_latents *l)
{
    dg_err e = DG_OK;
    *l = (dg_latents){.o = o, .g = g, .count = seeds, .what = "seed", .first = o->seed_first};
    if (!o->z && !o->read_z) return DG_OK;
    l->what = "latent";
    l->first = 0;
    if (o->read_z) {
        e = dg_z_read(o->read_z, g->latent, &l->z, &l->count);
        return e || !g->model.classes || o->class_names
                   ? e
                   : dg_z_read_classes(o->read_z, l->count, g->model.classes, &l->class);
    }
    dg_z_sum sum;
    l->count = 1;
    l->z = malloc((size_t)g->latent * sizeof *l->z);
    if (!l->z) return dg_fail(DG_DEVICE, "out of memory for a latent");
    e = dg_z_parse(o->z, &sum);
    return e ? e : dg_z_evaluate(g, &sum, l->z);
}

void dg_latents_close(dg_latents *l)
{
    free(l->z);
    free(l->class);
}

void dg_latents_get(const dg_latents *l, int first, int n, float *z)
{
    const size_t each = (size_t)l->g->latent, values = (size_t)n * each;
    if (l->z) memcpy(z, l->z + (size_t)first * each, values * sizeof *z);
    else dg_generator_z(l->g, z, l->first + (uint64_t)first, n);
    for (size_t i = 0; i < values && !l->along; i++) z[i] *= (float)l->o->truncation;
}

void dg_latents_say(const dg_latents *l, int first, int n, char *out, size_t size)
{
    const uint64_t from = l->first + (uint64_t)first;
    if (l->o->z) dg_printable(out, size, l->o->z);
    else if (n == 1) snprintf(out, size, "%" PRIu64, from);
    else snprintf(out, size, "%" PRIu64 "-%" PRIu64, from, from + (uint64_t)n - 1);
}

dg_err dg_latents_write(const dg_latents *l, const int64_t *class, const char *path)
{
    enum { CHUNK = 64 };
    const size_t each = (size_t)l->g->latent;
    float *z = malloc((size_t)l->count * each * sizeof *z);
    if (!z) return dg_fail(DG_DEVICE, "--write-z %s: out of memory", path);
    for (int i = 0; i < l->count; i += CHUNK)
        dg_latents_get(l, i, l->count - i < CHUNK ? l->count - i : CHUNK, z + (size_t)i * each);
    char source[4096];
    const char *key = l->o->read_z ? "file" : l->o->z ? "z" : "seeds";
    if (l->z) dg_printable(source, sizeof source, l->o->read_z ? l->o->read_z : l->o->z);
    else snprintf(source, sizeof source, "%" PRIu64 "-%" PRIu64, l->first, l->first + (uint64_t)l->count - 1);
    const dg_err e = dg_z_write(path, z, class, l->count, l->g->latent, key, source);
    free(z);
    return e;
}

/* Set the component of z along the unit vector v to -REACH in pair[0], and to REACH in pair[1]. */
static void put_pair(float *pair, const float *z, const double *v, size_t n)
{
    enum { REACH = 3 };
    double along = 0;
    for (size_t i = 0; i < n; i++) along += (double)z[i] * v[i];
    for (size_t i = 0; i < n; i++) {
        pair[i] = (float)((double)z[i] - (along + REACH) * v[i]);
        pair[n + i] = (float)((double)z[i] - (along - REACH) * v[i]);
    }
}

dg_err dg_latents_along_directions(dg_latents *l, dg_generator *g)
{
    const dg_options *o = l->o;
    const size_t each = (size_t)g->latent;
    if (o->direction_last > each)
        return dg_fail(DG_USAGE, DG_MSG("no-such-direction", "--direction: the latents have only %zu directions"),
                       each);
    const int n = (int)(o->direction_last - o->direction_first + 1), pairs = l->count * n;
    double *v = malloc((size_t)n * each * sizeof *v);
    float *z = malloc((2 * (size_t)pairs + 1) * each * sizeof *z), *base = z ? z + 2 * (size_t)pairs * each : NULL;
    dg_err e = v && z ? dg_directions(g, (int)o->direction_first, n, v) : dg_fail(DG_DEVICE, "out of memory");
    for (int i = 0; i < pairs && !e; i++) {
        dg_latents_get(l, i / n, 1, base);
        put_pair(z + 2 * (size_t)i * each, base, v + (size_t)(i % n) * each, each);
    }
    free(v);
    free(e ? z : l->z);
    if (e) return e;
    l->z = z;
    l->count = 2 * pairs;
    l->along = true;
    return DG_OK;
}
