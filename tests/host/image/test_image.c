/* Tests PNG files of every colour type and depth, and the PngSuite files. */
#include "decoding.h"

#include <dirent.h>

/* Returns sample i of a row with `depth` bits per sample. */
static unsigned sample(const uint8_t *row, int i, int depth)
{
    if (depth == 16) return (unsigned)row[2 * i] << 8 | row[2 * i + 1];
    int per = 8 / depth;
    return (unsigned)(row[i / per] >> (8 - depth * (i % per + 1))) & ((1u << depth) - 1);
}

typedef struct {
    png_spec s;
    uint8_t palette[768], trans[256];
    png_color_16 key;
    uint8_t *rows;
    size_t row;
    int channels;
} png_case;

/* Computes the colour of a pixel by the PNG standard, without libpng. */
static void expected_pixel(const png_case *k, int x, int y, dg_alpha alpha, uint8_t rgb[4])
{
    const uint8_t *row = k->rows + (size_t)y * k->row;
    int d = k->s.depth, n = k->channels;
    unsigned v[4], out[3], a = 255;
    for (int c = 0; c < n; c++) v[c] = sample(row, x * n + c, d);
    unsigned scale = d < 8 ? 255u / ((1u << d) - 1) : 1;
    if (k->s.colour == PNG_COLOR_TYPE_PALETTE) {
        for (int c = 0; c < 3; c++) out[c] = k->palette[3 * v[0] + (unsigned)c];
        if (k->s.trans) a = k->trans[v[0]];
    } else {
        for (int c = 0; c < 3; c++) {
            unsigned s = v[n >= 3 ? c : 0];
            out[c] = d == 16 ? s >> 8 : s * scale;
        }
        if (n % 2 == 0) a = d == 16 ? v[n - 1] >> 8 : v[n - 1];
        if (k->s.key && n == 1 && v[0] == k->key.gray) a = 0;
        if (k->s.key && n == 3 && v[0] == k->key.red && v[1] == k->key.green && v[2] == k->key.blue) a = 0;
    }
    rgb[3] = (uint8_t)a;
    unsigned back = alpha == DG_ALPHA_WHITE ? 255 : 0;
    if (alpha == DG_ALPHA_DROP) a = 255;
    for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)((2 * (out[c] * a + back * (255 - a)) + 255) / 510);
}

static void check_case(const png_case *k, const char *what)
{
    blob b = png_by_libpng(&k->s, k->rows);
    for (int way = 0; way < 6; way++) { /* three treatments of alpha, with 3 and with 4 channels */
        dg_image im;
        const int C = way < 3 ? 3 : 4;
        const dg_alpha alpha = (dg_alpha)(way % 3);
        dg_err e = dg_image_decode(b.data, b.bytes, &(dg_decode_options){.alpha = alpha, .keep_alpha = C == 4}, &im);
        int wrong = 0;
        for (int y = 0; !e && y < k->s.H; y++)
            for (int x = 0; x < k->s.W; x++) {
                uint8_t rgb[4];
                expected_pixel(k, x, y, C == 4 ? DG_ALPHA_DROP : alpha, rgb);
                wrong += memcmp(rgb, im.pixels + C * (y * im.W + x), (size_t)C) != 0;
            }
        DG_CHECKF(!e && im.W == k->s.W && im.H == k->s.H && im.C == C && !wrong,
                  "%s, %d x %d, depth %d, interlace %d, alpha %d: %s, %d wrong pixels", what, k->s.W, k->s.H,
                  k->s.depth, k->s.interlace, (int)alpha, e ? dg_message() : "decoded", wrong);
        dg_image_free(&im);
    }
    blob_free(&b);
}

static void one_type(int colour, int depth, int W, int H, int interlace, int transparent)
{
    static const int channels[7] = {[0] = 1, [2] = 3, [3] = 1, [4] = 2, [6] = 4};
    png_case k = {.s = {.W = W, .H = H, .depth = depth, .colour = colour, .interlace = interlace}};
    k.channels = channels[colour];
    k.row = ((size_t)W * (size_t)k.channels * (size_t)depth + 7) / 8;
    k.rows = malloc(k.row * (size_t)H);
    for (uint32_t i = 0; i < k.row * (size_t)H; i++) k.rows[i] = noise_byte((uint32_t)(colour * 16 + depth), i);
    for (uint32_t i = 0; i < 768; i++) k.palette[i] = noise_byte(7, i);
    for (uint32_t i = 0; i < 256; i++) k.trans[i] = noise_byte(8, i);
    if (colour == PNG_COLOR_TYPE_PALETTE) k.s.palette = k.palette;
    if (transparent && colour == PNG_COLOR_TYPE_PALETTE) k.s.trans = k.trans;
    if (transparent && (colour == PNG_COLOR_TYPE_GRAY || colour == PNG_COLOR_TYPE_RGB)) {
        int last = W * H > 1 ? 1 : 0; /* index of the grey sample that becomes the transparent colour */
        const uint8_t *p = k.rows;
        k.key.gray = (png_uint_16)sample(p, W > 1 ? last : 0, depth);
        k.key.red = (png_uint_16)sample(p, 0, depth);
        if (colour == PNG_COLOR_TYPE_RGB) {
            k.key.green = (png_uint_16)sample(p, 1, depth);
            k.key.blue = (png_uint_16)sample(p, 2, depth);
        }
        k.s.key = &k.key;
    }
    check_case(&k, transparent ? "transparent" : "plain");
    free(k.rows);
}

static void every_type(void)
{
    static const struct {
        int colour, depth;
    } type[] = {
        {0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8}, {2, 16}, {3, 1},
        {3, 2}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8}, {6, 16},
    };
    static const int size[][2] = {{1, 1}, {1, 5}, {7, 1}, {3, 3}, {8, 8}, {9, 17}, {33, 20}};
    for (size_t t = 0; t < sizeof type / sizeof *type; t++)
        for (size_t s = 0; s < sizeof size / sizeof *size; s++)
            for (int interlace = 0; interlace < 2; interlace++)
                for (int transparent = 0; transparent < (type[t].colour < 4 ? 2 : 1); transparent++)
                    one_type(type[t].colour, type[t].depth, size[s][0], size[s][1], interlace, transparent);
}

static void kinds(void)
{
    static const struct {
        int colour, depth;
        dg_kind kind;
        const char *name;
    } k[] = {
        {0, 1, DG_KIND_PNG_GREY, "PNG grey"},
        {0, 16, DG_KIND_PNG_GREY_16, "PNG grey, 16 bits"},
        {2, 8, DG_KIND_PNG_RGB, "PNG RGB"},
        {2, 16, DG_KIND_PNG_RGB_16, "PNG RGB, 16 bits"},
        {3, 4, DG_KIND_PNG_PALETTE, "PNG palette"},
        {4, 8, DG_KIND_PNG_GREY_ALPHA, "PNG grey with alpha"},
        {6, 16, DG_KIND_PNG_RGBA_16, "PNG RGB with alpha, 16 bits"},
    };
    static const uint8_t rows[8], palette[768];
    for (size_t i = 0; i < sizeof k / sizeof *k; i++) {
        const png_spec of = {1, 1, k[i].depth, k[i].colour, .palette = k[i].colour == 3 ? palette : NULL};
        blob b = png_by_libpng(&of, rows);
        dg_kind got = kind_of(b.data, b.bytes);
        DG_CHECKF(got == k[i].kind && !strcmp(dg_kind_name(got), k[i].name), "%s, not %s", dg_kind_name(got),
                  k[i].name);
        DG_CHECK(dg_image_known(b.data, 32));
        blob_free(&b);
    }
    DG_CHECK(!dg_image_known("hello", 5));
    static const char *const cut[] = {"hello", "\x89PNG\r\n\x1a\n", "\xff\xd8\xff\xe0"};
    for (int i = 0; i < 3; i++) DG_CHECK(kind_of(cut[i], strlen(cut[i])) == DG_KIND_UNKNOWN);
    DG_CHECK(!strcmp(dg_kind_name(DG_KINDS), "unknown"));
}

static void check_orientation(const blob *b, int orientation, const char *what, const dg_decode_options *o)
{
    dg_image im;
    dg_err e = dg_image_decode(b->data, b->bytes, o, &im);
    char got[7] = "";
    if (!DG_CHECKF(!e, "%s: %s", what, dg_message())) return;
    for (int i = 0; i < 6; i++) got[i] = (char)im.pixels[3 * i];
    DG_CHECKF(!strcmp(got, turned[orientation]) && im.W == (orientation < 5 ? 2 : 3) && im.H == 6 / im.W,
              "%s, orientation %d: %s", what, orientation, got);
    dg_image_free(&im);
}

static blob six_pixels(const blob *exif, int interlace)
{
    uint8_t rows[18] = {0};
    for (int i = 0; i < 6; i++) rows[3 * i] = (uint8_t)('a' + i);
    const png_spec s = {.W = 2, .H = 3, .depth = 8, .colour = 2, .interlace = interlace};
    blob b = png_by_libpng(&s, rows);
    return exif ? png_with(b, "eXIf", exif->data, exif->bytes) : b;
}

static void orientation(void)
{
    static const uint32_t none[] = {0, 9, 255, 65535};
    for (int n = 1; n <= 12; n++)
        for (int big = 0; big < 2; big++) {
            blob exif = exif_block(big, n > 8 ? none[n - 9] : (uint32_t)n), b = six_pixels(&exif, big);
            check_orientation(&b, n > 8 ? 1 : n, "eXIf", &plain);
            check_orientation(&b, 1, "ignored", &(dg_decode_options){.exif = false});
            blob_free(&b);
            blob_free(&exif);
        }
    for (int i = 0; i < 3; i++) { /* a wrong checksum, two orientations, or an orientation of type text */
        blob exif = exif_block(0, 6);
        if (i) exif.data[i == 1 ? 26 : 24] = 2;
        blob b = six_pixels(&exif, 0);
        if (i == 0) b.data[33 + 8 + exif.bytes] ^= 1;
        check_orientation(&b, 1, "damaged", &plain);
        blob_free(&b);
        blob_free(&exif);
    }
    /* Decoding must succeed with truncated or damaged EXIF. */
    blob whole = exif_block(0, 6);
    for (size_t n = 0; n < whole.bytes; n++) {
        blob cut = {whole.data, n, n}, b = six_pixels(&cut, 0);
        /* the entry of the orientation ends at byte 33 */
        check_orientation(&b, n >= 34 ? 6 : 1, "cut", &plain);
        blob_free(&b);
        for (int bit = 0; bit < 8; bit++) {
            whole.data[n] ^= (uint8_t)(1 << bit);
            b = six_pixels(&whole, 0);
            DG_CHECK(!read_image(b.data, b.bytes));
            blob_free(&b);
            whole.data[n] ^= (uint8_t)(1 << bit);
        }
    }
    blob_free(&whole);
}

static void content(void)
{
    static const char neither[] = "neither PNG, JPEG";
    const refusal row[] = {
        {"empty file", BYTES(""), 0},
        {neither, BYTES("x"), 0},
        {"GIF", BYTES("GIF89a.............."), 0},
        {"WebP", BYTES("RIFF\1\2\3\4WEBPVP8 "), 0},
        {"BMP", BYTES("BM.............."), 0},
        {"TIFF", BYTES("II*\0............"), 0},
        {"TIFF", BYTES("MM\0*............"), 0},
        {"AVIF", BYTES("\0\0\0\40ftypavif...."), 0},
        {"heif-convert", BYTES("\0\0\0\40ftypheic...."), 0},
        {DG_LFS_POINTER, BYTES("version https://git-lfs.example.org/spec/v1\noid"), 0},
        {"a gzip archive", BYTES("\x1f\x8b\b"), 0},
        {"signature", BYTES("\x89PNG\n\x1a\n...."), 0},
        {"PNG: cut off", BYTES("\x89PNG\r\n\x1a\n"), 0},
        {neither, BYTES("\xff\xd8"), 0},
        {"JPEG: cut off", BYTES("\xff\xd8\xff"), 0},
        {neither, BYTES("<svg xmlns=\"http://www.w3.org/2000/svg\"/>"), 0},
    };
    check_refusals(row, sizeof row / sizeof *row, read_image, DG_DATA, NULL, 0);
}

static void grey(void)
{
    uint8_t p[] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 200, 200, 200, 1, 2, 3, 255, 255, 255};
    dg_image im = {.W = 6, .H = 1, .C = 3, .pixels = p};
    dg_image_grey(&im); /* equals PIL's convert('L') */
    static const uint8_t want[] = {76, 150, 29, 200, 2, 255};
    DG_CHECK(im.C == 1 && !memcmp(im.pixels, want, 6));
    dg_image_grey(&im);
    DG_CHECK(im.C == 1 && !memcmp(im.pixels, want, 6));
}

/* Returns the CRC-32 of width, height and the pixels: without alpha, on white and on black. */
static uLong crc_of(blob b, const char *name)
{
    uLong crc = 0;
    for (dg_alpha alpha = DG_ALPHA_DROP; alpha <= DG_ALPHA_BLACK; alpha++) {
        dg_image im;
        DG_CHECKF(!dg_image_decode(b.data, b.bytes, &(dg_decode_options){.alpha = alpha}, &im), "%s", name);
        const int sides[2] = {im.W, im.H};
        if (!alpha) crc = crc32(0, (const Bytef *)sides, sizeof sides);
        if (im.pixels) crc = crc32(crc, im.pixels, (uInt)(3 * im.W * im.H));
        dg_image_free(&im);
    }
    return crc;
}

static int is_png(const struct dirent *d) { return strstr(d->d_name, ".png") != NULL; }

/* Decoded pixels must equal those of Pillow 13.0.0 bit for bit. For 16-bit grey, which Pillow clips, the high byte is
 * expected. Files whose name begins with x are damaged. */
static void png_suite(void)
{
    struct dirent **file;
    uLong crc[200] = {0}, all = 0;
    const int n = scandir(in_corpora("pngsuite"), &file, is_png, alphasort);
    if (n < 0) dg_test_skip("no PngSuite next to the checkout");
    if (n < 0 || !DG_CHECKF(n == 175, "%d files", n)) return;
    for (int i = 0; i < n; i++) {
        const char *name = file[i]->d_name;
        blob b;
        if (!DG_CHECKF(!blob_load(&b, in_corpora(temp_text("pngsuite/%s", name))), "%s cannot be read", name)) continue;
        if (*name == 'x') {
            refused(b, "");
            continue;
        }
        crc[i] = crc_of(b, name);
        const Bytef bytes[] = {(Bytef)(crc[i] >> 24), (Bytef)(crc[i] >> 16), (Bytef)(crc[i] >> 8), (Bytef)crc[i]};
        all = crc32(all, bytes, sizeof bytes);
        blob_free(&b);
    }
    /* the message of the commit that added this sum has the sum of each file */
    const bool equal = DG_CHECKF(all == 0x765b34df, "%lx: other pixels in a file of PngSuite", all);
    for (int i = 0; i < n; i++) {
        if (!equal) printf("    %s %08lx\n", file[i]->d_name, crc[i]);
        free(file[i]);
    }
    free(file);
}

DG_TESTS(every_type, kinds, orientation, content, grey, png_suite)
