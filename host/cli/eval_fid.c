#include "host/cli/eval_fid.h"

#include <stdio.h>
#include <unistd.h>

#include "host/cli/commands.h"
#include "host/files/json.h"

dg_err dg_eval_fid_open(const dg_options *o, dg_eval_fid *f)
{
    if (!o->inception) return DG_OK;
    dg_err e = dg_inception_open(o->inception, (dg_fid_resize)o->inception_resize, o->threads, &f->net);
    f->from_file = !e && o->moments && !access(o->moments, F_OK);
    if (f->from_file) e = dg_fid_set_read(o->moments, f->net, &f->real);
    return e;
}

void dg_eval_fid_close(dg_eval_fid *f)
{
    dg_fid_set_free(&f->real);
    dg_fid_set_free(&f->other);
    dg_inception_close(f->net);
}

static int at_most(int n, int most) { return n < most ? n : most; }

int dg_eval_fid_samples(const dg_options *o, const dg_eval_fid *f, int reals)
{
    if (!f->net) return 0;
    if (o->inception_count) return o->inception_count;
    return at_most(f->real.images ? f->real.images : reals, DG_FID_MOST);
}

/* The baseline compares two halves of the real images. */
static dg_err measure_baseline(const dg_options *o, dg_eval_fid *f)
{
    dg_fid_set a = {0}, b = {0};
    f->half = f->real.images / 2;
    dg_err e = dg_fid_set_part(&f->real, 0, f->half, &a);
    if (!e) e = dg_fid_set_part(&f->real, f->half, f->half, &b);
    if (!e) e = dg_fid_compare(&a, &b, o->seed, o->threads, &f->least);
    dg_fid_set_free(&a);
    dg_fid_set_free(&b);
    return e;
}

static const char *label_of(const dg_eval_fid *f)
{
    return dg_inception_known(f->net) ? "FID" : "Frechet distance, unknown weights";
}

static void warn_few(const dg_eval_fid *f)
{
    const int least = f->real.images ? at_most(f->other.images, f->real.images) : f->other.images;
    if (least < DG_FID_ENOUGH)
        dg_warn(DG_MSG("fid-few-images", "%s: too large, because %d images are few; compare at least %d, or use KID"),
                label_of(f), least, DG_FID_ENOUGH);
}

dg_err dg_eval_fid_measure(const dg_options *o, const dg_dataset *reals, const uint8_t *samples, int images,
                           dg_progress *progress, dg_eval_fid *f)
{
    if (!f->net) return DG_OK;
    const int most = o->inception_count ? o->inception_count : reals->count > images ? reals->count : images;
    dg_fid_images x = {dg_dataset_images(reals), reals->size, reals->channels, at_most(reals->count, most), o->seed, 0};
    dg_err e = DG_OK;
    if (!f->from_file) {
        e = dg_fid_set_of(f->net, &x, progress, "Inception features of real images", &f->real);
        if (!e && o->moments) f->unwritten = dg_fid_set_write(o->moments, f->net, &f->real);
        if (f->unwritten) dg_warn("the moments were not written: %s", dg_message());
        if (!e && f->real.images >= 2 * DG_FID_LEAST) e = measure_baseline(o, f);
    }
    x.images = dg_images_of(samples, images, x.images.bytes);
    x.used = at_most(images, most);
    x.stream = 1;
    if (!e) e = dg_fid_set_of(f->net, &x, progress, "Inception features of samples", &f->other);
    if (!e) e = dg_fid_compare(&f->real, &f->other, o->seed, o->threads, &f->value);
    if (!e) warn_few(f);
    return e;
}

static const char *name_of(const dg_eval_fid *f) { return dg_inception_known(f->net) ? "fid" : "frechet_inception"; }

static void put_kid(char *out, size_t size, const dg_kid *k)
{
    snprintf(out, size, "%.5f (+-%.5f)", k->value, k->deviation);
}

void dg_eval_fid_rows(const dg_eval_fid *f)
{
    char value[80], least[80] = "-";
    if (!f->net) return;
    snprintf(value, sizeof value, "%.4g", f->value.fid);
    if (f->half) snprintf(least, sizeof least, "%.4g", f->least.fid);
    dg_say("%-36s %20s %20s  %s", label_of(f), value, least, "lower");
    if (!f->value.has_kid) return;
    put_kid(value, sizeof value, &f->value.kid);
    if (f->half) put_kid(least, sizeof least, &f->least.kid);
    dg_say("%-36s %20s %20s  %s", dg_inception_known(f->net) ? "KID" : "KID, unknown weights", value, least, "lower");
}

void dg_eval_fid_notes(const dg_options *o, const dg_eval_fid *f)
{
    char path[300], reals[340] = "an unknown number of";
    if (!f->net) return;
    if (f->real.images) snprintf(reals, sizeof reals, "%d", f->real.images);
    dg_say("%s", "");
    dg_say("Inception weights: %s; resizing: %s", dg_inception_name(f->net), dg_inception_resize(f->net));
    dg_say("%d samples compared with %s real images%s%s%s", f->other.images, reals,
           f->from_file ? ", whose moments are in " : "",
           f->from_file ? dg_printable(path, sizeof path, o->moments) : "",
           f->from_file ? " (KID needs the images: omit --moments)" : "");
    if (f->half) dg_say("real-vs-real baseline: %d images compared with %d", f->half, f->half);
    if (!dg_inception_known(f->net))
        dg_say("%s", "The weights are not those of pytorch-fid, so this Frechet distance is not FID.");
}

static void print_pair(const dg_eval_fid *f, const char *suffix, double value, double least)
{
    printf(", \"judged%s\": %.9g", suffix, value);
    if (f->half) printf(", \"real%s\": %.9g", suffix, least);
}

void dg_eval_fid_metrics(const dg_eval_fid *f, int n)
{
    if (!f->net) return;
    printf("%s\n  {\"name\": \"%s\", \"better\": \"lower\"", n ? "," : "", name_of(f));
    print_pair(f, "", f->value.fid, f->least.fid);
    if (f->value.has_kid) {
        printf("},\n  {\"name\": \"kid_inception\", \"better\": \"lower\"");
        print_pair(f, "", f->value.kid.value, f->least.kid.value);
        print_pair(f, "_deviation", f->value.kid.deviation, f->least.kid.deviation);
    }
    printf("}");
}

void dg_eval_fid_json(const dg_options *o, const dg_eval_fid *f)
{
    if (!f->net) return;
    printf(",\n \"inception\": {\"weights\": \"%s\", \"known\": %s, \"resize\": \"%s\", \"samples\": %d, \"real\": ",
           dg_inception_name(f->net), dg_inception_known(f->net) ? "true" : "false", dg_inception_resize(f->net),
           f->other.images);
    f->real.images ? printf("%d", f->real.images) : printf("null");
    printf(", \"baseline\": %d, \"moments\": ", f->half);
    if (f->from_file) dg_json_text(stdout, o->moments);
    else printf("null");
    printf("}");
}
