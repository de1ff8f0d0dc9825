/* PNG files that are damaged, that promise too much, or that are enormous. */
#include "decoding.h"

/* Without ancillary chunks every byte of a PNG is under a checksum, so nothing damaged may pass. */
static void damage(void)
{
    static const int type[][2] = {{2, 8}, {3, 4}, {0, 16}};
    for (int t = 0; t < 3; t++) {
        uint8_t rows[200], palette[768];
        for (uint32_t i = 0; i < sizeof rows; i++) rows[i] = noise_byte(5, i);
        memset(palette, 99, sizeof palette);
        png_spec s = {.W = 5,
                      .H = 4,
                      .depth = type[t][1],
                      .colour = type[t][0],
                      .interlace = t == 1,
                      .palette = type[t][0] == 3 ? palette : NULL};
        blob b = png_by_libpng(&s, rows);
        int passed = 0;
        for (size_t n = 0; n < b.bytes; n++) {
            uint8_t *cut = malloc(n ? n : 1);
            memcpy(cut, b.data, n);
            dg_image im;
            passed += dg_image_decode(cut, n, &plain, &im) == DG_OK;
            dg_image_free(&im);
            free(cut);
        }
        DG_CHECKF(passed == 0, "%d truncations of %zu bytes passed", passed, b.bytes);
        for (size_t bit = 0; bit < 8 * b.bytes; bit++) {
            b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            dg_image im;
            passed += dg_image_decode(b.data, b.bytes, &plain, &im) == DG_OK;
            dg_image_free(&im);
            b.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        DG_CHECKF(passed == 0, "%d flipped bits of %zu passed", passed, 8 * b.bytes);
        dg_image im;
        DG_CHECK(!dg_image_decode(b.data, b.bytes, &plain, &im));
        dg_image_free(&im);
        blob_put(&b, "trailing bytes", 14); /* common and harmless */
        DG_CHECK(!dg_image_decode(b.data, b.bytes, &plain, &im));
        dg_image_free(&im);
        blob_free(&b);
    }
}

/* 57 bytes: a chunk that says it has a gigabyte. */
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
            measured(&b, name[i], "PNG: chunk", 0.2, 32);
        }
}

/* An image of zeros, deflated a piece at a time. */
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
    z_stream z = {0};
    if (deflateInit(&z, 9) != Z_OK) abort();
    static uint8_t zeros[1 << 16], out[1 << 16];
    blob idat = {0};
    for (int ended = 0; !ended;) {
        z.next_in = zeros;
        z.avail_in = (uInt)(left < sizeof zeros ? left : sizeof zeros);
        left -= z.avail_in;
        do {
            z.next_out = out;
            z.avail_out = sizeof out;
            ended = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH) == Z_STREAM_END;
            blob_put(&idat, out, sizeof out - z.avail_out);
        } while (z.avail_out == 0);
    }
    deflateEnd(&z);
    png_chunk(&b, "IDAT", idat.data, idat.bytes);
    png_chunk(&b, "IEND", NULL, 0);
    blob_free(&idat);
    return b;
}

static void giants(void)
{
    static const struct {
        uint32_t W, H;
        const char *why;
    } header[] = {
        {0x7fffffff, 0x7fffffff, "a side may have"},
        {0x80000000, 1, "pixels"},
        {1, 0x80000000, "PNG: 1 x 2147483648 pixels"},
        {0, 1, "pixels"},
        {1, 0, "pixels"},
        {16385, 1, "a side may have 16384: make it smaller"},
        {1, 16385, "a side may have"},
        {16384, 16384, "the limit"},
    };
    for (size_t i = 0; i < sizeof header / sizeof *header; i++) {
        blob b = {0};
        png_start(&b, header[i].W, header[i].H, 8, 2, 0);
        png_rest(&b, "\0\0\0", 4);
        measured(&b, "giant header", header[i].why, 0.2, 32);
    }
    blob odd = {0};
    png_start(&odd, 1, 1, 4, 2, 0);
    png_rest(&odd, "\0\0\0", 4);
    measured(&odd, "odd depth", "PNG: 4 bits a sample with colour type 2 do not exist", 0.2, 32);
    blob b = png_zeros(10000, 10000, 1, 0, 0);
    DG_CHECKF(b.bytes < 20000, "%zu bytes", b.bytes);
    measured(&b, "10,000 x 10,000 of 1 bit", "the limit is", 0.2, 32);
    b = png_zeros(8000, 8000, 1, 0, 0); /* the largest that is taken: 183 MiB of pixels */
    measured(&b, "8,000 x 8,000 of 1 bit", NULL, 5, 240);
    b = png_zeros(8000, 8000, 8, 6, 1);
    measured(&b, "interlaced 8,000 x 8,000", "MiB to decode", 0.2, 32);
    b = png_zeros(5000, 5000, 16, 6, 1);
    measured(&b, "interlaced 5,000 x 5,000 of 64 bits", NULL, 5, 240);
    b = png_zeros(16384, 4096, 8, 3, 0);
    measured(&b, "16,384 x 4,096", NULL, 5, 240);

    /* Text that becomes 60 MB is passed over unread. */
    static uint8_t zeros[60 << 20];
    static const char *const name[] = {"iCCP", "zTXt", "iTXt"};
    static const char *const before[] = {"icc\0\0", "key\0\0", "key\0\1\0\0\0"};
    static const size_t n[] = {5, 5, 8};
    for (int i = 0; i < 3; i++) {
        blob chunk = {0};
        blob_put(&chunk, before[i], n[i]);
        deflate_into(&chunk, zeros, sizeof zeros);
        b = (blob){0};
        png_start(&b, 1, 1, 8, 2, 0);
        png_chunk(&b, name[i], chunk.data, chunk.bytes);
        png_rest(&b, "\0\1\2\3", 4);
        measured(&b, name[i], NULL, 0.2, 32);
        blob_free(&chunk);
    }
}

static void limits(void)
{
    blob b = png_noise(20, 10, 1);
    dg_image im;
    DG_CHECK(!dg_image_decode(b.data, b.bytes, &(dg_decode_options){.max_pixels = 200, .max_bytes = b.bytes}, &im));
    dg_image_free(&im);
    DG_CHECK(dg_image_decode(b.data, b.bytes, &(dg_decode_options){.max_pixels = 199}, &im) == DG_DATA);
    DG_CHECK(strstr(dg_message(), "20 x 10"));
    DG_CHECK(dg_image_decode(b.data, b.bytes, &(dg_decode_options){.max_bytes = b.bytes - 1}, &im) == DG_DATA);
    DG_CHECK(!im.pixels);
    blob_free(&b);

    b = (blob){0};
    png_start(&b, 1, 1, 8, 2, 0);
    png_chunk(&b, "CRIT", "x", 1);
    png_rest(&b, "\0\1\2\3", 4);
    refused(&b, "CRIT");
    blob_free(&b);
    png_start(&b, 1, 1, 8, 3, 0);
    png_rest(&b, "\0\1", 2);
    refused(&b, "PLTE");
    blob_free(&b);
    png_start(&b, 2, 2, 8, 2, 0);
    png_rest(&b, "\0\1\2\3", 4); /* too little, then too much */
    refused(&b, "PNG: ");
    blob_free(&b);
    png_start(&b, 1, 1, 8, 2, 0);
    png_rest(&b, "\0\1\2\3\0\1\2\3", 8);
    refused(&b, "PNG: ");
    blob_free(&b);
}

int main(void)
{
    damage();
    bombs();
    giants();
    limits();
    return dg_test_report();
}
