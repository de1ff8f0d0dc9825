/* `dcgan generate`: writes a PNG per latent, and a grid. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/commands.h"
#include "host/cli/latents.h"
#include "host/cli/outputs.h"
#include "host/infer/generator.h"
#include "host/files/made.h"
#include "host/figure/images.h"
#include "host/files/replace.h"
#include "host/files/safetensors.h"
#include "host/trainer/progress.h"

enum { GRID_MOST = 1024, PATH_SIZE = 4400, SOURCE_SIZE = 4096 };

typedef struct {
    const dg_options *o;
    dg_generator *g;
    dg_latents latents;
    char dir[4096];
    size_t image;
    int in_grid;
    uint8_t *grid;
    dg_progress *progress;
} job;

static dg_err write_png(const job *j, const char *path, const dg_image *im, const char *key, const char *images)
{
    char checkpoint[4096], run_seed[24], step[24];
    dg_printable(checkpoint, sizeof checkpoint, j->o->operand[0]);
    snprintf(run_seed, sizeof run_seed, "%" PRIu64, j->g->info.seed);
    snprintf(step, sizeof step, "%" PRIu64, j->g->info.step);
    const dg_text text[] = {
        {"Software", dg_version}, {DG_ORIGIN, j->g->origin}, {key, images}, {"Model", j->g->model.name}, {"Step", step},
        {"Seed", run_seed},       {"Checkpoint", checkpoint}};
    return dg_png_write(path, im, text, (int)(sizeof text / sizeof text[0]));
}

static void name_image(const job *j, int i, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/%s-%04" PRIu64 ".png", j->dir, j->latents.what, j->latents.first + (uint64_t)i);
}

static dg_err write_chunk(const job *j, int first, int n, uint8_t *pixels)
{
    const dg_model *m = &j->g->model;
    for (int i = 0; i < n; i++) {
        char path[PATH_SIZE], source[SOURCE_SIZE];
        dg_latents_say(&j->latents, first + i, 1, source, sizeof source);
        name_image(j, first + i, path);
        dg_image im = {m->size, m->size, m->channels, pixels + (size_t)i * j->image};
        dg_err e = write_png(j, path, &im, "Picture", source);
        if (e) return e;
        if (first + i < j->in_grid) memcpy(j->grid + (size_t)(first + i) * j->image, im.pixels, j->image);
    }
    return DG_OK;
}

static dg_err make_images(const job *j)
{
    const int n = j->latents.count;
    float *z = malloc((size_t)DG_GENERATOR_CHUNK * (size_t)j->g->inputs * sizeof *z);
    uint8_t *pixels = malloc(DG_GENERATOR_CHUNK * j->image);
    dg_err e = z && pixels ? DG_OK : dg_fail(DG_DEVICE, "out of memory");
    for (int first = 0; !e && first < n; first += DG_GENERATOR_CHUNK) {
        int here = n - first < DG_GENERATOR_CHUNK ? n - first : DG_GENERATOR_CHUNK;
        dg_latents_get(&j->latents, first, here, z);
        e = dg_generator_make(j->g, z, here, pixels, j->latents.what, j->latents.first + (uint64_t)first);
        if (!e) e = write_chunk(j, first, here, pixels);
        dg_progress_count(j->progress, "generating images", first + here, n);
    }
    free(z);
    free(pixels);
    return e;
}

static dg_err make_grid(const job *j)
{
    int cols = (int)ceil(sqrt(j->in_grid)), rows = (j->in_grid + cols - 1) / cols;
    char path[PATH_SIZE], sources[SOURCE_SIZE];
    dg_image im;
    dg_err e = dg_sheet(j->grid, j->in_grid, j->g->model.size, j->g->model.channels, rows, cols, &im);
    if (e) return e;
    e = dg_enlarge(&im, dg_scale_of(j->o->scale, im.W, im.H));
    snprintf(path, sizeof path, "%s/grid.png", j->dir);
    dg_latents_say(&j->latents, 0, j->in_grid, sources, sizeof sources);
    if (!e) e = write_png(j, path, &im, "Pictures", sources);
    dg_image_free(&im);
    return e;
}

static void report(const job *j)
{
    char first[PATH_SIZE], last[PATH_SIZE];
    name_image(j, 0, first);
    name_image(j, j->latents.count - 1, last);
    if (j->latents.count > 1) dg_say("%s to %s, %s/grid.png", first, strrchr(last, '/') + 1, j->dir);
    else dg_say("%s", first);
    if (j->o->write_z) dg_say("%s", dg_output_name(j->o->write_z));
}

/* Choose the first directory of generated/, generated-2/, ... that has no samples of another checkpoint. */
static dg_err choose_directory(job *j)
{
    static const char *const names[] = {"seed-*.png", "latent-*.png", "grid.png", NULL};
    enum { MOST = 10000 };
    for (int n = 1;; n++) {
        char name[40] = "generated";
        if (n > 1) snprintf(name, sizeof name, "generated-%d", n);
        dg_err e = dg_results_directory(j->o, name, j->dir, sizeof j->dir);
        if (e || j->o->force) return e;
        e = dg_only_ours(j->dir, names, "Software", "dcgan ");
        if (e) return e;
        e = dg_only_origin(j->dir, names, j->g->origin);
        if (e != DG_USAGE || j->o->out || n == MOST) return e;
    }
}

int dg_cmd_generate(const dg_options *o)
{
    job j = {.o = o};
    const dg_device d = dg_options_device(o);
    dg_err e = dg_generator_open(&d, o->operand[0], &j.g);
    if (!e && o->write_z) e = dg_may_replace(o->write_z, DG_MADE_Z);
    if (!e) e = dg_latents_open(o, j.g, o->count, &j.latents);
    if (!e) e = choose_directory(&j);
    if (!e) {
        j.image = (size_t)j.g->model.size * (size_t)j.g->model.size * (size_t)j.g->model.channels;
        const int n = j.latents.count;
        j.in_grid = n < 2 ? 0 : n < GRID_MOST ? n : GRID_MOST;
        j.grid = malloc((size_t)j.in_grid * j.image + 1);
        if (!j.grid) e = dg_fail(DG_DEVICE, "out of memory");
    }
    if (!e) {
        j.progress = dg_progress_open(o->quiet);
        e = make_images(&j);
        dg_progress_close(j.progress);
    }
    if (!e && j.in_grid) e = make_grid(&j);
    if (!e && o->write_z) e = dg_latents_write(&j.latents, o->write_z);
    if (!e) report(&j);
    free(j.grid);
    dg_latents_close(&j.latents);
    dg_generator_close(j.g);
    return (int)e;
}
