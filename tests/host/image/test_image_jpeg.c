/* JPEG files of every kind, whole and damaged, and hostile ones. */
#include "decoding.h"

/* The same file through libjpeg's plainest use, colours by the formulas of T.871 and of Adobe's inverted CMYK. */
static uint8_t *by_the_book(const blob *b, int W, int H, int C)
{
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr err;
    d.err = jpeg_std_error(&err);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, b->data, b->bytes);
    jpeg_read_header(&d, TRUE);
    if (C == 4) d.out_color_space = JCS_CMYK;
    jpeg_start_decompress(&d);
    uint8_t *rgb = malloc(3 * (size_t)W * (size_t)H), *row = malloc((size_t)W * (size_t)C);
    for (int y = 0; y < H; y++) {
        jpeg_read_scanlines(&d, &row, 1);
        for (int x = 0; x < W; x++)
            for (int c = 0; c < 3; c++) {
                const uint8_t *p = row + x * C;
                int v = C == 4 ? p[c] * p[3] : p[C == 1 ? 0 : c]; /* R = (1 - C)(1 - K), the file has 1 - ink */
                rgb[3 * (y * W + x) + c] = (uint8_t)(C == 4 ? (2 * v + 255) / 510 : v);
            }
    }
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
    free(row);
    return rgb;
}

static void check_file(const jpeg_spec *s, const uint8_t *rows)
{
    blob b = jpeg_by_libjpeg(s, rows);
    dg_image im;
    dg_err e = dg_image_decode(b.data, b.bytes, &plain, &im);
    if (!DG_CHECKF(!e && im.W == s->W && im.H == s->H && im.C == 3,
                   "%d x %d, %d components, sampling %d x %d, progressive %d, arithmetic %d, restart %d: %s", s->W,
                   s->H, s->components, s->h, s->v, s->progressive, s->arithmetic, s->restart,
                   e ? dg_message() : "wrong shape")) {
        blob_free(&b);
        return;
    }
    uint8_t *want = by_the_book(&b, s->W, s->H, s->components);
    int far = 0;
    for (int i = 0; i < 3 * s->W * s->H; i++) {
        int d = abs(im.pixels[i] - want[i]);
        far = d > far ? d : far;
    }
    DG_CHECKF(far <= (s->components == 4 ? 1 : 0), "%d x %d, %d components, sampling %d x %d: off by %d", s->W, s->H,
              s->components, s->h, s->v, far);
    free(want);
    dg_image_free(&im);
    blob_free(&b);
}

static void matrix(void)
{
    static const int size[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65};
    static const int sampling[][2] = {{1, 1}, {2, 1}, {2, 2}, {4, 1}, {1, 2}};
    static const struct {
        int components;
        J_COLOR_SPACE from, to;
    } colour[] = {
        {1, JCS_GRAYSCALE, JCS_GRAYSCALE}, {3, JCS_RGB, JCS_YCbCr}, {3, JCS_RGB, JCS_RGB},
        {4, JCS_CMYK, JCS_CMYK},           {4, JCS_CMYK, JCS_YCCK},
    };
    int files = 0;
    for (int k = 0; k < 5; k++)
        for (int w = 0; w < 12; w++)
            for (int way = 0; way < 4; way++) { /* baseline, progressive, arithmetic, restart markers */
                int W = size[w], H = size[(w * 5 + way + k) % 12], f = (w + way) % 5;
                jpeg_spec s = {.W = W,
                               .H = H,
                               .components = colour[k].components,
                               .from = colour[k].from,
                               .to = colour[k].to,
                               .h = sampling[f][0],
                               .v = sampling[f][1],
                               .quality = 95,
                               .progressive = way == 1,
                               .arithmetic = way == 2,
                               .restart = way == 3 ? 1 + w % 3 : 0,
                               .optimize = way == 3,
                               .no_adobe = colour[k].to == JCS_CMYK && w % 2};
                if (s.components == 1 || s.to == JCS_RGB) s.h = s.v = 1;
                uint8_t *rows = smooth_rows(W, H, s.components, (uint32_t)files, 40);
                check_file(&s, rows);
                free(rows);
                files++;
            }
    DG_CHECK(files == 240);
}

/* What went in comes out, so that no colour is exchanged or inverted on both ways. */
static void colours(void)
{
    static const struct {
        uint8_t ink[4], rgb[3];
    } patch[] = {
        {{255, 255, 255, 255}, {255, 255, 255}}, /* the file holds 255 - ink */
        {{0, 255, 255, 255}, {0, 255, 255}},     {{255, 0, 255, 255}, {255, 0, 255}},
        {{255, 255, 0, 255}, {255, 255, 0}},     {{255, 255, 255, 0}, {0, 0, 0}},
        {{255, 128, 64, 128}, {128, 64, 32}},
    };
    for (size_t i = 0; i < sizeof patch / sizeof *patch; i++)
        for (int ycck = 0; ycck < 2; ycck++) {
            uint8_t rows[8 * 8 * 4];
            for (int p = 0; p < 64; p++) memcpy(rows + 4 * p, patch[i].ink, 4);
            blob b = jpeg_by_libjpeg(&(jpeg_spec){.W = 8,
                                                  .H = 8,
                                                  .components = 4,
                                                  .from = JCS_CMYK,
                                                  .to = ycck ? JCS_YCCK : JCS_CMYK,
                                                  .quality = 100},
                                     rows);
            dg_image im;
            DG_CHECK(dg_image_kind(b.data, b.bytes) == DG_KIND_JPEG_CMYK);
            if (DG_CHECK(!dg_image_decode(b.data, b.bytes, &plain, &im)))
                for (int c = 0; c < 3; c++) DG_NEAR(im.pixels[c], patch[i].rgb[c], 2);
            dg_image_free(&im);
            blob_free(&b);
        }
    uint8_t red[3 * 64];
    for (int p = 0; p < 64; p++) red[3 * p] = 250, red[3 * p + 1] = 10, red[3 * p + 2] = 60;
    blob b =
        jpeg_by_libjpeg(&(jpeg_spec){.W = 8, .H = 8, .components = 3, .from = JCS_RGB, .to = JCS_YCbCr, .quality = 100},
                        red);
    dg_image im;
    DG_CHECK(dg_image_kind(b.data, b.bytes) == DG_KIND_JPEG_COLOUR);
    if (DG_CHECK(!dg_image_decode(b.data, b.bytes, &plain, &im)))
        for (int c = 0; c < 3; c++) DG_NEAR(im.pixels[c], red[c], 2);
    dg_image_free(&im);
    blob_free(&b);
}

/* Four patches a b / c d / e f of 16 x 16, turned as EXIF 2.3 says. */
static void orientation(void)
{
    static const char *const turned[9] = {"",       "abcdef", "badcfe", "fedcba", "efcdab",
                                          "acebdf", "ecafdb", "fdbeca", "bdface"};
    uint8_t rows[32 * 48];
    for (int y = 0; y < 48; y++)
        for (int x = 0; x < 32; x++) rows[32 * y + x] = (uint8_t)(20 + 40 * (y / 16 * 2 + x / 16));
    for (int n = 0; n <= 9; n++)
        for (int big = 0; big < 2; big++) {
            blob b = jpeg_by_libjpeg(&(jpeg_spec){.W = 32,
                                                  .H = 48,
                                                  .components = 1,
                                                  .from = JCS_GRAYSCALE,
                                                  .to = JCS_GRAYSCALE,
                                                  .quality = 95,
                                                  .progressive = big},
                                     rows);
            blob exif = exif_block(big, (uint32_t)n);
            jpeg_add_exif(&b, &exif);
            for (int apply = 0; apply < 2; apply++) {
                dg_image im;
                if (!DG_CHECK(!dg_image_decode(b.data, b.bytes, &(dg_decode_options){.exif = apply}, &im))) continue;
                int want = apply && n >= 1 && n <= 8 ? n : 1, cols = want < 5 ? 2 : 3;
                char got[7] = "";
                if (DG_CHECKF(im.W == 16 * cols && im.H == 96 / cols, "%d x %d", im.W, im.H))
                    for (int i = 0; i < 6; i++) {
                        int x = 16 * (i % cols) + 8, y = 16 * (i / cols) + 8;
                        got[i] = (char)('a' + im.pixels[3 * (y * im.W + x)] / 40);
                    }
                DG_CHECKF(!strcmp(got, turned[want]), "orientation %d, %s: %s", n, apply ? "exif" : "ignore", got);
                dg_image_free(&im);
            }
            blob_free(&exif);
            blob_free(&b);
        }
}

static dg_err decode(const blob *b)
{
    uint8_t *copy = malloc(b->bytes ? b->bytes : 1); /* exactly as long as the file, for the sanitizer */
    if (b->bytes) memcpy(copy, b->data, b->bytes);
    dg_image im;
    dg_err e = dg_image_decode(copy, b->bytes, &plain, &im);
    DG_CHECK(e == DG_OK ? im.W > 0 && im.pixels : e == DG_DATA && *dg_message() && !im.pixels);
    dg_image_free(&im);
    free(copy);
    return e;
}

static void damage(void)
{
    for (int way = 0; way < 4; way++) {
        uint8_t *rows = smooth_rows(20, 17, 3, 3, 60);
        blob b = jpeg_by_libjpeg(&(jpeg_spec){.W = 20,
                                              .H = 17,
                                              .components = 3,
                                              .from = JCS_RGB,
                                              .to = JCS_YCbCr,
                                              .h = 2,
                                              .v = 2,
                                              .quality = 50,
                                              .progressive = way == 1,
                                              .arithmetic = way == 2,
                                              .restart = way == 3},
                                 rows);
        free(rows);
        DG_CHECK(decode(&b) == DG_OK);
        int passed = 0, taken = 0;
        size_t whole = b.bytes;
        for (b.bytes = 0; b.bytes < whole; b.bytes++) passed += decode(&b) == DG_OK;
        DG_CHECKF(passed == 0, "way %d: %d truncations of %zu bytes passed", way, passed, whole);
        for (size_t bit = 0; bit < 8 * b.bytes; bit++) { /* JPEG has no checksum: some must pass */
            b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            taken += decode(&b) == DG_OK;
            b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        DG_CHECKF(taken > 0 && taken < 8 * (int)b.bytes, "%d of %zu flipped bits passed", taken, 8 * b.bytes);
        blob_put(&b, "trailing bytes", 14); /* as many phones write */
        DG_CHECK(decode(&b) == DG_OK);
        blob_insert(&b, 20, "\0\0\0", 3); /* padding between segments: behind SOI and JFIF's APP0 */
        DG_CHECK(decode(&b) == DG_OK);
        blob_free(&b);
    }
}

/* Change `n` bytes at `skip` behind the marker. */
static void patch(blob *b, int marker, size_t skip, const void *with, size_t n)
{
    for (size_t i = 2; i + 1 < b->bytes; i++)
        if (b->data[i] == 0xff && b->data[i + 1] == marker) {
            memcpy(b->data + i + skip, with, n);
            return;
        }
    abort();
}

static void unsupported(void)
{
    blob b = jpeg_smooth(16, 16, 1);
    int marker = 0xc0;
    for (const char *next = "\xc3\xc7\xcb\xcf\xc5\xc6\xcd\xce\xc0"; *next; next++) {
        patch(&b, marker, 1, next, 1);
        marker = (uint8_t)*next;
        if (marker != 0xc0) refused(&b, marker % 4 == 3 ? "lossless JPEG is not supported" : "hierarchical");
    }
    patch(&b, 0xc0, 4, "\x0c", 1);
    refused(&b, "12 bits");
    patch(&b, 0xc0, 4, "\x08", 1);
    patch(&b, 0xc0, 5, "\0\0", 2);
    refused(&b, "no pixels");
    patch(&b, 0xc0, 5, "\0\x10", 2);
    patch(&b, 0xc0, 9, "\2", 1);
    refused(&b, "2 colour components");
    patch(&b, 0xc0, 9, "\3", 1);
    DG_CHECK(decode(&b) == DG_OK);
    patch(&b, 0xc0, 1, "\xe7", 1);
    refused(&b, "pixels before the frame header");
    blob_free(&b);
    blob_put(&b, "\xff\xd8\xff\xd9", 4);
    refused(&b, "ends before any pixel");
    blob_free(&b);
    blob_put(&b,
             "\xff\xd8\xff\xe1\xff\xff"
             "Exif",
             10);
    refused(&b, "segment e1");
    blob_free(&b);
}

/* Scans of the first component in which no block has anything: a few bytes each, for the reader a walk over all
 * blocks. A run of 2^k + r empty blocks is the symbol k, here 4 bits, and r in k bits (T.81, G.1.2.2). */
static void add_scans(blob *b, int scans, int blocks)
{
    blob scan = {0}, all = {0};
    uint8_t dht[2 + 2 + 1 + 16 + 15] = {0xff, 0xc4, 0, 2 + 1 + 16 + 15, 0x10, 0, 0, 0, 15};
    for (int k = 0; k < 15; k++) dht[21 + k] = (uint8_t)(k << 4);
    blob_put(&all, dht, sizeof dht);
    blob_put(&scan, "\xff\xda\0\x08\1\1\0\1\x3f\0", 10);
    uint64_t bits = 0;
    int n = 0;
    for (int left = blocks; left > 0;) {
        int run = left < 32767 ? left : 32767, bit = 0;
        while (run >> (bit + 1)) bit++;
        left -= run;
        bits = bits << (4 + bit) | (uint64_t)bit << bit | (uint64_t)(run - (1 << bit));
        n += 4 + bit;
        if (left <= 0 && n % 8) { /* fill the last byte with ones */
            int fill = 8 - n % 8;
            bits = bits << fill | ((1u << fill) - 1);
            n += fill;
        }
        for (; n >= 8; n -= 8) {
            uint8_t byte = (uint8_t)(bits >> (n - 8));
            blob_put(&scan, &byte, 1);
            if (byte == 0xff) blob_put(&scan, "", 1);
        }
    }
    for (int i = 0; i < scans; i++) blob_put(&all, scan.data, scan.bytes);
    blob_insert(b, b->bytes - 2, all.data, all.bytes);
    blob_free(&scan);
    blob_free(&all);
}

static void hostile(void)
{
    static const struct {
        const char *size, *why;
        double seconds;
    } header[] = {
        {"\xff\xdc\xff\xdc", "a side may have", 0.2},
        {"\x40\x01\x00\x01", "a side may have", 0.2},
        {"\x40\x00\x40\x00", "the limit is", 0.2},
    };
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        for (int progressive = 0; progressive < 2; progressive++) {
            uint8_t *rows = smooth_rows(16, 16, 3, 1, 0);
            blob b = jpeg_by_libjpeg(&(jpeg_spec){.W = 16,
                                                  .H = 16,
                                                  .components = 3,
                                                  .from = JCS_RGB,
                                                  .to = JCS_YCbCr,
                                                  .quality = 50,
                                                  .progressive = progressive},
                                     rows);
            free(rows);
            patch(&b, progressive ? 0xc2 : 0xc0, 5, header[i].size, 4);
            measured(&b, "giant header", header[i].why, header[i].seconds, 32);
        }
    uint8_t *rows = smooth_rows(16, 16, 3, 1, 0);
    jpeg_spec s = {
        .W = 16, .H = 16, .components = 3, .from = JCS_RGB, .to = JCS_YCbCr, .quality = 50, .progressive = 1};
    blob b = jpeg_by_libjpeg(&s, rows), large = {0};
    patch(&b, 0xc2, 5, "\x1f\x40\x1f\x40", 4); /* 8000 x 8000 progressive would keep 366 MiB of coefficients */
    measured(&b, "large progressive header", "MiB to decode", 0.2, 32);

    b = jpeg_by_libjpeg(&s, rows);
    blob_put(&large, b.data, b.bytes);
    add_scans(&large, 80000, 4);
    measured(&large, "80,000 scans", "more than 100 scans", 0.2, 32);
    blob_free(&b);
    free(rows);

    /* The dearest file that the limits admit: as many coefficients as fit, and 100 scans over them. */
    rows = calloc(5600, 5600);
    s = (jpeg_spec){.W = 5600,
                    .H = 5600,
                    .components = 1,
                    .from = JCS_GRAYSCALE,
                    .to = JCS_GRAYSCALE,
                    .quality = 50,
                    .progressive = 1};
    b = jpeg_by_libjpeg(&s, rows);
    free(rows);
    add_scans(&b, 80, 700 * 700);
    child_result r = in_child(decode_in_child, &b, (size_t)256 << 20);
    printf("5,600 x 5,600 in many scans: %.2f s of CPU, %ld MiB: %s\n", r.seconds, r.kilobytes >> 10, r.message);
    DG_CHECKF(r.code == DG_OK || (r.code == DG_DATA && strstr(r.message, "too long")), "%d", r.code);
    if (!DG_SANITIZED) DG_CHECK(r.seconds < 5.5 && r.kilobytes < 240 << 10);
    blob_free(&b);
}

int main(void)
{
    matrix();
    colours();
    orientation();
    damage();
    unsupported();
    hostile();
    return dg_test_report();
}
