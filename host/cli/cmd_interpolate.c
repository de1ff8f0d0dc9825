/* `dcgan interpolate`: from picture to picture along great circles of the latent space. strip.png has a row for
 * each pair of neighbours; walk.gif goes once round, back to the first picture, and repeats. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/commands.h"
#include "host/net/generator.h"
#include "host/figure/pictures.h"
#include "host/run/progress.h"

enum { STRIP_COLUMNS = 17, FRAME_MS = 60, PATH_SIZE = 4400 };
static const size_t gif_most = (size_t)1 << 30; /* bytes of frames */

typedef struct {
    const dg_options *o;
    dg_generator *g;
    char dir[4096];
    int seeds, frames; /* frames from one picture to the next */
    size_t picture;
    float *z;        /* (seeds, latent) */
    uint8_t *pixels; /* (seeds * frames, size, size, channels), the way round */
    dg_progress *progress;
} job;

/* Shoemake 1985. Normal vectors of many dimensions lie near a sphere; the straight line would leave it. */
static void slerp(float *out, const float *a, const float *b, double t, int n)
{
    double aa = 0, bb = 0, ab = 0;
    for (int i = 0; i < n; i++) {
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
        ab += (double)a[i] * b[i];
    }
    double c = aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 1, wa = 1 - t, wb = t;
    double angle = acos(c > 1 ? 1 : c < -1 ? -1 : c), s = sin(angle);
    if (s > 1e-6) {
        wa = sin((1 - t) * angle) / s;
        wb = sin(t * angle) / s;
    }
    for (int i = 0; i < n; i++) out[i] = (float)(wa * a[i] + wb * b[i]);
}

static dg_err make_frames(job *j)
{
    int latent = j->g->inputs, all = j->seeds * j->frames;
    size_t width = (size_t)latent;
    float *z = malloc(DG_GENERATOR_CHUNK * width * sizeof *z);
    if (!z) return dg_fail(DG_DEVICE, "out of memory");
    dg_err e = DG_OK;
    for (int first = 0; !e && first < all; first += DG_GENERATOR_CHUNK) {
        int here = all - first < DG_GENERATOR_CHUNK ? all - first : DG_GENERATOR_CHUNK;
        for (int i = 0; i < here; i++) {
            int from = (first + i) / j->frames, to = (from + 1) % j->seeds;
            double t = (double)((first + i) % j->frames) / j->frames;
            slerp(z + (size_t)i * width, j->z + (size_t)from * width, j->z + (size_t)to * width, t, latent);
        }
        e = dg_generator_make(j->g, z, here, j->pixels + (size_t)first * j->picture, "frame", (uint64_t)first);
        dg_progress_count(j->progress, "making frames", first + here, all);
    }
    free(z);
    return e;
}

static dg_err write_strip(const job *j)
{
    const dg_model *m = &j->g->model;
    int columns = j->frames + 1 < STRIP_COLUMNS ? j->frames + 1 : STRIP_COLUMNS, rows = j->seeds - 1;
    uint8_t *chosen = malloc((size_t)rows * (size_t)columns * j->picture);
    if (!chosen) return dg_fail(DG_DEVICE, "out of memory");
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            int frame = r * j->frames + c * j->frames / (columns - 1); /* last column: the next row's first frame */
            memcpy(chosen + (size_t)(r * columns + c) * j->picture, j->pixels + (size_t)frame * j->picture, j->picture);
        }
    dg_image im;
    dg_err e = dg_sheet(chosen, rows * columns, m->size, m->channels, rows, columns, &im);
    free(chosen);
    if (e) return e;
    char path[PATH_SIZE], checkpoint[4096], seeds[48], run_seed[24];
    dg_printable(checkpoint, sizeof checkpoint, j->o->operand[0]);
    snprintf(path, sizeof path, "%s/strip.png", j->dir);
    snprintf(seeds, sizeof seeds, "%" PRIu64 "-%" PRIu64, j->o->seed_first, j->o->seed_last);
    snprintf(run_seed, sizeof run_seed, "%" PRIu64, j->g->info.seed);
    const dg_text text[] = {{"Software", dg_version},
                            {"Checkpoint", checkpoint},
                            {"Model", m->name},
                            {"Seed", run_seed},
                            {"Pictures", seeds}};
    e = dg_png_write(path, &im, text, (int)(sizeof text / sizeof text[0]));
    dg_image_free(&im);
    return e;
}

static dg_err write_gif(const job *j)
{
    const dg_model *m = &j->g->model;
    int all = j->seeds * j->frames;
    size_t dots = (size_t)all * (size_t)m->size * (size_t)m->size;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/walk.gif", j->dir);
    if (m->channels == 3) return dg_gif_write(path, j->pixels, all, m->size, m->size, FRAME_MS);
    uint8_t *rgb = malloc(3 * dots);
    if (!rgb) return dg_fail(DG_DEVICE, "out of memory");
    for (size_t i = 0; i < 3 * dots; i++) rgb[i] = j->pixels[i / 3];
    dg_err e = dg_gif_write(path, rgb, all, m->size, m->size, FRAME_MS);
    free(rgb);
    return e;
}

static dg_err prepare(job *j)
{
    j->seeds = (int)(j->o->seed_last - j->o->seed_first + 1);
    j->frames = j->o->steps_between;
    j->picture = (size_t)j->g->model.size * (size_t)j->g->model.size * (size_t)j->g->model.channels;
    size_t all = (size_t)j->seeds * (size_t)j->frames;
    if (all > gif_most / j->picture)
        return dg_fail(DG_USAGE,
                       "%zu frames of %dx%d are too much for one GIF; use fewer --seeds or --frames (at most "
                       "%zu frames)",
                       all, j->g->model.size, j->g->model.size, gif_most / j->picture);
    j->z = malloc((size_t)j->seeds * (size_t)j->g->inputs * sizeof *j->z);
    j->pixels = malloc(all * j->picture);
    if (!j->z || !j->pixels) return dg_fail(DG_DEVICE, "out of memory");
    dg_generator_inputs(j->g, j->z, j->o->seed_first, j->seeds);
    return dg_results_directory(j->o, "interpolated", j->dir, sizeof j->dir);
}

int dg_cmd_interpolate(const dg_options *o)
{
    job j = {.o = o};
    const dg_device d = dg_options_device(o);
    dg_err e = dg_generator_open(&d, o->operand[0], &j.g);
    if (!e) e = prepare(&j);
    if (!e) {
        j.progress = dg_progress_open(o->quiet);
        e = make_frames(&j);
        dg_progress_close(j.progress);
    }
    if (!e) e = write_strip(&j);
    if (!e) e = write_gif(&j);
    if (!e) dg_say("%s/strip.png", j.dir);
    if (!e) dg_say("%s/walk.gif", j.dir);
    free(j.z);
    free(j.pixels);
    dg_generator_close(j.g);
    return (int)e;
}
