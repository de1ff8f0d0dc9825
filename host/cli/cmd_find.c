/* `dcgan find`: finds the latents of images, and compares training images with held-out images. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "host/cli/commands.h"
#include "host/cli/image_list.h"
#include "host/cli/outputs.h"
#include "host/cli/sample_png.h"
#include "host/figure/images.h"
#include "host/files/json.h"
#include "host/files/made.h"
#include "host/infer/find.h"
#include "host/infer/latents.h"
#include "host/judge/tail.h"
#include "host/trainer/progress.h"

enum { STEPS = 500, COMPARED = 200, GRID_MOST = 256, GRID_COLUMNS = 16, PATH_SIZE = 4400 };
static const double learning_rate = 0.2, significant = 0.025;

typedef struct {
    dg_options o;
    dg_generator *g;
    dg_find *find;
    dg_image_list images;
    int held_out; /* number of held-out images, which are the last ones */
    char dir[4096];
    float *z;       /* (count, inputs), then (count, latent) */
    int64_t *class; /* (count) for a conditional generator, or NULL */
    uint8_t *found; /* (count, height, width, channels) */
    double *error;  /* (count) */
    dg_progress *progress;
} job;

/* Refuse images of another size, because resizing changes their details. */
static dg_err check_size(const job *j, const dg_listed *of)
{
    const dg_size S = j->g->model.size;
    char path[4096];
    if (dg_same_size((dg_size){of->width, of->height}, S) || dg_option_given(&j->o, "fit")) return DG_OK;
    return dg_fail(DG_DATA,
                   DG_MSG("find-size",
                          "%s: has %d x %d pixels, but the generator makes images of %d x %d; resize the image, "
                          "or add --fit crop"),
                   dg_printable(path, sizeof path, of->path), of->width, of->height, S.W, S.H);
}

static void exchange(dg_image_list *l, int a, int b)
{
    const dg_listed of = l->of[a];
    l->of[a] = l->of[b];
    l->of[b] = of;
    for (size_t i = 0; i < l->image && a != b; i++) {
        uint8_t *x = l->pixels + (size_t)a * l->image + i, *y = l->pixels + (size_t)b * l->image + i;
        const uint8_t pixel = *x;
        *x = *y;
        *y = pixel;
    }
}

/* Keep `count` images of those from index `first` on, chosen by --seed, in their order. */
static dg_err choose(job *j, int first, int count)
{
    dg_image_list *l = &j->images;
    const int all = l->count - first;
    if (!count || count >= all) return DG_OK;
    int32_t *order = calloc((size_t)all + 1, sizeof *order);
    bool *chosen = calloc((size_t)all + 1, sizeof *chosen);
    if (order && chosen) dg_permutation_of(order, all, j->o.seed, dg_subsequence(DG_STREAM_JUDGE, 0));
    for (int i = 0; i < count && order && chosen; i++) chosen[order[i]] = true;
    for (int i = 0, kept = first; i < all && order && chosen; i++)
        if (chosen[i]) exchange(l, kept++, first + i);
    const dg_err e = order && chosen ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d images", all);
    free(order);
    free(chosen);
    while (!e && l->count > first + count) dg_image_list_drop(l);
    return e;
}

static dg_err read_images(job *j)
{
    dg_image_list *l = &j->images;
    dg_err e = dg_prepare_as_trained(&j->o, j->g->info.config);
    for (int i = 1; i < j->o.operands && !e; i++) e = dg_image_list_add(&j->o, &j->g->model, j->o.operand[i], l);
    const int count = j->o.count ? j->o.count : j->o.held_out ? COMPARED : 0;
    if (!e) e = choose(j, 0, count);
    const int given = l->count;
    if (!e && j->o.held_out) e = dg_image_list_add(&j->o, &j->g->model, j->o.held_out, l);
    if (!e) e = choose(j, given, count);
    j->held_out = l->count - given;
    for (int i = 0; i < l->count && !e; i++) e = check_size(j, &l->of[i]);
    return e;
}

static void show_progress(void *job_, int done, int all)
{
    const job *j = job_;
    dg_progress_count(j->progress, "finding latents, step", done, all);
}

static dg_err search(job *j)
{
    const size_t n = (size_t)j->images.count;
    const dg_find_options o = {.starts = j->o.starts,
                               .steps = (int)j->o.steps,
                               .lr = learning_rate,
                               .features = j->o.features,
                               .progress = show_progress,
                               .context = j};
    j->z = malloc(n * (size_t)j->g->inputs * sizeof *j->z);
    j->found = malloc(n * j->images.image);
    j->error = malloc(n * sizeof *j->error);
    if (!j->z || !j->found || !j->error) return dg_fail(DG_DEVICE, "out of memory for %zu images", n);
    const dg_err e = dg_find_open(j->g, &o, j->images.count, &j->find);
    return e ? e : dg_find_images(j->find, j->images.pixels, j->images.count, j->z, j->found, j->error);
}

/* Separate the classes of a conditional generator from the latents. */
static dg_err separate(job *j)
{
    const size_t latent = (size_t)j->g->latent, inputs = (size_t)j->g->inputs, n = (size_t)j->images.count;
    if (latent == inputs) return DG_OK;
    if (!(j->class = calloc(n, sizeof *j->class))) return dg_fail(DG_DEVICE, "out of memory for %zu images", n);
    for (size_t i = 0; i < n; i++) {
        while (j->z[i * inputs + latent + (size_t)j->class[i]] == 0) j->class[i]++;
        memmove(j->z + i * latent, j->z + i * inputs, latent * sizeof *j->z);
    }
    return DG_OK;
}

static void name_found(const job *j, int i, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/found-%04d.png", j->dir, i);
}

static dg_err write_found(const job *j)
{
    const dg_model *m = &j->g->model;
    char path[PATH_SIZE], source[4096];
    dg_err e = DG_OK;
    for (int i = 0; i < j->images.count && !e; i++) {
        const dg_image im = {m->size.W, m->size.H, m->channels, j->found + (size_t)i * j->images.image};
        name_found(j, i, path);
        e = dg_sample_write(&j->o, j->g, path, &im, "Picture",
                            dg_printable(source, sizeof source, j->images.of[i].path));
    }
    snprintf(path, sizeof path, "%s/latents.safetensors", j->dir);
    return e ? e : dg_z_write(path, j->z, j->class, j->images.count, j->g->latent, "checkpoint", j->g->origin);
}

/* Draw rows of given images, each above the row of images found for them. */
static dg_err write_grid(const job *j)
{
    const dg_model *m = &j->g->model;
    const int n = j->images.count < GRID_MOST ? j->images.count : GRID_MOST,
              columns = n < GRID_COLUMNS ? n : GRID_COLUMNS, rows = 2 * ((n + columns - 1) / columns);
    const size_t image = j->images.image;
    uint8_t *cells = calloc((size_t)rows * (size_t)columns, image);
    if (!cells) return dg_fail(DG_DEVICE, "out of memory for the grid");
    for (int i = 0; i < n; i++) {
        const int cell = 2 * (i / columns) * columns + i % columns;
        const size_t from = (size_t)i * image;
        memcpy(cells + (size_t)cell * image, j->images.pixels + from, image);
        memcpy(cells + ((size_t)cell + (size_t)columns) * image, j->found + from, image);
    }
    char path[PATH_SIZE];
    dg_image im;
    dg_err e = dg_sheet(cells, rows * columns, m->size, m->channels, rows, columns, &im);
    free(cells);
    if (e) return e;
    e = dg_enlarge(&im, dg_scale_of(j->o.scale, im.W, im.H));
    snprintf(path, sizeof path, "%s/grid.png", j->dir);
    if (!e) e = dg_sample_write(&j->o, j->g, path, &im, "Pictures", "given images and found images in turn");
    dg_image_free(&im);
    return e;
}

static double mean(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    return sum / n;
}

static void print_comparison(const job *j, int given)
{
    dg_tail t;
    dg_tail_compare(j->error, given, j->error + given, j->held_out, &t);
    dg_say("mean: %.2f grey levels for %d training images, %.2f for %d held-out images", mean(j->error, given), given,
           mean(j->error + given, j->held_out), j->held_out);
    dg_say(
        "training images that are found better than the best %.1f%% of held-out images: %.1f%% (95%% interval %.1f%% "
        "to %.1f%%)",
        100 * t.expected, 100 * t.share, 100 * t.low, 100 * t.high);
    dg_say("%s: this share or a larger one has probability %.2g without memorisation",
           t.p < significant ? "the generator has memorised training images"
                             : "no sign that the generator has memorised training images",
           t.p);
}

static void print_text(const job *j)
{
    char path[4 * 4096];
    const int given = j->images.count - j->held_out;
    for (int i = 0; i < j->images.count; i++)
        dg_say("%s: %.2f grey levels", dg_printable(path, sizeof path, j->images.of[i].path), j->error[i]);
    if (j->held_out) print_comparison(j, given);
    else dg_say("mean: %.2f grey levels", mean(j->error, given));
    dg_say("%s/latents.safetensors", j->dir);
    dg_say("%s/grid.png", j->dir);
}

static void print_json(const job *j)
{
    char path[PATH_SIZE];
    const int given = j->images.count - j->held_out;
    printf("{\"checkpoint\": ");
    dg_json_text(stdout, j->o.operand[0]);
    printf(", \"discriminator\": %s, \"starts\": %d, \"steps\": %ld,\n \"images\": [",
           dg_find_features(j->find) ? "true" : "false", j->o.starts, j->o.steps);
    for (int i = 0; i < j->images.count; i++) {
        printf("%s\n  {\"path\": ", i ? "," : "");
        dg_json_text(stdout, j->images.of[i].path);
        printf(", \"error\": %.9g, \"found\": ", j->error[i]);
        name_found(j, i, path);
        dg_json_text(stdout, path);
        if (j->class) printf(", \"class\": %d", (int)j->class[i]);
        if (j->held_out) printf(", \"held_out\": %s", i < given ? "false" : "true");
        putchar('}');
    }
    printf("],\n \"mean_error\": %.9g", mean(j->error, given));
    if (j->held_out) {
        dg_tail t;
        dg_tail_compare(j->error, given, j->error + given, j->held_out, &t);
        printf(",\n \"held_out\": {\"images\": %d, \"mean_error\": %.9g, \"share\": %.9g, \"share_low\": %.9g, "
               "\"share_high\": %.9g, \"expected\": %.9g, \"p\": %.9g}",
               j->held_out, mean(j->error + given, j->held_out), t.share, t.low, t.high, t.expected, t.p);
    }
    printf("}\n");
}

static dg_err open_all(job *j)
{
    const dg_device d = dg_options_device(&j->o);
    dg_err e = dg_generator_open_all(&d, j->o.operand[0], &j->g);
    if (!e && !j->g->has_d && j->o.features > 0)
        dg_warn(DG_MSG("find-pixels-only", "the search compares only pixels, because %s has no discriminator"),
                j->o.operand[0]);
    if (!e) e = read_images(j);
    if (!e) e = dg_results_directory(&j->o, "found", j->dir, sizeof j->dir);
    return e ? e : dg_outputs_check(j->dir, (const char *const[]){"latents.safetensors", "grid.png", NULL});
}

int dg_cmd_find(const dg_options *o)
{
    job *j = calloc(1, sizeof *j);
    if (!j) return (int)dg_fail(DG_DEVICE, "out of memory");
    j->o = *o;
    if (!j->o.steps) j->o.steps = STEPS;
    j->progress = dg_progress_open(o->quiet || o->json);
    dg_err e = open_all(j);
    if (!e) e = search(j);
    dg_progress_close(j->progress);
    if (!e) e = separate(j);
    if (!e) e = write_found(j);
    if (!e) e = write_grid(j);
    if (!e) o->json ? print_json(j) : print_text(j);
    dg_find_close(j->find);
    dg_image_list_free(&j->images);
    free(j->z);
    free(j->class);
    free(j->found);
    free(j->error);
    dg_generator_close(j->g);
    free(j);
    return (int)e;
}
