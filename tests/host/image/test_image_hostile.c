/* Tests PNG files that are damaged, very large, or declare too large a size. */
#include "decoding.h"

/* Checksums cover every byte of these PNG files, so no damaged file is accepted. */
static void damaged(void)
{
    static const int type[][2] = {{2, 8}, {3, 4}, {0, 16}};
    for (int t = 0; t < 3; t++) {
        uint8_t rows[200], palette[768];
        for (uint32_t i = 0; i < sizeof rows; i++) rows[i] = noise_byte(5, i);
        memset(palette, 99, sizeof palette);
        png_spec s = {.W = 5, .H = 4, .depth = type[t][1], .colour = type[t][0], .interlace = t == 1};
        if (type[t][0] == 3) s.palette = palette;
        blob b = png_by_libpng(&s, rows);
        const accepted a = damage(b.data, b.bytes, b.bytes, read_image, DG_DATA);
        DG_CHECKF(!a.cuts && !a.flips, "%ld truncations and %ld flipped bits accepted", a.cuts, a.flips);
        DG_CHECK(!read_image(b.data, b.bytes));
        blob_put(&b, "trailing bytes", 14); /* many PNG files have bytes after their end */
        DG_CHECK(!read_image(b.data, b.bytes));
        blob_free(&b);
    }
}

/* A PNG of 57 bytes has a chunk that declares up to 4 GiB. */
static void bombs(void)
{
    static const char *const name[] = {"tEXt", "zTXt", "iTXt", "sPLT", "sCAL", "pCAL", "iCCP", "eXIf",
                                       "hIST", "bKGD", "PLTE", "tRNS", "IDAT", "IEND", "juNk", "JUNK"};
    static const uint32_t length[] = {0x40000000, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff4, 13};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
            blob b = {0};
            png_start(&b, 1, 1, 8, 2, 0);
            put32(&b, length[k]);
            blob_put(&b, name[i], 4);
            blob_put(&b, "\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf\x10", 16);
            DG_CHECK(b.bytes == 57);
            refused_at_once(b, name[i], "PNG: chunk");
        }
}

static blob png_zeros(uint32_t W, uint32_t H, int depth, int colour, int interlace)
{
    static const int channels[7] = {1, 0, 3, 1, 2, 0, 4};
    blob b = {0};
    png_start(&b, W, H, depth, colour, interlace);
    static const uint8_t palette[3];
    if (colour == 3) png_chunk(&b, "PLTE", palette, 3);
    size_t left = 0;
    for (int pass = 0; pass < (interlace ? 7 : 1); pass++) {
        size_t w = (size_t)(interlace ? PNG_PASS_COLS((int)W, pass) : (int)W);
        size_t h = (size_t)(interlace ? PNG_PASS_ROWS((int)H, pass) : (int)H);
        left += (1 + (w * (size_t)(channels[colour] * depth) + 7) / 8) * h;
    }
    blob idat = {0};
    deflate_zeros(&idat, NULL, left, 15);
    png_chunk(&b, "IDAT", idat.data, idat.bytes);
    png_chunk(&b, "IEND", NULL, 0);
    blob_free(&idat);
    return b;
}

static blob png_of(uint32_t W, uint32_t H, int depth, int colour, const char *raw, size_t n)
{
    blob b = {0};
    png_start(&b, W, H, depth, colour, 0);
    png_rest(&b, raw, n);
    return b;
}

static void giants(void)
{
    static const struct {
        uint32_t W, H;
        const char *why;
    } header[] = {
        {0x7fffffff, 0x7fffffff, "16384"},
        {0x80000000, 1, "pixels"},
        {1, 0x80000000, "PNG: invalid size of 1 x 2147483648"},
        {0, 1, "pixels"},
        {1, 0, "pixels"},
        {16385, 1, "16384"},
        {1, 16385, "16384"},
        {16384, 16384, "the limit"},
    };
    static const struct {
        uint32_t W, H;
        int depth, colour, interlace;
        const char *why; /* expected reason, or NULL if decoding succeeds within 5 s and 240 MB */
    } huge[] = {
        {10000, 10000, 1, 0, 0, "the limit is"}, {8000, 8000, 1, 0, 0, NULL}, /* largest accepted image, of 183 MiB */
        {8000, 8000, 8, 6, 1, "MiB to decode"},  {5000, 5000, 16, 6, 1, NULL}, {16384, 4096, 8, 3, 0, NULL},
    };
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        refused_at_once(png_of(header[i].W, header[i].H, 8, 2, "\0\0\0", 4), "giant header", header[i].why);
    refused_at_once(png_of(1, 1, 4, 2, "\0\0\0", 4), "odd depth", "PNG: 4 bits");
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        char what[50];
        blob b = png_zeros(huge[i].W, huge[i].H, huge[i].depth, huge[i].colour, huge[i].interlace);
        snprintf(what, sizeof what, "huge image %zu of %zu bytes", i, b.bytes);
        DG_CHECKF(i || b.bytes < 20000, "%s", what);
        measured(&b, what, huge[i].why, huge[i].why ? 0.2 : 5, huge[i].why ? 32 : 240);
    }
    /* Text chunks that would unpack to 60 MB are not unpacked. */
    static const struct {
        const char *name, *before;
        size_t n;
    } text[] = {{"iCCP", BYTES("icc\0\0")}, {"zTXt", BYTES("key\0\0")}, {"iTXt", BYTES("key\0\1\0\0\0")}};
    for (int i = 0; i < 3; i++) {
        blob chunk = {0};
        blob_put(&chunk, text[i].before, text[i].n);
        deflate_zeros(&chunk, NULL, 60 << 20, 15);
        refused_at_once(png_with(png_of(1, 1, 8, 2, "\0\1\2\3", 4), text[i].name, chunk.data, chunk.bytes),
                        text[i].name, NULL);
        blob_free(&chunk);
    }
}

static void limits(void)
{
    blob b = png_noise(20, 10, 1);
    const dg_decode_options o[] = {{.max_pixels = 200, .max_bytes = b.bytes},
                                   {.max_pixels = 199},
                                   {.max_bytes = b.bytes - 1}};
    for (int i = 0; i < 3; i++) {
        dg_image im;
        const dg_err e = dg_image_decode(b.data, b.bytes, &o[i], &im);
        DG_CHECK(e == (i ? DG_DATA : DG_OK) && !im.pixels == !!i && (i != 1 || strstr(dg_message(), "20 x 10")));
        dg_image_free(&im);
    }
    blob_free(&b);
    refused(png_with(png_of(1, 1, 8, 2, "\0\1\2\3", 4), "CRIT", "x", 1), "CRIT");
    refused(png_of(1, 1, 8, 3, "\0\1", 2), "PLTE");
    refused(png_of(2, 2, 8, 2, "\0\1\2\3", 4), "PNG: ");
    refused(png_of(1, 1, 8, 2, "\0\1\2\3\0\1\2\3", 8), "PNG: ");
}

DG_TESTS(damaged, bombs, giants, limits)
