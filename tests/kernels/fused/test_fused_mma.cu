/* Compares fused convolutions on tensor cores with simple loops in double. The cases of each kernel cycle through all
 * prologues and epilogues. Values after a prologue are small multiples of a power of two, so that sums are exact in
 * any order. The test rounds operands as the kernels do. Tolerances are those of test_conv_mma.cu. Sums that an
 * epilogue computes must agree with the stored results. In bf16 each launch is repeated with bf16 tensors. */
#include "fused_case.h"
extern "C" {
#include "core/tune/conv_tiles.h"
}

enum { FWD, DX };
struct tile {
    int dir;
    bool small; /* cells (conv_mma.cuh) are 4x4 instead of 8x8 */
    int m, n;
};
enum { MMA, WGMMA, FP16 };
#define F(SMALL, M, N, ...) {FWD, SMALL, M, N},
#define D(SMALL, M, N, ...) {DX, SMALL, M, N},
static const std::vector<tile> tiles[] = {{DG_MMA_FWD_TILES(F) DG_MMA_DX_TILES(D)},
                                          {DG_WGMMA_FWD_TILES(F) DG_WGMMA_DX_TILES(D)},
                                          {DG_FP16_FWD_TILES(F) DG_MMA_DX_TILES(D)}};
#undef F
#undef D

/* Returns the k-th of the tiles that match the other arguments, cyclically. */
static const tile *tile_of(int list, int dir, bool small, int k)
{
    std::vector<const tile *> mine;
    for (const tile &t : tiles[list])
        if (t.dir == dir && t.small == small) mine.push_back(&t);
    return mine[(size_t)k % mine.size()];
}

/* N, H, W, channels of the operand, channels of the result. The first two shapes use small cells (4x4). */
static const int shapes[][5] = {
    {6, 7, 8, 32, 40}, {18, 6, 8, 48, 72}, {2, 18, 20, 32, 24}, {6, 12, 10, 48, 136}, {4, 17, 9, 32, 8}};

struct setup {
    const char *name;
    dg_prologue_kind in;
    int in_groups;
    dg_epilogue_kind out;
    int out_groups;
    bool wanted; /* the launch computes dgamma and dbeta */
};
static const setup setups[] = {
    {"norm > stats", DG_PROLOGUE_NORM, 1, DG_EPILOGUE_STATS, 1, false},
    {"norm_dx > norm_dx", DG_PROLOGUE_NORM_DX, 2, DG_EPILOGUE_NORM_DX, 2, true},
    {"plain > stats of two", DG_PROLOGUE_PLAIN, 1, DG_EPILOGUE_STATS, 2, false},
    {"norm_dx > act_dx", DG_PROLOGUE_NORM_DX, 2, DG_EPILOGUE_ACT_DX, 1, false},
    {"norm of two > stats of two", DG_PROLOGUE_NORM, 2, DG_EPILOGUE_STATS, 2, false},
    {"norm_dx > norm_dx, no gradients", DG_PROLOGUE_NORM_DX, 1, DG_EPILOGUE_NORM_DX, 1, false},
    {"norm of two > plain", DG_PROLOGUE_NORM, 2, DG_EPILOGUE_PLAIN, 1, false},
    {"norm_dx of two > stats", DG_PROLOGUE_NORM_DX, 2, DG_EPILOGUE_STATS, 1, false},
    {"plain > act_dx", DG_PROLOGUE_PLAIN, 1, DG_EPILOGUE_ACT_DX, 1, false},
    {"norm_dx > plain", DG_PROLOGUE_NORM_DX, 1, DG_EPILOGUE_PLAIN, 1, false},
    {"norm > norm_dx", DG_PROLOGUE_NORM, 1, DG_EPILOGUE_NORM_DX, 2, true},
};

static double number(uint16_t half, dg_math math)
{
    const int places = half >> 10 & 31;
    const uint32_t bits = (uint32_t)half << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    if (math == DG_MATH_BF16) return (double)f;
    return ldexp((half & 1023) + (places ? 1024 : 0), (places ? places : 1) - 25) * (half >> 15 ? -1 : 1);
}

static int launched;

/* Tests one kernel, if it exists, with `times` consecutive launches. */
static void one(int dir, const setup &how, const int *d, int list, int k, int split, int times)
{
    static const dg_math maths[] = {DG_MATH_BF16, DG_MATH_BF16, DG_MATH_FP16};
    const dg_math math = maths[list];
    const bool forward = dir == FWD, bf16 = math == DG_MATH_BF16;
    const dg_variant *const variant = list == WGMMA ? &dg_conv_variant_wgmma : &dg_conv_variant_mma;
    dg_gpu gpu = dev_gpu(200 << 10, math);
    if (!dev_fuses(math, &gpu)) return;
    gpu = dev_gpu_of(variant, gpu);
    fused_conv c(forward, dg_ref_conv_shape(d[0], d[1], d[2], d[forward ? 3 : 4], d[forward ? 4 : 3], 4, 2, 1), how.in,
                 how.in_groups, 0.25f, how.out, how.out_groups, DG_ACT_LEAKY, how.name);
    /* without an exponent shift these gradients would be subnormal in fp16 */
    const int shift = !bf16 && how.in != DG_PROLOGUE_NORM ? 20 : 0;
    (forward ? c.op.u.conv.shift_x : c.op.u.conv.shift_y) = shift;
    c.in.shrink(shift);
    const tile *const tile = tile_of(list, dir, d[2] / 2 <= DG_MMA_SMALL, k);
    c.tune.variant = variant;
    c.tune.tile_m = tile->m, c.tune.tile_n = tile->n;
    c.tune.split = split;
    if (dg_variant_check(&c.op, &c.tune, DG_F32, &gpu)) return;
    launched++;
    for (int i = 0; i < 16 * d[3] && forward; i++) c.w[(size_t)i] += 1; /* makes the mean of one channel far from 0 */
    c.d_w.put(c.w);
    dev_buffer<char> rounded(c.w.size() * sizeof(float));
    const dg_rounded weights = {c.d_w.p, rounded.p, (int64_t)c.w.size(), math};
    dg_round_weights(&weights, 0);
    c.f.conv = c.op.u.conv; /* w is not set, because the launch reads rounded weights */
    c.f.rounded = rounded.p;
    if (!how.wanted) c.out.s.dgamma = c.out.s.dbeta = nullptr;
    /* the rounded operand for the weight gradient */
    const std::vector<double> value = c.in.values(math, shift);
    const std::vector<uint16_t> nothing(value.size(), 0xffff);
    dev_buffer<uint16_t> factors(nothing);
    c.f.factors = factors.p;
    /* without a prologue, kernels cannot read a bf16 operand of a data gradient */
    const bool reads_halves = bf16 && (forward || how.in != DG_PROLOGUE_PLAIN);
    c.run(gpu, times, {reads_halves, bf16}, shift, [&] {
        const std::vector<uint16_t> is = factors.get();
        size_t bad = 0, at = 0;
        for (size_t i = 0; i < is.size(); i++)
            if (!(number(is[i], math) == ldexp(value[i], shift)) && !bad++) at = i;
        DG_CHECKF(!bad || (c.in.s.rounded && how.in == DG_PROLOGUE_PLAIN),
                  "%s: %zu of %zu factors wrong, the first is %zu", c.name(), bad, is.size(), at);
        factors.put(nothing);
    });
}

static __global__ void merge_kernel(float *parts, const float *rows, int count, dg_merged *out)
{
    SHARED(float, room, [5 * 64]);
    const dg_merged m = dg_merge_parts<64>(true, parts, rows, 0, count, 0, 2, 1, room);
    if (threadIdx.x == 0) *out = m;
}

/* Merges partial sums of two channels, of which the first `empty` have no values, as the blocks of a cluster whose
 * warps have no results. Shifted by the mean 0 of an empty part, the squares would lose a small deviation. */
static void check_empty_parts(int empty)
{
    static const int COUNT = 70;
    static const double VALUES = 8;
    std::vector<float> parts(4 * COUNT, 0), rows(COUNT, 0);
    double sum[2] = {0, 0}, squares[2] = {0, 0};
    const double n = VALUES * (COUNT - empty);
    auto mean = [](int i, int c) { return 3000 + 0.0625 * i - 6000 * c; };
    for (int i = empty; i < COUNT; i++) {
        rows[(size_t)i] = (float)VALUES;
        for (int c = 0; c < 2; c++) {
            parts[(size_t)(4 * i + 2 * c)] = (float)mean(i, c);
            parts[(size_t)(4 * i + 2 * c + 1)] = 0.5f;
            sum[c] += VALUES * mean(i, c);
            squares[c] += 0.5;
        }
    }
    for (int c = 0; c < 2; c++)
        for (int i = empty; i < COUNT; i++) squares[c] += VALUES * pow(mean(i, c) - sum[c] / n, 2);
    dev_buffer<float> d_parts(parts), d_rows(rows);
    dev_buffer<dg_merged> out(1);
    KLAUNCH(merge_kernel, dim3(1), dim3(64), 0, 0, d_parts.p, d_rows.p, COUNT, out.p);
    if (!DG_CHECK(dev_ok("empty parts"))) return;
    const dg_merged m = out.get()[0];
    DG_CHECKF((double)m.n == n, "%g values, expected %g", (double)m.n, n);
    for (int c = 0; c < 2; c++) {
        DG_NEAR((double)m.shift[c] + (double)m.a[c] / n, sum[c] / n, 1e-3);
        DG_NEAR((double)m.b[c] - (double)m.a[c] * (double)m.a[c] / n, squares[c], 1e-3 * squares[c]);
    }
}

/* AddressSanitizer checks a third of the cases, with every tile: wrong addresses do not depend on all combinations. */
#ifdef __SANITIZE_ADDRESS__
enum { STEP = 3 };
#else
enum { STEP = 1 };
#endif

int main()
{
    const int count = (int)(sizeof setups / sizeof *setups);
    int used[count] = {}, list[2][count], lists[2] = {}, turn[2] = {};
    for (int k = 0; k < count; k++) {
        const int two = setups[k].in == DG_PROLOGUE_NORM_DX;
        list[two][lists[two]++] = k;
    }
    /* 16 cases per kernel, which cycle through its prologues and epilogues */
    for (int i = 0; i < 48; i++) {
        const int dir = i & 1, tile = i >> 1 & 1, large = i >> 2 & 1, two = i >> 3 & 1, of = i >> 4, t = turn[two]++;
        const int k = list[two][t / 2 % lists[two]];
        used[k] |= 1 << dir;
        if (i % STEP || (dev_small() && i % 5 != 1)) continue;
        const int *const shape = shapes[dev_small() ? large * 2 : large ? 2 + t % 3 : t % 2];
        one(dir, setups[k], shape, of, tile, 1 + i % 3 % (shape[3] / 16), i % 8 == 3 ? 3 : 1);
    }
    /* every wgmma tile, also in clusters, for shapes that tiles do not divide */
    const int before = launched, all = dev_small() ? 0 : 3 * count / STEP;
    for (int i = 0; i < all; i++) {
        static const int parts[] = {1, 3, 8, 2, 5, 4};
        const int split = parts[(i / 3 + i) % 6], deep = split == 8 ? 144 : 80; /* each part has 16 channels or more */
        const int shape[2][5] = {{2, 10, 14, deep, 72}, {2, 6, 8, deep, 72}};
        one(i & 1, setups[i * STEP / 3], shape[i >> 1 & 1], WGMMA, i / 4, split, 1);
    }
    DG_CHECKF(launched == before || launched == before + all, "%d launches of %d", launched - before, all);
    for (int k = 0; k < count; k++) DG_CHECKF(used[k] == 3, "%s was not tested", setups[k].name);
    if (!dev_small()) { /* runs so many blocks that their sums are merged in two steps */
        static const int many[2][5] = {{280, 4, 4, 16, 8}, {148, 3, 4, 16, 8}};
        one(FWD, setups[2], many[0], MMA, 0, 1, 2);
        one(DX, setups[1], many[1], MMA, 0, 1, 2);
    }
    check_empty_parts(0);
    check_empty_parts(2);
    printf("%d launches compared\n", launched);
    return dg_test_report();
}
