#include "host/checkpoint/provenance.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/build_info.h"

static const char kernels_key[] = "kernels", since_key[] = "unchanged-since";

/* The name of a CPU backend has its number of threads, that of a GPU its number: neither changes results. */
static void name_device(const dg_backend *b, char *out, size_t size)
{
    const char *comma = strchr(b->name, ','), *last = strrchr(b->name, ',');
    if (!comma) snprintf(out, size, "%s", b->name);
    else if (b->threads) snprintf(out, size, "CPU%s", last);
    else snprintf(out, size, "%s", comma + 1 + strspn(comma + 1, " "));
}

void dg_provenance_here(const dg_backend *b, uint64_t kernels, dg_provenance *out)
{
    *out = (dg_provenance){.kernels = kernels};
    snprintf(out->version, sizeof out->version, "%s", dg_version);
    snprintf(out->compiler, sizeof out->compiler, "%.*s", (int)strcspn(dg_features, ";"), dg_features);
    name_device(b, out->device, sizeof out->device);
}

static dg_err number(const dg_st *st, const char *path, const char *key, uint64_t *out)
{
    const char *text = dg_st_get(st, key);
    char *end = NULL;
    *out = 0;
    if (!text) return DG_OK;
    errno = 0;
    if (*text >= '0' && *text <= '9') *out = strtoull(text, &end, 10);
    if (end && !*end && !errno) return DG_OK;
    return dg_fail(DG_IO, "%s: metadata %s = %s: must be a whole number", path, key, text);
}

dg_err dg_provenance_read(const dg_st *st, const char *path, dg_provenance *out)
{
    const char *version = dg_st_get(st, "version"), *compiler = dg_st_get(st, "compiler"),
               *device = dg_st_get(st, "device");
    memset(out, 0, sizeof *out);
    snprintf(out->version, sizeof out->version, "%s", version ? version : "");
    snprintf(out->compiler, sizeof out->compiler, "%s", compiler ? compiler : "");
    snprintf(out->device, sizeof out->device, "%s", device ? device : "");
    const dg_err e = number(st, path, kernels_key, &out->kernels);
    return e ? e : number(st, path, since_key, &out->since);
}

int dg_provenance_meta(const dg_provenance *p, char text[2][24], dg_st_meta *meta)
{
    int n = 0;
    if (!*p->device) return 0;
    snprintf(text[0], sizeof text[0], "%" PRIu64, p->kernels);
    snprintf(text[1], sizeof text[1], "%" PRIu64, p->since);
    meta[n++] = (dg_st_meta){"compiler", p->compiler};
    meta[n++] = (dg_st_meta){"device", p->device};
    if (p->kernels) meta[n++] = (dg_st_meta){kernels_key, text[0]};
    meta[n++] = (dg_st_meta){since_key, text[1]};
    return n;
}

const char *dg_provenance_differs(const dg_provenance *a, const dg_provenance *b, const char **x, const char **y)
{
    const struct {
        const char *name, *a, *b;
    } text[] = {{"version", a->version, b->version},
                {"compiler", a->compiler, b->compiler},
                {"device", a->device, b->device}};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        *x = text[i].a;
        *y = text[i].b;
        if (strcmp(*x, *y) != 0) return text[i].name;
    }
    *x = *y = "";
    return a->kernels != b->kernels ? kernels_key : NULL;
}
