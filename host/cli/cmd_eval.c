/* `dcgan eval`: prints metrics of generated images (host/judge). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/base/file_io.h"
#include "host/cli/commands.h"
#include "host/cli/eval_classes.h"
#include "host/cli/eval_fid.h"
#include "host/data/dataset.h"
#include "host/files/json.h"
#include "host/judge/judge.h"
#include "host/infer/generator.h"
#include "host/net/recipe.h"
#include "host/files/made.h"

enum { ROOM = 200, SHOWN = 8 };

typedef struct {
    char name[ROOM];
    int count;
} origin;

/* Read the origin of a generated image (model, step and seed of the checkpoint) from its PNG text chunks. */
static void read_origin(int folder, const char *file, char out[ROOM])
{
    char head[DG_TEXTS_BYTES], model[100], step[24], seed[24];
    const int fd = openat(folder, file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, head, sizeof head);
    const size_t n = got < 0 ? 0 : (size_t)got;
    if (fd >= 0) close(fd);
    *out = 0;
    if (!dg_png_says(head, n, "Software", "dcgan ") || dg_png_text(head, n, DG_ORIGIN, out, ROOM)) return;
    if (dg_png_text(head, n, "Model", model, sizeof model) && dg_png_text(head, n, "Step", step, sizeof step) &&
        dg_png_text(head, n, "Seed", seed, sizeof seed))
        snprintf(out, ROOM, "%s, step %s, seed %s", model, step, seed);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const origin *)a)->name, ((const origin *)b)->name);
}

static int most_first(const void *a, const void *b)
{
    const origin *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

static int join(origin *o, int n)
{
    int kept = 0;
    qsort(o, (size_t)n, sizeof *o, by_name);
    for (int i = 0; i < n; i++) {
        if (kept && !strcmp(o[kept - 1].name, o[i].name)) o[kept - 1].count++;
        else o[kept++] = o[i];
    }
    qsort(o, (size_t)kept, sizeof *o, most_first);
    return kept;
}

enum { LIST_BYTES = SHOWN * (ROOM + 20) + 40 };

static void list(char out[LIST_BYTES], const origin *o, int n)
{
    size_t at = 0;
    for (int i = 0; i < n && i < SHOWN; i++)
        at += (size_t)snprintf(out + at, LIST_BYTES - at, "%s%d from %s", i ? "; " : "", o[i].count,
                               *o[i].name ? o[i].name : "an unknown checkpoint");
    if (n > SHOWN) snprintf(out + at, LIST_BYTES - at, "; further checkpoints: %d", n - SHOWN);
}

/* Returns DG_DATA if the images have several origins. With `force`, several origins only cause a warning. Images
 * of unknown origin count as one origin. */
static dg_err check_origins(const char *dir, const dg_dataset *d, bool force)
{
    char all[LIST_BYTES];
    const int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return dg_fail(DG_IO, "%s: cannot open: %s", dir, strerror(errno));
    origin *o = malloc((size_t)d->count * sizeof *o);
    for (int i = 0; i < d->count && o; i++) {
        read_origin(folder, d->name[i], o[i].name);
        o[i].count = 1;
    }
    close(folder);
    if (!o) return dg_fail(DG_DEVICE, "out of memory for %d images", d->count);
    const int n = join(o, d->count);
    list(all, o, n);
    free(o);
    if (n < 2) return DG_OK;
    if (!force)
        return dg_fail(
            DG_DATA,
            DG_MSG("mixed-origins",
                   "%s: mixes %d images from %d checkpoints: %s; use one folder per checkpoint, or add {force}"),
            dir, d->count, n, all);
    dg_warn(DG_MSG("metrics-of-mixture", "the metrics are those of samples of several checkpoints together: %s has %s"),
            dir, all);
    return DG_OK;
}

enum { COUNT = 5000, MEASURES = 24 };

typedef struct {
    dg_options o;
    dg_generator *generator; /* generator of the samples, or NULL if a folder has the samples */
    dg_labeller *labeller;
    dg_model *named;
    dg_backend *backend;
    dg_dataset reals, folder;
    dg_jury jury;
    uint8_t *made;
    dg_judged real, other, floor; /* floor: real-vs-real baseline */
    dg_class_verdict *class;
    dg_eval_classes by_class;
    dg_eval_fid fid;
    dg_measured value[MEASURES], least[MEASURES];
} job;

static dg_err open_all(job *j)
{
    dg_options *o = &j->o;
    const dg_device d = dg_options_device(o);
    dg_err e = DG_OK;
    if (!dg_is_folder(o->operand[0])) e = dg_generator_open(&d, o->operand[0], &j->generator);
    if (!e && o->classifier) e = dg_labeller_open(&d, o->classifier, &j->labeller);
    if (!e && o->model && !(j->named = calloc(1, sizeof *j->named))) e = dg_fail(DG_DEVICE, "out of memory");
    if (!e && j->named) e = dg_model_read(o->model, j->named);
    if (!e && o->two_sample) {
        dg_device mine = d;
        mine.preferred = &dg_precisions[DG_PRECISION_FP32];
        e = dg_device_open(&mine, &j->backend);
    }
    if (e) return e;
    const dg_model *own = j->generator ? &j->generator->model : NULL, *of = own           ? own
                                                                            : j->named    ? j->named
                                                                            : j->labeller ? &j->labeller->model
                                                                                          : NULL;
    if (!of || (o->two_sample && !own && !j->named))
        return dg_fail(DG_USAGE,
                       o->two_sample
                           ? DG_MSG("discriminator-unknown",
                                    "%s: a folder has no discriminator for --two-sample; add --model NAME of a GAN")
                           : DG_MSG("size-unknown",
                                    "%s: a folder has no image size; add --model NAME of a model of that size"),
                       o->operand[0]);
    if (own && j->named && (!dg_same_size(own->size, j->named->size) || own->channels != j->named->channels))
        return dg_fail(DG_USAGE,
                       DG_MSG("image-size-differs",
                              "--model %s: image size %d x %d x %d differs from that of %s (%d x %d x %d)"),
                       o->model, j->named->size.W, j->named->size.H, j->named->channels, o->operand[0], own->size.W,
                       own->size.H, own->channels);
    j->jury.size = of->size;
    j->jury.channels = of->channels;
    j->jury.gan = !o->two_sample ? NULL : j->named ? j->named : own;
    if (j->jury.gan && (e = dg_judge_takes(j->jury.gan)) != DG_OK) return e;
    j->jury.backend = j->backend;
    j->jury.labeller = j->labeller;
    j->jury.seed = o->seed;
    j->jury.threads = o->threads;
    if ((e = dg_random_net_open(&d, of->size, of->channels, &j->jury.random_net)) != DG_OK) return e;
    const dg_checkpoint_info *trained = j->generator ? &j->generator->info : j->labeller ? &j->labeller->info : NULL;
    return trained ? dg_prepare_as_trained(o, trained->config) : DG_OK;
}

static dg_err load(const job *j, const char *dir, bool made, dg_dataset *out)
{
    dg_dataset_options d = dg_all_images(&j->o, dir, j->jury.size, j->jury.channels);
    d.take_made = made;
    d.progress = dg_progress_reading;
    d.context = j->jury.progress;
    if (made) d.limit = 0;
    const dg_err e = dg_dataset_load(&d, out);
    for (int i = 0; i < out->skips && !e; i++)
        if (out->skip[i].bad) dg_warn("%s/%s was skipped: %s", dir, out->skip[i].name, out->skip[i].reason);
    return e;
}

/* The baseline compares two halves of the real images, so at most half as many samples are compared. */
static dg_err settle_count(job *j)
{
    const dg_options *o = &j->o;
    const int half = j->reals.count / 2, have = j->generator || j->folder.count > half ? half : j->folder.count;
    j->jury.count = o->count ? o->count : have < COUNT ? have : COUNT;
    if (j->jury.count > half)
        return dg_fail(DG_DATA,
                       DG_MSG("half-too-small", "--count %d: too large, because half of the %d real images in %s are "
                                                "the real-vs-real baseline; use at most %d"),
                       o->count, j->reals.count, o->data, half);
    if (j->jury.count > have)
        return dg_fail(DG_DATA, DG_MSG("count-too-large", "--count %d: too large (%s has %d images)"), o->count,
                       o->operand[0], j->folder.count);
    if (j->jury.count < DG_JUDGED_LEAST)
        return dg_fail(DG_DATA,
                       DG_MSG("too-few-to-judge", "too few images: %d samples, %d real images; the metrics need at "
                                                  "least %d of each"),
                       j->jury.count, j->reals.count, DG_JUDGED_LEAST);
    return DG_OK;
}

static dg_err make(job *j)
{
    const size_t image = dg_size_values(j->jury.size, j->jury.channels);
    const int fid = dg_eval_fid_samples(&j->o, &j->fid, j->reals.count),
              all = fid > j->jury.count ? fid : j->jury.count;
    j->made = malloc((size_t)all * image);
    dg_err e = j->made ? DG_OK : dg_fail(DG_DEVICE, "out of memory for %d images", all);
    for (int i = 0; i < all && !e; i += DG_GENERATOR_CHUNK) {
        const int n = all - i < DG_GENERATOR_CHUNK ? all - i : DG_GENERATOR_CHUNK;
        e = dg_generator_images(j->generator, (uint64_t)i, n, -1, j->made + (size_t)i * image, "seed");
        dg_progress_count(j->jury.progress, "generating images", i + n, all);
    }
    return e;
}

static dg_err measure_fid(job *j)
{
    const bool made = j->generator;
    const int n = made ? dg_eval_fid_samples(&j->o, &j->fid, j->reals.count) : j->folder.count;
    return dg_eval_fid_measure(&j->o, &j->reals, made ? j->made : j->folder.pixels, n, j->jury.progress, &j->fid);
}

static dg_err take_images(job *j)
{
    const int n = j->jury.count;
    dg_err e = j->generator ? make(j) : DG_OK;
    const dg_images reals = dg_dataset_images(&j->reals),
                    other = j->generator ? dg_images_of(j->made, n, reals.bytes) : dg_dataset_images(&j->folder);
    if (!e) e = dg_judged_take(&j->jury, &reals, 0, 0, &j->real);
    if (!e) e = dg_judged_take(&j->jury, &reals, 0, n, &j->floor);
    if (!e) e = dg_judged_take(&j->jury, &other, 1, 0, &j->other);
    return e;
}

static dg_err measure(job *j)
{
    dg_err e = DG_OK;
    if (j->labeller && !(j->class = malloc((size_t)j->labeller->classes * sizeof *j->class)))
        e = dg_fail(DG_DEVICE, "out of memory for %d classes", j->labeller->classes);
    if (j->class) e = dg_judge_classes(&j->jury, &j->real, &j->other, j->class);
    dg_progress_count(j->jury.progress, "comparing sets of images", 1, 3);
    if (!e) e = dg_judged_beside(&j->jury, &j->real, &j->floor, &j->floor);
    dg_progress_count(j->jury.progress, "comparing sets of images", 2, 3);
    if (!e) e = dg_judged_beside(&j->jury, &j->real, &j->floor, &j->other);
    dg_progress_count(j->jury.progress, "comparing sets of images", 3, 3);
    for (int i = 0; dg_measures[i].name && !e; i++) {
        if (!dg_measurable(&dg_measures[i], &j->jury)) continue;
        e = dg_measure_take(&dg_measures[i], &j->jury, &j->real, &j->other, &j->value[i]);
        if (!e) e = dg_measure_take(&dg_measures[i], &j->jury, &j->real, &j->floor, &j->least[i]);
    }
    return e;
}

static void print_classes(const job *j)
{
    char name[300];
    dg_say("%-36s %14s %14s %14s", "class", "samples", "real", "confident");
    for (int c = 0; c < j->labeller->classes; c++) {
        const dg_class_verdict *v = &j->class[c];
        dg_say("%-36.36s %13.1f%% %13.1f%% %13.1f%%%s", dg_printable(name, sizeof name, j->labeller->name[c]),
               100 * v->other, 100 * v->real, 100 * v->sure, v->left_out ? "  missing" : "");
    }
    dg_say("%s", "");
}

static void put_number(char *out, size_t size, const dg_measure *m, const dg_measured *x)
{
    if (x->low < x->high) snprintf(out, size, "%.1f%% (%.1f-%.1f)", 100 * x->value, 100 * x->low, 100 * x->high);
    else if (m->percent) snprintf(out, size, "%.1f%%", 100 * x->value);
    else if (x->deviation > 0) snprintf(out, size, "%.5f (+-%.5f)", x->value, x->deviation);
    else snprintf(out, size, "%.4g", x->value);
}

static void print_text(const job *j)
{
    char value[80], least[80];
    dg_say("%s: %d samples compared with %d of the %d images in %s, seed %llu", j->o.operand[0], j->jury.count,
           j->jury.count, j->reals.count, j->o.data, (unsigned long long)j->o.seed);
    dg_say("%s", "");
    if (j->labeller) print_classes(j);
    dg_say("%-36s %20s %20s  %s", "metric", "samples", "real", "better");
    for (int i = 0; dg_measures[i].name; i++) {
        const dg_measure *m = &dg_measures[i];
        if (!dg_measurable(m, &j->jury)) continue;
        put_number(value, sizeof value, m, &j->value[i]);
        put_number(least, sizeof least, m, &j->least[i]);
        dg_say("%-36s %20s %20s  %s", m->label, value, least, dg_measure_best(m));
    }
    dg_eval_fid_rows(&j->fid);
    dg_eval_classes_print(&j->by_class);
    dg_eval_fid_notes(&j->o, &j->fid);
}

static void print_measured(const char *key, const dg_measured *x)
{
    printf(", \"%s\": %.9g", key, x->value);
    if (x->low < x->high) printf(", \"%s_low\": %.9g, \"%s_high\": %.9g", key, x->low, key, x->high);
    if (x->deviation > 0) printf(", \"%s_deviation\": %.9g", key, x->deviation);
}

static void print_metrics(const job *j)
{
    int n = 0;
    for (int i = 0; dg_measures[i].name; i++) {
        if (!dg_measurable(&dg_measures[i], &j->jury)) continue;
        printf("%s\n  {\"name\": \"%s\", \"better\": \"%s\"", n++ ? "," : "", dg_measures[i].name,
               dg_measure_best(&dg_measures[i]));
        print_measured("judged", &j->value[i]);
        print_measured("real", &j->least[i]);
        printf("}");
    }
    dg_eval_fid_metrics(&j->fid, n);
}

static void print_json(const job *j)
{
    printf("{\"judged\": ");
    dg_json_text(stdout, j->o.operand[0]);
    printf(", \"data\": ");
    dg_json_text(stdout, j->o.data);
    printf(", \"count\": %d, \"seed\": %llu,\n \"classes\": [", j->jury.count, (unsigned long long)j->o.seed);
    for (int c = 0; j->labeller && c < j->labeller->classes; c++) {
        const dg_class_verdict *v = &j->class[c];
        printf("%s\n  {\"class\": ", c ? "," : "");
        dg_json_text(stdout, j->labeller->name[c]);
        printf(", \"judged\": %.9g, \"real\": %.9g, \"confident\": %.9g, \"surely_judged\": %.9g, \"left_out\": %s}",
               v->other, v->real, v->sure, v->sure, v->left_out ? "true" : "false");
    }
    printf("],\n \"metrics\": [");
    print_metrics(j);
    printf("],\n \"measures\": ["); /* before version 0.1.0, the key "metrics" had this name */
    print_metrics(j);
    printf("]");
    if (j->by_class.n) dg_eval_classes_json(&j->by_class);
    dg_eval_fid_json(&j->o, &j->fid);
    printf("}\n");
}

static void take_down(job *j)
{
    dg_judged_free(&j->real);
    dg_judged_free(&j->other);
    dg_judged_free(&j->floor);
    dg_dataset_free(&j->reals);
    dg_dataset_free(&j->folder);
    dg_generator_close(j->generator);
    dg_labeller_close(j->labeller);
    dg_eval_fid_close(&j->fid);
    dg_random_net_close(j->jury.random_net);
    if (j->backend) j->backend->close(j->backend);
    free(j->named);
    free(j->made);
    free(j->class);
    dg_eval_classes_free(&j->by_class);
    free(j);
}

int dg_cmd_eval(const dg_options *o)
{
    job *j = calloc(1, sizeof *j);
    if (!j) return (int)dg_fail(DG_DEVICE, "out of memory");
    j->o = *o;
    j->jury.progress = dg_progress_open(o->quiet || o->json);
    dg_err e = dg_eval_fid_open(o, &j->fid);
    if (!e) e = open_all(j);
    if (!e) e = load(j, o->data, false, &j->reals);
    if (!e && !j->generator) e = load(j, o->operand[0], true, &j->folder);
    if (!e && !j->generator) e = check_origins(o->operand[0], &j->folder, o->force);
    if (!e) e = settle_count(j);
    if (!e) e = take_images(j);
    if (!e) e = measure(j);
    if (!e) e = dg_eval_classes_measure(&j->jury, j->generator, &j->reals, &j->by_class);
    if (!e) e = measure_fid(j);
    dg_progress_close(j->jury.progress);
    if (!e) j->o.json ? print_json(j) : print_text(j);
    if (!e) e = j->fid.unwritten;
    take_down(j);
    return (int)e;
}
