/* No memory is no fault of an image: whichever allocation fails while it is decoded, by libpng, libjpeg, zlib or us,
 * the answer is DG_DEVICE, nothing is listed as bad, and nothing of it stays in a cache. */
#include "host/cli/commands.h"
#include "host/data/dataset.h"
#include "host/image/image.h"
#include "child.h"
#include "make_image.h"
#include "temp_folder.h"
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <gif_lib.h>
#include <stdatomic.h>
#ifdef HAVE_WEBP
#include <webp/encode.h>
#endif

#if defined(__GLIBC__) && !DG_SANITIZED

/* The definitions of a program come before those of its libraries, so that these are called by all of them. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): glibc's own names of them */
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static atomic_long countdown; /* the allocation that fails, 0: none */
static atomic_bool once;      /* it alone; else all behind it, too */
static atomic_long low, high; /* only allocations of this size count */
static atomic_bool failed_one;

static bool fails(size_t bytes, void *caller)
{
    const long k = atomic_load(&countdown);
    if (!k || (long)bytes < atomic_load(&low) || (long)bytes > atomic_load(&high)) return false;
    Dl_info of; /* OpenMP's runtime ends the process when it gets no memory */
    if (dladdr(caller, &of) && of.dli_fname && strstr(of.dli_fname, "omp")) return false;
    if (k > 1) {
        atomic_store(&countdown, k - 1);
        return false;
    }
    if (atomic_load(&once)) atomic_store(&countdown, 0);
    atomic_store(&failed_one, true);
    errno = ENOMEM; /* as glibc's own */
    return true;
}

void *malloc(size_t n) { return fails(n, __builtin_return_address(0)) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return fails(n * m, __builtin_return_address(0)) ? NULL : __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return fails(n, __builtin_return_address(0)) ? NULL : __libc_realloc(p, n); }

static void fail_from(long k, bool alone, long least, long most)
{
    atomic_store(&low, least), atomic_store(&high, most);
    atomic_store(&once, alone);
    atomic_store(&failed_one, false);
    atomic_store(&countdown, k);
}

/* True when it had failed by now. */
static bool done_failing(void)
{
    atomic_store(&countdown, 0);
    return atomic_load(&failed_one);
}

static void decode(const char *name, const blob *b, long least)
{
    const dg_decode_options o = {.exif = true, .alpha = DG_ALPHA_WHITE};
    dg_image whole, im;
    if (!DG_CHECKF(!dg_image_decode(b->data, b->bytes, &o, &whole), "%s: %s", name, dg_message())) return;
    for (int alone = 0; alone < 2; alone++) {
        long k = 1;
        for (bool failed = true; failed && k < 10000; k++) {
            fail_from(k, alone, 0, LONG_MAX);
            const dg_err e = dg_image_decode(b->data, b->bytes, &o, &im);
            failed = done_failing();
            DG_CHECKF(e == DG_DEVICE || e == DG_OK, "%s, allocation %ld fails: %d \"%s\"", name, k, (int)e,
                      dg_message());
            if (failed && !alone) DG_CHECKF(e == DG_DEVICE, "%s: none from %ld on, and no error", name, k);
            if (!e)
                DG_CHECKF(im.W == whole.W && im.H == whole.H &&
                              !memcmp(im.pixels, whole.pixels, 3 * (size_t)im.W * (size_t)im.H),
                          "%s, allocation %ld fails: other pixels", name, k);
            if (!e) dg_image_free(&im);
        }
        DG_CHECKF(k > least + 1, "%s: only %ld allocations failed", name, k - 2);
    }
    dg_image_free(&whole);
}

enum { W = 61, H = 47 };

static int put_gif(GifFileType *gif, const GifByteType *data, int n)
{
    blob_put(gif->UserData, data, (size_t)n);
    return n;
}

static blob gif(const uint8_t *index, const uint8_t *palette)
{
    blob b = {0};
    int code;
    GifColorType colour[256];
    for (int i = 0; i < 256; i++) colour[i] = (GifColorType){palette[3 * i], palette[3 * i + 1], palette[3 * i + 2]};
    ColorMapObject *map = GifMakeMapObject(256, colour);
    GifFileType *g = EGifOpen(&b, put_gif, &code);
    EGifPutScreenDesc(g, W, H, 8, 0, map);
    EGifPutImageDesc(g, 0, 0, W, H, false, NULL);
    for (int y = 0; y < H; y++) {
        GifByteType row[W];
        memcpy(row, index + (ptrdiff_t)(W * y), W);
        EGifPutLine(g, row, W);
    }
    EGifCloseFile(g, &code);
    GifFreeMapObject(map);
    return b;
}

#ifdef HAVE_WEBP
static blob webp(bool lossless, const uint8_t *rgba)
{
    uint8_t *data = NULL;
    const size_t n = lossless ? WebPEncodeLosslessRGBA(rgba, W, H, 4 * W, &data)
                              : WebPEncodeRGBA(rgba, W, H, 4 * W, 90, &data);
    blob b = {0};
    blob_put(&b, data, n);
    WebPFree(data);
    return b;
}
#endif

static void images(void)
{
    uint8_t palette[768], trans[256], rows[H * W * 4];
    for (uint32_t i = 0; i < sizeof rows; i++) rows[i] = noise_byte(1, i);
    for (uint32_t i = 0; i < 768; i++) palette[i] = trans[i % 256] = noise_byte(2, i);
    const struct {
        const char *name;
        blob b;
        long least; /* allocations that its library and we make for it */
    } all[] = {
        {"PNG", png_noise(W, H, 1), 4},
        {"PNG with a palette, interlaced",
         png_by_libpng(&(png_spec){.W = W,
                                   .H = H,
                                   .depth = 8,
                                   .colour = PNG_COLOR_TYPE_PALETTE,
                                   .interlace = 1,
                                   .palette = palette,
                                   .trans = trans},
                       rows),
         4},
        {"JPEG", jpeg_smooth(W, H, 1), 4},
        {"JPEG in scans",
         jpeg_by_libjpeg(&(jpeg_spec){.W = W,
                                      .H = H,
                                      .components = 3,
                                      .from = JCS_RGB,
                                      .to = JCS_YCbCr,
                                      .h = 2,
                                      .v = 2,
                                      .quality = 90,
                                      .progressive = 1},
                         rows),
         4},
        {"GIF", gif(rows, palette), 3},
#ifdef HAVE_WEBP
        {"WebP", webp(false, rows), 3},
        {"lossless WebP", webp(true, rows), 3},
#endif
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        decode(all[i].name, &all[i].b, all[i].least);
        blob b = all[i].b;
        blob_free(&b);
    }
}

static char root[256], cats[300], cache[300], skipped[300], run[300];

static void save(const char *name, blob b) { DG_CHECK(!blob_into(cats, name, b)); }

/* Every allocation of loading a folder: all the images, or DG_DEVICE. */
static void folder(void)
{
    const dg_dataset_options o = {
        .dir = cats, .size = 8, .channels = 3, .threads = 1, .cache = cache, .skipped = skipped};
    dg_dataset d;
    for (int alone = 0; alone < 2; alone++) {
        long k = 1;
        for (bool failed = true; failed && k < 10000; k++) {
            unlink(cache), unlink(skipped);
            fail_from(k, alone, 0, LONG_MAX);
            const dg_err e = dg_dataset_load(&o, &d);
            failed = done_failing();
            if (!DG_CHECKF(e == DG_DEVICE || (!e && d.count == 24 && d.skips == 1),
                           "allocation %ld fails: %d \"%s\", %d pictures, %d skipped", k, (int)e, e ? dg_message() : "",
                           d.count, d.skips))
                break;
            if (!e) dg_dataset_free(&d);
            blob list = {0};
            if (!blob_load(&list, skipped)) {
                blob_put(&list, "", 1);
                DG_CHECKF(!strcmp((char *)list.data, "notes.txt\tneither PNG, JPEG, WebP, BMP nor GIF\n"),
                          "allocation %ld fails: %s", k, (char *)list.data);
            }
            blob_free(&list);
            if (access(cache, F_OK)) continue;
            DG_CHECKF(!dg_dataset_load(&o, &d) && d.cached && d.count == 24 && d.skips == 1,
                      "allocation %ld failed: the cache keeps it", k);
            dg_dataset_free(&d);
        }
        DG_CHECKF(k > 100, "only %ld allocations failed", k - 2);
    }
}

static int command(void *context, char *message)
{
    char *argv[24] = {0};
    int argc = 0;
    for (char *word = strtok(context, " "); word && argc < 23; word = strtok(NULL, " ")) argv[argc++] = word;
    dg_options o;
    bool done;
    dg_err e = dg_options_parse(argc, argv, &o, &done);
    if (!e) e = (dg_err)(o.command == DG_CMD_DATA ? dg_cmd_data(&o) : dg_cmd_train(&o));
    snprintf(message, 256, "%s", dg_message());
    return (int)e;
}

/* The libraries lack memory for the rows of one wide image: exit code 5, no cache, no list, no run. */
static void commands(const char *what, long least, long most)
{
    static const char *const line[] = {"dcgan data %s --size 16 --cache %s -q --threads 1%.0s",
                                       "dcgan --data %s --model dcgan32 --batch 8 --epochs 1 --no-curves --cache %s -q "
                                       "--threads 1 --device cpu --out %s"};
    for (int i = 0; i < 2; i++) {
        char text[1024], list[400];
        snprintf(text, sizeof text, line[i], cats, cache, run);
        snprintf(list, sizeof list, "%s/skipped.txt", run);
        unlink(cache);
        fail_from(1, true, least, most);
        child_result r = in_child(command, text, 0);
        (void)done_failing();
        DG_CHECKF(r.code == DG_DEVICE && strstr(r.message, "no memory"), "%s, %s: %d \"%s\"", what, text, r.code,
                  r.message);
        DG_CHECKF(access(cache, F_OK) && access(list, F_OK), "%s, %s: leaves a cache or a list", what, text);
    }
}

int main(void)
{
    images();
    if (!access("/dev/shm", W_OK)) setenv("TMPDIR", "/dev/shm", 0); /* hundreds of files are fsynced */
    temp_make(root);
    snprintf(cats, sizeof cats, "%s/cats", root);
    snprintf(cache, sizeof cache, "%s/cache", root);
    snprintf(skipped, sizeof skipped, "%s/skipped.txt", root);
    snprintf(run, sizeof run, "%s/run", root);
    mkdir(cats, 0777);
    for (int i = 0; i < 23; i++) {
        char name[32];
        snprintf(name, sizeof name, "%02d.png", i);
        save(name, i % 2 ? jpeg_smooth(9, 9, (uint32_t)i) : png_noise(9, 9, (uint32_t)i));
    }
    /* Known by the sizes of their rows: libpng's are 48 bytes or so more than ours, libjpeg takes many at once. */
    save("wide.png", png_noise(10007, 3, 1));
    commands("PNG", 3 * 10007 + 8, 3 * 10007 + 200);
    save("wide.png", jpeg_smooth(10007, 3, 1));
    commands("JPEG", 20 * 10007, 20 * 10007 + 4000);
    unlink(cache);
    save("wide.png", png_noise(3, 3, 1));
    blob notes = {0};
    blob_put(&notes, "text", 4);
    save("notes.txt", notes);
    folder();
    temp_remove(root);
    return dg_test_report();
}

#else
int main(void)
{
    dg_test_skip(DG_SANITIZED ? "a sanitizer has its own malloc, which cannot be made to fail" : "no glibc");
    return dg_test_report();
}
#endif
