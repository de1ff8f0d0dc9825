/* `dcgan data DIR`: checks the dataset in DIR. With --synthesize, draws a dataset into DIR. */
#include "host/cli/commands.h"
#include "host/run/stop.h"
#include "host/data/dataset.h"
#include "host/data/synthesize/synthesize.h"
#include "host/net/classifier.h"
#include "host/net/model.h"
#include "host/net/recipe.h"
#include "host/trainer/progress.h"
#include "core/base/plural.h"
#include "core/base/shell.h"
#include "core/base/team.h"
#include "host/data/looks.h"
#include "host/figure/images.h"
#include "host/files/json.h"
#include "host/options/options.h"

#include <omp.h>
#include <stdlib.h>
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    int key[2];
    int count;
} size_count;

typedef struct {
    const dg_dataset *d;
    size_count *size;
    int sizes;
    int kind[DG_KINDS];
    dg_looks looks;
    int advices;
    char advice[DG_ADVICE][DG_ADVICE_BYTES];
    int bad;
} findings;

static int by_size(const void *a, const void *b)
{
    const size_count *x = a, *y = b;
    if (x->key[0] != y->key[0]) return x->key[0] < y->key[0] ? -1 : 1;
    return (x->key[1] > y->key[1]) - (x->key[1] < y->key[1]);
}

static int by_count(const void *a, const void *b)
{
    const size_count *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : by_size(a, b);
}

static size_t image_bytes(const dg_dataset *d) { return dg_size_values(d->size, d->channels); }

static void count_sizes(findings *f)
{
    const dg_dataset *d = f->d;
    for (int i = 0; i < d->count; i++) f->size[i] = (size_count){{d->width[i], d->height[i]}, 1};
    if (d->count) qsort(f->size, (size_t)d->count, sizeof *f->size, by_size);
    for (int i = 0; i < d->count; i++)
        if (f->sizes && !by_size(f->size + f->sizes - 1, f->size + i)) f->size[f->sizes - 1].count++;
        else f->size[f->sizes++] = f->size[i];
    if (f->sizes) qsort(f->size, (size_t)f->sizes, sizeof *f->size, by_count);
}

static dg_err look(findings *f, const dg_dataset_options *o)
{
    const dg_dataset *d = f->d;
    count_sizes(f);
    for (int i = 0; i < d->count; i++) f->kind[d->kind[i] < DG_KINDS ? d->kind[i] : DG_KIND_UNKNOWN]++;
    for (int i = 0; i < d->skips; i++) f->bad += d->skip[i].bad;
    const dg_err e = dg_looks_at(d, &f->looks);
    if (!e) f->advices = dg_looks_advice(&f->looks, d, o, f->advice);
    return e;
}

static void print_sizes(const findings *f)
{
    printf("image sizes in pixels:\n");
    if (f->sizes <= 8) {
        for (int i = 0; i < f->sizes; i++)
            printf("  %7d  %d x %d\n", f->size[i].count, f->size[i].key[0], f->size[i].key[1]);
    } else {
        for (int low = 1; low <= 1 << 14; low *= 2) {
            int n = 0;
            for (int i = 0; i < f->sizes; i++) {
                int side = f->size[i].key[0] < f->size[i].key[1] ? f->size[i].key[0] : f->size[i].key[1];
                if (side >= low && side < 2 * low) n += f->size[i].count;
            }
            if (n) printf("  %7d  shorter side %d to %d\n", n, low, 2 * low - 1);
        }
        printf("  %d different sizes, most frequent %d x %d (%d image%s)\n", f->sizes, f->size[0].key[0],
               f->size[0].key[1], f->size[0].count, dg_s(f->size[0].count));
    }
}

static void print_twins(const findings *f)
{
    const dg_dataset *d = f->d;
    if (!f->looks.copies) {
        printf("duplicates: none\n");
        return;
    }
    printf("duplicates: %d image%s identical to another image:\n", f->looks.copies, dg_s(f->looks.copies));
    for (int i = 1; i < d->count; i++) {
        if (f->looks.twin[i].group != f->looks.twin[i - 1].group) continue;
        if (f->looks.twin[i - 1].index == f->looks.twin[i].group) dg_say("  %s", d->name[f->looks.twin[i].group]);
        dg_say("    = %s", d->name[f->looks.twin[i].index]);
    }
}

static int count_class(const dg_dataset *d, int class, int from, int to)
{
    int n = 0;
    for (int i = from; i < to; i++) n += d->label[i] == class;
    return n;
}

static void print_classes(const dg_dataset *d)
{
    const int tests = d->count - d->train;
    char of[64] = "";
    if (d->unclassified) dg_say("classes: none, %s", dg_dataset_unclassified(d));
    if (tests) snprintf(of, sizeof of, "%d image%s for training, %d for testing", d->train, dg_s(d->train), tests);
    if (!d->classes) {
        if (tests) printf("parts: %s\n", of);
        return;
    }
    printf("classes: %d%s%s%s%s\n", d->classes, d->labels ? " from " : "", d->labels ? d->labels : "",
           tests ? "; " : "", of);
    for (int i = 0; i < d->classes; i++) {
        printf("  %7d", count_class(d, i, 0, d->train));
        if (tests) printf(" %7d", count_class(d, i, d->train, d->count));
        dg_say("  %s", d->class_name[i]);
    }
}

static void print_report(const dg_dataset_options *o, const findings *f)
{
    char reasons[512], named[2 * DG_ADVICE_BYTES];
    const dg_dataset *d = f->d;
    dg_say("%s: %d usable image%s, %d unusable, %d other file%s", o->dir, d->count, dg_s(d->count), f->bad,
           d->skips - f->bad, dg_s(d->skips - f->bad));
    if (*dg_left_out(d, reasons, sizeof reasons)) printf("ignored: %s\n", reasons);
    printf("for the network: %d x %d x %d, %.1f MiB, fingerprint %016llx\n", d->size.W, d->size.H, d->channels,
           (double)image_bytes(d) * d->count / 0x1p20, (unsigned long long)d->fingerprint);
    print_classes(d);
    if (d->count) {
        printf("kinds:\n");
        for (int i = 0; i < DG_KINDS; i++)
            if (f->kind[i]) printf("  %7d  %s\n", f->kind[i], dg_kind_name((dg_kind)i));
        if (d->channels == 3 && f->looks.grey) printf("  %7d  grey\n", f->looks.grey);
        for (int i = 0; i < DG_DIDS; i++)
            if (f->looks.did[i]) printf("  %7d  %s\n", f->looks.did[i], dg_did_name((dg_did)i));
        print_sizes(f);
        if (f->looks.small)
            printf("  %7d  smaller than the network's %d x %d: enlarged\n", f->looks.small, d->size.W, d->size.H);
        print_twins(f);
    }
    for (int i = 0; i < f->advices; i++)
        dg_say("%s%s", i ? "        " : "advice: ", dg_named_settings(named, sizeof named, f->advice[i]));
    if (d->skips) dg_say("skipped: %s", dg_skip_summary(d, false, 6, reasons, sizeof reasons));
    for (int i = 0; i < d->skips; i++) dg_say("  %s: %s", d->skip[i].name, d->skip[i].reason);
}

/* File names may be invalid UTF-8, which JSON does not allow. */
static cJSON *text(const char *s)
{
    char name[2 * DG_PATH_BYTES];
    return cJSON_CreateString(dg_printable(name, sizeof name, s));
}

static cJSON *json_twins(const findings *f)
{
    cJSON *list = cJSON_CreateArray(), *group = NULL;
    for (int i = 1; i < f->d->count; i++) {
        if (f->looks.twin[i].group != f->looks.twin[i - 1].group) continue;
        if (f->looks.twin[i - 1].index == f->looks.twin[i].group) {
            group = cJSON_CreateArray();
            cJSON_AddItemToArray(list, group);
            cJSON_AddItemToArray(group, text(f->d->name[f->looks.twin[i].group]));
        }
        cJSON_AddItemToArray(group, text(f->d->name[f->looks.twin[i].index]));
    }
    return list;
}

static cJSON *json_classes(const dg_dataset *d)
{
    cJSON *list = cJSON_CreateArray();
    for (int i = 0; i < d->classes; i++) {
        cJSON *row = cJSON_CreateObject();
        dg_json_put(row, "name", text(d->class_name[i]));
        cJSON_AddNumberToObject(row, "train", count_class(d, i, 0, d->train));
        cJSON_AddNumberToObject(row, "test", count_class(d, i, d->train, d->count));
        cJSON_AddItemToArray(list, row);
    }
    return list;
}

static dg_err print_json(const dg_dataset_options *o, const findings *f)
{
    const dg_dataset *d = f->d;
    char hex[20], named[2 * DG_ADVICE_BYTES];
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)d->fingerprint);
    cJSON *j = dg_json_begin(), *list;
    dg_json_put(j, "dir", text(o->dir));
    cJSON_AddNumberToObject(j, "count", d->count);
    if (dg_is_square(d->size)) cJSON_AddNumberToObject(j, "size", d->size.W);
    cJSON_AddNumberToObject(j, "width", d->size.W);
    cJSON_AddNumberToObject(j, "height", d->size.H);
    cJSON_AddNumberToObject(j, "channels", d->channels);
    cJSON_AddNumberToObject(j, "bytes", (double)image_bytes(d) * d->count);
    cJSON_AddStringToObject(j, "fingerprint", hex);
    cJSON_AddNumberToObject(j, "unreadable", f->bad);
    cJSON_AddNumberToObject(j, "bad", f->bad); /* key before 0.1.0 */
    cJSON_AddNumberToObject(j, "made_by_dcgan", d->made);
    cJSON_AddNumberToObject(j, "hidden", d->hidden);
    cJSON_AddNumberToObject(j, "without_colour", f->looks.grey);
    cJSON_AddNumberToObject(j, "smaller", f->looks.small);
    static const char *const key[DG_DIDS] = {"with_alpha", "turned",           "reduced_to_8_bits",
                                             "from_cmyk",  "first_frame_only", "profile_ignored",
                                             "scaled"};
    for (int i = 0; i < DG_DIDS; i++) cJSON_AddNumberToObject(j, key[i], f->looks.did[i]);
    cJSON_AddNumberToObject(j, "train", d->train);
    cJSON_AddNumberToObject(j, "test", d->count - d->train);
    dg_json_put(j, "classes", json_classes(d));
    if (d->labels) cJSON_AddStringToObject(j, "labels", d->labels);
    if (d->unclassified) dg_json_put(j, "unclassified", text(d->unclassified));
    cJSON *kinds = cJSON_AddObjectToObject(j, "kinds");
    for (int i = 0; i < DG_KINDS; i++)
        if (f->kind[i]) cJSON_AddNumberToObject(kinds, dg_kind_name((dg_kind)i), f->kind[i]);
    list = cJSON_AddArrayToObject(j, "sizes");
    for (int i = 0; i < f->sizes; i++) {
        cJSON *row = cJSON_CreateObject();
        cJSON_AddNumberToObject(row, "width", f->size[i].key[0]);
        cJSON_AddNumberToObject(row, "height", f->size[i].key[1]);
        cJSON_AddNumberToObject(row, "count", f->size[i].count);
        cJSON_AddItemToArray(list, row);
    }
    dg_json_put(j, "duplicates", json_twins(f));
    list = cJSON_AddArrayToObject(j, "advice");
    for (int i = 0; i < f->advices; i++)
        cJSON_AddItemToArray(list, text(dg_named_settings(named, sizeof named, f->advice[i])));
    list = cJSON_AddArrayToObject(j, "skipped");
    for (int i = 0; i < d->skips; i++) {
        cJSON *row = cJSON_CreateObject();
        dg_json_put(row, "name", text(d->skip[i].name));
        dg_json_put(row, "reason", text(d->skip[i].reason));
        cJSON_AddBoolToObject(row, "unreadable", d->skip[i].bad);
        cJSON_AddBoolToObject(row, "bad", d->skip[i].bad); /* key before 0.1.0 */
        cJSON_AddBoolToObject(row, "folder", d->skip[i].folder != 0);
        cJSON_AddItemToArray(list, row);
    }
    return dg_json_print(stdout, j);
}

static dg_err write_sheet(const dg_dataset_options *o, const dg_dataset *d, const char *path)
{
    int n = d->count < 64 ? d->count : 64, cols = n < 8 ? n : 8;
    size_t bytes = image_bytes(d);
    if (!n) return dg_fail(DG_DATA, "%s: no images for the contact sheet", o->dir);
    uint8_t *some = malloc((size_t)n * bytes);
    const dg_images images = dg_dataset_images(d);
    dg_err e = some ? DG_OK : dg_fail(DG_DEVICE, "out of memory for the contact sheet");
    for (int i = 0; i < n && !e; i++)
        e = dg_images_read(&images, (int)((int64_t)i * d->count / n), some + (size_t)i * bytes);
    dg_image sheet;
    if (!e) e = dg_sheet(some, n, d->size, d->channels, (n + cols - 1) / cols, cols, &sheet);
    free(some);
    if (e) return e;
    e = dg_png_write(path, &sheet, &(dg_text){"Software", dg_version}, 1);
    dg_image_free(&sheet);
    return e;
}

/* A GAN needs no labels, so unusable labels only cause a warning. */
static dg_err read_for_gan(const dg_dataset_options *o, dg_dataset *out)
{
    dg_err e = dg_dataset_read(o, out);
    if (e == DG_DATA && o->labelled && !o->test) {
        dg_dataset_options plain = *o;
        plain.labelled = false;
        char why[DG_MESSAGE_BYTES];
        snprintf(why, sizeof why, "%s", dg_message());
        e = dg_dataset_read(&plain, out);
        if (!e) dg_warn("classes are not counted: %s", why);
    }
    if (e) return e;
    dg_dataset train = *out;
    train.count = out->train;
    out->fingerprint = dg_dataset_fingerprint(&train, o->threads);
    return DG_OK;
}

static void on_written(void *context, long done, long total)
{
    dg_progress_count(context, "writing images", done, total);
}

static void ignore(void *context, int thread, int i, const uint8_t *pixels)
{
    (void)context, (void)thread, (void)i, (void)pixels;
}

/* Read all images that are in a file, so that each checksum is compared. */
static dg_err check_file(const dg_dataset_options *o, const dg_dataset *d)
{
    const dg_images images = dg_dataset_images(d);
    return d->pixels ? DG_OK : dg_images_each(&images, d->count, o->threads, ignore, NULL);
}

static dg_err write_images(const dg_dataset_options *o, const dg_dataset *d, const dg_data_outputs *out)
{
    dg_progress *p = dg_progress_open(out->quiet);
    const dg_err e = dg_dataset_write(d, o->dir, out->write, o->threads, on_written, p);
    dg_progress_close(p);
    if (!e && !out->json)
        dg_say("%d image%s of %d x %d in %s", d->count, dg_s(d->count), d->size.W, d->size.H, out->write);
    return e;
}

dg_err dg_data_report(const dg_dataset_options *given, const char *classifier, int classes, const dg_data_outputs *out)
{
    dg_dataset d;
    dg_dataset_options all = *given, *o = &all;
    all.list_first = true;
    dg_err e = classifier ? dg_dataset_read(o, &d) : read_for_gan(o, &d);
    if (e) return e;
    findings f = {.d = &d};
    e = check_file(o, &d);
    f.size = calloc(d.count ? (size_t)d.count : 1, sizeof *f.size);
    if (!e) e = f.size ? look(&f, o) : dg_fail(DG_DEVICE, "out of memory for the report");
    if (!e && out->json) e = print_json(o, &f);
    else if (!e) print_report(o, &f);
    if (!e && out->sheet) e = write_sheet(o, &d, out->sheet);
    if (!e) e = dg_dataset_judge(o, &d);
    if (!e && classifier) e = dg_dataset_check_classes(&d, o->dir, classifier, classes);
    if (!e && out->write) e = write_images(o, &d, out);
    free(f.size);
    dg_looks_free(&f.looks);
    dg_dataset_free(&d);
    return e;
}

typedef struct {
    dg_size size;
    int channels, classes;
    char model[64];
} shape;

static dg_err shape_of(const dg_options *o, shape *out)
{
    *out = (shape){.size = o->size, .channels = o->channels};
    if (out->size.W > 0 && out->channels > 0) return DG_OK;
    dg_model *m = malloc(sizeof *m);
    if (!m) return dg_fail(DG_DEVICE, "out of memory for a model");
    dg_err e = dg_model_read(o->model, m);
    const dg_recipe *recipe = e ? NULL : dg_recipe_find(m);
    if (!e && out->size.W <= 0) out->size = m->size;
    if (!e && out->channels <= 0) out->channels = m->channels;
    if (recipe && recipe->labels) out->classes = dg_classifier_classes(m);
    snprintf(out->model, sizeof out->model, "%.63s", e ? "" : m->name);
    free(m);
    return e;
}

static void on_progress(void *context, long done, long total)
{
    dg_progress **p = context;
    dg_progress_reading(*p, done, total);
    if (done < total) return;
    dg_progress_close(*p);
    *p = NULL;
}

static dg_err report(const dg_options *o, const char *dir, const shape *s)
{
    dg_progress *p = dg_progress_open(o->quiet);
    dg_dataset_options want = dg_all_images(o, dir, s->size, s->channels);
    want.least = 0;
    want.labelled = true;
    want.fixed_shape = s->classes > 0;
    want.test = o->test;
    want.seed = o->seed;
    want.cache = o->cache;
    want.may_stay = true;
    want.most_mb = o->image_memory;
    want.stop = &dg_stop_signal;
    want.progress = on_progress;
    want.context = &p;
    const dg_data_outputs out = {o->sheet, o->write, o->json, o->quiet};
    dg_catch_signals();
    dg_err e = dg_data_report(&want, s->classes ? s->model : NULL, s->classes, &out);
    if (dg_stop_signal && e == DG_FAILED) e = (dg_err)(128 + dg_stop_signal);
    dg_progress_close(p);
    return e || !o->aug_preview ? e : dg_aug_preview(o, &want);
}

int dg_cmd_data(const dg_options *o)
{
    const char *dir = o->operands ? o->operand[0] : o->data;
    if (o->operands > 1 || !dir || !*dir)
        return (int)dg_fail(DG_USAGE, "data: needs one folder; use %s data DIR, or %s data --synthesize DIR --count N",
                            dg_program(), dg_program());
    shape s;
    dg_err e = shape_of(o, &s);
    if (e) return (int)e;
    const dg_size size = s.size;
    if (!o->synthesize) return (int)report(o, dir, &s);
    int count = o->count > 0 ? o->count : 1000;
    if (o->threads > 0) omp_set_num_threads(o->threads);
    e = dg_team_begin(o->threads);
    if (!e) e = dg_synthesize(dir, count, size, o->seed, o->classes);
    if (!e && !o->quiet && o->classes)
        dg_say("%d image%s of %d x %d in %d classes in %s", count, dg_s(count), size.W, size.H, o->classes, dir);
    else if (!e && !o->quiet) dg_say("%d image%s of %d x %d in %s", count, dg_s(count), size.W, size.H, dir);
    return (int)e;
}
