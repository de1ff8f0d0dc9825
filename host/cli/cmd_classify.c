/* `dcgan classify`: predicts the classes of images by a trained classifier. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file_io.h"
#include "core/base/plural.h"
#include "host/cli/commands.h"
#include "host/data/dataset.h"
#include "host/data/zip.h"
#include "host/figure/confusion.h"
#include "host/files/json.h"
#include "host/infer/labeller.h"
#include "host/trainer/progress.h"

typedef struct {
    double share;
    int class;
} ranked;

typedef struct {
    const dg_options *o;
    dg_labeller *l;
    size_t image;
    uint8_t *pixels;
    char **path;
    const char **label; /* true class of each image, or NULL if the classifier lacks this class */
    int count, capacity;
    double *share; /* (count, classes) */
    ranked *rank;
} job;

static dg_err add_image(job *j, const char *folder, const char *name, const char *label, const uint8_t *pixels)
{
    if (j->count == j->capacity) {
        const int capacity = j->capacity ? 2 * j->capacity : 64;
        uint8_t *p = realloc(j->pixels, (size_t)capacity * j->image);
        if (p) j->pixels = p;
        char **q = realloc(j->path, (size_t)capacity * sizeof *q);
        if (q) j->path = q;
        const char **r = realloc(j->label, (size_t)capacity * sizeof *r);
        if (r) j->label = r;
        if (!p || !q || !r) return dg_fail(DG_DEVICE, "out of memory for %d images", capacity);
        j->capacity = capacity;
    }
    const size_t n = strlen(folder), room = n + strlen(name) + 2;
    char *path = malloc(room);
    if (!path) return dg_fail(DG_DEVICE, "out of memory for %d images", j->count);
    snprintf(path, room, "%s%s%s", folder, n && folder[n - 1] != '/' ? "/" : "", name);
    memcpy(j->pixels + (size_t)j->count * j->image, pixels, j->image);
    j->label[j->count] = label;
    j->path[j->count++] = path;
    return DG_OK;
}

static const char *label_of(const job *j, const dg_dataset *set, int i)
{
    const char *class = set->label && set->label[i] >= 0 ? set->class_name[set->label[i]] : NULL;
    for (int c = 0; class && c < j->l->classes; c++)
        if (!strcmp(j->l->name[c], class)) return j->l->name[c];
    return NULL;
}

static dg_err add_folder(job *j, const char *path)
{
    dg_dataset_options d = dg_all_images(j->o, path, j->l->model.size, j->l->model.channels);
    d.take_made = true;
    dg_dataset set = {0};
    d.labelled = d.any_part = true;
    dg_err e = dg_dataset_load(&d, &set);
    if (!e && set.count > set.train)
        dg_warn(DG_MSG("test-left-out",
                       "the test part of %s was skipped (%d image%s); to classify these images, give their folder"),
                path, set.count - set.train, dg_s(set.count - set.train));
    for (int i = 0; i < set.train && !e; i++)
        e = add_image(j, path, set.name[i], label_of(j, &set, i), set.pixels + (size_t)i * j->image);
    for (int i = 0; i < set.skips && !e; i++)
        if (set.skip[i].bad) dg_warn("%s/%s was skipped: %s", path, set.skip[i].name, set.skip[i].reason);
    dg_dataset_free(&set);
    return e;
}

static dg_err add_file(job *j, const char *path)
{
    const dg_options *o = j->o;
    const dg_decode_options decode = {.alpha = o->alpha, .exif = o->exif};
    const dg_fitting how = {j->l->model.size, j->l->model.channels, o->fit, (dg_resize)o->filter};
    void *data;
    size_t bytes;
    dg_decoded of;
    dg_image fitted;
    dg_err e = dg_read_file(path, (size_t)64 << 20, &data, &bytes);
    if (e) return e;
    e = dg_context(dg_image_decode_fitted(data, bytes, &decode, &how, &fitted, &of), "%s", path);
    free(data);
    if (e) return e;
    e = add_image(j, "", path, NULL, fitted.pixels);
    dg_image_free(&fitted);
    return e;
}

static dg_err read_images(job *j)
{
    dg_err e = DG_OK;
    for (int i = 1; i < j->o->operands && !e; i++) {
        const char *path = j->o->operand[i];
        e = dg_is_folder(path) || dg_zip_inside(path) ? add_folder(j, path) : add_file(j, path);
    }
    return e;
}

static dg_err classify(job *j, dg_progress *progress)
{
    const size_t classes = (size_t)j->l->classes;
    j->share = malloc((size_t)j->count * classes * sizeof *j->share);
    j->rank = malloc(classes * sizeof *j->rank);
    if (!j->share || !j->rank) return dg_fail(DG_DEVICE, "out of memory for %d images", j->count);
    for (int i = 0; i < j->count; i += DG_LABELLER_CHUNK) {
        const int n = j->count - i < DG_LABELLER_CHUNK ? j->count - i : DG_LABELLER_CHUNK;
        double *p = j->share + (size_t)i * classes;
        const dg_err e = dg_labeller_shares(j->l, j->pixels + (size_t)i * j->image, n, p, NULL);
        if (e) return e;
        for (size_t k = 0; k < (size_t)n * classes; k++)
            if (!isfinite(p[k]))
                return dg_fail(DG_NUMBERS, "%s: probability %g: the weights of model %s are too large (overflow)",
                               j->path[i + (int)(k / classes)], p[k], j->l->model.name);
        dg_progress_count(progress, "classifying images", i + n, j->count);
    }
    return DG_OK;
}

static int larger_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->share != y->share ? (x->share < y->share ? 1 : -1) : x->class - y->class;
}

static const ranked *rank(const job *j, int i)
{
    const double *p = j->share + (size_t)i * (size_t)j->l->classes;
    for (int c = 0; c < j->l->classes; c++) j->rank[c] = (ranked){p[c], c};
    qsort(j->rank, (size_t)j->l->classes, sizeof *j->rank, larger_first);
    return j->rank;
}

static void print_text(const job *j, int i, int top)
{
    const ranked *r = rank(j, i);
    char path[4 * 4096], name[4 * 256];
    printf("%s: ", dg_printable(path, sizeof path, j->path[i]));
    for (int k = 0; k < top; k++)
        printf("%s%s %.1f%%", k ? ", " : "", dg_printable(name, sizeof name, j->l->name[r[k].class]), 100 * r[k].share);
    putchar('\n');
}

static void print_json(const job *j, int i, int top)
{
    const ranked *r = rank(j, i);
    printf("%s\n  {\"path\": ", i ? "," : "");
    dg_json_text(stdout, j->path[i]);
    if (j->label[i]) {
        printf(", \"label\": ");
        dg_json_text(stdout, j->label[i]);
    }
    printf(", \"classes\": [");
    for (int k = 0; k < top; k++) {
        printf("%s{\"class\": ", k ? ", " : "");
        dg_json_text(stdout, j->l->name[r[k].class]);
        printf(", \"share\": %.6f}", r[k].share);
    }
    printf("]}");
}

static void print_right(const job *j)
{
    int labels = 0, right = 0;
    for (int i = 0; i < j->count; i++) {
        labels += j->label[i] != NULL;
        right += j->label[i] == j->l->name[rank(j, i)->class];
    }
    if (labels) printf("accuracy: %d of %d correct, %.2f%%\n", right, labels, 100.0 * right / labels);
}

static void print(const job *j)
{
    const int top = j->o->top < j->l->classes ? j->o->top : j->l->classes;
    if (j->o->json) printf("[");
    for (int i = 0; i < j->count; i++) j->o->json ? print_json(j, i, top) : print_text(j, i, top);
    if (j->o->json) printf("\n]\n");
    else print_right(j);
}

enum { ON_SHEET = 400 };

static dg_err draw_sheet(const job *j)
{
    const int n = j->count < ON_SHEET ? j->count : ON_SHEET;
    dg_mistake *m = malloc((size_t)n * sizeof *m);
    dg_image im = {.pixels = NULL};
    if (!m) return dg_fail(DG_DEVICE, "out of memory for %s", j->o->sheet);
    for (int i = 0; i < n; i++) {
        const ranked first = *rank(j, i);
        const char *slash = strrchr(j->path[i], '/');
        m[i] = (dg_mistake){j->pixels + (size_t)i * j->image, slash ? slash + 1 : j->path[i], j->l->name[first.class],
                            first.share};
    }
    dg_err e = dg_mistakes_draw(m, n, j->l->model.size, j->l->model.channels, j->l->model.name, &im);
    const dg_text words[] = {{"Software", dg_version}, {"Model", j->l->model.name}};
    if (!e) e = dg_png_write(j->o->sheet, &im, words, 2);
    dg_image_free(&im);
    free(m);
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
    if (!e) j.image = (size_t)j.l->model.size * (size_t)j.l->model.size * (size_t)j.l->model.channels;
    if (!e) e = dg_prepare_as_trained(&mine, j.l->info.config);
    if (!e) e = read_images(&j);
    if (!e) e = classify(&j, progress);
    dg_progress_close(progress);
    if (!e) print(&j);
    if (!e && o->sheet) e = draw_sheet(&j);
    for (int i = 0; i < j.count; i++) free(j.path[i]);
    free(j.path);
    free(j.label);
    free(j.pixels);
    free(j.share);
    free(j.rank);
    dg_labeller_close(j.l);
    return (int)e;
}
