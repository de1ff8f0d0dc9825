/* libFuzzer: PNG. The mutator changes chunks, decompressed pixel rows or the header, and usually corrects lengths
 * and checksums. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { CHUNKS = 64, RAW = 1 << 16, HEAD = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_image(data, size, (unsigned)crc32(0, data, (uInt)size));
    return 0;
}

typedef struct {
    uint8_t name[4];
    const uint8_t *data;
    size_t bytes;
} chunk;

typedef struct {
    chunk chunk[CHUNKS];
    int n;
} png;

static size_t big32(const uint8_t *p) { return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3]; }

static void put32(uint8_t *p, size_t v)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static void split(png *p, const uint8_t *data, size_t size)
{
    p->n = 0;
    for (size_t at = HEAD; size - at >= 12 && p->n < CHUNKS;) {
        const size_t says = big32(data + at), left = size - at - 12, n = says < left ? says : left;
        chunk *c = &p->chunk[p->n++];
        *c = (chunk){.data = data + at + 8, .bytes = n};
        memcpy(c->name, data + at + 4, 4);
        at += 12 + n;
    }
}

static size_t join(const png *p, uint8_t *out, size_t most)
{
    size_t at = HEAD;
    memcpy(out, "\x89PNG\r\n\x1a\n", HEAD);
    for (int i = 0; i < p->n; i++) {
        const chunk *c = &p->chunk[i];
        if (most - at < 12 || c->bytes > most - at - 12) break;
        put32(out + at, c->bytes);
        memcpy(out + at + 4, c->name, 4);
        memcpy(out + at + 8, c->data, c->bytes);
        put32(out + at + 8 + c->bytes, crc32(0, out + at + 4, (uInt)c->bytes + 4));
        at += 12 + c->bytes;
    }
    return at;
}

static bool is(const chunk *c, const char *name) { return !memcmp(c->name, name, 4); }

static size_t unpack(const png *p, uint8_t *raw)
{
    z_stream z = {0};
    if (inflateInit(&z) != Z_OK) return 0;
    z.next_out = raw;
    z.avail_out = RAW;
    for (int i = 0; i < p->n; i++) {
        if (!is(&p->chunk[i], "IDAT")) continue;
        z.next_in = (Bytef *)(uintptr_t)p->chunk[i].data;
        z.avail_in = (uInt)p->chunk[i].bytes;
        if (inflate(&z, Z_NO_FLUSH) != Z_OK) break;
    }
    inflateEnd(&z);
    return RAW - z.avail_out;
}

/* Compresses pixel rows and replaces all IDAT chunks by the result. */
static void pack(png *p, const uint8_t *raw, size_t bytes, unsigned *random)
{
    static uint8_t packed[2 * RAW];
    z_stream z = {0};
    png out = {.n = 0};
    if (deflateInit2(&z, (int)fuzz_random(random, 10), Z_DEFLATED, 9 + (int)fuzz_random(random, 7), 8,
                     (int)fuzz_random(random, 5)) != Z_OK)
        return;
    z.next_in = (Bytef *)(uintptr_t)raw;
    z.avail_in = (uInt)bytes;
    z.next_out = packed;
    z.avail_out = sizeof packed;
    (void)deflate(&z, Z_FINISH);
    deflateEnd(&z);
    const size_t all = sizeof packed - z.avail_out, first = fuzz_random(random, 4) ? all : all / 2;
    bool there = false;
    for (int i = 0; i < p->n && out.n < CHUNKS - 2; i++) {
        const bool pixels = is(&p->chunk[i], "IDAT");
        if (!pixels) out.chunk[out.n++] = p->chunk[i];
        if (!pixels || there) continue;
        there = true;
        out.chunk[out.n++] = (chunk){"IDAT", packed, first};
        if (first < all) out.chunk[out.n++] = (chunk){"IDAT", packed + first, all - first};
    }
    *p = out;
}

/* Returns the size of all pixel rows in bytes, or 0 if it is too large for a fuzz target. */
static size_t rows_of(const uint8_t *head)
{
    static const int values[] = {1, 0, 3, 1, 2, 0, 4};
    const size_t W = big32(head), H = big32(head + 4), bits = head[8] * (size_t)values[head[9] % 7];
    const size_t row = W < 1024 && H < 1024 ? 1 + (W * bits + 7) / 8 : RAW;
    const size_t all = H * row + (head[12] ? 8 * (W + H) : 0);
    return all <= RAW ? all : 0;
}

static void new_header(png *p, uint8_t head[13], unsigned *random)
{
    static const uint8_t kinds[][2] = {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {16, 0}, {8, 2}, {16, 2}, {1, 3},
                                       {2, 3}, {4, 3}, {8, 3}, {8, 4}, {16, 4}, {8, 6}, {16, 6}, {3, 5}};
    static uint8_t raw[RAW];
    if (!p->n || !is(&p->chunk[0], "IHDR") || p->chunk[0].bytes != 13) return;
    memcpy(head, p->chunk[0].data, 13);
    const uint8_t *kind = kinds[fuzz_random(random, sizeof kinds / sizeof *kinds)];
    put32(head, 1 + fuzz_random(random, 40));
    put32(head + 4, 1 + fuzz_random(random, 40));
    memcpy(head + 8, kind, 2);
    head[12] = (uint8_t)fuzz_random(random, 2);
    p->chunk[0].data = head;
    const size_t had = unpack(p, raw), want = rows_of(head);
    for (size_t i = had; i < want; i++) raw[i] = (uint8_t)(had ? raw[i % had] : i);
    pack(p, raw, want, random);
}

static void change_rows(png *p, unsigned *random)
{
    static uint8_t raw[2 * RAW];
    size_t n = unpack(p, raw);
    if (n) n = LLVMFuzzerMutate(raw, n, RAW);
    pack(p, raw, n, random);
}

static void change_order(png *p, const uint8_t *data, size_t size, unsigned *random)
{
    static const char *const names[] = {"PLTE", "tRNS", "eXIf", "gAMA", "iCCP", "tEXt", "zTXt", "iTXt",
                                        "sBIT", "bKGD", "pHYs", "IEND", "IDAT", "IHDR", "acTL", "vpAg"};
    const int a = (int)fuzz_random(random, (unsigned)p->n), b = (int)fuzz_random(random, (unsigned)p->n);
    const chunk taken = p->chunk[a];
    switch (fuzz_random(random, 3)) {
    case 0:
        p->chunk[a] = p->chunk[b];
        p->chunk[b] = taken;
        return;
    case 1:
        memmove(p->chunk + a, p->chunk + a + 1, (size_t)(p->n - a - 1) * sizeof taken);
        p->n--;
        return;
    }
    if (p->n == CHUNKS) return;
    memmove(p->chunk + a + 1, p->chunk + a, (size_t)(p->n - a) * sizeof taken);
    p->n++;
    const size_t from = fuzz_random(random, (unsigned)size), left = size - from;
    chunk *c = &p->chunk[a];
    *c = (chunk){.data = data + from, .bytes = fuzz_random(random, (unsigned)(left < 800 ? left : 800) + 1)};
    memcpy(c->name, names[fuzz_random(random, sizeof names / sizeof *names)], 4);
}

static void change_chunk(png *p, uint8_t *room, size_t most, unsigned *random)
{
    chunk *c = &p->chunk[fuzz_random(random, (unsigned)p->n)];
    if (c->bytes > most / 2) return;
    memcpy(room, c->data, c->bytes);
    c->bytes = LLVMFuzzerMutate(room, c->bytes, c->bytes + 64 < most ? c->bytes + 64 : most);
    c->data = room;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static png p;
    unsigned random = seed;
    uint8_t head[13], *out = malloc(most), *room = malloc(most);
    const unsigned how = fuzz_random(&random, 8);
    if (out && room && size > HEAD + 12 && most > HEAD && how > 0 && !memcmp(data, "\x89PNG", 4)) {
        split(&p, data, size);
        if (how < 3) change_chunk(&p, room, most, &random);
        else if (how < 5) change_rows(&p, &random);
        else if (how < 7) new_header(&p, head, &random);
        else change_order(&p, data, size, &random);
        size = join(&p, out, most);
        memcpy(data, out, size);
    } else {
        size = LLVMFuzzerMutate(data, size, most);
    }
    free(out);
    free(room);
    return size;
}
