#include "host/run/best.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/files/safetensors.h"

static const char name[] = "best.safetensors";

/* A number of its metadata; false: there is no such file, or no such number. */
static bool number(const dg_rundir *r, const char *key, uint64_t *out)
{
    char path[4096];
    dg_st *st = NULL;
    if (!dg_rundir_has(r, "%s", name)) return false;
    const dg_err e = dg_st_open(dg_rundir_file(r, path, "%s", name), DG_ST_CHECKED, &st);
    const char *text = e ? NULL : dg_st_get(st, key);
    if (text) *out = strtoull(text, NULL, 10);
    dg_st_free(st);
    return text != NULL;
}

uint64_t dg_best_step(const dg_rundir *r)
{
    uint64_t step = 0;
    return number(r, "step", &step) ? step : 0;
}

void dg_best_go_back(const dg_rundir *r, uint64_t epoch, const char *moved)
{
    uint64_t of = 0;
    char to[128];
    if (!dg_rundir_has(r, "%s", name) || (number(r, "epoch", &of) && of <= epoch)) return;
    snprintf(to, sizeof to, "%.64s/%s", moved, name);
    if (renameat(r->fd, name, r->fd, to))
        dg_warn("%s/%s: cannot be moved to %s: %s", r->path, name, to, strerror(errno));
}
