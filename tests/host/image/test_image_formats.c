/* Tests BMP, GIF and WebP files: pixels, damaged files, and files that declare too large an image. */
#include "decoding.h"

enum { W = 7, H = 5 };

static void pixel(int x, int y, uint8_t rgba[4])
{
    for (int c = 0; c < 3; c++) rgba[c] = (uint8_t)((x * 31 + y * 57 + c * 91) & 0xf8);
    rgba[3] = (x + y) % 3 ? 255 : 0;
}

static void little(blob *b, uint32_t v, int n)
{
    for (int i = 0; i < n; i++) blob_put(b, &(uint8_t){(uint8_t)(v >> 8 * i)}, 1);
}

/* Makes a BMP file. With `masks`, 16 or 32 bits per pixel have explicit colour masks. With `down`, the top row is
 * stored first. */
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
    for (int i = 0; i < colours; i++) /* colour i is (3i, 2i, i) */
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

static dg_err read_small(const void *data, size_t n)
{
    const dg_decode_options small = {.exif = true, .keep_alpha = true, .max_pixels = 1 << 16};
    dg_image im;
    const dg_err e = dg_image_decode(data, n, &small, &im);
    DG_CHECK(e ? !im.pixels : im.pixels && im.C == 4 && (size_t)im.W * (size_t)im.H <= small.max_pixels);
    dg_image_free(&im);
    return e;
}

/* An image truncated below `whole` bytes must be refused. A changed byte must give an image or an error. Frees b. */
static void damaged(blob b, size_t whole, const char *what, dg_kind kind)
{
    DG_CHECK(kind_of(b.data, b.bytes) == kind);
    const accepted a = damage(b.data, b.bytes, whole, read_small, DG_DATA);
    DG_CHECKF(!a.cuts, "%s: %ld truncations accepted", what, a.cuts);
    for (size_t i = 0; i < b.bytes; i++)
        for (int v = 0; v < 256; v += 255) {
            const uint8_t was = b.data[i];
            b.data[i] = (uint8_t)v;
            const dg_err e = read_copy(read_small, b.data, b.bytes);
            DG_CHECKF(!e || (e == DG_DATA && *dg_message()), "%s, byte %zu is %d: %d", what, i, v, (int)e);
            b.data[i] = was;
        }
    blob_free(&b);
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
            damaged(b, down ? 0 : b.bytes, what, DG_KIND_BMP);
        }
    static const struct {
        int bits;
        size_t at, n;
        const char *bytes, *why;
    } hostile[] = {{24, 30, 1, "\1", "run-length"},
                   {24, 18, 4, "\xff\xff\xff\x7f", "16384"},
                   {1, 18, 8, "\0\x3c\0\0\0\x3c\0\0", "the limit is"}}; /* declares 15,360 x 15,360 */
    for (int i = 0; i < 3; i++) {
        blob b = bmp(hostile[i].bits, false, false, 40);
        memcpy(b.data + hostile[i].at, hostile[i].bytes, hostile[i].n);
        refused_at_once(b, "BMP", hostile[i].why);
    }
}

/* Makes a GIF in which colour 255 is transparent. The frame does not cover the first `left` columns and rows. */
static blob gif(bool interlaced, int left)
{
    uint8_t palette[768], index[W * H];
    for (int i = 0; i < 256; i++)
        palette[3 * i] = (uint8_t)i, palette[3 * i + 1] = (uint8_t)(i * 7), palette[3 * i + 2] = (uint8_t)(i * 3);
    const int w = W - left, h = H - left;
    for (int i = 0; i < w * h; i++) index[i] = (uint8_t)((i % w + i / w) % 3 ? 20 * (i / w) + i % w : 255);
    return gif_by_giflib(w, h, left, interlaced, 255, palette, index);
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
        /* the last two bytes are end marks, which the reader does not need */
        damaged(b, b.bytes - 2, "GIF", DG_KIND_GIF);
    }
    blob b = gif(false, 0);
    memcpy(b.data + 6, "\xff\xff\xff\xff", 4);
    refused_at_once(b, "giant header", "16384");
    b = gif(false, 0);
    memcpy(b.data + 6, "\x02\0\x02\0", 4);
    refused(b, "a frame outside");
}

static blob webp(bool lossless, bool alpha)
{
    uint8_t rgba[4 * W * H];
    for (int i = 0; i < W * H; i++) {
        pixel(i % W, i / W, rgba + 4 * i);
        if (!alpha) rgba[4 * i + 3] = 255;
    }
    return webp_by_libwebp(W, H, lossless, rgba);
}

/* Makes an animation of equal frames at (x, y) of a canvas that is 2x larger in both directions. x and y are even. */
static blob webp_animation(int frames, int x, int y, bool lossless, bool alpha)
{
    blob b = {0}, still = webp(lossless, alpha);
    blob_put(&b, "RIFF....WEBPVP8X", 16);
    little(&b, 10, 4);
    little(&b, alpha ? 0x12 : 2, 4);
    little(&b, (uint32_t)(W + 2 * x - 1), 3), little(&b, (uint32_t)(H + 2 * y - 1), 3);
    blob_put(&b, "ANIM\6\0\0\0\377\0\0\377\0\0", 14);
    const bool extended = !memcmp(still.data + 12, "VP8X", 4); /* lossy with alpha: chunks ALPH and VP8 follow */
    const size_t from = extended ? 30 : 12, n = still.bytes - from;
    for (int i = 0; i < frames; i++) {
        blob_put(&b, "ANMF", 4);
        little(&b, (uint32_t)(16 + n), 4);
        little(&b, (uint32_t)x / 2, 3), little(&b, (uint32_t)y / 2, 3), little(&b, W - 1, 3), little(&b, H - 1, 3);
        little(&b, 100, 3), little(&b, 0, 1);
        blob_put(&b, still.data + from, n);
    }
    blob_free(&still);
    for (int i = 0; i < 4; i++) b.data[4 + i] = (uint8_t)((b.bytes - 8) >> 8 * i);
    return b;
}

static void test_animation(void)
{
    for (int k = 0; k < 4; k++) {
        blob b = webp_animation(2, 0, 0, k % 2, k / 2);
        if (k % 2) compare(&b, 24, k / 2, "animated WebP");
        blob still = webp(k % 2, k / 2);
        dg_image one, two;
        const dg_decode_options o = {.keep_alpha = true};
        const bool both = !dg_image_decode(b.data, b.bytes, &o, &one) &&
                          !dg_image_decode(still.data, still.bytes, &o, &two);
        DG_CHECKF(both && !memcmp(one.pixels, two.pixels, 4 * W * H), "animation %d: %s", k, dg_message());
        dg_image_free(&one);
        dg_image_free(&two);
        blob_free(&still);
        damaged(b, b.bytes, "WebP", k / 2 ? DG_KIND_WEBP_ALPHA : DG_KIND_WEBP);
    }
    blob b = webp_animation(1, 2, 4, true, true);
    dg_image im;
    int wrong = dg_image_decode(b.data, b.bytes, &(dg_decode_options){.keep_alpha = true}, &im) || im.W != W + 4 ||
                im.H != H + 8;
    for (int y = 0; y < H + 8 && !wrong; y++)
        for (int x = 0; x < W + 4; x++) {
            uint8_t want[4] = {0};
            if (x >= 2 && x < W + 2 && y >= 4 && y < H + 4) pixel(x - 2, y - 4, want);
            wrong += im.pixels[4 * (y * (W + 4) + x) + 3] != want[3] ||
                     (want[3] && memcmp(im.pixels + 4 * (y * (W + 4) + x), want, 4) != 0);
        }
    DG_CHECKF(!wrong, "animation with an offset: %d pixels differ", wrong);
    dg_image_free(&im);
    b.data[52] = 100; /* of the frame */
    refused(b, "a frame outside");
    b = webp_animation(0, 0, 0, true, true);
    refused(b, "WebP: ");
}

static void test_webp(void)
{
    for (int k = 0; k < 4; k++) {
        blob b = webp(k % 2, k / 2);
        if (k % 2) compare(&b, 24, k / 2, "lossless WebP");
        damaged(b, b.bytes, "WebP", k / 2 ? DG_KIND_WEBP_ALPHA : DG_KIND_WEBP);
    }
    blob b = webp(true, false);
    memcpy(b.data + 21, "\xff\xff\xff\x0f", 4); /* declares 16,384 x 16,384 */
    refused_at_once(b, "giant header", "the limit is");
}

/* Decodes an image with each treatment of alpha and checks which conversions are reported. Frees b. */
static void does(blob b, unsigned want, const char *what)
{
    for (int way = 0; way < 6; way++) {
        const dg_decode_options o = {.alpha = (dg_alpha)(way % 3), .exif = true};
        dg_image im;
        dg_decoded of;
        const dg_err e = dg_image_decode_fitted(b.data, b.bytes, &o, &(dg_fitting){dg_square(5), way < 3 ? 3 : 4, 0, 0},
                                                &im, &of);
        DG_CHECKF(!e && of.did == want, "%s, way %d: %s, %x, not %x", what, way, e ? dg_message() : "decoded", of.did,
                  want);
        dg_image_free(&im);
    }
    blob_free(&b);
}

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
        png_spec s = {W, H, way[i / 2].depth, way[i / 2].colour, i % 2, NULL, way[i / 2].trans, way[i / 2].key};
        if (s.colour == PALETTE) s.palette = palette;
        does(png_by_libpng(&s, rows), way[i / 2].want, temp_text("PNG %d", i / 2));
    }
    memset(rows, 255, sizeof rows); /* an opaque alpha channel */
    does(png_by_libpng(&(png_spec){.W = W, .H = H, .depth = 8, .colour = 6}, rows), 0, "opaque PNG");
    does(png_with(png_noise(W, H, 1), "acTL", "\0\0\0\2\0\0\0\0", 8), 1u << DG_DID_FRAME, "APNG");
    does(png_with(png_noise(W, H, 1), "acTL", "\0\0\0\1\0\0\0\0", 8), 0, "APNG of one frame");
    does(png_with(png_noise(W, H, 1), "iCCP", "x\0\0y", 4), 1u << DG_DID_PROFILE, "PNG with a profile");
    for (uint32_t turn = 1; turn <= 9; turn++) {
        const unsigned want = (unsigned)(turn > 1 && turn < 9) << DG_DID_TURN;
        blob photo = jpeg_smooth(W, H, 1);
        jpeg_add_exif(&photo, exif_block(0, turn));
        does(png_with_exif(png_noise(W, H, 1), exif_block(0, turn)), want, "turned PNG");
        does(photo, want, "turned JPEG");
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
    b.bytes--; /* removes the end mark */
    blob_put(&b, more.data + head, more.bytes - head);
    does(b, 1u << DG_DID_ALPHA | 1u << DG_DID_FRAME, "GIF of two frames");
    /* damage after the first frame is ignored */
    static const char *const tail[] = {"!", "!\xfe\5ab", "!\xfe\1a"};
    for (size_t i = 0; i < sizeof tail / sizeof *tail; i++) {
        b = gif(false, 0);
        b.bytes--; /* without the end mark */
        blob_put(&b, tail[i], strlen(tail[i]));
        does(b, 1u << DG_DID_ALPHA, "GIF with a damaged end");
    }
    blob_free(&more);
    does(webp(true, true), 1u << DG_DID_ALPHA, "WebP with alpha");
    does(webp(false, false), 0, "WebP");
    does(webp_animation(3, 0, 0, false, false), 1u << DG_DID_FRAME, "animated WebP");
    does(webp_animation(1, 0, 0, true, true), 1u << DG_DID_ALPHA, "WebP of one frame");
}

DG_TESTS(does_png, does_others, test_bmp, test_gif, test_webp, test_animation)
