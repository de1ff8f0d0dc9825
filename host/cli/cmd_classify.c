/* `dcgan classify`: predicts the classes of images by a trained classifier. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cli/commands.h"
#include "host/cli/image_list.h"
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
    dg_image_list images;
    double *share; /* (count, classes) */
    ranked *rank;
} job;

/* Returns the classifier's name of the image's class, or NULL if it is unknown or not a class of the classifier. */
static const char *label_of(const job *j, int i)
{
    const char *class = j->images.of[i].class;
    for (int c = 0; class && c < j->l->classes; c++)
        if (!strcmp(j->l->name[c], class)) return j->l->name[c];
    return NULL;
}

static dg_err classify(job *j, dg_progress *progress)
{
    const size_t classes = (size_t)j->l->classes;
    j->share = malloc((size_t)j->images.count * classes * sizeof *j->share);
    j->rank = malloc(classes * sizeof *j->rank);
    if (!j->share || !j->rank) return dg_fail(DG_DEVICE, "out of memory for %d images", j->images.count);
    for (int i = 0; i < j->images.count; i += DG_LABELLER_CHUNK) {
        const int n = j->images.count - i < DG_LABELLER_CHUNK ? j->images.count - i : DG_LABELLER_CHUNK;
        double *p = j->share + (size_t)i * classes;
        const dg_err e = dg_labeller_shares(j->l, j->images.pixels + (size_t)i * j->images.image, n, p, NULL);
        if (e) return e;
        for (size_t k = 0; k < (size_t)n * classes; k++)
            if (!isfinite(p[k]))
                return dg_fail(DG_NUMBERS, "%s: probability %g: the weights of model %s are too large (overflow)",
                               j->images.of[i + (int)(k / classes)].path, p[k], j->l->model.name);
        dg_progress_count(progress, "classifying images", i + n, j->images.count);
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
    printf("%s: ", dg_printable(path, sizeof path, j->images.of[i].path));
    for (int k = 0; k < top; k++)
        printf("%s%s %.1f%%", k ? ", " : "", dg_printable(name, sizeof name, j->l->name[r[k].class]), 100 * r[k].share);
    putchar('\n');
}

static void print_json(const job *j, int i, int top)
{
    const ranked *r = rank(j, i);
    printf("%s\n  {\"path\": ", i ? "," : "");
    dg_json_text(stdout, j->images.of[i].path);
    if (label_of(j, i)) {
        printf(", \"label\": ");
        dg_json_text(stdout, label_of(j, i));
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
    for (int i = 0; i < j->images.count; i++) {
        labels += label_of(j, i) != NULL;
        right += label_of(j, i) == j->l->name[rank(j, i)->class];
    }
    if (labels) printf("accuracy: %d of %d correct, %.2f%%\n", right, labels, 100.0 * right / labels);
}

static void print(const job *j)
{
    const int top = j->o->top < j->l->classes ? j->o->top : j->l->classes;
    if (j->o->json) printf("[");
    for (int i = 0; i < j->images.count; i++) j->o->json ? print_json(j, i, top) : print_text(j, i, top);
    if (j->o->json) printf("\n]\n");
    else print_right(j);
}

enum { ON_SHEET = 400 };

static dg_err draw_sheet(const job *j)
{
    const int n = j->images.count < ON_SHEET ? j->images.count : ON_SHEET;
    dg_mistake *m = malloc((size_t)n * sizeof *m);
    dg_image im = {.pixels = NULL};
    if (!m) return dg_fail(DG_DEVICE, "out of memory for %s", j->o->sheet);
    for (int i = 0; i < n; i++) {
        const ranked first = *rank(j, i);
        const char *slash = strrchr(j->images.of[i].path, '/');
        m[i] = (dg_mistake){j->images.pixels + (size_t)i * j->images.image, slash ? slash + 1 : j->images.of[i].path,
                            j->l->name[first.class], first.share};
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
    if (!e) e = dg_prepare_as_trained(&mine, j.l->info.config);
    for (int i = 1; i < o->operands && !e; i++) e = dg_image_list_add(o, &j.l->model, o->operand[i], &j.images);
    if (!e) e = classify(&j, progress);
    dg_progress_close(progress);
    if (!e) print(&j);
    if (!e && o->sheet) e = draw_sheet(&j);
    dg_image_list_free(&j.images);
    free(j.share);
    free(j.rank);
    dg_labeller_close(j.l);
    return (int)e;
}
