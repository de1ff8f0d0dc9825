/* The instruction wgmma. As on the device, each warp computes its 16 rows independently, and only barriers order the
 * four warps. All four warps must pass equal arguments. Layouts are those of "Asynchronous Warpgroup Level Matrix
 * Multiply-Accumulate Operations" in the PTX ISA; g = lane / 4 and t = lane % 4. */
#include "inside.h"

namespace sim {

enum { MOST_PRODUCTS = 16, MOST_COLUMNS = 128, MOST_SUMS = 128 /* per lane */, REMEMBERED = 64 };

struct wgmma_product {
    wgmma_matrix b, a[32];
    int columns, first; /* `first` is the index of a lane's first accumulator */
};
enum wgmma_state { IDLE, BEGUN, COMMITTED };
struct wgmma_warp {
    wgmma_state state;
    bool loaded;          /* the warp has called ldmatrix since wgmma_begin */
    int values, products; /* accumulators per lane; number of wgmma since wgmma_begin */
    unsigned made;        /* number of wgmma since the block began */
    float *sums[32];
    float value[32][MOST_SUMS];
    wgmma_product product[MOST_PRODUCTS]; /* wgmma that are not complete yet */
};
/* Arguments of a warpgroup's first warp, compared with those of the other warps. */
struct wgmma_said {
    unsigned number;
    site at;
    wgmma_matrix a, b;
    int columns, first;
};
struct wgmma_block {
    wgmma_warp warp[MAX_WARPS];
    wgmma_said said[MAX_WARPS / 4][REMEMBERED];
};

static void forget(wgmma_block *b)
{
    for (wgmma_warp &w : b->warp) {
        w.state = IDLE;
        w.made = 0;
    }
    for (wgmma_said(&group)[REMEMBERED] : b->said)
        for (wgmma_said &s : group) s.number = 0;
}

static const uint32_t IN_FLIGHT = 0x7fffbeadu; /* a NaN */

/* Copies word by word, because TSan would report a memcpy as a read of other lanes' accumulators. */
static void copy(volatile float *to, const volatile float *from, int n)
{
    for (int i = 0; i < n; i++) to[i] = from[i];
}

static const unsigned char *unit_of_a(const wgmma_matrix &a, int row, int plane)
{
    return a.start + plane * a.next_k + row / 8 * a.next_mn + row % 8 * 16;
}
/* Returns 16-byte unit i of operand B. Each column has two units. */
static const unsigned char *unit_of_b(const wgmma_matrix &b, int i, int columns)
{
    if (b.transposed) return b.start + i % 16 / 8 * b.next_k + i / 16 * b.next_mn + i % 8 * 16;
    return b.start + i / columns * b.next_k + i % columns / 8 * b.next_mn + i % 8 * 16;
}

/* Calls a function for each 16-byte unit that this lane reads for its warp. */
template <class F>
static void for_units(const wgmma_matrix &a, const wgmma_matrix &b, int columns, const cuda_thread *t, F f)
{
    const int lane = (int)t->lane;
    if (a.start) f(unit_of_a(a, (int)(t->number / 32 % 4) * 16 + lane / 2, lane % 2), "wgmma: A");
    for (int i = lane; i < 2 * columns; i += 32) f(unit_of_b(b, i, columns), "wgmma: B");
}

static void check(const wgmma_in &in, const cuda_thread *t, site at)
{
    for_units(in.a, in.b, in.columns, t, [at](const unsigned char *p, const char *what) {
        check_shared(p, 16, what, at);
        if (asan() && __asan_region_is_poisoned((void *)p, 16))
            fail(at, "%s: address %p leaves its shared array", what, (const void *)p);
        if (__tsan_read16) __tsan_read16((void *)p);
    });
}

static float bf16(const unsigned char *unit, int i)
{
    uint16_t h;
    memcpy(&h, unit + 2 * i, 2);
    return sim_bits<float>((uint32_t)h << 16);
}

static void make(wgmma_warp &w, const wgmma_product &p, int rows)
{
    static thread_local float a[16][16], b[16][MOST_COLUMNS], c[16][MOST_COLUMNS]; /* a[k][row] */
    const int columns = p.columns;
    for (int u = 0; u < 2 * columns; u++) {
        const auto *const unit = unit_of_b(p.b, u, columns);
        for (int i = 0; i < 8; i++)
            (p.b.transposed ? b[u % 16][u / 16 * 8 + i] : b[u / columns * 8 + i][u % columns]) = bf16(unit, i);
    }
    for (int l = 0; l < 32; l++) {
        const int g = l / 4, t = l % 4;
        for (int i = 0; i < 4; i++)
            for (int h = 0; h < 2; h++) {
                const int row = g + i % 2 * 8, k = 2 * t + h + i / 2 * 8;
                const uint32_t pair = p.a[l].fragment[i];
                a[k][row] = p.a[l].start ? bf16(unit_of_a(p.a[l], rows + row, k / 8), k % 8)
                                         : sim_bits<float>(h ? pair & 0xffff0000u : pair << 16);
            }
        for (int i = 0; i < columns / 2; i++) c[g + i / 2 % 2 * 8][i / 4 * 8 + 2 * t + i % 2] = w.value[l][p.first + i];
    }
    for (int row = 0; row < 16; row++)
        for (int k = 0; k < 16; k++)
            for (int n = 0; n < columns; n++) c[row][n] += a[k][row] * b[k][n];
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < columns / 2; i++)
            w.value[l][p.first + i] = c[l / 4 + i / 2 % 2 * 8][i / 4 * 8 + l % 4 * 2 + i % 2];
}

static bool same_matrix(const wgmma_matrix &a, const wgmma_matrix &b)
{
    return a.start == b.start && a.next_k == b.next_k && a.next_mn == b.next_mn && a.transposed == b.transposed;
}

static void agree(cuda_block *b, unsigned warp, unsigned number, const wgmma_in &in, int from, site at)
{
    wgmma_said &s = b->wgmma->said[warp / 4][number % REMEMBERED];
    if (s.number < number) s = {number, at, in.a, in.b, in.columns, from};
    if (s.number > number) return;
    if (!same(s.at, at) || !same_matrix(s.a, in.a) || !same_matrix(s.b, in.b) || s.columns != in.columns ||
        s.first != from)
        fail(at, "diverged warpgroup: product %u of this warp differs from another warp's, at %s:%d", number, s.at.file,
             s.at.line);
}

/* Computes a warp's wgmma. The last lane to arrive calls wgmma_compute for all lanes. */
void wgmma_compute(collective_kind kind, cuda_thread *lanes, site at)
{
    cuda_block *b = lanes->home;
    const unsigned number = lanes->number / 32;
    wgmma_warp &w = b->wgmma->warp[number];
    const wgmma_in &first = *(const wgmma_in *)lanes[0].in;
    for (int l = 0; l < 32; l++) {
        const wgmma_in &in = *(const wgmma_in *)lanes[l].in;
        if (kind == WGMMA && (!same_matrix(in.a, first.a) || !same_matrix(in.b, first.b)))
            fail(at, "wgmma: the lanes of a warp name different matrices");
        const ptrdiff_t from = in.sums - w.sums[l];
        if (kind == WGMMA_WAIT ? from != 0 || in.columns / 2 != w.values
                               : kind == WGMMA && (from < 0 || from % 4 || from + in.columns / 2 > w.values ||
                                                   from != first.sums - w.sums[0]))
            fail(at, "wgmma: the sums differ from those of wgmma_begin");
    }
    switch (kind) {
    case WGMMA_BEGIN:
        if (w.state != IDLE) fail(at, "wgmma_begin before wgmma_wait for earlier products");
        w.state = BEGUN;
        w.loaded = false;
        w.values = first.columns / 2;
        if (w.values > MOST_SUMS) fail(at, "wgmma_begin of more than %d sums", (int)MOST_SUMS);
        w.products = 0;
        for (int l = 0; l < 32; l++) {
            w.sums[l] = ((const wgmma_in *)lanes[l].in)->sums;
            copy(w.value[l], w.sums[l], w.values);
            for (int i = 0; i < w.values; i++) memcpy(&w.sums[l][i], &IN_FLIGHT, 4);
        }
        break;
    case WGMMA: {
        if (w.state != BEGUN) fail(at, "wgmma without wgmma_begin before it");
        if (!first.a.start && w.loaded) fail(at, "wgmma: ldmatrix loaded A into registers after wgmma_begin");
        if (w.products == MOST_PRODUCTS) fail(at, "more than %d products before wgmma_commit", (int)MOST_PRODUCTS);
        wgmma_product &p = w.product[w.products++];
        p.b = first.b;
        p.columns = first.columns;
        p.first = (int)(first.sums - w.sums[0]);
        agree(b, number, ++w.made, first, p.first, at);
        for (int l = 0; l < 32; l++) p.a[l] = ((const wgmma_in *)lanes[l].in)->a;
        if (!opt.lazy) make(w, p, (int)(number % 4) * 16);
        break;
    }
    case WGMMA_COMMIT:
        if (w.state != BEGUN || !w.products) fail(at, "wgmma_commit without products before it");
        w.state = COMMITTED;
        break;
    default:
        if (w.state != COMMITTED) fail(at, "wgmma_wait without wgmma_commit before it");
        w.state = IDLE;
        for (int i = 0; i < w.products && opt.lazy; i++) make(w, w.product[i], (int)(number % 4) * 16);
        for (int l = 0; l < 32; l++) {
            for (int i = 0; i < w.values; i++)
                if (memcmp(&w.sums[l][i], &IN_FLIGHT, 4)) fail(at, "lane %d wrote its sums before wgmma_wait", l);
            copy(w.sums[l], w.value[l], w.values);
        }
    }
}

void wgmma(collective_kind kind, const wgmma_in &in, site at)
{
    cuda_thread *t = static_cast<cuda_thread *>(self);
    cuda_block *b = t->home;
    if (device.major != 9 || device.minor != 0) fail(at, "wgmma: not available on sm_%d%d", device.major, device.minor);
    if (b->threads.size() < (t->number / 128 + 1) * 128)
        fail(at, "wgmma: the last warpgroup of the block is not complete");
    if (!b->wgmma) {
        b->wgmma = new wgmma_block;
        forget(b->wgmma);
    }
    wgmma_warp &w = b->wgmma->warp[t->number / 32];
    if (kind == WGMMA) {
        check(in, t, at);
        if (!b->published)
            fail(at, "wgmma: shared memory was written, and not all threads called wgmma_publish before the barrier");
    }
    if (kind == WGMMA_WAIT && w.state == COMMITTED)
        for (int i = 0; i < w.products; i++)
            for_units(w.product[i].a[t->lane], w.product[i].b, w.product[i].columns, t,
                      [](const unsigned char *p, const char *) {
                          if (__tsan_read16) __tsan_read16((void *)p);
                      });
    collective(kind, 0xffffffffu, &in, nullptr, at);
}

void wgmma_loaded(const cuda_thread *t)
{
    if (t->home->wgmma) t->home->wgmma->warp[t->number / 32].loaded = true;
}

/* wgmma reads shared memory through the async proxy. A store is visible to wgmma only after every thread has called
 * wgmma_publish() and a barrier. */

void wgmma_publish()
{
    cuda_thread *t = static_cast<cuda_thread *>(self);
    t->published = t->home->publishes = true;
}

static uint64_t contents(const cuda_block *b)
{
    uint64_t h = 1;
    for (size_t i = (b->whole ? 0 : b->dynamic) / 8 * 8; i + 8 <= b->used; i += 8) {
        uint64_t word;
        memcpy(&word, b->arena + i, 8);
        h = (h ^ word) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return h;
}

void wgmma_barrier(cuda_block *b)
{
    if (!b->publishes) return;
    bool all = true;
    for (cuda_thread &t : b->threads) {
        all &= t.published;
        t.published = false;
    }
    const uint64_t now = contents(b);
    b->published = all || (b->published && b->contents == now);
    b->contents = now;
}

void wgmma_block_begin(cuda_block *b)
{
    b->publishes = b->published = false;
    if (b->wgmma) forget(b->wgmma);
}

void wgmma_block_end(const cuda_block *b)
{
    for (unsigned k = 0; b->wgmma && !failed() && k < b->threads.size() / 32; k++) {
        const wgmma_warp &w = b->wgmma->warp[k], &first = b->wgmma->warp[k / 4 * 4];
        if (w.state != IDLE) report({nullptr, 0}, "warp %u of block %u ends with pending products", k, b->index.x);
        if (w.made != first.made)
            report({nullptr, 0}, "diverged warpgroup: warp %u of block %u made %u products, warp %u made %u", k,
                   b->index.x, w.made, k / 4 * 4, first.made);
    }
}

} // namespace sim
