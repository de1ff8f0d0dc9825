/* Decodes images while one call fails, alone or with all later calls. A decoder must return an error or the correct
 * pixels. */
#include "failing.h"

#include "test.h"

#if DG_FAILING
#include "host/files/safetensors_internal.h"
#include "host/image/image.h"
#include "make_image.h"
#include "tempdir.h"

static void nothing(void) {}

/* Checks that a reader failed with a message, or that its result is correct (`good`). */
static void judged(dg_err e, bool good, const char *what)
{
    DG_CHECKF(e ? *dg_message() != 0 : good, "%s: returned %d, and the rest is %s", what, (int)e,
              good ? "good" : "wrong");
}

static dg_err explain(void) { return dg_file_explain(temp_path("a.png"), dg_fail(DG_IO, "not ours")); }
static void is_explained(dg_err e) { judged(e, false, "a PNG file, which is not a checkpoint"); }

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
    const dg_fitting into = {dg_square(5), way % 3 == 0 ? 1 : 2 + way % 3, (dg_fit)(way % 3), (dg_resize)(way / 3)};
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
        if (!strcmp(f->d_name, "webp_animated_lossless")) continue; /* libwebp 1.2 crashes if it has no memory */
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

int main(void)
{
    temp_make("read-faults");
    setenv("TMPDIR", temp_dir, 1);
    bytes = png_noise(9, 7, 3);
    blob_save(&bytes, temp_path("a.png"));
    long failures = each_call("no checkpoint", nothing, explain, is_explained);
    blob_free(&bytes);
    failures += decode_all("tests/fuzz/corpus/png") + decode_all("tests/fuzz/corpus/jpeg") +
                decode_all("tests/fuzz/corpus/images");
    DG_CHECKF(failures > 1000, "only %ld calls failed", failures);
    temp_remove(temp_dir);
    return dg_test_report();
}
#else
int main(void) { return dg_test_without_failing(); }
#endif
