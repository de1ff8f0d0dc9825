/* Compares resized images with Pillow bit for bit (tests/host/image/resize_expected.h). */
#include "host/image/image.h"
#include "child.h"
#include "make_image.h"
#include "test.h"
#include "resize_expected.h"

static dg_image noise_image(uint32_t seed, int W, int H, int C)
{
    dg_image im = {.W = W, .H = H, .C = C, .pixels = malloc((size_t)W * (size_t)H * (size_t)C)};
    for (uint32_t i = 0; i < (uint32_t)(W * H * C); i++) im.pixels[i] = noise_byte(seed, i);
    return im;
}

static uint32_t crc_of(const dg_image *im, uint32_t start)
{
    return (uint32_t)crc32(start, im->pixels, (uInt)(im->W * im->H * im->C));
}

static void vectors(void)
{
    for (size_t i = 0; i < sizeof resized / sizeof *resized; i++) {
        dg_image in = noise_image((uint32_t)i, resized[i].w, resized[i].h, resized[i].c), out;
        dg_err e = dg_image_resize(&in, resized[i].W, resized[i].H, &out);
        DG_CHECKF(!e && out.W == resized[i].W && out.H == resized[i].H && crc_of(&out, 0) == resized[i].crc,
                  "%d x %d -> %d x %d, %d channels", in.W, in.H, resized[i].W, resized[i].H, in.C);
        dg_image_free(&out);
        dg_image_free(&in);
    }
    for (size_t i = 0; i < sizeof fitted / sizeof *fitted; i++) {
        dg_image in = noise_image(100 + (uint32_t)i, fitted[i].w, fitted[i].h, 3), out, plain;
        int size = fitted[i].size;
        dg_err e = dg_image_fit(&in, dg_square(size), DG_FIT_CROP, DG_RESIZE_BILINEAR, &out);
        DG_CHECKF(!e && out.W == size && out.H == size && crc_of(&out, 0) == fitted[i].crop, "%d x %d cropped to %d",
                  in.W, in.H, size);
        dg_image_free(&out);
        e = dg_image_fit(&in, dg_square(size), DG_FIT_PAD, DG_RESIZE_BILINEAR, &out);
        DG_CHECKF(!e && out.W == size && crc_of(&out, 0) == fitted[i].pad, "%d x %d padded to %d", in.W, in.H, size);
        dg_image_free(&out);
        e = dg_image_fit(&in, dg_square(size), DG_FIT_STRETCH, DG_RESIZE_BILINEAR, &out);
        DG_CHECK(!e && !dg_image_resize(&in, size, size, &plain) && crc_of(&out, 0) == crc_of(&plain, 0));
        dg_image_free(&plain);
        dg_image_free(&out);
        dg_image_free(&in);
    }
}

static void rectangles(void)
{
    for (size_t i = 0; i < sizeof rectangle / sizeof *rectangle; i++) {
        const dg_size size = {rectangle[i].W, rectangle[i].H};
        const uint32_t want[] = {[DG_FIT_CROP] = rectangle[i].crop, [DG_FIT_PAD] = rectangle[i].pad};
        dg_image in = noise_image(200 + (uint32_t)i, rectangle[i].w, rectangle[i].h, 3), out, plain;
        for (dg_fit fit = DG_FIT_CROP; fit <= DG_FIT_STRETCH; fit++) {
            dg_err e = dg_image_fit(&in, size, fit, DG_RESIZE_BILINEAR, &out);
            if (fit == DG_FIT_STRETCH && !e) e = dg_image_resize(&in, size.W, size.H, &plain);
            DG_CHECKF(!e && out.W == size.W && out.H == size.H &&
                          crc_of(&out, 0) == (fit == DG_FIT_STRETCH ? crc_of(&plain, 0) : want[fit]),
                      "%d x %d to %d x %d, fit %d", in.W, in.H, size.W, size.H, (int)fit);
            if (fit == DG_FIT_STRETCH && !e) dg_image_free(&plain);
            dg_image_free(&out);
        }
        dg_image_free(&in);
    }
}

static void thousand_pairs(void)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        int n[9], side[4];
        for (uint32_t k = 0; k < 9; k++) n[k] = noise_byte(1000 + i, k);
        for (int k = 0; k < 4; k++) side[k] = 1 + n[k] % (n[k + 4] % 2 ? 200 : 40);
        dg_image in = noise_image(2000 + i, side[0], side[1], n[8] % 2 ? 3 : 1), out;
        if (!DG_CHECK(!dg_image_resize(&in, side[2], side[3], &out))) return;
        total = crc_of(&out, total);
        if (i % 100 == 99) DG_CHECKF(total == many[i / 100], "pairs up to %u", i);
        dg_image_free(&out);
        dg_image_free(&in);
    }
}

static void flat(void)
{
    for (int v = 0; v < 256; v += 51) {
        dg_image in = {.W = 37, .H = 11, .C = 3, .pixels = malloc(37 * 11 * 3)}, out;
        memset(in.pixels, v, 37 * 11 * 3);
        DG_CHECK(!dg_image_resize(&in, 64, 5, &out));
        int wrong = 0;
        for (int i = 0; i < 64 * 5 * 3; i++) wrong += out.pixels[i] != v;
        DG_CHECKF(!wrong, "value %d: %d pixels differ", v, wrong);
        dg_image_free(&out);
        /* the image has 5 rows between bars of 6 and 5 rows */
        DG_CHECK(!dg_image_fit(&in, dg_square(16), DG_FIT_PAD, DG_RESIZE_BILINEAR, &out));
        for (int y = 0; y < 16; y++) DG_CHECK(out.pixels[3 * 16 * y + 24] == (y >= 6 && y < 11 ? v : 0));
        dg_image_free(&out);
        dg_image_free(&in);
    }
}

/* Each output pixel equals the source pixel at its centre, as PIL's NEAREST. */
static void nearest(void)
{
    uint8_t row[] = {10, 20, 30};
    static const uint8_t want[][7] = {{10, 30}, {10, 20, 30}, {10, 10, 20, 30, 30}, {10, 10, 20, 20, 20, 30, 30}};
    static const int side[] = {2, 3, 5, 7};
    uint8_t square[9];
    for (int y = 0; y < 3; y++) memcpy(square + 3 * y, row, 3);
    for (int i = 0; i < 4; i++) {
        dg_image in = {.W = 3, .H = 3, .C = 1, .pixels = square}, out;
        DG_CHECK(!dg_image_fit(&in, dg_square(side[i]), DG_FIT_CROP, DG_RESIZE_NEAREST, &out));
        for (int y = 0; y < side[i]; y++)
            DG_CHECKF(!memcmp(out.pixels + y * side[i], want[i], (size_t)side[i]), "3 to %d, row %d", side[i], y);
        dg_image_free(&out);
    }
}

/* A transparent pixel adds no colour to its neighbours and becomes white. */
static void transparent(void)
{
    uint8_t pixels[] = {200, 40, 0, 255, 0, 255, 0, 0, /* each row: an opaque and a transparent pixel */
                        200, 40, 0, 255, 9, 9,   9, 0};
    static const uint8_t half[] = {200, 40, 0, 128}, hidden[] = {255, 255, 255, 0};
    dg_image in = {.W = 2, .H = 2, .C = 4, .pixels = pixels}, out;
    DG_CHECK(!dg_image_fit(&in, dg_square(1), DG_FIT_CROP, DG_RESIZE_BILINEAR, &out) && out.C == 4);
    for (int c = 0; c < 4; c++) DG_CHECKF(abs(out.pixels[c] - half[c]) <= 1, "channel %d: %d", c, out.pixels[c]);
    dg_image_free(&out);
    DG_CHECK(!dg_image_fit(&in, dg_square(2), DG_FIT_CROP, DG_RESIZE_BILINEAR, &out) &&
             !memcmp(out.pixels, pixels, 4) && !memcmp(out.pixels + 4, hidden, 4));
    dg_image_free(&out);
}

static int long_thin(void *context, char *message)
{
    const int *side = context;
    dg_image in = noise_image(1, side[0], side[1], 3), out;
    dg_err e = DG_OK;
    for (dg_fit fit = DG_FIT_CROP; fit <= DG_FIT_STRETCH && !e; fit++) {
        e = dg_image_fit(&in, dg_square(256), fit, DG_RESIZE_BILINEAR, &out);
        dg_image_free(&out);
    }
    snprintf(message, 256, "%s", e ? dg_message() : "fitted");
    dg_image_free(&in);
    return (int)e;
}

static void extremes(void)
{
    /* these images are resized row by row, because the whole image would need 3 GiB */
    static int side[][2] = {{16384, 1}, {1, 16384}};
    for (int i = 0; i < 2; i++) {
        child_result r = in_child(long_thin, side[i], (size_t)256 << 20);
        DG_CHECKF(r.code == 0, "%d x %d: %d %s", side[i][0], side[i][1], r.code, r.message);
        if (!DG_SANITIZED)
            DG_CHECKF(r.seconds < 1 && r.kilobytes < 64 << 10, "%.2f s, %ld KiB", r.seconds, r.kilobytes);
    }
    dg_image in = noise_image(1, 2, 2, 3), out;
    DG_CHECK(dg_image_resize(&in, 0, 5, &out) == DG_USAGE && !out.pixels);
    DG_CHECK(dg_image_resize(&in, 5, 70000, &out) == DG_USAGE && !out.pixels);
    DG_CHECK(dg_image_resize(&in, 70000, 5, &out) == DG_USAGE && dg_image_resize(&in, 5, 0, &out) == DG_USAGE);
    DG_CHECK(dg_image_fit(&in, dg_square(16385), DG_FIT_CROP, DG_RESIZE_BILINEAR, &out) == DG_USAGE && !out.pixels);
    DG_CHECK(dg_image_fit(&in, (dg_size){8, 16385}, DG_FIT_CROP, DG_RESIZE_BILINEAR, &out) == DG_USAGE && !out.pixels);
    DG_CHECK(dg_image_fit(&in, (dg_size){8, 0}, DG_FIT_PAD, DG_RESIZE_BILINEAR, &out) == DG_USAGE && !out.pixels);
    DG_CHECK(dg_image_fit(&in, dg_square(0), DG_FIT_CROP, DG_RESIZE_BILINEAR, &out) == DG_USAGE && !out.pixels);
    dg_image_free(&in);
}

DG_TESTS(vectors, rectangles, thousand_pairs, flat, nearest, transparent, extremes)
