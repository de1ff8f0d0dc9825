/* `dcgan interpolate`: writes samples along great circles of latent space. The image strip.png has a row per pair of
 * consecutive latents. The animation walk.gif is a loop over all latents. With --walks, walk.gif is a grid of loops.
 * With --direction, a walk is a straight line along a principal direction, forward and back. With several classes, each
 * latent has a walk from class to class. With --raw, the frames of walk.gif are written to a pipe instead of files. */
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
#include "host/figure/images.h"
#include "host/figure/video.h"
#include "host/trainer/progress.h"

enum { STRIP_COLUMNS = 17, FRAME_MS = 60, PATH_SIZE = 4400 };
static const size_t gif_most = (size_t)1 << 30;

typedef struct {
    const dg_options *o;
    dg_generator *g;
    char dir[4096];
    dg_latents latents;
    dg_sample_classes classes;
    int sources;              /* number of latents that the user chose */
    int walks, stops, frames; /* number of paths in latent space, latents per path, frames between two latents */
    size_t image;
    float *in;       /* (walks * stops, inputs) */
    uint8_t *pixels; /* (walks, stops * frames, height, width, channels) */
    dg_progress *progress;
} job;

/* Spherical interpolation (Shoemake 1985) keeps the length of normally distributed vectors. Linear interpolation
 * (`straight`) makes shorter vectors. */
static void between(float *out, const float *a, const float *b, double t, bool straight, int n)
{
    double aa = 0, bb = 0, ab = 0;
    for (int i = 0; i < n; i++) {
        aa += (double)a[i] * a[i];
        bb += (double)b[i] * b[i];
        ab += (double)a[i] * b[i];
    }
    double c = aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 1, wa = 1 - t, wb = t;
    double angle = acos(c > 1 ? 1 : c < -1 ? -1 : c), s = sin(angle);
    if (s > 1e-6 && !straight) {
        wa = sin((1 - t) * angle) / s;
        wb = sin(t * angle) / s;
    }
    for (int i = 0; i < n; i++) out[i] = (float)(wa * a[i] + wb * b[i]);
}

static dg_err make_frames(job *j)
{
    const int all = j->walks * j->stops * j->frames, latent = j->g->latent, classes = j->g->inputs - latent;
    const size_t width = (size_t)j->g->inputs;
    float *in = malloc(DG_GENERATOR_CHUNK * width * sizeof *in);
    if (!in) return dg_fail(DG_DEVICE, "out of memory");
    dg_err e = DG_OK;
    for (int first = 0; !e && first < all; first += DG_GENERATOR_CHUNK) {
        int here = all - first < DG_GENERATOR_CHUNK ? all - first : DG_GENERATOR_CHUNK;
        for (int i = 0; i < here; i++) {
            int from = (first + i) / j->frames, walk = from / j->stops, to = walk * j->stops + (from + 1) % j->stops;
            double t = (double)((first + i) % j->frames) / j->frames;
            const float *a = j->in + (size_t)from * width, *b = j->in + (size_t)to * width;
            float *const out = in + (size_t)i * width;
            between(out, a, b, t, j->latents.along, latent);
            between(out + latent, a + latent, b + latent, t, true, classes);
        }
        e = dg_generator_make(j->g, in, here, j->pixels + (size_t)first * j->image, "frame", (uint64_t)first);
        dg_progress_count(j->progress, "making frames", first + here, all);
    }
    free(in);
    return e;
}

static dg_err write_strip(const job *j)
{
    const dg_model *m = &j->g->model;
    int columns = j->frames + 1 < STRIP_COLUMNS ? j->frames + 1 : STRIP_COLUMNS, legs = j->stops - 1,
        rows = j->walks * legs;
    uint8_t *chosen = malloc((size_t)rows * (size_t)columns * j->image);
    if (!chosen) return dg_fail(DG_DEVICE, "out of memory");
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            int frame = (r / legs * j->stops + r % legs) * j->frames + c * j->frames / (columns - 1);
            memcpy(chosen + (size_t)(r * columns + c) * j->image, j->pixels + (size_t)frame * j->image, j->image);
        }
    dg_image im;
    dg_err e = dg_sheet(chosen, rows * columns, m->size, m->channels, rows, columns, &im);
    free(chosen);
    if (!e) e = dg_enlarge(&im, dg_scale_of(j->o->scale, im.W, im.H));
    if (e) return e;
    char path[PATH_SIZE], sources[4096];
    snprintf(path, sizeof path, "%s/strip.png", j->dir);
    dg_latents_say(&j->latents, 0, j->sources, sources, sizeof sources);
    e = dg_sample_write(j->o, j->g, path, &im, "Pictures", sources);
    dg_image_free(&im);
    return e;
}

static dg_err make_frame(const job *j, int f, uint8_t *cells, dg_image *out)
{
    const dg_model *m = &j->g->model;
    const int each = j->stops * j->frames, cols = (int)ceil(sqrt(j->walks)), rows = (j->walks + cols - 1) / cols;
    const size_t pixels = dg_size_pixels(m->size);
    for (int w = 0; w < j->walks; w++)
        dg_to_rgb(j->pixels + (size_t)(w * each + f) * j->image, pixels, m->channels, cells + (size_t)w * pixels * 3);
    if (j->walks > 1) return dg_sheet(cells, j->walks, m->size, 3, rows, cols, out);
    *out = (dg_image){m->size.W, m->size.H, 3, malloc(pixels * 3)};
    if (!out->pixels) return dg_fail(DG_DEVICE, "out of memory");
    memcpy(out->pixels, cells, pixels * 3);
    return DG_OK;
}

static dg_err write_gif(const job *j)
{
    const int all = j->stops * j->frames;
    char path[PATH_SIZE];
    uint8_t *frames = NULL, *cells = malloc((size_t)j->walks * dg_size_pixels(j->g->model.size) * 3);
    dg_image im = {0};
    size_t bytes = 0;
    dg_err e = cells ? DG_OK : dg_fail(DG_DEVICE, "out of memory");
    for (int f = 0; f < all && !e; f++) {
        dg_image_free(&im);
        e = make_frame(j, f, cells, &im);
        bytes = (size_t)im.W * (size_t)im.H * 3;
        if (!e && !frames && !(frames = malloc((size_t)all * bytes))) e = dg_fail(DG_DEVICE, "out of memory");
        if (!e) memcpy(frames + (size_t)f * bytes, im.pixels, bytes);
    }
    snprintf(path, sizeof path, "%s/walk.gif", j->dir);
    if (!e) e = dg_gif_write(path, frames, all, im.W, im.H, dg_scale_of(j->o->scale, im.W, im.H), FRAME_MS);
    dg_image_free(&im);
    free(frames);
    free(cells);
    return e;
}

static dg_err write_files(const job *j)
{
    dg_err e = write_strip(j);
    if (!e) e = write_gif(j);
    if (!e) dg_say("%s/strip.png", j->dir);
    if (!e) dg_say("%s/walk.gif", j->dir);
    return e;
}

static dg_err write_video(const job *j)
{
    uint8_t *cells = malloc((size_t)j->walks * dg_size_pixels(j->g->model.size) * 3);
    dg_video v = {0};
    dg_err e = cells ? dg_video_open(&v, j->o->raw, (dg_video_format)j->o->raw_format, FRAME_MS)
                     : dg_fail(DG_DEVICE, "out of memory");
    for (int f = 0; f < j->stops * j->frames && !e; f++) {
        dg_image im = {0};
        e = make_frame(j, f, cells, &im);
        if (!e) e = dg_enlarge(&im, dg_scale_of(j->o->scale, im.W, im.H));
        if (!e) e = dg_video_put(&v, im.pixels, im.W, im.H);
        dg_image_free(&im);
    }
    free(cells);
    e = dg_video_close(&v, e);
    if (!e) dg_raw_say(j->o, &v);
    return e;
}

/* Choose the latents of all walks. */
static dg_err choose_latents(job *j)
{
    const dg_options *o = j->o;
    const int seeds = (int)(o->seed_last - o->seed_first + 1);
    dg_err e = dg_latents_open(o, j->g, seeds * o->walks, &j->latents);
    if (e) return e;
    j->sources = j->latents.count;
    if (o->direction_first && (e = dg_latents_along_directions(&j->latents, j->g)) != DG_OK) return e;
    if ((e = dg_sample_classes_open(o, j->g, &j->classes)) != DG_OK) return e;
    const bool by_class = j->classes.n > 1;
    if (by_class && (o->direction_first || o->walks > 1))
        return dg_fail(DG_USAGE, DG_MSG("class-walk", "--class %s: several classes cannot be combined with --%s"),
                       o->class_names, o->direction_first ? "direction" : "walks");
    if (j->latents.count < 2 && !by_class)
        return dg_fail(DG_USAGE, DG_MSG("one-latent", "%s: an interpolation of one class needs at least two latents"),
                       o->read_z ? o->read_z : "--seeds");
    j->stops = by_class ? j->classes.n : o->direction_first ? 2 : j->latents.count / o->walks;
    j->walks = by_class ? j->latents.count : j->latents.count / j->stops;
    j->frames = o->steps_between;
    return DG_OK;
}

/* The stops of a walk are consecutive latents of the same class, or the chosen classes with the same latent. */
static dg_err put_inputs(const job *j)
{
    const bool by_class = j->classes.n > 1;
    float *z = malloc((size_t)j->latents.count * (size_t)j->g->latent * sizeof *z);
    if (!z) return dg_fail(DG_DEVICE, "out of memory");
    dg_latents_get(&j->latents, 0, j->latents.count, z);
    const int inputs = j->walks * j->stops, each = j->latents.along ? inputs / j->sources : 1; /* inputs per latent */
    for (int i = 0; i < inputs; i++) {
        const int walk = i / j->stops, at = by_class ? walk : i;
        const int class = j->latents.class ? (int)j->latents.class[i / each]
                                           : dg_sample_class(&j->classes, i % j->stops,
                                                             j->latents.first + (uint64_t)walk);
        dg_generator_input(j->g, j->in + (size_t)i * (size_t)j->g->inputs, z + (size_t)at * (size_t)j->g->latent,
                           class);
    }
    free(z);
    return DG_OK;
}

static dg_err prepare(job *j)
{
    j->image = dg_size_values(j->g->model.size, j->g->model.channels);
    dg_err e = choose_latents(j);
    if (e) return e;
    const size_t images = (size_t)j->walks * (size_t)j->stops, all = images * (size_t)j->frames;
    if (all > gif_most / j->image)
        return dg_fail(DG_USAGE,
                       "GIF: too large (%zu frames of %d x %d, at most %zu); use fewer latents, --frames or --walks",
                       all, j->g->model.size.W, j->g->model.size.H, gif_most / j->image);
    j->in = malloc(images * (size_t)j->g->inputs * sizeof *j->in);
    j->pixels = malloc(all * j->image);
    if (!j->in || !j->pixels) return dg_fail(DG_DEVICE, "out of memory");
    e = put_inputs(j);
    if (j->o->raw) return e;
    if (!e) e = dg_results_directory(j->o, "interpolated", j->dir, sizeof j->dir);
    return e ? e : dg_outputs_check(j->dir, (const char *const[]){"strip.png", "walk.gif", NULL});
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
    if (!e && o->raw) e = write_video(&j);
    else if (!e) e = write_files(&j);
    dg_latents_close(&j.latents);
    dg_sample_classes_close(&j.classes);
    free(j.in);
    free(j.pixels);
    dg_generator_close(j.g);
    return (int)e;
}
