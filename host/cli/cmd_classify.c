/* `dcgan classify`: what a trained classifier takes pictures for. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file_io.h"
#include "host/cli/commands.h"
#include "host/data/dataset.h"
#include "host/figure/confusion.h"
#include "host/files/json_text.h"
#include "host/net/labeller.h"
#include "host/options/option_table.h"
#include "host/run/progress.h"

/* All pictures that the operands mean, one behind the other. */
typedef struct {
    const dg_options *o;
    dg_labeller *l;
    size_t picture; /* bytes of one */
    uint8_t *pixels;
    char **path;
    int count, capacity;
    double *share; /* (count, classes) */
} job;

static dg_err add_picture(job *j, const char *folder, const char *name, const uint8_t *pixels)
{
    if (j->count == j->capacity) {
        const int capacity = j->capacity ? 2 * j->capacity : 64;
        uint8_t *p = realloc(j->pixels, (size_t)capacity * j->picture);
        if (p) j->pixels = p;
        char **q = realloc(j->path, (size_t)capacity * sizeof *q);
        if (q) j->path = q;
        if (!p || !q) return dg_fail(DG_DEVICE, "out of memory for %d pictures", capacity);
        j->capacity = capacity;
    }
    const size_t n = strlen(folder), room = n + strlen(name) + 2;
    char *path = malloc(room);
    if (!path) return dg_fail(DG_DEVICE, "out of memory for %d pictures", j->count);
    snprintf(path, room, "%s%s%s", folder, n && folder[n - 1] != '/' ? "/" : "", name);
    memcpy(j->pixels + (size_t)j->count * j->picture, pixels, j->picture);
    j->path[j->count++] = path;
    return DG_OK;
}

static dg_err add_folder(job *j, const char *path)
{
    const dg_options *o = j->o;
    const dg_dataset_options d = {.dir = path,
                                  .size = j->l->model.size,
                                  .channels = j->l->model.channels,
                                  .fit = o->fit,
                                  .decode = {.alpha = o->alpha, .exif = o->exif},
                                  .threads = o->threads,
                                  .strict = o->strict,
                                  .take_made = true,
                                  .least = 1,
                                  .limit = o->limit};
    dg_dataset set = {0};
    dg_err e = dg_dataset_load(&d, &set);
    if (!e && set.aside)
        dg_warn("%s: its test part, %d pictures, is left out; name that folder to have it", path, set.aside);
    for (int i = 0; i < set.count && !e; i++)
        e = add_picture(j, path, set.name[i], set.pixels + (size_t)i * j->picture);
    for (int i = 0; i < set.skips && !e; i++)
        if (set.skip[i].bad) dg_warn("%s/%s: %s; it is left out", path, set.skip[i].name, set.skip[i].reason);
    dg_dataset_free(&set);
    return e;
}

static dg_err add_file(job *j, const char *path)
{
    const dg_options *o = j->o;
    const dg_decode_options decode = {.alpha = o->alpha, .exif = o->exif};
    void *data;
    size_t bytes;
    dg_image im, fitted;
    dg_err e = dg_read_file(path, (size_t)64 << 20, &data, &bytes);
    if (e) return e;
    e = dg_context(dg_image_decode(data, bytes, &decode, &im), "%s", path);
    free(data);
    if (e) return e;
    if (j->l->model.channels == 1) dg_image_grey(&im);
    e = dg_context(dg_image_fit(&im, j->l->model.size, o->fit, &fitted), "%s", path);
    dg_image_free(&im);
    if (e) return e;
    e = add_picture(j, "", path, fitted.pixels);
    dg_image_free(&fitted);
    return e;
}

static dg_err read_pictures(job *j)
{
    dg_err e = DG_OK;
    for (int i = 1; i < j->o->operands && !e; i++) {
        struct stat s;
        const bool folder = !stat(j->o->operand[i], &s) && S_ISDIR(s.st_mode);
        e = folder ? add_folder(j, j->o->operand[i]) : add_file(j, j->o->operand[i]);
    }
    return e;
}

static dg_err classify(job *j, dg_progress *progress)
{
    const size_t classes = (size_t)j->l->classes;
    j->share = malloc((size_t)j->count * classes * sizeof *j->share);
    if (!j->share) return dg_fail(DG_DEVICE, "out of memory for %d pictures", j->count);
    for (int i = 0; i < j->count; i += DG_LABELLER_CHUNK) {
        const int n = j->count - i < DG_LABELLER_CHUNK ? j->count - i : DG_LABELLER_CHUNK;
        double *p = j->share + (size_t)i * classes;
        const dg_err e = dg_labeller_shares(j->l, j->pixels + (size_t)i * j->picture, n, p);
        if (e) return e;
        for (size_t k = 0; k < (size_t)n * classes; k++)
            if (!isfinite(p[k]))
                return dg_fail(DG_NUMBERS,
                               "%s: a share is %g: the weights of model %s are numbers, but too large to compute with",
                               j->path[i + (int)(k / classes)], p[k], j->l->model.name);
        dg_progress_count(progress, "looking at pictures", i + n, j->count);
    }
    return DG_OK;
}

/* The class with the place-th largest share; of equals the first. */
static int class_at(const double *p, int classes, int place)
{
    for (int c = 0; c < classes; c++) {
        int before = 0;
        for (int k = 0; k < classes; k++) before += p[k] > p[c] || (k < c && p[k] == p[c]);
        if (before == place) return c;
    }
    return 0;
}

static void print_text(const job *j, int i, int top)
{
    const double *p = j->share + (size_t)i * (size_t)j->l->classes;
    char line[4096], path[4096], name[300];
    size_t n = 0;
    *line = 0;
    for (int k = 0; k < top && n < sizeof line; k++) {
        const int c = class_at(p, j->l->classes, k);
        n += (size_t)snprintf(line + n, sizeof line - n, "%s%s %.1f%%", k ? ", " : "",
                              dg_printable(name, sizeof name, j->l->name[c]), 100 * p[c]);
    }
    dg_say("%s: %s", dg_printable(path, sizeof path, j->path[i]), line);
}

static void print_json(const job *j, int i, int top)
{
    const double *p = j->share + (size_t)i * (size_t)j->l->classes;
    printf("%s\n  {\"path\": ", i ? "," : "");
    dg_json_text(stdout, j->path[i]);
    printf(", \"classes\": [");
    for (int k = 0; k < top; k++) {
        const int c = class_at(p, j->l->classes, k);
        printf("%s{\"class\": ", k ? ", " : "");
        dg_json_text(stdout, j->l->name[c]);
        printf(", \"share\": %.6f}", p[c]);
    }
    printf("]}");
}

static void print(const job *j)
{
    const int top = j->o->top < j->l->classes ? j->o->top : j->l->classes;
    if (j->o->json) printf("[");
    for (int i = 0; i < j->count; i++) j->o->json ? print_json(j, i, top) : print_text(j, i, top);
    if (j->o->json) printf("\n]\n");
}

enum { ON_SHEET = 400 };

static dg_err draw_sheet(const job *j)
{
    const int n = j->count < ON_SHEET ? j->count : ON_SHEET, classes = j->l->classes;
    dg_mistake *m = malloc((size_t)n * sizeof *m);
    dg_image im;
    if (!m) return dg_fail(DG_DEVICE, "out of memory for %s", j->o->sheet);
    for (int i = 0; i < n; i++) {
        const double *p = j->share + (size_t)i * (size_t)classes;
        const char *slash = strrchr(j->path[i], '/');
        const int c = class_at(p, classes, 0);
        m[i] = (dg_mistake){j->pixels + (size_t)i * j->picture, slash ? slash + 1 : j->path[i], j->l->name[c], p[c]};
    }
    dg_err e = dg_mistakes_draw(m, n, j->l->model.size, j->l->model.channels, j->l->model.name, &im);
    const dg_text words[] = {{"Software", dg_version}, {"Model", j->l->model.name}};
    if (!e) e = dg_png_write(j->o->sheet, &im, words, 2);
    if (!e) dg_image_free(&im);
    free(m);
    return e;
}

/* Pictures are prepared as for training, unless another way is asked for. */
static dg_err as_trained(dg_options *o, const char *config)
{
    dg_options then = {.command = DG_CMD_TRAIN, .fit = o->fit, .alpha = o->alpha, .exif = o->exif};
    const dg_err e = dg_config_parse(config, "the checkpoint's config", &then);
    if (o->fit == DG_FIT_CROP) o->fit = then.fit;
    if (o->alpha == DG_ALPHA_DROP) o->alpha = then.alpha;
    if (o->exif) o->exif = then.exif;
    dg_options_free(&then);
    return e;
}

int dg_cmd_classify(const dg_options *given)
{
    dg_options mine = *given;
    const dg_options *const o = &mine;
    job j = {.o = o};
    const dg_device d = dg_options_device(o);
    dg_progress *progress = dg_progress_open(o->quiet || o->json);
    dg_err e = dg_labeller_open(&d, o->operand[0], &j.l);
    if (!e) j.picture = (size_t)j.l->model.size * (size_t)j.l->model.size * (size_t)j.l->model.channels;
    if (!e) e = as_trained(&mine, j.l->info.config);
    if (!e) e = read_pictures(&j);
    if (!e) e = classify(&j, progress);
    dg_progress_close(progress);
    if (!e) print(&j);
    if (!e && o->sheet) e = draw_sheet(&j);
    for (int i = 0; i < j.count; i++) free(j.path[i]);
    free(j.path);
    free(j.pixels);
    free(j.share);
    dg_labeller_close(j.l);
    return (int)e;
}
