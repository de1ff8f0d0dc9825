/* PNG files, grids and GIFs that we write, read back by the format's own rules. */
#include "host/figure/images.h"

#include <gif_lib.h>
#include <png.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "core/base/file_io.h"
#include "test.h"

static char base[200];

static char *in_base(char *out, const char *name)
{
    snprintf(out, 400, "%s/%s", base, name);
    return out;
}

static dg_image noise_image(int W, int H, int C, unsigned long long seed)
{
    dg_image im = {W, H, C, malloc((size_t)W * (size_t)H * (size_t)C)};
    if (!im.pixels) abort();
    for (int i = 0; i < W * H * C; i++) im.pixels[i] = (uint8_t)(128 + 127 * dg_test_random(&seed));
    return im;
}

/* Decode with libpng's simplified API: another path through the library than the writer's. */
static int png_holds(const char *path, const dg_image *want)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&png, path)) return 0;
    int same_kind = (int)png.width == want->W && (int)png.height == want->H &&
                    png.format == (want->C == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB);
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(png));
    int ok = pixels && png_image_finish_read(&png, NULL, pixels, 0, NULL) && same_kind &&
             memcmp(pixels, want->pixels, (size_t)want->W * (size_t)want->H * (size_t)want->C) == 0;
    png_image_free(&png);
    free(pixels);
    return ok;
}

static void png_round_trip(void)
{
    static const int size[][3] = {{1, 1, 1}, {1, 1, 3}, {7, 5, 3}, {64, 64, 3}, {65, 3, 1}, {300, 200, 3}};
    char path[400];
    in_base(path, "a.png");
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        dg_image im = noise_image(size[i][0], size[i][1], size[i][2], i + 1);
        DG_CHECKF(dg_png_write(path, &im, NULL, 0) == DG_OK, "%s", dg_message());
        DG_CHECKF(png_holds(path, &im), "%d x %d x %d", im.W, im.H, im.C);
        void *a, *b;
        size_t n, m;
        dg_text text = {"Comment", "x"};
        DG_CHECK(dg_png_encode(&im, &text, 1, &a, &n) == DG_OK);
        DG_CHECK(dg_png_encode(&im, &text, 1, &b, &m) == DG_OK);
        DG_CHECK(n == m && memcmp(a, b, n) == 0);
        free(a);
        free(b);
        free(im.pixels);
    }
    dg_image bad = {4, 4, 2, NULL};
    DG_CHECK(dg_png_write(path, &bad, NULL, 0) == DG_FAILED);
    bad = (dg_image){0, 4, 3, NULL};
    DG_CHECK(dg_png_write(path, &bad, NULL, 0) == DG_FAILED);
    dg_image im = noise_image(4, 4, 3, 1);
    DG_CHECK(dg_png_write("/nonexistent-folder/a.png", &im, NULL, 0) == DG_IO);
    DG_CHECKF(strstr(dg_message(), "/nonexistent-folder/a.png") != NULL, "%s", dg_message());
    free(im.pixels);
}

static void texts_round_trip(void)
{
    char path[400], *long_value = malloc(300001);
    if (!long_value) abort();
    memset(long_value, 'v', 300000);
    long_value[300000] = 0;
    dg_image im = noise_image(9, 4, 3, 3);
    const dg_text in[] = {{"run", "cats 64"},           {"epoch", "12"}, {"folder", "K\xc3\xa4tzchen \xe7\x8c\xab"},
                          {"config", "a = 1\nb = 2\n"}, {"empty", ""},   {"long", long_value}};
    const int n = (int)(sizeof in / sizeof *in);
    in_base(path, "t.png");
    DG_CHECKF(dg_png_write(path, &im, in, n) == DG_OK, "%s", dg_message());
    DG_CHECK(png_holds(path, &im));
    dg_text *out = NULL;
    int count = 0, W = 0, H = 0;
    if (DG_CHECKF(dg_png_texts(path, &out, &count, &W, &H) == DG_OK, "%s", dg_message())) {
        DG_CHECK(W == 9 && H == 4);
        DG_CHECKF(count == n, "%d texts", count);
        for (int i = 0; i < n && i < count; i++)
            DG_CHECKF(!strcmp(out[i].key, in[i].key) && !strcmp(out[i].value, in[i].value), "%s = %.40s", out[i].key,
                      out[i].value);
        free(out);
    }
    DG_CHECK(dg_png_write(path, &im, NULL, 0) == DG_OK);
    DG_CHECK(dg_png_texts(path, &out, &count, &W, &H) == DG_OK && count == 0);
    free(out);
    char key[81];
    memset(key, 'k', 80);
    key[80] = 0;
    DG_CHECK(dg_png_write(path, &im, &(dg_text){key, "v"}, 1) == DG_FAILED);
    DG_CHECK(dg_png_write(path, &im, &(dg_text){"", "v"}, 1) == DG_FAILED);
    free(long_value);
    free(im.pixels);
}

/* A PNG file made by hand, chunk by chunk. */
typedef struct {
    uint8_t data[4000];
    size_t bytes;
} file;

static void start(file *f)
{
    memcpy(f->data, "\x89PNG\r\n\x1a\n", 8);
    f->bytes = 8;
}

static void put32(uint8_t *p, unsigned long v)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static void chunk(file *f, const char *type, const char *body, size_t n)
{
    uint8_t *p = f->data + f->bytes;
    put32(p, n);
    memcpy(p + 4, type, 4);
    memcpy(p + 8, body, n);
    put32(p + 8 + n, crc32(0, p + 4, (uInt)n + 4));
    f->bytes += 12 + n;
}

static const char HEADER[13] = {0, 0, 0, 5, 0, 0, 0, 6, 8, 0, 0, 0, 0};

static dg_err read_texts(const file *f, size_t bytes, dg_text **out, int *count, int *W, int *H)
{
    char path[400];
    FILE *o = fopen(in_base(path, "h.png"), "wb");
    if (!o || fwrite(f->data, 1, bytes, o) != bytes) abort();
    fclose(o);
    return dg_png_texts(path, out, count, W, H);
}

static void refused(const file *f, const char *reason)
{
    dg_text *out = NULL;
    int count, W, H;
    dg_err e = read_texts(f, f->bytes, &out, &count, &W, &H);
    DG_CHECKF(e == DG_DATA && strstr(dg_message(), reason), "\"%s\" expected: %d, %s", reason, e, dg_message());
    if (!e) free(out);
}

static void hostile_files_are_refused(void)
{
    file f;
    dg_text *out;
    int count, W, H;
    start(&f);
    chunk(&f, "IHDR", HEADER, 13);
    chunk(&f, "tEXt", "Author\0J\xfcrgen", 13);
    chunk(&f, "iTXt", "k\0\0\0de\0Schl\0wert", 16);
    chunk(&f, "IDAT", "anything", 8);
    chunk(&f, "IEND", "", 0);
    if (DG_CHECKF(read_texts(&f, f.bytes, &out, &count, &W, &H) == DG_OK, "%s", dg_message())) {
        DG_CHECK(W == 5 && H == 6 && count == 2);
        DG_CHECKF(!strcmp(out[0].value, "J\xc3\xbcrgen"), "%s", out[0].value);
        DG_CHECKF(!strcmp(out[1].key, "k") && !strcmp(out[1].value, "wert"), "%s = %s", out[1].key, out[1].value);
        free(out);
    }
    /* Every truncation and every flipped bit; a bit of the CRC'd parts never passes. */
    for (size_t n = 0; n < f.bytes; n++)
        if (!DG_CHECKF(read_texts(&f, n, &out, &count, &W, &H) == DG_DATA, "cut to %zu bytes: taken", n)) free(out);
    for (size_t bit = 0; bit < f.bytes * 8; bit++) {
        f.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (!DG_CHECKF(read_texts(&f, f.bytes, &out, &count, &W, &H) == DG_DATA, "bit %zu flipped: taken", bit))
            free(out);
        f.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    f.bytes = 0;
    refused(&f, "not a PNG");
    start(&f);
    chunk(&f, "tEXt", "a\0b", 3);
    refused(&f, "IHDR");
    static const char zero[13] = {0, 0, 0, 0, 0, 0, 0, 6, 8, 0, 0, 0, 0};
    start(&f);
    chunk(&f, "IHDR", zero, 13);
    refused(&f, "size");
    start(&f);
    chunk(&f, "IHDR", HEADER, 13);
    size_t head = f.bytes;
    put32(f.data + head, 0xfffffff8); /* a length that overflows when 12 is added in 32 bits */
    memcpy(f.data + head + 4, "tEXtabcdefgh", 12);
    f.bytes += 16;
    refused(&f, "longer than the file");
    static const struct {
        const char *type, *body;
        size_t n;
        const char *reason;
    } bad[] = {{"tEXt", "no zero", 7, "keyword"}, {"tEXt", "\0v", 2, "keyword"},
               {"tEXt", "", 0, "keyword"},        {"tEXt", "k\0a\0b", 5, "NUL"},
               {"iTXt", "k\0", 2, "iTXt"},        {"iTXt", "k\0\1\0\0\0x", 7, "compressed"},
               {"iTXt", "k\0\0\0de", 6, "cut"},   {"iTXt", "k\0\0\0de\0x", 8, "cut"},
               {"IEND", "x", 1, "IEND"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        f.bytes = head;
        chunk(&f, bad[i].type, bad[i].body, bad[i].n);
        refused(&f, bad[i].reason);
    }
    f.bytes = head;
    for (int i = 0; i < 65; i++) chunk(&f, "tEXt", "k\0v", 3);
    chunk(&f, "IEND", "", 0);
    refused(&f, "64 texts");
    DG_CHECK(dg_png_texts("/nonexistent-file.png", &out, &count, &W, &H) == DG_IO);
}

/* make_grid(padding=2) of 5 images of 3 x 3 in 2 rows of 3. */
static void grids_are_laid_out(void)
{
    enum { S = 3, N = 5 };
    for (int C = 1; C <= 3; C += 2) {
        uint8_t pixels[N * S * S * 3];
        for (int i = 0; i < N * S * S * C; i++) pixels[i] = (uint8_t)(i + 1);
        dg_image g;
        if (!DG_CHECK(dg_sheet(pixels, N, S, C, 2, 3, &g) == DG_OK)) return;
        DG_CHECKF(g.W == 17 && g.H == 12 && g.C == C, "%d x %d x %d", g.W, g.H, g.C);
        int wrong = 0;
        for (int y = 0; y < g.H; y++)
            for (int x = 0; x < g.W; x++)
                for (int c = 0; c < C; c++) {
                    int px = x - 2, py = y - 2, i = py / 5 * 3 + px / 5, want = 0;
                    if (px >= 0 && py >= 0 && px % 5 < S && py % 5 < S && i < N)
                        want = pixels[((i * S + py % 5) * S + px % 5) * C + c];
                    wrong += g.pixels[(y * g.W + x) * C + c] != want;
                }
        DG_CHECKF(wrong == 0, "%d values", wrong);
        free(g.pixels);
        DG_CHECK(dg_sheet(pixels, N, S, C, 1, 2, &g) == DG_OK && g.H == 7 && g.W == 12); /* more images than places */
        free(g.pixels);
    }
    dg_image g;
    uint8_t one[3] = {1, 2, 3};
    DG_CHECK(dg_sheet(one, 0, 1, 3, 1, 1, &g) == DG_OK && g.W == 5 && g.pixels[36] == 0);
    free(g.pixels);
    DG_CHECK(dg_sheet(one, 1, 1, 3, 0, 1, &g) == DG_USAGE);
    DG_CHECK(dg_sheet(one, 1, 1, 2, 1, 1, &g) == DG_USAGE);
    DG_CHECK(dg_sheet(one, 1, 64, 3, 100000, 100000, &g) == DG_USAGE);
    DG_CHECK(dg_sheet(one, 1, 2147483647, 3, 1, 1, &g) == DG_USAGE);
}

/* Frames of a GIF as RGB, and its frame times; NULL when giflib refuses it. */
static uint8_t *read_gif(const char *path, int n, int W, int H, int *hundredths, int *loops)
{
    int error;
    GifFileType *gif = DGifOpenFileName(path, &error);
    if (!gif) return NULL;
    uint8_t *rgb = calloc((size_t)n * (size_t)W * (size_t)H, 3);
    int ok = rgb && DGifSlurp(gif) == GIF_OK && gif->ImageCount == n && gif->SWidth == W && gif->SHeight == H;
    for (int i = 0; i < n && ok; i++) {
        const SavedImage *im = &gif->SavedImages[i];
        GraphicsControlBlock control;
        ok = im->ImageDesc.Width == W && im->ImageDesc.Height == H && !im->ImageDesc.ColorMap &&
             DGifSavedExtensionToGCB(gif, i, &control) == GIF_OK && control.TransparentColor == -1;
        *hundredths = control.DelayTime;
        for (int k = 0; k < im->ExtensionBlockCount; k++)
            if (im->ExtensionBlocks[k].Function == APPLICATION_EXT_FUNC_CODE &&
                !memcmp(im->ExtensionBlocks[k].Bytes, "NETSCAPE2.0", 11) && k + 1 < im->ExtensionBlockCount) {
                const ExtensionBlock *next = &im->ExtensionBlocks[k + 1]; /* 1, then how often: 0 = for ever */
                *loops = next->ByteCount == 3 && !memcmp(next->Bytes, "\1\0", 3);
            }
        for (int k = 0; k < W * H && ok; k++) {
            ok = im->RasterBits[k] < gif->SColorMap->ColorCount;
            uint8_t *to = rgb + ((size_t)i * (size_t)W * (size_t)H + (size_t)k) * 3;
            if (ok) memcpy(to, &gif->SColorMap->Colors[im->RasterBits[k]], 3);
        }
    }
    DGifCloseFile(gif, &error);
    if (ok) return rgb;
    free(rgb);
    return NULL;
}

static double gif_error(const uint8_t *frames, int n, int W, int H, int ms, int want_hundredths)
{
    char path[400];
    int hundredths = -1, loops = 0;
    in_base(path, "a.gif");
    if (!DG_CHECKF(dg_gif_write(path, frames, n, W, H, 1, ms) == DG_OK, "%s", dg_message())) return 1e9;
    uint8_t *back = read_gif(path, n, W, H, &hundredths, &loops);
    if (!DG_CHECKF(back != NULL, "%d frames of %d x %d cannot be read back", n, W, H)) return 1e9;
    DG_CHECKF(hundredths == want_hundredths && loops, "%d hundredths, loops %d", hundredths, loops);
    double sum = 0;
    for (int i = 0; i < n * W * H * 3; i++) sum += abs(back[i] - frames[i]);
    free(back);
    return sum / (n * W * H * 3.0);
}

static void gifs_come_back(void)
{
    enum { W = 32, H = 24, N = 5 };
    static uint8_t frames[N * W * H * 3];
    unsigned long long seed = 1;
    static const int kept[] = {1, 2, 3, 100, 128, 129, 255, 256}; /* exact up to 256 colours */
    for (size_t k0 = 0; k0 < sizeof kept / sizeof *kept; k0++) {
        const int colors = kept[k0];
        for (int i = 0; i < N * W * H; i++)
            for (int k = 0; k < 3; k++) frames[3 * i + k] = (uint8_t)((i * 7 % colors) * (k == 1 ? 1 : 37 + k));
        double off = gif_error(frames, N, W, H, 70, 7);
        DG_CHECKF(off == 0, "%d colours: off by %g", colors, off);
    }
    for (int i = 0; i < N * W * H; i++) /* neighbours that a coarse count would merge */
        for (int k = 0; k < 3; k++) frames[3 * i + k] = (uint8_t)i;
    DG_NEAR(gif_error(frames, N, W, H, 70, 7), 0, 0);
    for (int i = 0; i < N * W * H; i++) { /* 3,840 colours on two axes: near, and better than a fixed cube could */
        frames[3 * i] = (uint8_t)(i % W * 8);
        frames[3 * i + 1] = (uint8_t)(i / W % H * 10);
        frames[3 * i + 2] = (uint8_t)(50 + i / W / H);
    }
    double off = gif_error(frames, N, W, H, 1, 2);
    DG_CHECKF(off > 0 && off < 4, "smooth colours: off by %g", off);
    for (int i = 0; i < N * W * H * 3; i++) frames[i] = (uint8_t)(128 + 127 * dg_test_random(&seed));
    off = gif_error(frames, N, W, H, 1000, 100);
    DG_CHECKF(off < 20, "noise: off by %g", off);
    off = gif_error(frames, 1, 1, 1, 50, 5);
    DG_CHECKF(off == 0, "one pixel: off by %g", off);
    /* The same bytes each time. */
    char path[400];
    void *a = NULL, *b = NULL;
    size_t n = 0, m = 0;
    in_base(path, "a.gif");
    DG_CHECK(dg_gif_write(path, frames, N, W, H, 1, 50) == DG_OK && dg_read_file(path, 1 << 20, &a, &n) == DG_OK);
    DG_CHECK(dg_gif_write(path, frames, N, W, H, 1, 50) == DG_OK && dg_read_file(path, 1 << 20, &b, &m) == DG_OK);
    DG_CHECK(n && n == m && memcmp(a, b, n) == 0);
    free(a);
    free(b);
    DG_CHECK(dg_gif_write(path, frames, 0, W, H, 1, 50) == DG_USAGE);
    DG_CHECK(dg_gif_write(path, frames, 1, 65536, 1, 1, 50) == DG_USAGE);
    DG_CHECK(dg_gif_write(path, frames, 1, 1, 1, 1, -5) == DG_USAGE);
    DG_CHECK(dg_gif_write("/nonexistent-folder/a.gif", frames, 1, 1, 1, 1, 50) == DG_IO);
}

/* Each pixel becomes a square of it, in images and in frames. */
static void nothing_is_smoothed(void)
{
    enum { W = 5, H = 3, S = 4 };
    static uint8_t frames[2 * W * H * 3];
    for (int i = 0; i < 2 * W * H * 3; i++) frames[i] = (uint8_t)(i * 41);
    for (int C = 1; C <= 3; C += 2) {
        dg_image im = {W, H, C, malloc((size_t)(W * H * C))};
        memcpy(im.pixels, frames, (size_t)(W * H * C));
        if (!DG_CHECKF(dg_enlarge(&im, S) == DG_OK && im.W == S * W && im.H == S * H, "%s", dg_message())) return;
        int wrong = 0;
        for (int y = 0; y < S * H; y++)
            for (int x = 0; x < S * W; x++)
                wrong += memcmp(im.pixels + (y * S * W + x) * C, frames + (y / S * W + x / S) * C, (size_t)C) != 0;
        DG_CHECKF(wrong == 0, "%d pixels of %d channels are wrong", wrong, C);
        DG_CHECK(dg_enlarge(&im, 1) == DG_OK && im.W == S * W && dg_enlarge(&im, 2000) == DG_USAGE);
        dg_image_free(&im);
    }
    DG_CHECK(dg_scale_of(0, 100, 266) == 3 && dg_scale_of(0, 900, 20) == 1 && dg_scale_of(7, 900, 20) == 7);
    char path[400];
    int hundredths, loops;
    DG_CHECK(dg_gif_write(in_base(path, "a.gif"), frames, 2, W, H, S, 50) == DG_OK);
    uint8_t *back = read_gif(path, 2, S * W, S * H, &hundredths, &loops);
    int wrong = back ? 0 : 1;
    for (int i = 0; back && i < 2 * S * H * S * W; i++) {
        const int x = i % (S * W) / S, y = i / (S * W) % (S * H) / S, f = i / (S * W * S * H);
        wrong += memcmp(back + 3 * i, frames + 3 * ((f * H + y) * W + x), 3) != 0;
    }
    DG_CHECKF(wrong == 0, "%d pixels of the frames are wrong", wrong);
    free(back);
    DG_CHECK(dg_gif_write(path, frames, 1, 40000, 1, 2, 50) == DG_USAGE);
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(base, sizeof base, "%.150s/dcgan-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!DG_CHECK(mkdtemp(base) != NULL)) return dg_test_report();
    png_round_trip();
    texts_round_trip();
    hostile_files_are_refused();
    grids_are_laid_out();
    gifs_come_back();
    nothing_is_smoothed();
    static const char *const names[] = {"a.png", "t.png", "h.png", "a.gif"};
    char path[400];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(in_base(path, names[i]));
    DG_CHECKF(rmdir(base) == 0, "%s holds files that nobody should have left", base);
    return dg_test_report();
}
