/* BMP, GIF and WebP: what is in them, and whatever is not: cut off, changed, or larger than anybody has memory for. */
#include <gif_lib.h>
#ifdef HAVE_WEBP
#include <webp/encode.h>
#endif

#include "decoding.h"

enum { W = 7, H = 5 };

/* Pixel (x, y) of all images here: colours of 8 bits, some of them transparent. */
static void pixel(int x, int y, uint8_t rgba[4])
{
    for (int c = 0; c < 3; c++) rgba[c] = (uint8_t)((x * 31 + y * 57 + c * 91) & 0xf8);
    rgba[3] = (x + y) % 3 ? 255 : 0;
}

static void little(blob *b, uint32_t v, int n)
{
    for (int i = 0; i < n; i++) blob_put(b, &(uint8_t){(uint8_t)(v >> 8 * i)}, 1);
}

/* masks: 16 or 32 bits with masks of their own; down: the first row is the upper one. */
static blob bmp(int bits, bool masks, bool down, int header)
{
    blob b = {0};
    const int colours = bits <= 8 ? 1 << bits : 0, stride = (W * bits + 31) / 32 * 4;
    const int entry = header == 12 ? 3 : 4, offset = 14 + header + (masks ? 16 : 0) + entry * colours;
    blob_put(&b, "BM", 2);
    little(&b, (uint32_t)(offset + stride * H), 4);
    little(&b, 0, 4);
    little(&b, (uint32_t)offset, 4);
    little(&b, (uint32_t)header, 4);
    little(&b, W, header == 12 ? 2 : 4);
    little(&b, (uint32_t)(down ? -H : H), header == 12 ? 2 : 4);
    little(&b, 1, 2);
    little(&b, (uint32_t)bits, 2);
    if (header > 12) little(&b, masks ? 6 : 0, 4);
    for (int i = 20; i < header; i++) little(&b, 0, 1);
    const uint32_t mask[2][4] = {{0xf800, 0x7c0, 0x3e, 1}, {0xff, 0xff00, 0xff0000, 0xff000000}};
    for (int i = 0; masks && i < 4; i++) little(&b, mask[bits == 32][i], 4);
    for (int i = 0; i < colours; i++) /* colour i is 3i, 2i, i */
        for (int c = 0; c < entry; c++) little(&b, (uint32_t)((c + 1) * i) & 255, 1);
    for (int y = 0; y < H; y++) {
        uint8_t row[4 * W + 4] = {0};
        for (int x = 0; x < W; x++) {
            uint8_t p[4];
            pixel(x, down ? y : H - 1 - y, p);
            const int per = 8 / (bits < 8 ? bits : 8), i = p[0] % (colours ? colours : 1);
            const uint32_t five = (uint32_t)(p[0] >> 3) << 10 | (uint32_t)(p[1] >> 3) << 5 | (uint32_t)(p[2] >> 3);
            const uint32_t v = bits == 16 ? masks ? five << 1 | (p[3] >> 7) : five : 0;
            if (bits <= 8) row[x / per] |= (uint8_t)(i << (8 - bits * (x % per + 1)));
            if (bits == 16) row[2 * x] = (uint8_t)v, row[2 * x + 1] = (uint8_t)(v >> 8);
            for (int c = 0; bits >= 24 && c < bits / 8; c++) row[bits / 8 * x + c] = c == 3 || masks ? p[c] : p[2 - c];
        }
        blob_put(&b, row, (size_t)stride);
    }
    return b;
}

/* What a pixel of b becomes: bits tell how much of it there is, and whether it has alpha. */
static void expected(int x, int y, int bits, bool alpha, uint8_t out[4])
{
    pixel(x, y, out);
    if (bits <= 8)
        for (int c = 0, i = out[0] % (1 << bits); c < 3; c++) out[c] = (uint8_t)((3 - c) * i);
    if (bits == 16)
        for (int c = 0; c < 3; c++) out[c] = (uint8_t)(((out[c] >> 3) * 255 + 15) / 31);
    if (!alpha) out[3] = 255;
}

static void compare(const blob *b, int bits, bool alpha, const char *what)
{
    for (int way = 0; way < 4; way++) {
        const dg_decode_options o = {.alpha = (dg_alpha)(way % 3), .keep_alpha = way == 3};
        const int C = way == 3 ? 4 : 3;
        dg_image im;
        const dg_err e = dg_image_decode(b->data, b->bytes, &o, &im);
        int wrong = e || im.W != W || im.H != H || im.C != C;
        for (int i = 0; i < W * H && !wrong; i++) {
            uint8_t p[4];
            expected(i % W, i / W, bits, alpha, p);
            const bool hidden = p[3] == 0;
            for (int c = 0; c < 3; c++) {
                const int got = im.pixels[C * i + c];
                if (way == 3 ? !hidden : way || !hidden) wrong += got != (hidden ? way == 1 ? 255 : 0 : p[c]);
            }
            if (C == 4) wrong += im.pixels[4 * i + 3] != p[3];
        }
        DG_CHECKF(!wrong, "%s, way %d: %s, %d values differ", what, way, e ? dg_message() : "decoded", wrong);
        dg_image_free(&im);
    }
}

/* Any prefix is refused where it lacks something; any changed byte gives an image or a reason, and nothing else. */
static void damage(const blob *b, size_t whole, const char *what)
{
    const dg_decode_options small = {.exif = true, .keep_alpha = true, .max_pixels = 1 << 16};
    int passed = 0;
    dg_image im;
    for (size_t n = 0; n < whole; n++) {
        uint8_t *cut = malloc(n ? n : 1); /* so that a sanitizer sees every step too far */
        memcpy(cut, b->data, n);
        const dg_err e = dg_image_decode(cut, n, &small, &im);
        passed += e == DG_OK;
        DG_CHECKF(e != DG_DATA || (*dg_message() && !im.pixels), "%s, %zu bytes", what, n);
        dg_image_free(&im);
        free(cut);
    }
    DG_CHECKF(passed == 0, "%s: %d truncations of %zu bytes passed", what, passed, whole);
    uint8_t *changed = malloc(b->bytes);
    memcpy(changed, b->data, b->bytes);
    for (size_t i = 0; i < b->bytes; i++)
        for (int v = 0; v < 10; v++) {
            changed[i] = (uint8_t)(v < 8 ? b->data[i] ^ 1 << v : v == 8 ? 0 : 255);
            const dg_err e = dg_image_decode(changed, b->bytes, &small, &im);
            const bool good = e ? e == DG_DATA && *dg_message() && !im.pixels
                                : im.pixels && im.C == 4 && (size_t)im.W * (size_t)im.H <= small.max_pixels;
            DG_CHECKF(good, "%s, byte %zu is %d: %d %s", what, i, changed[i], (int)e, dg_message());
            dg_image_free(&im);
            (void)dg_image_kind(changed, b->bytes);
            changed[i] = b->data[i];
        }
    free(changed);
}

static void test_bmp(void)
{
    static const int depth[] = {1, 4, 8, 16, 24, 32};
    char what[40];
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) {
            const bool masks = k % 3 == 2, down = k >= 3, old = k % 3 == 1;
            if ((masks && depth[i] != 16 && depth[i] != 32) || (old && (down || depth[i] == 16 || depth[i] == 32)))
                continue;
            blob b = bmp(depth[i], masks, down, old ? 12 : 40);
            snprintf(what, sizeof what, "BMP of %d bits, way %d", depth[i], k);
            compare(&b, depth[i], masks, what);
            if (!down) damage(&b, b.bytes, what);
            DG_CHECK(dg_image_kind(b.data, b.bytes) == DG_KIND_BMP);
            blob_free(&b);
        }
    blob b = bmp(24, false, false, 40);
    b.data[30] = 1;
    refused(&b, "run-length compression is not read");
    memcpy(b.data + 18, "\xff\xff\xff\x7f", 4);
    measured(&b, "giant header", "a side may have", 0.2, 32);
    b = bmp(1, false, false, 40);
    memcpy(b.data + 18, "\0\x3c\0\0\0\x3c\0\0", 8); /* 15,360 x 15,360 */
    measured(&b, "giant header", "the limit is", 0.2, 32);
}

static int put_gif(GifFileType *gif, const GifByteType *data, int n)
{
    blob_put(gif->UserData, data, (size_t)n);
    return n;
}

/* Colour 255 is transparent; the frame leaves the first `left` columns and rows of the image out. */
static blob gif(bool interlaced, int left)
{
    blob b = {0};
    int code;
    GifColorType colour[256];
    for (int i = 0; i < 256; i++)
        colour[i] = (GifColorType){(GifByteType)i, (GifByteType)(i * 7), (GifByteType)(i * 3)};
    ColorMapObject *map = GifMakeMapObject(256, colour);
    GifFileType *g = EGifOpen(&b, put_gif, &code);
    EGifSetGifVersion(g, true);
    EGifPutScreenDesc(g, W, H, 8, 0, map);
    GifByteType extension[4];
    EGifGCBToExtension(&(GraphicsControlBlock){.TransparentColor = 255}, extension);
    EGifPutExtension(g, GRAPHICS_EXT_FUNC_CODE, 4, extension);
    EGifPutImageDesc(g, left, left, W - left, H - left, interlaced, NULL);
    for (int pass = interlaced ? 0 : 4; pass < (interlaced ? 4 : 5); pass++)
        for (int y = (const int[]){0, 4, 2, 1, 0}[pass]; y < H - left; y += (const int[]){8, 8, 4, 2, 1}[pass]) {
            GifByteType row[W];
            for (int x = 0; x < W - left; x++) row[x] = (GifByteType)((x + y) % 3 ? 20 * y + x : 255);
            EGifPutLine(g, row, W - left);
        }
    EGifCloseFile(g, &code);
    GifFreeMapObject(map);
    return b;
}

static void test_gif(void)
{
    for (int k = 0; k < 4; k++) {
        const int left = k / 2;
        blob b = gif(k % 2, left);
        dg_image im;
        const dg_decode_options o = {.keep_alpha = true};
        const dg_err e = dg_image_decode(b.data, b.bytes, &o, &im);
        int wrong = e || im.W != W || im.H != H || im.C != 4;
        for (int y = 0; y < H && !wrong; y++)
            for (int x = 0; x < W; x++) {
                const uint8_t *p = im.pixels + 4 * (y * W + x);
                const bool seen = x >= left && y >= left && (x + y - 2 * left) % 3;
                const int i = 20 * (y - left) + x - left;
                wrong += p[3] != (seen ? 255 : 0) || (seen && (p[0] != i || p[1] != (uint8_t)(7 * i)));
            }
        DG_CHECKF(!wrong, "GIF %d: %s, %d pixels differ", k, e ? dg_message() : "decoded", wrong);
        dg_image_free(&im);
        damage(&b, b.bytes - 2, "GIF"); /* behind the frame is its end, and that of the file */
        DG_CHECK(dg_image_kind(b.data, b.bytes) == DG_KIND_GIF);
        blob_free(&b);
    }
    blob b = gif(false, 0);
    memcpy(b.data + 6, "\xff\xff\xff\xff", 4);
    measured(&b, "giant header", "a side may have", 0.2, 32);
    b = gif(false, 0);
    memcpy(b.data + 6, "\x02\0\x02\0", 4);
    refused(&b, "a frame outside of its picture");
    blob_free(&b);
}

#ifdef HAVE_WEBP
static blob webp(bool lossless, bool alpha)
{
    uint8_t rgba[4 * W * H], *data = NULL;
    for (int i = 0; i < W * H; i++) {
        pixel(i % W, i / W, rgba + 4 * i);
        if (!alpha) rgba[4 * i + 3] = 255;
    }
    const size_t n = lossless ? WebPEncodeLosslessRGBA(rgba, W, H, 4 * W, &data)
                              : WebPEncodeRGBA(rgba, W, H, 4 * W, 90, &data);
    blob b = {0};
    blob_put(&b, data, n);
    WebPFree(data);
    return b;
}

static void test_webp(void)
{
    for (int k = 0; k < 4; k++) {
        blob b = webp(k % 2, k / 2);
        if (k % 2) compare(&b, 24, k / 2, "lossless WebP");
        damage(&b, b.bytes, "WebP");
        DG_CHECK(dg_image_kind(b.data, b.bytes) == (k / 2 ? DG_KIND_WEBP_ALPHA : DG_KIND_WEBP));
        blob_free(&b);
    }
    blob b = webp(true, false);
    memcpy(b.data + 21, "\xff\xff\xff\x0f", 4); /* 16,384 x 16,384 */
    measured(&b, "giant header", "the limit is", 0.2, 32);
}
#else
static void test_webp(void)
{
    blob b = {0};
    blob_put(&b, "RIFF\1\2\3\4WEBPVP8 ", 16);
    refused(&b, "this dcgan was built without libwebp");
    blob_free(&b);
}
#endif

/* What decoding says that it did, in every way in which alpha is wanted; frees b. */
static void does(blob b, unsigned want, const char *what)
{
    for (int way = 0; way < 6; way++) {
        const dg_decode_options o = {.alpha = (dg_alpha)(way % 3), .exif = true};
        dg_image im;
        dg_decoded of;
        const dg_err e = dg_image_decode_fitted(b.data, b.bytes, &o, &(dg_fitting){5, way < 3 ? 3 : 4, 0, 0}, &im, &of);
        DG_CHECKF(!e && of.did == want, "%s, way %d: %s, %x, not %x", what, way, e ? dg_message() : "decoded", of.did,
                  want);
        dg_image_free(&im);
    }
    blob_free(&b);
}

static blob with_chunk(blob b, const char *name, const void *data, size_t n)
{
    blob chunk = {0};
    png_chunk(&chunk, name, data, n);
    blob_insert(&b, 33, chunk.data, chunk.bytes); /* behind IHDR */
    blob_free(&chunk);
    return b;
}

/* PNGs whose rows are zeros and ones. */
static void does_png(void)
{
    enum { GREY = PNG_COLOR_TYPE_GRAY, RGB = PNG_COLOR_TYPE_RGB, PALETTE = PNG_COLOR_TYPE_PALETTE };
    enum { ALPHA = 1 << DG_DID_ALPHA, HALVE = 1 << DG_DID_HALVE };
    static const uint8_t palette[768] = {9, 8, 7}, clear[256] = {255, 0}, later[256] = {255, 255, 0};
    static const png_color_16 one = {.gray = 1, .red = 1, .green = 1, .blue = 1}, two = {.gray = 2, .red = 2},
                              none = {0};
    static const struct {
        int depth, colour;
        const uint8_t *trans;
        const png_color_16 *key;
        unsigned want;
    } way[] = {
        {8, PALETTE, NULL, NULL, 0},   {8, PALETTE, clear, NULL, ALPHA}, {8, PALETTE, later, NULL, 0},
        {1, GREY, NULL, &none, ALPHA}, {8, GREY, NULL, &one, ALPHA},     {8, GREY, NULL, &two, 0},
        {8, RGB, NULL, &one, ALPHA},   {8, RGB, NULL, &two, 0},          {16, RGB, NULL, NULL, HALVE},
        {8, 4, NULL, NULL, ALPHA},     {8, 6, NULL, NULL, ALPHA},        {16, 6, NULL, NULL, ALPHA | HALVE},
    };
    uint8_t rows[8 * W * H];
    for (int i = 0; i < 8 * W * H; i++) rows[i] = (uint8_t)(i / (3 * W) % 2);
    for (int i = 0; i < 2 * (int)(sizeof way / sizeof *way); i++) {
        const png_spec s = {.W = W,
                            .H = H,
                            .depth = way[i / 2].depth,
                            .colour = way[i / 2].colour,
                            .interlace = i % 2,
                            .palette = way[i / 2].colour == PALETTE ? palette : NULL,
                            .trans = way[i / 2].trans,
                            .key = way[i / 2].key};
        char what[40];
        snprintf(what, sizeof what, "PNG %d", i / 2);
        does(png_by_libpng(&s, rows), way[i / 2].want, what);
    }
    memset(rows, 255, sizeof rows); /* an alpha channel in which nothing is transparent */
    does(png_by_libpng(&(png_spec){.W = W, .H = H, .depth = 8, .colour = 6}, rows), 0, "opaque PNG");
    does(with_chunk(png_noise(W, H, 1), "acTL", "\0\0\0\2\0\0\0\0", 8), 1u << DG_DID_FRAME, "APNG");
    does(with_chunk(png_noise(W, H, 1), "acTL", "\0\0\0\1\0\0\0\0", 8), 0, "APNG of one frame");
    does(with_chunk(png_noise(W, H, 1), "iCCP", "x\0\0y", 4), 1u << DG_DID_PROFILE, "PNG with a profile");
    for (uint32_t turn = 1; turn <= 9; turn++) {
        blob exif = exif_block(0, turn), photo = jpeg_smooth(W, H, 1);
        jpeg_add_exif(&photo, &exif);
        does(with_chunk(png_noise(W, H, 1), "eXIf", exif.data, exif.bytes),
             (unsigned)(turn > 1 && turn < 9) << DG_DID_TURN, "turned PNG");
        does(photo, (unsigned)(turn > 1 && turn < 9) << DG_DID_TURN, "turned JPEG");
        blob_free(&exif);
    }
}

static void does_others(void)
{
    uint8_t rows[4 * W * H] = {0};
    blob photo = jpeg_smooth(W, H, 1);
    blob_insert(&photo, 2, "\xff\xe2\0\x10ICC_PROFILE\0\1\1", 18);
    does(photo, 1u << DG_DID_PROFILE, "JPEG with a profile");
    does(jpeg_by_libjpeg(&(jpeg_spec){.W = W, .H = H, .components = 4, .from = JCS_CMYK, .to = JCS_CMYK, .quality = 90},
                         rows),
         1u << DG_DID_CMYK, "CMYK");
    does(bmp(32, true, false, 40), 1u << DG_DID_ALPHA, "BMP with a mask of alpha");
    does(bmp(32, false, false, 40), 0, "BMP of 32 bits");
    does(gif(false, 0), 1u << DG_DID_ALPHA, "GIF");
    blob b = gif(true, 1), more = gif(true, 1);
    const size_t head = 13 + 3 * 256;
    b.bytes--; /* its end */
    blob_put(&b, more.data + head, more.bytes - head);
    does(b, 1u << DG_DID_ALPHA | 1u << DG_DID_FRAME, "GIF of two frames");
    blob_free(&more);
#ifdef HAVE_WEBP
    does(webp(true, true), 1u << DG_DID_ALPHA, "WebP with alpha");
    does(webp(false, false), 0, "WebP");
#endif
}

int main(void)
{
    does_png();
    does_others();
    test_bmp();
    test_gif();
    test_webp();
    return dg_test_report();
}
