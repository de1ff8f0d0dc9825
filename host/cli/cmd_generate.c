/* `dcgan generate`: writes a PNG per seed, and a grid. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/commands.h"
#include "host/cli/outputs.h"
#include "host/infer/generator.h"
#include "host/files/made.h"
#include "host/figure/images.h"
#include "host/files/replace.h"
#include "host/files/safetensors.h"
#include "host/trainer/progress.h"

enum { GRID_MOST = 1024, PATH_SIZE = 4400 };

typedef struct {
    const dg_options *o;
    dg_generator *g;
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

static dg_err write_chunk(const job *j, int first, int n, uint8_t *pixels)
{
    const dg_model *m = &j->g->model;
    for (int i = 0; i < n; i++) {
        char path[PATH_SIZE], seed[24];
        uint64_t s = j->o->seed_first + (uint64_t)(first + i);
        snprintf(seed, sizeof seed, "%" PRIu64, s);
        snprintf(path, sizeof path, "%s/seed-%04" PRIu64 ".png", j->dir, s);
        dg_image im = {m->size, m->size, m->channels, pixels + (size_t)i * j->image};
        dg_err e = write_png(j, path, &im, "Picture", seed);
        if (e) return e;
        if (first + i < j->in_grid) memcpy(j->grid + (size_t)(first + i) * j->image, im.pixels, j->image);
    }
    return DG_OK;
}

static dg_err make_images(const job *j)
{
    const int n = j->o->count;
    float *z = malloc((size_t)DG_GENERATOR_CHUNK * (size_t)j->g->inputs * sizeof *z);
    uint8_t *pixels = malloc(DG_GENERATOR_CHUNK * j->image);
    dg_err e = z && pixels ? DG_OK : dg_fail(DG_DEVICE, "out of memory");
    for (int first = 0; !e && first < n; first += DG_GENERATOR_CHUNK) {
        int here = n - first < DG_GENERATOR_CHUNK ? n - first : DG_GENERATOR_CHUNK;
        const uint64_t seed = j->o->seed_first + (uint64_t)first;
        dg_generator_inputs(j->g, z, seed, here);
        e = dg_generator_make(j->g, z, here, pixels, "seed", seed);
        if (!e) e = write_chunk(j, first, here, pixels);
        dg_progress_count(j->progress, "generating images", first + here, n);
    }
    free(z);
    free(pixels);
    return e;
}

static dg_err write_z(const job *j, const char *path)
{
    const size_t each = (size_t)j->g->inputs, n = (size_t)j->o->count;
    float *z = malloc(n * each * sizeof *z);
    if (!z) return dg_fail(DG_DEVICE, "--write-z %s: out of memory", path);
    for (int i = 0; i < j->o->count; i += DG_GENERATOR_CHUNK)
        dg_generator_inputs(j->g, z + (size_t)i * each, j->o->seed_first + (uint64_t)i,
                            j->o->count - i < DG_GENERATOR_CHUNK ? j->o->count - i : DG_GENERATOR_CHUNK);
    char seeds[64];
    snprintf(seeds, sizeof seeds, "%" PRIu64 "-%" PRIu64, j->o->seed_first, j->o->seed_last);
    const dg_st_tensor t = {.name = "z",
                            .type = DG_F32,
                            .rank = 4,
                            .dim = {(int64_t)n, (int64_t)each, 1, 1},
                            .data = z,
                            .bytes = n * each * sizeof *z};
    const dg_st_meta meta[] = {{"format", DG_Z_FORMAT}, {"version", dg_version}, {"seeds", seeds}};
    const dg_err e = dg_st_write(path, &t, 1, meta, 3, true);
    free(z);
    return e;
}

static dg_err make_grid(const job *j)
{
    int cols = (int)ceil(sqrt(j->in_grid)), rows = (j->in_grid + cols - 1) / cols;
    char path[PATH_SIZE], seeds[64];
    dg_image im;
    dg_err e = dg_sheet(j->grid, j->in_grid, j->g->model.size, j->g->model.channels, rows, cols, &im);
    if (e) return e;
    e = dg_enlarge(&im, dg_scale_of(j->o->scale, im.W, im.H));
    snprintf(path, sizeof path, "%s/grid.png", j->dir);
    snprintf(seeds, sizeof seeds, "%" PRIu64 "-%" PRIu64, j->o->seed_first,
             j->o->seed_first + (uint64_t)j->in_grid - 1);
    if (!e) e = write_png(j, path, &im, "Pictures", seeds);
    dg_image_free(&im);
    return e;
}

static void report(const job *j)
{
    if (j->o->count > 1)
        dg_say("%s/seed-%04" PRIu64 ".png to seed-%04" PRIu64 ".png, %s/grid.png", j->dir, j->o->seed_first,
               j->o->seed_last, j->dir);
    else dg_say("%s/seed-%04" PRIu64 ".png", j->dir, j->o->seed_first);
    if (j->o->write_z) dg_say("%s", dg_output_name(j->o->write_z));
}

/* Choose the first directory of generated/, generated-2/, ... that has no samples of another checkpoint. */
static dg_err choose_directory(job *j)
{
    static const char *const names[] = {"seed-*.png", "grid.png", NULL};
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
    if (!e) e = choose_directory(&j);
    if (!e) {
        j.image = (size_t)j.g->model.size * (size_t)j.g->model.size * (size_t)j.g->model.channels;
        j.in_grid = o->count < 2 ? 0 : o->count < GRID_MOST ? o->count : GRID_MOST;
        j.grid = malloc((size_t)j.in_grid * j.image + 1);
        if (!j.grid) e = dg_fail(DG_DEVICE, "out of memory");
    }
    if (!e) {
        j.progress = dg_progress_open(o->quiet);
        e = make_images(&j);
        dg_progress_close(j.progress);
    }
    if (!e && j.in_grid) e = make_grid(&j);
    if (!e && o->write_z) e = write_z(&j, o->write_z);
    if (!e) report(&j);
    free(j.grid);
    dg_generator_close(j.g);
    return (int)e;
}
