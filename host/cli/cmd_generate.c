/* `dcgan generate`: writes a PNG per latent, and a grid; or, with --raw, all images to a pipe. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/commands.h"
#include "host/cli/latents.h"
#include "host/cli/outputs.h"
#include "host/cli/sample_classes.h"
#include "host/cli/sample_png.h"
#include "host/infer/generator.h"
#include "host/files/made.h"
#include "host/figure/images.h"
#include "host/figure/video.h"
#include "host/files/replace.h"
#include "host/files/safetensors.h"
#include "host/trainer/progress.h"

enum { GRID_MOST = 1024, GRID_COLUMNS = 16, PATH_SIZE = 4400, SOURCE_SIZE = 4096 };

typedef struct {
    const dg_options *o;
    dg_generator *g;
    dg_latents latents;
    dg_sample_classes classes;
    int count; /* number of images: latents, times classes with --by-class */
    char dir[4096];
    size_t image;
    int rows, cols; /* of the grid; 0: no grid */
    uint8_t *grid;
    dg_video video; /* with --raw */
    dg_progress *progress;
} job;

enum { FRAME_MS = 1000 };

static int latent_of(const job *j, int i) { return j->o->by_class ? i % j->latents.count : i; }

static int class_of(const job *j, int i)
{
    if (j->o->by_class) return j->classes.list[i / j->latents.count];
    if (j->latents.class) return (int)j->latents.class[i];
    return dg_sample_class(&j->classes, i, j->latents.first + (uint64_t)i);
}

static void name_image(const job *j, int i, char path[PATH_SIZE])
{
    const char *folder = j->o->by_class ? j->classes.folder[class_of(j, i)] : "";
    snprintf(path, PATH_SIZE, "%s/%s%s%s-%04" PRIu64 ".png", j->dir, folder, *folder ? "/" : "", j->latents.what,
             j->latents.first + (uint64_t)latent_of(j, i));
}

static void put_in_grid(const job *j, int i, const uint8_t *pixels)
{
    const int row = j->o->by_class ? i / j->latents.count : i / (j->cols ? j->cols : 1),
              col = j->o->by_class ? latent_of(j, i) : i % (j->cols ? j->cols : 1);
    if (row < j->rows && col < j->cols) memcpy(j->grid + (size_t)(row * j->cols + col) * j->image, pixels, j->image);
}

static dg_err write_raw(job *j, int n, const uint8_t *pixels)
{
    const dg_model *m = &j->g->model;
    const size_t size = dg_size_pixels(m->size);
    uint8_t *rgb = malloc(3 * size);
    dg_err e = rgb ? DG_OK : dg_fail(DG_DEVICE, "out of memory");
    for (int i = 0; i < n && !e; i++, pixels += j->image) {
        dg_to_rgb(pixels, size, m->channels, rgb);
        e = dg_video_put(&j->video, rgb, m->size.W, m->size.H);
    }
    free(rgb);
    return e;
}

static dg_err write_chunk(const job *j, int first, int n, uint8_t *pixels)
{
    const dg_model *m = &j->g->model;
    for (int i = 0; i < n; i++) {
        char path[PATH_SIZE], source[SOURCE_SIZE];
        dg_latents_say(&j->latents, latent_of(j, first + i), 1, source, sizeof source);
        name_image(j, first + i, path);
        dg_image im = {m->size.W, m->size.H, m->channels, pixels + (size_t)i * j->image};
        dg_err e = dg_sample_write(j->o, j->g, path, &im, "Picture", source);
        if (e) return e;
        put_in_grid(j, first + i, im.pixels);
    }
    return DG_OK;
}

static dg_err make_images(job *j)
{
    const size_t inputs = (size_t)j->g->inputs;
    float *in = malloc((DG_GENERATOR_CHUNK + 1) * inputs * sizeof *in),
          *z = in ? in + DG_GENERATOR_CHUNK * inputs : NULL;
    uint8_t *pixels = malloc(DG_GENERATOR_CHUNK * j->image);
    dg_err e = in && pixels ? DG_OK : dg_fail(DG_DEVICE, "out of memory");
    for (int first = 0; !e && first < j->count; first += DG_GENERATOR_CHUNK) {
        int here = j->count - first < DG_GENERATOR_CHUNK ? j->count - first : DG_GENERATOR_CHUNK;
        for (int i = 0; i < here; i++) {
            dg_latents_get(&j->latents, latent_of(j, first + i), 1, z);
            dg_generator_input(j->g, in + (size_t)i * inputs, z, class_of(j, first + i));
        }
        e = dg_generator_make(j->g, in, here, pixels, j->latents.what, j->latents.first + (uint64_t)first);
        if (!e) e = j->o->raw ? write_raw(j, here, pixels) : write_chunk(j, first, here, pixels);
        dg_progress_count(j->progress, "generating images", first + here, j->count);
    }
    free(in);
    free(pixels);
    return e;
}

static dg_err make_grid(const job *j)
{
    const int shown = j->rows * j->cols < j->count ? j->rows * j->cols : j->count,
              latents = j->o->by_class ? j->cols : shown;
    char path[PATH_SIZE], sources[SOURCE_SIZE];
    dg_image im;
    dg_err e = dg_sheet(j->grid, shown, j->g->model.size, j->g->model.channels, j->rows, j->cols, &im);
    if (e) return e;
    e = dg_enlarge(&im, dg_scale_of(j->o->scale, im.W, im.H));
    snprintf(path, sizeof path, "%s/grid.png", j->dir);
    dg_latents_say(&j->latents, 0, latents, sources, sizeof sources);
    if (!e) e = dg_sample_write(j->o, j->g, path, &im, "Pictures", sources);
    dg_image_free(&im);
    return e;
}

static void report(const job *j)
{
    char first[PATH_SIZE], last[PATH_SIZE];
    name_image(j, 0, first);
    name_image(j, j->count - 1, last);
    if (j->o->raw) dg_raw_say(j->o, &j->video);
    else if (j->count > 1) dg_say("%s to %s, %s/grid.png", first, last + strlen(j->dir) + 1, j->dir);
    else dg_say("%s", first);
    if (j->o->write_z) dg_say("%s", dg_output_name(j->o->write_z));
}

/* Choose the first directory of generated/, generated-2/, ... that has no samples of another checkpoint. */
static dg_err choose_directory(job *j)
{
    static const char *const names[] = {DG_MADE_FOLDERS, "seed-*.png", "latent-*.png", "grid.png", NULL};
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

static dg_err choose_images(job *j)
{
    const int n = j->latents.count;
    dg_err e = dg_sample_classes_open(j->o, j->g, &j->classes);
    if (!e && j->o->by_class) e = dg_sample_classes_all(&j->classes, j->o->operand[0]);
    if (e) return e;
    if (j->o->by_class && n > INT_MAX / j->classes.n)
        return dg_fail(DG_USAGE, "--by-class: too many images; use fewer seeds or classes");
    j->count = j->o->by_class ? n * j->classes.n : n;
    if (j->count < 2) return DG_OK;
    const int most = j->count < GRID_MOST ? j->count : GRID_MOST;
    j->cols = !j->o->by_class ? (int)ceil(sqrt(most)) : n < GRID_COLUMNS ? n : GRID_COLUMNS;
    j->rows = !j->o->by_class                      ? (most + j->cols - 1) / j->cols
              : j->classes.n < GRID_MOST / j->cols ? j->classes.n
                                                   : GRID_MOST / j->cols;
    return DG_OK;
}

/* Make the folders of --by-class. */
static dg_err make_folders(const job *j)
{
    char path[PATH_SIZE];
    dg_err e = DG_OK;
    for (int i = 0; i < j->count && j->o->by_class && !e; i += j->latents.count) {
        name_image(j, i, path);
        *strrchr(path, '/') = 0;
        e = dg_make_directories(path, NULL);
    }
    return e;
}

/* With --by-class, a latent has no class of its own. */
static dg_err write_z(const job *j)
{
    const bool conditional = j->g->model.classes && !j->o->by_class;
    int64_t *class = conditional ? malloc((size_t)j->count * sizeof *class) : NULL;
    if (conditional && !class) return dg_fail(DG_DEVICE, "--write-z %s: out of memory", j->o->write_z);
    for (int i = 0; i < j->count && class; i++) class[i] = class_of(j, i);
    const dg_err e = dg_latents_write(&j->latents, class, j->o->write_z);
    free(class);
    return e;
}

int dg_cmd_generate(const dg_options *o)
{
    job j = {.o = o};
    const dg_device d = dg_options_device(o);
    dg_err e = dg_generator_open(&d, o->operand[0], &j.g);
    if (!e && o->write_z) e = dg_may_replace(o->write_z, DG_MADE_Z);
    if (!e) e = dg_latents_open(o, j.g, o->count, &j.latents);
    if (!e) e = choose_images(&j);
    if (!e && o->raw) {
        j.rows = 0;
        e = dg_video_open(&j.video, o->raw, (dg_video_format)o->raw_format, FRAME_MS);
    }
    if (!e && !o->raw) e = choose_directory(&j);
    if (!e && !o->raw) e = make_folders(&j);
    if (!e) {
        j.image = dg_size_values(j.g->model.size, j.g->model.channels);
        j.grid = calloc((size_t)(j.rows * j.cols) + 1, j.image);
        if (!j.grid) e = dg_fail(DG_DEVICE, "out of memory");
    }
    if (!e) {
        j.progress = dg_progress_open(o->quiet);
        e = make_images(&j);
        dg_progress_close(j.progress);
    }
    e = dg_video_close(&j.video, e);
    if (!e && j.rows) e = make_grid(&j);
    if (!e && o->write_z) e = write_z(&j);
    if (!e) report(&j);
    free(j.grid);
    dg_sample_classes_close(&j.classes);
    dg_latents_close(&j.latents);
    dg_generator_close(j.g);
    return (int)e;
}
