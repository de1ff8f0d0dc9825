#include "host/export/export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/build_info.h"
#include "host/files/made.h"
#include "host/judge/directions.h"
#include "host/report/html.h"

enum { DIRECTIONS = 8 };

/* generator.js, browser.html.in, browser.css and browser.js (scripts/build/embed-text) */
extern const char *const dg_generator_js[], *const dg_browser_html_in[], *const dg_browser_css[],
                                                                             *const dg_browser_js[];

#define X(NAME, word) word,
static const char *const kinds[] = {DG_STEPS(X)}, *const types[] = {DG_WEIGHT_TYPES(X)};
#undef X

typedef struct {
    const dg_exported *x;
    int directions;
    double *direction; /* (directions, latent) */
} page;

static void put_lines(FILE *to, const char *const *line)
{
    while (*line) fputs(*line++, to);
}

/* JSON text inside of a script element. Unprintable bytes become \xNN. */
static void put_text(FILE *to, const char *text, size_t n)
{
    fputc('"', to);
    for (const char *end = text + n; text < end;) {
        const int bytes = dg_printable_bytes(text);
        if (!bytes) fprintf(to, "\\\\x%02x", (unsigned char)*text);
        else if (strchr("\"\\<&", *text)) fprintf(to, "\\u%04x", (unsigned char)*text);
        else (void)fwrite(text, 1, (size_t)bytes, to);
        text += bytes ? bytes : 1;
    }
    fputc('"', to);
}

static void put_entry(FILE *to, const char *key, const char *value)
{
    fprintf(to, "\"%s\":", key);
    put_text(to, value, strlen(value));
}

static void put_about(FILE *to, const dg_exported *x)
{
    char text[400], error[160];
    snprintf(error, sizeof error, " (samples differ from those of fp32 by %.2g grey levels on average, %.0f at most)",
             x->error.mean, x->error.most);
    snprintf(text, sizeof text, "Samples of a generator at step %ju, with weights in %s%s. Made by %s; works offline.",
             (uintmax_t)x->g->info.step, types[x->type], x->error.samples ? error : "", dg_version);
    put_entry(to, "about", text);
}

/* The texts of a saved PNG, as `dcgan generate` writes them. The page replaces null by the name of the sample. */
static void put_texts(FILE *to, const dg_exported *x)
{
    char checkpoint[4096], seed[24], step[24];
    dg_printable(checkpoint, sizeof checkpoint, x->checkpoint);
    snprintf(seed, sizeof seed, "%ju", (uintmax_t)x->g->info.seed);
    snprintf(step, sizeof step, "%ju", (uintmax_t)x->g->info.step);
    const char *const text[][2] = {{"Software", dg_version},
                                   {DG_ORIGIN, x->g->origin},
                                   {"Picture", NULL},
                                   {"Model", x->g->model.name},
                                   {"Step", step},
                                   {"Seed", seed},
                                   {"Checkpoint", checkpoint}};
    fputs(",\"texts\":{", to);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        fputs(i ? "," : "", to);
        if (text[i][1]) put_entry(to, text[i][0], text[i][1]);
        else fprintf(to, "\"%s\":null", text[i][0]);
    }
    fputc('}', to);
}

static void put_classes(FILE *to, const dg_generator *g)
{
    const int *images = g->job.class_images;
    const char *name = g->info.classes;
    fputs(",\"classes\":[", to);
    for (int c = 0; c < g->model.classes; c++) {
        const size_t n = name ? strcspn(name, "\n") : 0;
        fputs(c ? "," : "", to);
        if (name) put_text(to, name, n);
        else fprintf(to, "\"%d\"", c);
        if (name) name += n + (name[n] != 0);
    }
    fputs("],\"classImages\":[", to);
    for (int c = 0; c < g->model.classes; c++) fprintf(to, "%s%d", c ? "," : "", images ? images[c] : 1);
    fputc(']', to);
}

static void put_layers(FILE *to, const dg_steps *steps)
{
    fputs(",\"layers\":[", to);
    for (int i = 0; i < steps->steps; i++) {
        const dg_step *s = &steps->step[i];
        const dg_layer *l = s->l;
        fprintf(to,
                "%s\n{\"op\":\"%s\",\"input\":%d,\"add\":%d,\"in\":[%d,%d,%d],\"out\":[%d,%d,%d],\"kernel\":[%d,%d],"
                "\"stride\":%d,\"pad\":%d,\"groups\":%d,\"act\":\"%s\",\"slope\":%.17g,\"weights\":%s,\"biases\":%s}",
                i ? "," : "", kinds[s->kind], l->input, l->add, l->in.H, l->in.W, l->in.C, l->out.H, l->out.W, l->out.C,
                s->kernel.H, s->kernel.W, s->stride, s->pad, s->groups, dg_acts[l->act].word, l->slope,
                s->w ? "true" : "false", s->bias ? "true" : "false");
    }
    fputc(']', to);
}

static void put_network(FILE *to, const page *p)
{
    const dg_exported *x = p->x;
    const dg_generator *g = x->g;
    const int latent = g->latent;
    fputs("<script id=\"network\" type=\"application/json\">\n{", to);
    put_entry(to, "name", g->model.name);
    fputc(',', to);
    put_about(to, x);
    fprintf(to, ",\"width\":%d,\"height\":%d,\"channels\":%d,\"latent\":%d,\"seed\":[%u,%u],\"weights\":\"%s\"",
            g->model.size.W, g->model.size.H, g->model.channels, latent, (unsigned)g->info.seed,
            (unsigned)(g->info.seed >> 32), types[x->type]);
    put_classes(to, g);
    put_layers(to, x->steps);
    fputs(",\"directions\":[", to);
    for (int i = 0; i < p->directions * latent; i++)
        fprintf(to, "%s%.8g%s",
                i % latent ? ","
                : i        ? ",\n["
                           : "\n[",
                p->direction[i], i % latent == latent - 1 ? "]" : "");
    fputc(']', to);
    put_texts(to, x);
    fputs("}\n</script>\n<script id=\"weights\" type=\"text/plain\">", to);
    dg_base64(to, x->weights, x->bytes);
    fputs("</script>\n", to);
}

static dg_err write_page(FILE *to, const void *context)
{
    const page *p = context;
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"dcgan-generator\" content=\"",
          to);
    dg_html_text(to, dg_version);
    fputs("\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src blob: data:; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline' blob:; worker-src blob:\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>",
          to);
    dg_html_text(to, p->x->g->model.name);
    fputs("</title>\n<style>\n", to);
    put_lines(to, dg_browser_css);
    fputs("</style>\n</head>\n", to);
    put_lines(to, dg_browser_html_in);
    put_network(to, p);
    fputs("<script id=\"generator\" type=\"text/plain\">\n", to);
    put_lines(to, dg_generator_js);
    fputs("</script>\n<script>\n", to);
    put_lines(to, dg_browser_js);
    fputs("</script>\n</body>\n</html>\n", to);
    return DG_OK;
}

/* A generator whose first layer has no matrix of weights has no directions. */
static dg_err find_directions(page *p)
{
    dg_generator *g = p->x->g;
    const dg_step *first = p->x->steps->step;
    if (!first->w || first->groups > 1) return DG_OK;
    const int n = g->latent < DIRECTIONS ? g->latent : DIRECTIONS;
    p->direction = malloc((size_t)n * (size_t)g->latent * sizeof *p->direction);
    if (!p->direction) return dg_fail(DG_DEVICE, "out of memory for %d directions", n);
    const dg_err e = dg_directions(g, 1, n, p->direction);
    if (!e) p->directions = n;
    return e;
}

dg_err dg_export_html(const dg_exported *x, const char *path)
{
    page p = {.x = x};
    dg_err e = find_directions(&p);
    if (!e) e = dg_html_page(NULL, path, write_page, &p);
    free(p.direction);
    return e;
}
