/* Reads files while one call fails, alone or with all later calls. Each read must give an error or the correct
 * content. */
#include "failing.h"

#include "test.h"

#if DG_FAILING
#include "host/checkpoint/checkpoint_files.h"
#include "core/tune/tune_file.h"
#include "host/data/dataset_internal.h"
#include "host/files/safetensors_internal.h"
#include "host/image/image.h"
#include "host/options/option_table.h"
#include "make_image.h"

#include <fcntl.h>
#include <zip.h>

static void nothing(void) {}

/* Checks that a reader failed with a message, or that its result is correct (`good`). */
static void judged(dg_err e, bool good, const char *what)
{
    DG_CHECKF(e ? *dg_message() != 0 : good, "%s: returned %d, and the rest is %s", what, (int)e,
              good ? "good" : "wrong");
}

static dg_model model;
static const char classifier[] = "[model]\nname = c\nsize = 8\nchannels = 3\nclasses = 3\ninput = zca\n"
                                 "[train]\nlr = 0.1\nmomentum = 0.9\n"
                                 "[C.1]\nfilters = 4\nkernel = 3\nnorm = batch\nrepeat = 2\ntorch = f.{0+3} f.{1+3}\n"
                                 "[C.2]\nop = dense\nfilters = 3\n";
static dg_err read_model(void) { return dg_model_read(temp_path("c.cfg"), &model); }
static void model_is_read(dg_err e) { judged(e, model.net[0].layers == 3 && model.trains == 2, "a model"); }

static dg_tune_file rows;
static dg_err tune(void)
{
    rows = (dg_tune_file){.head = NULL};
    const dg_err e = dg_tune_file_read(&rows, temp_path("a.tune"));
    return e ? e : dg_tune_file_write(&rows, temp_path("b.tune"));
}
static void is_tuned(dg_err e)
{
    char *a = temp_slurp(temp_path("a.tune"), NULL), *b = temp_slurp(temp_path("b.tune"), NULL);
    judged(e, a && b && !strcmp(a, b), "a tuning file");
    DG_CHECKF(!b || !strcmp(a, b), "half of a tuning file was written");
    free(a);
    free(b);
    dg_tune_file_free(&rows);
    unlink(temp_path("b.tune"));
}

static dg_options o;
static dg_err config(void)
{
    o = (dg_options){.device = NULL};
    return dg_config_read(temp_path("config.ini"), &o);
}
static void is_configured(dg_err e)
{
    judged(e, o.epochs == 7 && o.seed == 3 && o.data && !strcmp(o.data, "images of cats"), "config.ini");
    dg_options_free(&o);
}

static machine a;
static dg_st *st;
static dg_checkpoint_info info;
static dg_model of_file;
static dg_err checkpoint(void)
{
    dg_snapshot *s = NULL;
    memset(&info, 0, sizeof info);
    st = NULL;
    dg_err e = dg_checkpoint_open(temp_path("a.safetensors"), &st, &of_file, &info);
    if (!e) e = dg_checkpoint_load(st, temp_path("a.safetensors"), &a.g);
    if (!e) e = dg_snapshot_take(&a.g, &info, &s);
    return e ? e : dg_snapshot_write(s, NULL, temp_path("b.safetensors"));
}
static void is_whole(dg_err e)
{
    const bool there = access(temp_path("b.safetensors"), F_OK) == 0;
    const bool same = there && same_file(temp_path("a.safetensors"), temp_path("b.safetensors"));
    judged(e, same, "a checkpoint");
    DG_CHECKF(same || !there, "a torn checkpoint");
    DG_CHECKF(temp_count(temp_dir, "dcgan-tmp") == 0, "something temporary is left");
    dg_checkpoint_info_free(&info);
    dg_st_free(st);
    unlink(temp_path("b.safetensors"));
}

static dg_err explain(void) { return dg_file_explain(temp_path("a.png"), dg_fail(DG_IO, "not ours")); }
static void is_explained(dg_err e) { judged(e, false, "a PNG file, which is not a checkpoint"); }

static dg_dataset zipped_set;
static uint64_t of_zip; /* fingerprint of the zip file's dataset */
static dg_err unzip(void)
{
    const dg_dataset_options all = {.dir = temp_path("a.zip"), .size = 8, .channels = 3, .threads = 1};
    return dg_dataset_read(&all, &zipped_set);
}
static void is_unzipped(dg_err e)
{
    judged(e, zipped_set.count == 3 && zipped_set.fingerprint == of_zip, "a zip file");
    DG_CHECKF(!e || e == DG_DEVICE || e == DG_IO, "%d: %s", (int)e, dg_message());
    dg_dataset_free(&zipped_set);
}

static blob bytes;
static dg_image image, fitted;
static int way;
static struct {
    dg_err e;
    uLong crc;
} truth; /* results without failing calls */

static dg_err decode(void)
{
    const dg_decode_options as = {.exif = true,
                                  .alpha = (dg_alpha)(way % 3),
                                  .keep_alpha = way % 2,
                                  .max_pixels = 1 << 14};
    const dg_fitting into = {5, way % 3 == 0 ? 1 : 2 + way % 3, (dg_fit)(way % 3), (dg_resize)(way / 3)};
    dg_decoded of;
    fitted.pixels = NULL;
    const dg_err e = dg_image_decode(bytes.data, bytes.bytes, &as, &image);
    return e ? e : dg_image_decode_fitted(bytes.data, bytes.bytes, &as, &into, &fitted, &of);
}

static uLong add(uLong crc, const dg_image *im)
{
    return im->pixels ? crc32_z(crc, im->pixels, (size_t)im->W * (size_t)im->H * (size_t)im->C) : crc;
}
static uLong pixels(void) { return add(add(0, &image), &fitted); }

static void is_decoded(dg_err e)
{
    judged(e, pixels() == truth.crc, "an image");
    DG_CHECKF(e == truth.e || e == DG_DEVICE, "%d for %d: %s", (int)e, (int)truth.e, dg_message());
    dg_image_free(&image);
    dg_image_free(&fitted);
}

static long decode_all(const char *below)
{
    long failures = 0;
    char path[600];
    DIR *d = opendir(below);
    DG_CHECKF(d != NULL, "%s is not there", below);
    for (const struct dirent *f; d && (f = readdir(d)); way = (way + 1) % 6) {
        snprintf(path, sizeof path, "%s/%s", below, f->d_name);
        if (f->d_name[0] == '.' || blob_load(&bytes, path)) continue;
        truth.e = decode();
        truth.crc = pixels();
        dg_image_free(&image);
        dg_image_free(&fitted);
        failures += each_call(path, nothing, decode, is_decoded);
        blob_free(&bytes);
    }
    if (d) closedir(d);
    return failures;
}

static bool made(void)
{
    static const char tuning[] = "; measured\n[sm_90 fp32]\nadam n=1100224 : vector block=512 ; 6.11 us\n";
    static const char settings[] = "[run]\ndata = images of cats\nepochs = 7\nseed = 3\nmodel = dcgan28\n";
    static char names[] = "cat\ndog\nowl\n";
    temp_put(temp_path("c.cfg"), classifier, sizeof classifier - 1);
    temp_put(temp_path("a.tune"), tuning, sizeof tuning - 1);
    temp_put(temp_path("config.ini"), settings, sizeof settings - 1);
    setenv("TMPDIR", temp_dir, 1);
    if (!machine_up(&a, &tiny, DG_F32, true)) return false;
    dg_checkpoint_info begun = machine_info(&a, 0);
    begun.config = names;
    return DG_WORKS(machine_save(&a, &begun, temp_path("a.safetensors")));
}

static bool zipped(void)
{
    int code;
    blob b[3];
    zip_t *z = zip_open(temp_path("a.zip"), ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (!z) return false;
    zip_dir_add(z, "empty", 0);
    for (uint32_t i = 0; i < 3; i++) {
        static const char *const name[] = {"below/1.png", "2.png", "below/3.png"};
        b[i] = png_noise(9, 7, i);
        zip_file_add(z, name[i], zip_source_buffer(z, b[i].data, b[i].bytes, 0), 0);
    }
    const bool whole = zip_close(z) == 0;
    for (int i = 0; i < 3; i++) blob_free(b + i);
    if (!whole || unzip()) return false;
    of_zip = zipped_set.fingerprint;
    dg_dataset_free(&zipped_set);
    return true;
}

int main(void)
{
    temp_make("read-faults");
    long failures = 0;
    if (made()) {
        failures += each_call("a model", nothing, read_model, model_is_read);
        failures += each_call("a tuning file", nothing, tune, is_tuned);
        failures += each_call("config.ini", nothing, config, is_configured);
        failures += each_call("a checkpoint", nothing, checkpoint, is_whole);
    }
    if (zipped()) failures += each_call("a zip file", nothing, unzip, is_unzipped);
    bytes = png_noise(9, 7, 3);
    blob_save(&bytes, temp_path("a.png"));
    failures += each_call("no checkpoint", nothing, explain, is_explained);
    blob_free(&bytes);
    failures += decode_all("tests/fuzz/corpus/png") + decode_all("tests/fuzz/corpus/jpeg") +
                decode_all("tests/fuzz/corpus/images");
    DG_CHECKF(failures > 1500, "only %ld calls failed", failures);
    machine_down(&a);
    temp_remove(temp_dir);
    return dg_test_report();
}
#else
int main(void) { return dg_test_without_failing(); }
#endif
