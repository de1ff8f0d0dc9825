/* Independent decoders read back the PNG and GIF files that dcgan writes. */
#include "host/figure/confusion.h"
#include "host/figure/images.h"

#include "damage.h"
#include "make_image.h"
#include "tempdir.h"

static dg_image noise_image(int W, int H, int C, unsigned long long seed)
{
    dg_image im = {W, H, C, malloc((size_t)W * (size_t)H * (size_t)C)};
    if (!im.pixels) abort();
    for (int i = 0; i < W * H * C; i++) im.pixels[i] = (uint8_t)(128 + 127 * dg_test_random(&seed));
    return im;
}

/* Compares a PNG file with an image. libpng's simplified API, which dcgan's writer does not use, reads the file. */
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
    const char *path = temp_path("a.png");
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        dg_image im = noise_image(size[i][0], size[i][1], size[i][2], i + 1);
        DG_WORKS(dg_png_write(path, &im, NULL, 0));
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
    const char *path = temp_path("t.png");
    char *long_value = malloc(300001);
    if (!long_value) abort();
    memset(long_value, 'v', 300000);
    long_value[300000] = 0;
    dg_image im = noise_image(9, 4, 3, 3);
    const dg_text in[] = {{"run", "cats 64"},           {"epoch", "12"}, {"folder", "K\xc3\xa4tzchen \xe7\x8c\xab"},
                          {"config", "a = 1\nb = 2\n"}, {"empty", ""},   {"long", long_value}};
    const int n = (int)(sizeof in / sizeof *in);
    DG_WORKS(dg_png_write(path, &im, in, n));
    DG_CHECK(png_holds(path, &im));
    dg_text *out = NULL;
    int count = 0, W = 0, H = 0;
    if (DG_WORKS(dg_png_texts(path, &out, &count, &W, &H))) {
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

/* Writes the signature and the IHDR chunk of a PNG with 5 x 6 grey pixels. */
static blob header(void)
{
    blob b = {0};
    png_start(&b, 5, 6, 8, 0, 0);
    return b;
}

static dg_err read_texts(const void *data, size_t n)
{
    dg_text *out = NULL;
    int count, W, H;
    temp_put(temp_path("h.png"), data, n);
    const dg_err e = dg_png_texts(temp_path("h.png"), &out, &count, &W, &H);
    if (!e) free(out);
    return e;
}

/* Checks that reading a PNG fails with this reason. Frees b. */
static void refused(blob b, const char *reason)
{
    check_refusals(&(refusal){reason, (const char *)b.data, b.bytes, 0}, 1, read_texts, DG_DATA, NULL, 0);
    blob_free(&b);
}

static void hostile_files_are_refused(void)
{
    blob f = header();
    dg_text *out;
    int count, W, H;
    png_chunk(&f, "tEXt", "Author\0J\xfcrgen", 13);
    png_chunk(&f, "iTXt", "k\0\0\0de\0Schl\0wert", 16);
    png_chunk(&f, "IDAT", "anything", 8);
    png_chunk(&f, "IEND", "", 0);
    DG_CHECK(!read_texts(f.data, f.bytes));
    if (DG_WORKS(dg_png_texts(temp_path("h.png"), &out, &count, &W, &H))) {
        DG_CHECK(W == 5 && H == 6 && count == 2);
        DG_CHECKF(!strcmp(out[0].value, "J\xc3\xbcrgen"), "%s", out[0].value);
        DG_CHECKF(!strcmp(out[1].key, "k") && !strcmp(out[1].value, "wert"), "%s = %s", out[1].key, out[1].value);
        free(out);
    }
    const accepted a = damage(f.data, f.bytes, f.bytes, read_texts, DG_DATA);
    DG_CHECKF(!a.cuts && !a.flips, "%ld truncations and %ld flipped bits accepted", a.cuts, a.flips);
    blob_free(&f);
    refused(f, "not a PNG");
    blob_put(&f, "\x89PNG\r\n\x1a\n", 8);
    png_chunk(&f, "tEXt", "a\0b", 3);
    refused(f, "IHDR");
    f = (blob){0};
    png_start(&f, 0, 6, 8, 0, 0);
    refused(f, "size");
    f = header();
    put32(&f, 0xfffffff8); /* adding 12 to this chunk length overflows 32 bits */
    blob_put(&f, "tEXtabcdefgh", 12);
    refused(f, "longer than the file");
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
        f = header();
        png_chunk(&f, bad[i].type, bad[i].body, bad[i].n);
        refused(f, bad[i].reason);
    }
    f = header();
    for (int i = 0; i < 65; i++) png_chunk(&f, "tEXt", "k\0v", 3);
    png_chunk(&f, "IEND", "", 0);
    refused(f, "64 texts");
    DG_CHECK(dg_png_texts("/nonexistent-file.png", &out, &count, &W, &H) == DG_IO);
}

/* Compares the layout with torchvision's make_grid(padding=2), for 5 images of 3 x 3 in 2 rows of 3. */
static void grids_are_laid_out(void)
{
    enum { S = 3, N = 5 };
    for (int C = 1; C <= 3; C += 2) {
        uint8_t pixels[N * S * S * 3];
        for (int i = 0; i < N * S * S * C; i++) pixels[i] = (uint8_t)(i + 1);
        dg_image g;
        if (!DG_CHECK(dg_sheet(pixels, N, dg_square(S), C, 2, 3, &g) == DG_OK)) return;
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
        /* the grid has fewer cells than there are images */
        DG_CHECK(dg_sheet(pixels, N, dg_square(S), C, 1, 2, &g) == DG_OK && g.H == 7 && g.W == 12);
        free(g.pixels);
    }
    dg_image g;
    uint8_t one[3] = {1, 2, 3};
    DG_CHECK(dg_sheet(one, 0, dg_square(1), 3, 1, 1, &g) == DG_OK && g.W == 5 && g.pixels[36] == 0);
    free(g.pixels);
    DG_CHECK(dg_sheet(one, 1, dg_square(1), 3, 0, 1, &g) == DG_USAGE);
    DG_CHECK(dg_sheet(one, 1, dg_square(1), 2, 1, 1, &g) == DG_USAGE);
    DG_CHECK(dg_sheet(one, 1, dg_square(64), 3, 100000, 100000, &g) == DG_USAGE);
    DG_CHECK(dg_sheet(one, 1, dg_square(2147483647), 3, 1, 1, &g) == DG_USAGE);
}

/* Decodes a GIF to RGB frames and their frame time. Returns NULL if giflib refuses the file. */
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
                /* the loop extension has a byte 1 and the number of repeats, where 0 means an endless loop */
                const ExtensionBlock *next = &im->ExtensionBlocks[k + 1];
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
    const char *path = temp_path("a.gif");
    int hundredths = -1, loops = 0;
    if (!DG_WORKS(dg_gif_write(path, frames, n, W, H, 1, ms))) return 1e9;
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
    static const int kept[] = {1, 2, 3, 100, 128, 129, 255, 256}; /* up to 256 colours are stored exactly */
    for (size_t k0 = 0; k0 < sizeof kept / sizeof *kept; k0++) {
        const int colors = kept[k0];
        for (int i = 0; i < N * W * H; i++)
            for (int k = 0; k < 3; k++) frames[3 * i + k] = (uint8_t)((i * 7 % colors) * (k == 1 ? 1 : 37 + k));
        double off = gif_error(frames, N, W, H, 70, 7);
        DG_CHECKF(off == 0, "%d colours: off by %g", colors, off);
    }
    for (int i = 0; i < N * W * H; i++) /* a coarse histogram would merge these similar colours */
        for (int k = 0; k < 3; k++) frames[3 * i + k] = (uint8_t)i;
    DG_NEAR(gif_error(frames, N, W, H, 70, 7), 0, 0);
    /* these 3,840 colours vary mainly in red and green, so they need an adaptive palette */
    for (int i = 0; i < N * W * H; i++) {
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
    const char *path = temp_path("a.gif");
    for (int i = 0; i < 2; i++)
        DG_CHECK(dg_gif_write(temp_path(i ? "b.gif" : "a.gif"), frames, N, W, H, 1, 50) == DG_OK);
    DG_CHECK(same_file(path, temp_path("b.gif")));
    DG_CHECK(dg_gif_write(path, frames, 0, W, H, 1, 50) == DG_USAGE);
    DG_CHECK(dg_gif_write(path, frames, 1, 65536, 1, 1, 50) == DG_USAGE);
    DG_CHECK(dg_gif_write(path, frames, 1, 1, 1, 1, -5) == DG_USAGE);
    DG_CHECK(dg_gif_write("/nonexistent-folder/a.gif", frames, 1, 1, 1, 1, 50) == DG_IO);
}

/* Enlarging repeats each pixel in both directions, in PNG and in GIF. */
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
    const char *path = temp_path("c.gif");
    int hundredths, loops;
    DG_CHECK(dg_gif_write(path, frames, 2, W, H, S, 50) == DG_OK);
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

static const uint8_t *pixel(const dg_image *im, int x, int y)
{
    return im->pixels + ((ptrdiff_t)y * im->W + x) * im->C;
}

/* A confusion matrix is blue on the diagonal and orange elsewhere. With many classes, the squares of a confusion
 * matrix are smaller. */
static void confusion_matrices(void)
{
    static const struct {
        int classes, side, names;
    } row[] = {{2, 48, 120}, {12, 48, 120}, {13, 22, 120}, {40, 22, 120}, {41, 6, 20}, {128, 6, 20}, {129, 2, 20}};
    static char word[] = "a name of a class that is longer than its room", cat[] = "cat", *names[129];
    for (int i = 0; i < 129; i++) names[i] = i % 7 ? cat : word;
    for (size_t n = 0; n < sizeof row / sizeof *row; n++) {
        const int k = row[n].classes, left = row[n].names + 16, top = row[n].names + 40;
        long *count = calloc((size_t)k * (size_t)k, sizeof *count);
        dg_image im = {0};
        if (!count) abort();
        for (int i = 0; i + 1 < k; i++) count[(ptrdiff_t)i * k + i] = i + 1;
        count[1] = 30;
        if (DG_CHECKF(!dg_confusion_draw(count, k, names, "test", &im), "%s", dg_message())) {
            DG_CHECKF(im.H == top + k * row[n].side + 16, "%d classes: %d pixels high", k, im.H);
            for (int i = 0; i < k; i++) {
                const uint8_t *p = pixel(&im, left + i * row[n].side, top + i * row[n].side);
                /* only 1 of the 31 images of class 0 is classified correctly */
                const int want = i + 1 == k ? 246 : i ? 30 : 248;
                DG_CHECKF(p[0] == want && p[2] >= 247, "%d classes, class %d: %d %d %d", k, i, p[0], p[1], p[2]);
            }
            const uint8_t *p = pixel(&im, left + row[n].side, top);
            DG_CHECKF(p[0] == 255 && p[2] == 37, "%d classes: %d %d %d", k, p[0], p[1], p[2]);
        }
        dg_image_free(&im);
        free(count);
    }
}

static void mistakes(void)
{
    static const uint8_t grey[4] = {10, 80, 160, 240}, colour[12] = {250, 1, 2, 3, 250, 4, 5, 6, 250, 7, 8, 9};
    const dg_mistake m[] = {{grey, "cat", "dog", 0.75}, {grey, "a name that is longer than the image", "dog", 1}};
    const dg_mistake c[9] = {{colour, "cat", "dog", 0.5}, {colour, "cat", "dog", 0.5}, {colour, "cat", "dog", 0.5},
                             {colour, "cat", "dog", 0.5}, {colour, "cat", "dog", 0.5}, {colour, "cat", "dog", 0.5},
                             {colour, "cat", "dog", 0.5}, {colour, "cat", "dog", 0.5}, {colour, "cat", "dog", 0.5}};
    dg_image none = {0}, two = {0}, nine = {0};
    DG_CHECK(!dg_mistakes_draw(m, 0, dg_square(2), 1, "none", &none));
    DG_CHECK(!dg_mistakes_draw(m, 2, dg_square(2), 1, "two", &two));
    DG_CHECK(!dg_mistakes_draw(c, 9, dg_square(2), 3, "nine", &nine));
    DG_CHECK(none.H == two.H && nine.H > two.H && none.W == nine.W);
    const uint8_t *p = pixel(&two, 12 + 50, 40 + 50), *q = pixel(&nine, 12, 40);
    DG_CHECKF(p[0] == 240 && p[1] == 240 && p[2] == 240, "%d %d %d", p[0], p[1], p[2]);
    DG_CHECKF(q[0] == 250 && q[1] == 1 && q[2] == 2, "%d %d %d", q[0], q[1], q[2]);
    dg_image_free(&none);
    dg_image_free(&two);
    dg_image_free(&nine);
}

static void nothing_is_left(void) { DG_CHECK(temp_count(temp_dir, "tmp") == 0); }

DG_TESTS_IN("images", png_round_trip, texts_round_trip, hostile_files_are_refused, grids_are_laid_out, gifs_come_back,
            nothing_is_smoothed, confusion_matrices, mistakes, nothing_is_left)
