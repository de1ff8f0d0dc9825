/* Tests JPEG files of every kind, damaged files, and files that are slow to decode. */
#include "decoding.h"

/* Decodes a JPEG by libjpeg. Colours follow T.871, and CMYK is inverted as in Adobe's files. */
static uint8_t *by_the_book(const blob *b, int divisor, int W, int H, int C)
{
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr err;
    d.err = jpeg_std_error(&err);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, b->data, b->bytes);
    jpeg_read_header(&d, TRUE);
    if (C == 4) d.out_color_space = JCS_CMYK;
    d.scale_denom = (unsigned)divisor;
    jpeg_start_decompress(&d);
    DG_CHECK((int)d.output_width == W && (int)d.output_height == H);
    uint8_t *rgb = malloc(3 * (size_t)W * (size_t)H), *row = malloc((size_t)W * (size_t)C);
    for (int y = 0; y < H; y++) {
        jpeg_read_scanlines(&d, &row, 1);
        for (int x = 0; x < W; x++)
            for (int c = 0; c < 3; c++) {
                const uint8_t *p = row + x * C;
                int v = C == 4 ? p[c] * p[3] : p[C == 1 ? 0 : c]; /* CMYK stores 1 - ink, so R = (1 - C)(1 - K) */
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
    uint8_t *want = by_the_book(&b, 1, s->W, s->H, s->components);
    dg_image im;
    const dg_err e = dg_image_decode(b.data, b.bytes, &plain, &im);
    const bool whole = !e && im.W == s->W && im.H == s->H && im.C == 3;
    int far = 0;
    for (int i = 0; whole && i < 3 * s->W * s->H; i++) far = (int)fmax(far, abs(im.pixels[i] - want[i]));
    DG_CHECKF(whole && far <= (s->components == 4 ? 1 : 0),
              "%d x %d, %d components, sampling %d x %d, progressive %d, arithmetic %d, restart %d: %s, off by %d",
              s->W, s->H, s->components, s->h, s->v, s->progressive, s->arithmetic, s->restart, e ? dg_message() : "",
              far);
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
            for (int coding = 0; coding < JPEG_CODINGS; coding++) {
                const int *f = sampling[colour[k].components == 1 || colour[k].to == JCS_RGB ? 0 : (w + coding) % 5];
                jpeg_spec s = {.W = size[w], .H = size[(w * 5 + coding + k) % 12], .quality = 95, .h = f[0], .v = f[1]};
                s.components = colour[k].components, s.from = colour[k].from, s.to = colour[k].to;
                s.optimize = coding == 3;
                s.no_adobe = colour[k].to == JCS_CMYK && w % 2;
                s = jpeg_coded(s, coding, 1 + w % 3);
                uint8_t *rows = smooth_rows(s.W, s.H, s.components, (uint32_t)files++, 40);
                check_file(&s, rows);
                free(rows);
            }
    DG_CHECK(files == 240);
}

/* Compares colours with known values. A comparison with libjpeg would not detect swapped or inverted channels. */
static void colours(void)
{
    static const struct {
        uint8_t ink[4], rgb[3];
    } patch[] = {
        {{255, 255, 255, 255}, {255, 255, 255}}, /* CMYK is stored as 255 - ink */
        {{0, 255, 255, 255}, {0, 255, 255}},     {{255, 0, 255, 255}, {255, 0, 255}},
        {{255, 255, 0, 255}, {255, 255, 0}},     {{255, 255, 255, 0}, {0, 0, 0}},
        {{255, 128, 64, 128}, {128, 64, 32}},    {{250, 10, 60}, {250, 10, 60}}, /* RGB */
    };
    for (int i = 0; i < 13; i++) {
        const int C = i == 12 ? 3 : 4;
        jpeg_spec s = {.W = 8, .H = 8, .components = C, .from = JCS_CMYK, .to = JCS_CMYK, .quality = 100};
        if (i % 2) s.to = JCS_YCCK;
        if (C == 3) s.from = JCS_RGB, s.to = JCS_YCbCr;
        uint8_t rows[8 * 8 * 4];
        for (int p = 0; p < 64; p++) memcpy(rows + (ptrdiff_t)C * p, patch[i / 2].ink, (size_t)C);
        blob b = jpeg_by_libjpeg(&s, rows);
        dg_image im;
        DG_CHECK(kind_of(b.data, b.bytes) == (C == 3 ? DG_KIND_JPEG_COLOUR : DG_KIND_JPEG_CMYK));
        if (DG_CHECK(!dg_image_decode(b.data, b.bytes, &plain, &im)))
            for (int c = 0; c < 3; c++) DG_NEAR(im.pixels[c], patch[i / 2].rgb[c], 2);
        dg_image_free(&im);
        blob_free(&b);
    }
}

/* Decodes six patches of 16 x 16 pixels after each EXIF orientation. */
static void orientation(void)
{
    uint8_t rows[32 * 48];
    for (int y = 0; y < 48; y++)
        for (int x = 0; x < 32; x++) rows[32 * y + x] = (uint8_t)(20 + 40 * (y / 16 * 2 + x / 16));
    for (int i = 0; i < 40; i++) {
        const int n = i / 4, big = i / 2 % 2, apply = i % 2;
        const jpeg_spec s = jpeg_coded(jpeg_grey(32, 48, 95), big, 0);
        blob b = jpeg_by_libjpeg(&s, rows);
        jpeg_add_exif(&b, exif_block(big, (uint32_t)n));
        dg_image im;
        if (DG_CHECK(!dg_image_decode(b.data, b.bytes, &(dg_decode_options){.exif = apply}, &im))) {
            const int want = apply && n >= 1 && n <= 8 ? n : 1, cols = want < 5 ? 2 : 3;
            char got[7] = "";
            if (DG_CHECKF(im.W == 16 * cols && im.H == 96 / cols, "%d x %d", im.W, im.H))
                for (int k = 0; k < 6; k++)
                    got[k] = (char)('a' + im.pixels[3 * ((16 * (k / cols) + 8) * im.W + 16 * (k % cols) + 8)] / 40);
            DG_CHECKF(!strcmp(got, turned[want]), "orientation %d, %s: %s", n, apply ? "exif" : "ignore", got);
        }
        dg_image_free(&im);
        blob_free(&b);
    }
}

static void damaged(void)
{
    for (int coding = 0; coding < JPEG_CODINGS; coding++) {
        uint8_t *rows = smooth_rows(20, 17, 3, 3, 60);
        const jpeg_spec s = jpeg_coded(jpeg_photo(20, 17, 50), coding, 1);
        blob b = jpeg_by_libjpeg(&s, rows);
        free(rows);
        DG_CHECK(!read_image(b.data, b.bytes));
        const accepted a = damage(b.data, b.bytes, b.bytes, read_image, DG_DATA);
        DG_CHECKF(!a.cuts, "coding %d: %ld truncations accepted", coding, a.cuts);
        /* JPEG has no checksum, so some damaged files must be accepted. */
        DG_CHECKF(a.flips && a.flips < 8 * (long)b.bytes, "%ld of %zu flipped bits accepted", a.flips, 8 * b.bytes);
        blob_put(&b, "trailing bytes", 14); /* many phones append bytes to a JPEG */
        DG_CHECK(!read_image(b.data, b.bytes));
        blob_insert(&b, 20, "\0\0\0", 3); /* padding after the APP0 segment */
        DG_CHECK(!read_image(b.data, b.bytes));
        blob_free(&b);
    }
}

static size_t segment(const blob *b, int marker)
{
    for (size_t i = 2; i + 1 < b->bytes; i++)
        if (b->data[i] == 0xff && b->data[i + 1] == marker) return i;
    abort();
}

static void unsupported(void)
{
    blob b = jpeg_smooth(16, 16, 1);
    const size_t sof = segment(&b, 0xc0);
    const refusal row[] = {
        {"lossless", BYTES("\xc3"), sof + 1},
        {"lossless", BYTES("\xc7"), sof + 1},
        {"lossless", BYTES("\xcb"), sof + 1},
        {"lossless", BYTES("\xcf"), sof + 1},
        {"hierarchical", BYTES("\xc5"), sof + 1},
        {"hierarchical", BYTES("\xc6"), sof + 1},
        {"hierarchical", BYTES("\xcd"), sof + 1},
        {"hierarchical", BYTES("\xce"), sof + 1},
        {"12 bits", BYTES("\x0c"), sof + 4},
        {"no pixels", BYTES("\0\0"), sof + 5},
        {"2 colour comp", BYTES("\2"), sof + 9},
        {NULL, BYTES("\3"), sof + 9},
        {"before the frame header", BYTES("\xe7"), sof + 1},
    };
    static const refusal whole[] = {{"ends before any pixel", BYTES("\xff\xd8\xff\xd9"), 0},
                                    {"segment e1", BYTES("\xff\xd8\xff\xe1\xff\xff\105xif"), 0}};
    check_refusals(row, sizeof row / sizeof *row, read_image, DG_DATA, b.data, b.bytes);
    check_refusals(whole, 2, read_image, DG_DATA, NULL, 0);
    blob_free(&b);
}

/* Adds scans that have only a few bytes, although the decoder visits every block. A run of 2^k + r empty blocks is
 * coded as symbol k (4 bits) and r in k bits (T.81, G.1.2.2). */
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

/* Makes a JPEG file whose header declares another size. `sides` has height and width of two bytes each. */
static blob with_sides(bool progressive, const char *sides)
{
    uint8_t *rows = smooth_rows(16, 16, 3, 1, 0);
    const jpeg_spec s = jpeg_coded(jpeg_photo(16, 16, 50), progressive, 0);
    blob b = jpeg_by_libjpeg(&s, rows);
    free(rows);
    memcpy(b.data + segment(&b, progressive ? 0xc2 : 0xc0) + 5, sides, 4);
    return b;
}

/* An image above the limit of pixels is decoded at 1/2, 1/4 or 1/8 of its size, like by libjpeg. */
static void scaled(void)
{
    static const struct {
        int W, H, most, divisor;
    } row[] = {{65, 47, 65 * 47, 1},     {65, 47, 65 * 47 - 1, 2}, {65, 47, 33 * 24, 2},
               {65, 47, 33 * 24 - 1, 4}, {65, 47, 9 * 6, 8},       {65, 47, 9 * 6 - 1, 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int k = 0; k < 4; k++) {
            static const int components[] = {1, 3, 4, 3};
            const int C = components[k], d = row[i].divisor ? row[i].divisor : 1;
            jpeg_spec s = {.W = row[i].W, .H = row[i].H, .components = C, .quality = 90, .h = C == 1 ? 1 : 2, .v = 1};
            s.from = C == 1 ? JCS_GRAYSCALE : C == 3 ? JCS_RGB : JCS_CMYK;
            s.to = C == 1 ? JCS_GRAYSCALE : C == 3 ? JCS_YCbCr : JCS_YCCK;
            s.progressive = k == 3;
            const int W = (s.W + d - 1) / d, H = (s.H + d - 1) / d;
            uint8_t *rows = smooth_rows(s.W, s.H, C, 3, 40);
            blob b = jpeg_by_libjpeg(&s, rows);
            const dg_decode_options o = {.exif = true, .max_pixels = (size_t)row[i].most};
            const dg_fitting f = {.size = dg_square(4), .channels = 3};
            dg_image im, small;
            dg_decoded of = {0};
            const dg_err e = dg_image_decode(b.data, b.bytes, &o, &im),
                         fits = dg_image_decode_fitted(b.data, b.bytes, &o, &f, &small, &of);
            DG_CHECK(e == fits);
            if (!row[i].divisor) DG_CHECK(e == DG_DATA && strstr(dg_message(), "65 x 47 pixels, the limit is 53"));
            else if (DG_CHECK(!e && im.W == W && im.H == H && of.W == W && of.H == H)) {
                uint8_t *want = by_the_book(&b, d, W, H, C);
                int far = 0;
                for (int p = 0; p < 3 * W * H; p++) far = (int)fmax(far, abs(im.pixels[p] - want[p]));
                DG_CHECKF(far <= (C == 4) && (of.did >> DG_DID_SCALE & 1) == (d > 1), "1/%d, %d components: off by %d",
                          d, C, far);
                free(want);
            }
            dg_image_free(&im);
            dg_image_free(&small);
            free(rows);
            blob_free(&b);
        }
}

static void hostile(void)
{
    /* A baseline JPEG may be scaled while it is decoded; a progressive one would need all coefficients. */
    static const char *const header[][3] = {{"\xff\xdc\xff\xdc", "premature end", "jpegtran"},
                                            {"\xff\xff\xff\xff", "65500", "65500"},
                                            {"\x40\x00\x40\x00", "premature end", "jpegtran"}};
    for (int i = 0; i < 6; i++)
        refused_at_once(with_sides(i % 2, header[i / 2][0]), "giant header", header[i / 2][1 + i % 2]);
    /* The coefficients of a progressive 8000 x 8000 image would need 366 MiB. */
    refused_at_once(with_sides(true, "\x1f\x40\x1f\x40"), "large progressive header", "MiB to decode");
    blob b = with_sides(true, "\0\x10\0\x10");
    add_scans(&b, 80000, 4);
    refused_at_once(b, "80,000 scans", "more than 100 scans");

    /* The slowest accepted JPEG has the maximum number of coefficients and 100 scans. */
    uint8_t *rows = calloc(5600, 5600);
    const jpeg_spec s = jpeg_coded(jpeg_grey(5600, 5600, 50), 1, 0);
    b = jpeg_by_libjpeg(&s, rows);
    free(rows);
    add_scans(&b, 80, 700 * 700);
    child_result r = in_child(decode_in_child, &b, (size_t)256 << 20);
    printf("5,600 x 5,600 in many scans: %.2f s of CPU, %ld MiB: %s\n", r.seconds, r.kilobytes >> 10, r.message);
    DG_CHECKF(r.code == DG_OK || (r.code == DG_DATA && strstr(r.message, "too long")), "%d", r.code);
    if (!DG_SANITIZED) DG_CHECK(r.seconds < 5.5 && r.kilobytes < 240 << 10);
    blob_free(&b);
}

DG_TESTS(matrix, colours, orientation, damaged, unsupported, scaled, hostile)
