/* Decoding and resizing an image row by row must give the same bits as decoding the whole image first. Decoding row
 * by row needs memory for only a few rows unless the image is interlaced. */
#include "decoding.h"

#include <ftw.h>
#include <sys/stat.h>

static int compared, taken;

/* Decoding as a whole and row by row must refuse the file, or give the same pixels and sizes. */
static void compare(const blob *b, const char *what, const dg_decode_options *o, const dg_fitting *f)
{
    dg_decode_options keep = *o;
    keep.keep_alpha = f->channels == 4;
    dg_image whole, want = {0}, got;
    dg_decoded of;
    dg_err e = dg_image_decode(b->data, b->bytes, &keep, &whole);
    const int width = whole.W, height = whole.H;
    if (!e && f->channels == 1) dg_image_grey(&whole);
    if (!e) e = dg_image_fit(&whole, f->size, f->fit, f->resize, &want);
    const dg_err other = dg_image_decode_fitted(b->data, b->bytes, o, f, &got, &of);
    const size_t n = dg_size_values(f->size, f->channels);
    const bool same = e ? other == e && !got.pixels
                        : !other && of.W == width && of.H == height && got.W == f->size.W && got.H == f->size.H &&
                              got.C == f->channels && !memcmp(got.pixels, want.pixels, n);
    DG_CHECKF(same, "%s: size %d x %d, fit %d, %s, %d channels, alpha %d: %d and %d %s", what, f->size.W, f->size.H,
              f->fit, f->resize ? "nearest" : "bilinear", f->channels, (int)o->alpha, (int)e, (int)other,
              other ? dg_message() : "");
    compared++;
    taken += !e;
    dg_image_free(&whole);
    dg_image_free(&want);
    dg_image_free(&got);
}

static void every_way(const blob *b, const char *what, bool exif)
{
    static const dg_size size[] = {{5, 7}, {33, 24}};
    static const int channels[] = {1, 3, 4};
    for (int i = 0; i < 2 * 3 * 3 * 2; i++) {
        const dg_fitting f = {size[i % 2], channels[i / 2 % 3], (dg_fit)(i / 6 % 3), (dg_resize)(i / 18)};
        compare(b, what, &(dg_decode_options){.exif = exif, .alpha = (dg_alpha)(i % 3)}, &f);
    }
}

static void png_turned(int W, int H, int colour, int interlace, int orientation)
{
    uint8_t rows[61 * 47 * 4], palette[768], trans[256];
    for (uint32_t i = 0; i < sizeof rows; i++) rows[i] = noise_byte((uint32_t)(W + H), i);
    for (uint32_t i = 0; i < 768; i++) palette[i] = trans[i % 256] = noise_byte(2, i);
    png_spec s = {.W = W, .H = H, .depth = 8, .colour = colour, .interlace = interlace};
    if (colour == 3) s.palette = palette, s.trans = trans;
    blob b = png_with_exif(png_by_libpng(&s, rows), exif_block(W % 2, (uint32_t)orientation));
    every_way(&b,
              temp_text("PNG %d x %d, type %d%s, orientation %d", W, H, colour, interlace ? ", interlaced" : "",
                        orientation),
              true);
    blob_free(&b);
}

static void made(void)
{
    static const int side[][2] = {{61, 47}, {9, 40}, {33, 33}, {1, 61}, {7, 5}};
    static const int colour[] = {2, 6, 3};
    for (int i = 0; i < 5; i++)
        for (int n = 1; n <= 8; n++) png_turned(side[i][0], side[i][1], colour[(i + n) % 3], n % 2, n);
    for (int n = 1; n <= 8; n++) {
        blob b = jpeg_smooth(43, 29, (uint32_t)n);
        jpeg_add_exif(&b, exif_block(n % 2, (uint32_t)n));
        every_way(&b, "JPEG", true);
        every_way(&b, "JPEG that is not turned", false);
        blob_free(&b);
    }
}

static int one_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    blob b;
    if (type != FTW_F || !S_ISREG(st->st_mode)) return 0;
    if (!DG_CHECKF(!blob_load(&b, path), "%s", path)) return 0;
    every_way(&b, path, true);
    blob_free(&b);
    return 0;
}

static void corpora(void)
{
    if (access(in_corpora("pngsuite"), R_OK)) {
        dg_test_skip("no PngSuite next to the checkout");
        return;
    }
    compared = taken = 0;
    DG_CHECK(!nftw(in_corpora("pngsuite"), one_file, 16, FTW_PHYS));
    printf("PngSuite: %d ways compared, %d of them images\n", compared, taken);
    DG_CHECK(taken >= 161 * 36);
}

static int fit_in_child(void *context, char *message)
{
    const blob *b = context;
    dg_image im;
    dg_decoded of;
    const dg_err e = dg_image_decode_fitted(b->data, b->bytes, &(dg_decode_options){.exif = true},
                                            &(dg_fitting){.size = dg_square(64), .channels = 3}, &im, &of);
    snprintf(message, 256, "%s", e ? dg_message() : "decoded");
    dg_image_free(&im);
    return (int)e;
}

static blob png_huge(int W, int H, int interlace, int orientation)
{
    uint8_t *rows = calloc((size_t)H, ((size_t)W + 7) / 8);
    blob b = png_by_libpng(&(png_spec){.W = W, .H = H, .depth = 1, .colour = 0, .interlace = interlace}, rows);
    free(rows);
    return png_with_exif(b, exif_block(0, (uint32_t)orientation));
}

/* Decoding needs far less memory than the size of the image, unless the image is interlaced. */
static void memory(void)
{
    static const struct {
        int W, H, interlace, orientation;
        long kilobytes;
    } k[] = {
        {8000, 8000, 0, 1, 1024},  {8000, 8000, 0, 3, 1024},  {8000, 8000, 0, 6, 4096},
        {16384, 4096, 0, 1, 1024}, {16384, 4096, 0, 8, 6144}, {5000, 5000, 1, 1, 110 << 10},
    };
    for (size_t i = 0; i < sizeof k / sizeof *k; i++) {
        blob b = png_huge(k[i].W, k[i].H, k[i].interlace, k[i].orientation);
        const child_result r = in_child(fit_in_child, &b, (size_t)256 << 20);
        DG_CHECKF(r.code == DG_OK && (DG_SANITIZED || r.kilobytes <= k[i].kilobytes),
                  "%d x %d of %zu bytes%s, orientation %d: %d %s, %ld KiB, %ld allowed", k[i].W, k[i].H, b.bytes,
                  k[i].interlace ? ", interlaced" : "", k[i].orientation, r.code, r.message, r.kilobytes,
                  k[i].kilobytes);
        blob_free(&b);
    }
}

DG_TESTS(made, corpora, memory)
