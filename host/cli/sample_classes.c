#include "host/cli/sample_classes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/checkpoint/checkpoint_layout.h"
#include "host/options/option_table.h"

enum { NEAR = 40 };

static dg_err no_memory(void) { return dg_fail(DG_DEVICE, "out of memory for class names"); }

/* A generator from PyTorch has no class names, so the classes are named 0, 1, 2 ... */
static dg_err read_names(dg_sample_classes *c)
{
    const dg_generator *g = c->g;
    const int classes = c->classes;
    c->name = calloc((size_t)classes, sizeof *c->name);
    char *at = c->text = g->info.classes ? strdup(g->info.classes) : dg_ck_numbered_names(classes);
    if (!c->name || !at) return no_memory();
    for (int i = 0; i < classes; i++) {
        c->name[i] = at;
        at += strcspn(at, "\n");
        if (*at) *at++ = 0;
    }
    return DG_OK;
}

static int find(const dg_sample_classes *c, const char *name, size_t n)
{
    const int classes = c->classes;
    for (int i = 0; i < classes; i++)
        if (!strncmp(c->name[i], name, n) && !c->name[i][n]) return i;
    char *end;
    const long number = strtol(name, &end, 10);
    return n && strspn(name, "0123456789") >= n && n < 7 && end == name + n && number < classes ? (int)number : -1;
}

static dg_err unknown(const dg_sample_classes *c, const char *name, size_t n)
{
    char typed[80], nearer[160] = "";
    const char *best = NULL;
    int nearest = NEAR;
    snprintf(typed, sizeof typed, "%.*s", (int)n, name);
    const int classes = c->classes;
    for (int i = 0; i < classes && n < NEAR; i++)
        if (strlen(c->name[i]) < NEAR) dg_name_nearer(c->name[i], typed, &best, &nearest);
    if (best) snprintf(nearer, sizeof nearer, "; did you mean %s?", best);
    return dg_fail(DG_USAGE,
                   DG_MSG("unknown-class", "--class %s: unknown; the %d classes are %s to %s, numbered from 0%s"),
                   typed, classes, c->name[0], c->name[classes - 1], nearer);
}

static dg_err choose(dg_sample_classes *c, const char *text)
{
    if (!strcmp(text, "all") && find(c, text, 3) < 0) return DG_OK;
    c->list = malloc((strlen(text) + 1) * sizeof *c->list);
    if (!c->list) return no_memory();
    const size_t whole = strlen(text); /* a class name may have commas */
    if (find(c, text, whole) >= 0) {
        c->list[c->n++] = find(c, text, whole);
        return DG_OK;
    }
    for (const char *at = text;; at++) {
        const size_t n = strcspn(at, ",");
        c->list[c->n] = find(c, at, n);
        if (c->list[c->n++] < 0) return unknown(c, at, n);
        at += n;
        if (!*at) return DG_OK;
    }
}

dg_err dg_sample_classes_open(const dg_options *o, const dg_generator *g, dg_sample_classes *out)
{
    *out = (dg_sample_classes){.g = g, .classes = g->model.classes};
    if (!out->classes && (o->class_names || o->by_class))
        return dg_fail(DG_USAGE,
                       DG_MSG("no-class-generator", "--%s: the generator of %s has no classes, because it was trained "
                                                    "without --conditional"),
                       o->class_names ? "class" : "by-class", o->operand[0]);
    if (!out->classes) return DG_OK;
    const dg_err e = read_names(out);
    return e || !o->class_names ? e : choose(out, o->class_names);
}

void dg_sample_classes_close(dg_sample_classes *c)
{
    free(c->name);
    free(c->text);
    free(c->list);
    if (c->g) dg_class_folders_free(c->folder, c->g->model.classes);
}

int dg_sample_class(const dg_sample_classes *c, int i, uint64_t image)
{
    if (!c->classes) return -1;
    return c->n ? c->list[i % c->n] : dg_job_class_of(&c->g->job, image);
}

dg_err dg_sample_classes_all(dg_sample_classes *c, const char *to)
{
    const int classes = c->classes;
    const dg_err e = dg_class_folders((const char *const *)c->name, classes, to, &c->folder);
    if (e || c->n) return e;
    free(c->list);
    c->list = malloc((size_t)classes * sizeof *c->list);
    if (!c->list) return no_memory();
    for (; c->n < classes; c->n++) c->list[c->n] = c->n;
    return DG_OK;
}
