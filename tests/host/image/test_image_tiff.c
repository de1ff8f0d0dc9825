/* Tests TIFF files: every layout of samples, damaged and hostile files. Without libtiff, that they are refused. */
#include "failing.h"

#include "decoding.h"

#include <zlib.h>

enum { W = 19, H = 13, ENTRIES = 20 };

typedef struct {
    int bits, samples, photometric;
    bool big, planar, tiled, deflate;
    int rows; /* per strip, or side of a tile */
    int extra, orientation, format, compression;
} spec;

static bool built(void)
{
    dg_image im;
    const dg_err e = dg_image_decode("II*\0....", 8, &plain, &im);
    return DG_CHECK(e == DG_DATA) && !strstr(dg_message(), "built without libtiff");
}

static void number(blob *b, const spec *s, size_t v, int n)
{
    for (int i = 0; i < n; i++) blob_put(b, &(uint8_t){(uint8_t)(v >> 8 * (s->big ? n - 1 - i : i))}, 1);
}

/* Sample c of a pixel, with the file's number of bits */
static unsigned value(const spec *s, int x, int y, int c)
{
    const unsigned v = (unsigned)(x * 7919 + y * 104729 + c * 1299709) * 2654435761U >> 9;
    return v & ((1U << s->bits) - 1);
}

static void put_sample(blob *b, const spec *s, unsigned v, int *bit)
{
    if (s->bits >= 8) {
        number(b, s, v, s->bits / 8);
        return;
    }
    if (*bit == 0) blob_put(b, "", 1);
    b->data[b->bytes - 1] |= (uint8_t)(v << (8 - s->bits - *bit));
    *bit = (*bit + s->bits) % 8;
}

/* The samples of a strip or tile. Tiles have black pixels outside the image. plane: -1 is all of them */
static blob unit(const spec *s, int x0, int y0, int w, int h, int plane)
{
    blob b = {0};
    for (int y = y0; y < y0 + h; y++) {
        int bit = 0;
        for (int x = x0; x < x0 + w; x++)
            for (int c = plane < 0 ? 0 : plane; c < (plane < 0 ? s->samples : plane + 1); c++)
                put_sample(&b, s, x < W && y < H ? value(s, x, y, c) : 0, &bit);
    }
    return b;
}

typedef struct {
    size_t tag, type, count, at; /* at: value, or offset of several values */
} entry;

static void list(blob *b, const spec *s, entry *e, size_t tag, size_t size, const size_t *v, size_t n)
{
    *e = (entry){tag, size == 2 ? 3 : 4, n, n == 1 ? v[0] : b->bytes};
    if (n > 1 && n * size <= 4) e->at = v[0] | v[1] << 16;
    for (size_t i = 0; i < n && n * size > 4; i++) number(b, s, v[i], (int)size);
}

static blob tiff(const spec *s)
{
    blob b = {0};
    size_t offset[200], bytes[200], n = 0, k = 0, bits[8], map[3 * 256], rows = (size_t)(s->rows ? s->rows : H);
    entry e[ENTRIES];
    blob_put(&b, s->big ? "MM\0*\0\0\0\0" : "II*\0\0\0\0\0", 8);
    const int w = s->tiled ? s->rows : W;
    for (int plane = s->planar ? 0 : -1; plane < (s->planar ? s->samples : 0); plane++)
        for (int y = 0; y < H; y += (int)rows)
            for (int x = 0; x < W; x += w) {
                blob u = unit(s, x, y, w, s->tiled || y + (int)rows <= H ? (int)rows : H - y, plane);
                uLongf packed = compressBound(u.bytes);
                uint8_t *to = malloc(packed);
                if (s->deflate) compress2(to, &packed, u.data, u.bytes, 6);
                offset[n] = b.bytes;
                bytes[n] = s->deflate ? packed : u.bytes;
                blob_put(&b, s->deflate ? to : u.data, bytes[n]);
                n++;
                free(to);
                blob_free(&u);
            }
    for (int i = 0; i < 8; i++) bits[i] = (size_t)s->bits;
    for (size_t i = 0; i < 3U << s->bits && s->photometric == 3; i++) map[i] = i * 40503 % 65536;
#define PUT(tag, size, ...) list(&b, s, &e[k++], tag, size, (const size_t[]){__VA_ARGS__}, 1)
    PUT(256, 4, W);
    PUT(257, 4, H);
    list(&b, s, &e[k++], 258, 2, bits, (size_t)s->samples);
    PUT(259, 2, (size_t)(s->compression ? s->compression : s->deflate ? 8 : 1));
    PUT(262, 2, (size_t)s->photometric);
    if (!s->tiled) list(&b, s, &e[k++], 273, 4, offset, n);
    if (s->orientation) PUT(274, 2, (size_t)s->orientation);
    PUT(277, 2, (size_t)s->samples);
    if (!s->tiled) PUT(278, 4, rows), list(&b, s, &e[k++], 279, 4, bytes, n);
    PUT(284, 2, s->planar ? 2 : 1);
    if (s->photometric == 3) list(&b, s, &e[k++], 320, 2, map, 3U << s->bits);
    if (s->tiled) {
        PUT(322, 4, rows), PUT(323, 4, rows);
        list(&b, s, &e[k++], 324, 4, offset, n);
        list(&b, s, &e[k++], 325, 4, bytes, n);
    }
    if (s->extra) PUT(338, 2, (size_t)s->extra);
    if (s->format) PUT(339, 2, (size_t)s->format);
    if (b.bytes % 2) blob_put(&b, "", 1);
    const size_t at = b.bytes;
    for (int i = 0; i < 4; i++) b.data[4 + i] = (uint8_t)(at >> 8 * (s->big ? 3 - i : i));
    number(&b, s, k, 2);
    for (size_t i = 0; i < k; i++) {
        const bool in_place = e[i].type == 3 && e[i].count <= 2;
        number(&b, s, e[i].tag, 2), number(&b, s, e[i].type, 2), number(&b, s, e[i].count, 4);
        if (in_place) number(&b, s, e[i].at & 0xffff, 2), number(&b, s, e[i].at >> 16, 2);
        else number(&b, s, e[i].at, 4);
    }
    number(&b, s, 0, 4);
    return b;
}

static unsigned eight(const spec *s, unsigned v) { return s->bits == 16 ? v >> 8 : v * 255 / ((1U << s->bits) - 1); }

static void expected(const spec *s, int x, int y, uint8_t out[4])
{
    unsigned v[5];
    const int colours = s->photometric == 5 ? 4 : s->photometric == 2 ? 3 : 1;
    for (int c = 0; c < 5; c++) v[c] = c < s->samples ? eight(s, value(s, x, y, c)) : 255;
    out[3] = (uint8_t)(s->extra ? v[colours] : 255);
    for (int c = 0; c < 3; c++) {
        unsigned k = v[colours == 1 ? 0 : c];
        if (s->photometric == 0) k = 255 - k;
        if (s->photometric == 3) k = (value(s, x, y, 0) + ((unsigned)c << s->bits)) * 40503 % 65536 >> 8;
        if (s->photometric == 5) k = (unsigned)lrint((255 - v[c]) * (255 - v[3]) / 255.0);
        if (s->extra == 1) k = !out[3] ? 0 : k >= out[3] ? 255 : (k * 255 + out[3] / 2U) / out[3];
        out[c] = (uint8_t)k;
    }
}

static void check_file(const spec *s)
{
    blob b = tiff(s);
    dg_image im;
    dg_decoded of = {0};
    const dg_decode_options o = {.keep_alpha = true};
    const dg_err e = dg_image_decode(b.data, b.bytes, &o, &im);
    int far = e || im.W != W || im.H != H || im.C != 4 ? 999 : 0;
    for (int i = 0; i < W * H && far < 999; i++) {
        uint8_t want[4];
        expected(s, i % W, i / W, want);
        for (int c = 0; c < 4; c++) far = (int)fmax(far, abs(im.pixels[4 * i + c] - want[c]));
    }
    DG_CHECKF(far <= (s->photometric == 5),
              "bits %d, samples %d, colours %d, big %d, planar %d, tiled %d, rows %d: %d %s", s->bits, s->samples,
              s->photometric, s->big, s->planar, s->tiled, s->rows, far, e ? dg_message() : "");
    dg_image_free(&im);
    dg_image small;
    DG_CHECK(!dg_image_decode_fitted(b.data, b.bytes, &o, &(dg_fitting){dg_square(4), 3, 0, 0}, &small, &of));
    DG_CHECK(of.kind == (s->bits == 16 ? DG_KIND_TIFF_16 : DG_KIND_TIFF));
    DG_CHECK((of.did >> DG_DID_HALVE & 1) == (s->bits == 16) && (of.did >> DG_DID_CMYK & 1) == (s->photometric == 5));
    dg_image_free(&small);
    blob_free(&b);
}

static void layouts(void)
{
    static const spec kind[] = {
        {.bits = 1, .samples = 1, .photometric = 1},
        {.bits = 2, .samples = 1, .photometric = 0},
        {.bits = 4, .samples = 1, .photometric = 3},
        {.bits = 8, .samples = 1, .photometric = 1},
        {.bits = 8, .samples = 1, .photometric = 3},
        {.bits = 16, .samples = 1, .photometric = 0},
        {.bits = 8, .samples = 3, .photometric = 2},
        {.bits = 16, .samples = 3, .photometric = 2},
        {.bits = 8, .samples = 4, .photometric = 5},
        {.bits = 8, .samples = 4, .photometric = 2},
        {.bits = 8, .samples = 2, .photometric = 1, .extra = 2},
        {.bits = 8, .samples = 4, .photometric = 2, .extra = 1},
        {.bits = 16, .samples = 4, .photometric = 2, .extra = 2},
        {.bits = 8, .samples = 5, .photometric = 5, .extra = 2},
    };
    static const struct {
        bool big, planar, tiled, deflate;
        int rows;
    } way[] = {{0, 0, 0, 0, 0},  {1, 0, 0, 0, 1},  {0, 0, 0, 1, 4},  {1, 1, 0, 0, 0}, {0, 1, 0, 1, 5},
               {0, 0, 1, 0, 16}, {1, 0, 1, 1, 16}, {0, 1, 1, 1, 16}, {0, 0, 1, 0, 32}};
    if (!built()) return;
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
        for (size_t k = 0; k < sizeof way / sizeof *way; k++) {
            spec s = kind[i];
            s.big = way[k].big, s.planar = way[k].planar, s.tiled = way[k].tiled, s.deflate = way[k].deflate;
            s.rows = way[k].rows;
            check_file(&s);
        }
}

static void orientations(void)
{
    if (!built()) return;
    for (int turn = 1; turn <= 8; turn++) {
        const spec s = {.bits = 8, .samples = 1, .photometric = 1, .orientation = turn};
        blob b = tiff(&s);
        dg_image im;
        const bool whole = DG_CHECK(!dg_image_decode(b.data, b.bytes, &plain, &im));
        DG_CHECK(!whole || (im.W == (turn >= 5 ? H : W) && im.H == (turn >= 5 ? W : H)));
        const int last_x = turn >= 5 ? H - 1 : W - 1, last_y = turn >= 5 ? W - 1 : H - 1;
        const int x = turn == 2 || turn == 3 || turn == 6 || turn == 7 ? last_x : 0;
        const int y = turn == 3 || turn == 4 || turn == 7 || turn == 8 ? last_y : 0;
        if (whole) DG_CHECKF(im.pixels[3 * (y * im.W + x)] == value(&s, 0, 0, 0), "orientation %d", turn);
        dg_image_free(&im);
        DG_CHECK(!dg_image_decode(b.data, b.bytes, &(dg_decode_options){0}, &im) && im.W == W);
        dg_image_free(&im);
        blob_free(&b);
    }
}

static dg_err read_small(const void *data, size_t n)
{
    const dg_decode_options small = {.exif = true, .max_pixels = 1 << 16};
    dg_image im;
    const dg_err e = dg_image_decode(data, n, &small, &im);
    DG_CHECK(e ? !im.pixels && *dg_message() : im.pixels && (size_t)im.W * (size_t)im.H <= small.max_pixels);
    dg_image_free(&im);
    return e;
}

static void damaged(void)
{
    static const spec row[] = {{.bits = 8, .samples = 1, .photometric = 1, .rows = 3},
                               {.bits = 8, .samples = 3, .photometric = 2, .tiled = true, .rows = 16, .deflate = true},
                               {.bits = 16, .samples = 1, .photometric = 1, .planar = true, .big = true}};
    if (!built()) return;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        blob b = tiff(&row[i]);
        const accepted a = damage(b.data, b.bytes, b.bytes - 4, read_small, DG_DATA);
        DG_CHECKF(!a.cuts, "%ld truncations accepted", a.cuts);
        blob_free(&b);
    }
}

static void hostile(void)
{
    static const struct {
        spec s;
        const char *why;
    } row[] = {
        {{.bits = 8, .samples = 1, .photometric = 1, .format = 2}, "type of samples 2"},
        {{.bits = 16, .samples = 1, .photometric = 1, .format = 3}, "floating point"},
        {{.bits = 8, .samples = 3, .photometric = 8}, "colour space 8"},
        {{.bits = 8, .samples = 1, .photometric = 2}, "TIFF: "},
        {{.bits = 8, .samples = 1, .photometric = 1, .compression = 6}, "compression 6"},
        {{.bits = 8, .samples = 1, .photometric = 1, .compression = 34677}, "compression 34677"},
    };
    if (!built()) {
        refused(blob_of("MM\0*\0\0\0\0", 8), "built without libtiff; convert it: tifftopnm");
        return;
    }
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) refused(tiff(&row[i].s), row[i].why);
    spec s = {.bits = 8, .samples = 1, .photometric = 1, .rows = 16, .tiled = true};
    static const struct {
        int tag;
        uint32_t value;
        const char *why;
    } change[] = {{256, 0x7fffffff, "TIFF: "}, {257, 0, "TIFF: "}, {256, 16384, "TIFF: "}, {322, 0x7ffffff0, "TIFF: "},
                  {323, 0x7ffffff0, "TIFF: "}, {322, 0, "TIFF: "}, {277, 65535, "TIFF: "}};
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        blob b = tiff(&s);
        size_t at = b.data[4] + 256U * b.data[5];
        const int n = b.data[at];
        for (int k = 0; k < n; k++)
            if (b.data[at + 2 + 12U * (size_t)k] + 256 * b.data[at + 3 + 12U * (size_t)k] == change[i].tag)
                for (int j = 0; j < 4; j++)
                    b.data[at + 10 + 12U * (size_t)k + (size_t)j] = (uint8_t)(change[i].value >> 8 * j);
        refused_at_once(b, "hostile TIFF", change[i].why);
    }
}

#if DG_FAILING
static blob faulty;
static dg_image faulty_image;

static void before(void) { faulty_image = (dg_image){0}; }
static dg_err act(void) { return dg_image_decode(faulty.data, faulty.bytes, &plain, &faulty_image); }

/* An image is decoded, or memory is short; it is never called damaged. */
static void after(dg_err e)
{
    DG_CHECKF(e ? e == DG_DEVICE && !faulty_image.pixels : faulty_image.W == W, "%d %s", (int)e, e ? dg_message() : "");
    dg_image_free(&faulty_image);
}
#endif

static void without_memory(void)
{
#if DG_FAILING
    static const spec row[] = {{.bits = 8, .samples = 1, .photometric = 1, .rows = 3, .deflate = true},
                               {.bits = 8, .samples = 1, .photometric = 3, .tiled = true, .rows = 16, .big = true}};
    dl_iterate_phdr(note_library, (void *)(uintptr_t) "libtiff"); /* whose own allocations succeed: it may crash */
    for (size_t i = 0; i < 2 && built(); i++) {
        faulty = tiff(&row[i]);
        if (i) faulty_image = (dg_image){0};
        long n = 0;
        for (int more = 0; more < 2; more++) n += each_of("TIFF", MEMORY, more, before, act, after);
        DG_CHECKF(n > 10, "%ld allocations failed", n);
        blob_free(&faulty);
    }
#endif
}

DG_TESTS(without_memory, layouts, orientations, damaged, hostile)
