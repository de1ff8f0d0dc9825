#include "host/cli/eval_classes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/files/json.h"

/* True if the dataset has the classes of the generator, in the same order. */
static bool same_classes(const dg_generator *g, const dg_dataset *d)
{
    int class;
    return d->classes == g->model.classes && g->info.classes && !dg_dataset_other_class(d, g->info.classes, &class);
}

/* Copy the real images of a class. Returns their number. */
static int select_class(const dg_dataset *d, int class, size_t image, uint8_t *out)
{
    int n = 0;
    for (int i = 0; i < d->count; i++)
        if (d->label[i] == class) memcpy(out + (size_t)n++ * image, d->pixels + (size_t)i * image, image);
    return n;
}

static double share_of(const dg_jury *j, const dg_judged *x, int class)
{
    const int classes = j->labeller ? j->labeller->classes : 0;
    int right = 0;
    if (class >= classes) return NAN;
    for (int i = 0; i < j->count; i++) {
        const double *p = x->share + (size_t)i * (size_t)classes;
        int top = 0;
        for (int c = 1; c < classes; c++)
            if (p[c] > p[top]) top = c;
        right += top == class;
    }
    return (double)right / j->count;
}

static dg_err compare(const dg_jury *j, const uint8_t *reals, int images, const uint8_t *made, int class,
                      dg_eval_class *out)
{
    dg_judged real = {0}, floor = {0}, other = {0};
    const size_t image = dg_size_values(j->size, j->channels);
    const dg_images of[] = {dg_images_of(reals, images, image), dg_images_of(made, j->count, image)};
    dg_err e = dg_judged_take(j, &of[0], 0, 0, &real);
    if (!e) e = dg_judged_take(j, &of[0], 0, j->count, &floor);
    if (!e) e = dg_judged_take(j, &of[1], 1, 0, &other);
    if (!e) e = dg_judged_beside(j, &real, &floor, &floor);
    if (!e) e = dg_judged_beside(j, &real, &floor, &other);
    for (int i = 0; i < DG_LOGGED_ALWAYS && !e; i++) {
        const dg_measure *m = dg_measure_logged(i);
        out->value[i] = out->least[i] = (dg_measured){.value = NAN};
        if (!dg_measurable(m, j)) continue;
        e = dg_measure_take(m, j, &real, &other, &out->value[i]);
        if (!e) e = dg_measure_take(m, j, &real, &floor, &out->least[i]);
    }
    if (!e) out->right = share_of(j, &other, class);
    dg_judged_free(&real);
    dg_judged_free(&floor);
    dg_judged_free(&other);
    return e;
}

dg_err dg_eval_classes_measure(const dg_jury *jury, dg_generator *g, const dg_dataset *reals, dg_eval_classes *out)
{
    const size_t image = dg_size_values(jury->size, jury->channels);
    *out = (dg_eval_classes){0};
    if (!g || !g->model.classes || !reals->classes) return DG_OK;
    if (!same_classes(g, reals)) {
        dg_warn(DG_MSG("eval-other-classes", "the classes are not compared separately, because the dataset has other "
                                             "classes than the generator"));
        return DG_OK;
    }
    out->n = reals->classes;
    out->class = calloc((size_t)out->n, sizeof *out->class);
    uint8_t *real = malloc((size_t)reals->count * image), *made = malloc((size_t)jury->count * image);
    dg_err e = out->class && real && made ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d classes", out->n);
    for (int c = 0; c < out->n && !e; c++) {
        dg_jury j = *jury;
        const int images = select_class(reals, c, image, real), half = images / 2;
        j.count = half < jury->count ? half : jury->count;
        out->class[c] = (dg_eval_class){.name = reals->class_name[c]};
        if (j.count < DG_JUDGED_LEAST) continue;
        out->class[c].count = j.count;
        e = dg_generator_images(g, 0, j.count, c, made, "seed");
        if (!e) e = compare(&j, real, images, made, c, &out->class[c]);
        dg_progress_count(jury->progress, "comparing classes", c + 1, out->n);
    }
    free(real);
    free(made);
    return e;
}

void dg_eval_classes_free(dg_eval_classes *c)
{
    free(c->class);
    *c = (dg_eval_classes){0};
}

static bool classified(const dg_eval_classes *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->class[i].count && !isnan(c->class[i].right)) return true;
    return false;
}

/* Print a metric of the samples and, in parentheses, of real images. */
static void print_pair(const dg_measure *m, const dg_measured *value, const dg_measured *least)
{
    const double scale = m->percent ? 100 : 1;
    char text[64];
    snprintf(text, sizeof text, m->percent ? "%.1f%% (%.1f%%)" : "%.3g (%.3g)", scale * value->value,
             scale * least->value);
    printf(" %18s", text);
}

void dg_eval_classes_print(const dg_eval_classes *c)
{
    char name[300];
    if (!c->n) return;
    printf("\n%-20s %6s", "samples (real), by class", "images");
    for (int i = 0; i < DG_LOGGED_ALWAYS; i++) printf(" %18s", dg_measure_logged(i)->name);
    printf("%s\n", classified(c) ? "   classified so" : "");
    for (int k = 0; k < c->n; k++) {
        const dg_eval_class *v = &c->class[k];
        printf("%-24.24s %6d", dg_printable(name, sizeof name, v->name), v->count);
        for (int i = 0; i < DG_LOGGED_ALWAYS && v->count; i++)
            print_pair(dg_measure_logged(i), &v->value[i], &v->least[i]);
        if (v->count && !isnan(v->right)) printf(" %14.1f%%", 100 * v->right);
        printf("%s\n", v->count ? "" : " too few real images");
    }
}

void dg_eval_classes_json(const dg_eval_classes *c)
{
    printf(",\n \"by_class\": [");
    for (int k = 0; k < c->n; k++) {
        const dg_eval_class *v = &c->class[k];
        printf("%s\n  {\"class\": ", k ? "," : "");
        dg_json_text(stdout, v->name);
        printf(", \"count\": %d", v->count);
        for (int i = 0; i < DG_LOGGED_ALWAYS && v->count; i++) {
            const char *key = dg_measure_logged(i)->name;
            if (!isnan(v->value[i].value))
                printf(", \"%s\": %.9g, \"%s_real\": %.9g", key, v->value[i].value, key, v->least[i].value);
        }
        if (v->count && !isnan(v->right)) printf(", \"classified\": %.9g", v->right);
        printf("}");
    }
    printf("]");
}
