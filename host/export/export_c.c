#include "host/export/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/build_info.h"
#include "core/base/memory_file.h"

extern const char *const dg_generator_c_in[]; /* generator.c.in (scripts/build/embed-text) */

#define X(NAME, ...) #NAME,
static const char *const kinds[] = {DG_STEPS(X)}, *const types[] = {DG_WEIGHT_TYPES(X)},
                         *const acts[DG_ACT_KINDS] = {DG_ACTS(X)};
#undef X

/* Characters that could end a comment, or begin another one or a trigraph, become '_'. */
static void put_comment(FILE *to, const char *text)
{
    for (; *text; text++) fputc(*text < ' ' || *text > '~' || strchr("*?/", *text) ? '_' : *text, to);
}

static void put_string(FILE *to, const char *text, size_t n)
{
    fputc('"', to);
    for (const char *end = text + n; text < end; text++)
        if (*text < ' ' || *text > '~' || strchr("\\\"?", *text)) fprintf(to, "\\%03o", (unsigned char)*text);
        else fputc(*text, to);
    fputc('"', to);
}

static void put_head(FILE *to, const dg_exported *x)
{
    fputs("/* A generator, written by ", to);
    put_comment(to, dg_version);
    fputs(".\n * ", to);
    put_comment(to, x->g->origin);
    fputs("\n *\n"
          " * As a program:  cc -O2 FILE.c -lm -o generator && ./generator 7 > seed-7.ppm\n"
          " * In a program:  compile with -DDCGAN_NO_MAIN and copy the five declarations below. */\n",
          to);
}

static void put_classes(FILE *to, const dg_generator *g)
{
    const int classes = g->model.classes, *images = g->job.class_images;
    const char *name = g->info.classes;
    fputs("static const int class_images[] = {", to);
    for (int c = 0; c < classes; c++) fprintf(to, "%s%d", c ? ", " : "", images ? images[c] : 1);
    fprintf(to, "%s};\n#ifndef DCGAN_NO_MAIN\nstatic const char *const class_names[] = {", classes ? "" : "0");
    for (int c = 0; c < classes; c++) {
        char number[12];
        snprintf(number, sizeof number, "%d", c);
        fputs(c ? ", " : "", to);
        if (name) put_string(to, name, strcspn(name, "\n"));
        else put_string(to, number, strlen(number));
        if (name) name += strcspn(name, "\n");
        if (name && *name) name++;
    }
    fprintf(to, "%s};\n#endif\n", classes ? "" : "\"\"");
}

static void put_layers(FILE *to, const dg_steps *steps)
{
    fputs("static const layer network[LAYERS] = {\n", to);
    for (int i = 0; i < steps->steps; i++) {
        const dg_step *s = &steps->step[i];
        const dg_layer *l = s->l;
        fprintf(to, "    {%s, %d, %d, {%d, %d, %d}, {%d, %d, %d}, {%d, %d}, %d, %d, %d, %s, %.17g, %d, %d}, /* %s */\n",
                kinds[s->kind], l->input, l->add, l->in.H, l->in.W, l->in.C, l->out.H, l->out.W, l->out.C, s->kernel.H,
                s->kernel.W, s->stride, s->pad, s->groups, acts[l->act], l->slope, s->w != NULL, s->bias != NULL,
                l->name);
    }
    fputs("};\n", to);
}

/* C99 guarantees string literals of 4,095 characters. */
static void put_weights(FILE *to, const dg_exported *x)
{
    enum { ROW = 3000 };
    fputs("static const char *const stored[] = {\n", to);
    for (size_t i = 0; i < x->bytes || i == 0; i += ROW) {
        fputs("    \"", to);
        dg_base64(to, x->weights + i, x->bytes - i < ROW ? x->bytes - i : ROW);
        fputs("\",\n", to);
    }
    fputs("};\n", to);
}

static void put_network(FILE *to, const dg_exported *x)
{
    const dg_generator *g = x->g;
    const dg_model *m = &g->model;
    fprintf(to, "enum { WIDTH = %d, HEIGHT = %d, CHANNELS = %d };\n", m->size.W, m->size.H, m->channels);
    fprintf(to, "enum { LATENT = %d, CLASSES = %d, INPUTS = LATENT + CLASSES };\n", g->latent, m->classes);
    fprintf(to, "enum { LAYERS = %d };\n#define WEIGHTS %s\n", x->steps->steps, types[x->type]);
    fprintf(to, "#define SEED_HIGH %" PRIu32 "u /* the seed of the training run */\n#define SEED_LOW %" PRIu32 "u\n",
            (uint32_t)(g->info.seed >> 32), (uint32_t)g->info.seed);
    put_classes(to, g);
    put_layers(to, x->steps);
    put_weights(to, x);
}

dg_err dg_export_c(const dg_exported *x, const char *path)
{
    dg_memory_file m;
    FILE *to = dg_memory_open(&m);
    if (!to) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    put_head(to, x);
    for (const char *const *line = dg_generator_c_in; *line; line++)
        if (strcmp(*line, "@NETWORK@\n") != 0) fputs(*line, to);
        else put_network(to, x);
    dg_err e = DG_OK;
    if (!dg_memory_close(to, &m)) e = dg_fail(DG_DEVICE, "%s: out of memory", path);
    if (!e) e = dg_write_atomic(path, &(dg_chunk){m.text, m.bytes}, 1);
    free(m.text);
    return e;
}
