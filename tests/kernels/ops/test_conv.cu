/* Every variant of the convolutions, with every tile and number of stages and some splits, against plain loops in
 * double: each element within 4 sqrt(terms) eps sum|a||b|, as the CPU's kernels are held. */
#include <float.h>

#include "tests/run_conv.h"
extern "C" {
#include "core/tune/conv_tiles.h"
#include "tests/reference_conv.h"
#include "core/tune/tune.h"
}

/* N, H, W, Ci, Co, K, S, P */
static const int shapes[][8] = {
    {2, 5, 7, 3, 5, 4, 2, 1},   {1, 1, 1, 1, 1, 1, 1, 0},    {3, 6, 5, 2, 3, 3, 3, 1},     {2, 4, 6, 3, 2, 2, 3, 2},
    {2, 8, 8, 8, 12, 4, 2, 1},  {3, 4, 4, 20, 8, 4, 2, 1},   {1, 10, 6, 36, 4, 4, 2, 1},   {2, 7, 9, 4, 8, 4, 2, 1},
    {5, 6, 6, 4, 36, 3, 1, 1},  {2, 7, 8, 8, 4, 5, 2, 2},    {1, 9, 7, 4, 4, 3, 3, 0},     {2, 5, 5, 12, 8, 1, 2, 0},
    {3, 4, 4, 4, 20, 4, 1, 0},  {34, 4, 4, 8, 40, 4, 1, 0},  {9, 4, 4, 8, 1, 4, 1, 0},     {3, 2, 2, 3, 3, 2, 1, 0},
    {2, 16, 16, 3, 8, 4, 2, 1}, {1, 36, 70, 3, 36, 4, 2, 1}, {3, 6, 4, 1, 4, 4, 2, 1},     {1, 9, 66, 1, 8, 4, 2, 1},
    {10, 2, 2, 4, 4, 4, 2, 1},  {2, 20, 18, 40, 8, 4, 2, 1}, {1, 12, 12, 68, 72, 4, 2, 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const dg_gpu gpu = dev_gpu(200 << 10, DG_MATH_FP32);

struct problem {
    dg_ref_conv s;
    std::vector<double> value[3], want[3], mass[3]; /* y, x, w: what fwd, dx and dw write */
    std::vector<int> terms[3];
    size_t tested = 0;

    explicit problem(const int *d) : s(dg_ref_conv_shape(d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]))
    {
        static unsigned long long seed = 1;
        const size_t count[] = {(size_t)s.N * s.Ho * s.Wo * s.Co, (size_t)s.N * s.H * s.W * s.Ci,
                                (size_t)s.Co * s.K * s.K * s.Ci};
        for (int i = 0; i < 3; i++) {
            value[i].resize(count[i]);
            want[i].resize(count[i]);
            mass[i].resize(count[i]);
            terms[i].resize(count[i]);
            for (double &v : value[i]) v = (double)(float)dg_test_random(&seed);
        }
        dg_ref_conv_fwd(want[0].data(), mass[0].data(), terms[0].data(), value[1].data(), value[2].data(), &s);
        dg_ref_conv_dx(want[1].data(), mass[1].data(), terms[1].data(), value[0].data(), value[2].data(), &s);
        dg_ref_conv_dw(want[2].data(), mass[2].data(), terms[2].data(), value[1].data(), value[0].data(), &s);
    }

    template <class real> void run(int d, dg_tune tune)
    {
        dg_op op = conv_op(d, s);
        const dg_type type = sizeof(real) == 8 ? DG_F64 : DG_F32;
        if (dg_variant_check(&op, &tune, type, &gpu)) return;
        if (tune.variant == &dg_conv_variant_cublas && !dev_cublas()) return;
        std::vector<real> in[3], result;
        for (int i = 0; i < 3; i++) in[i].assign(value[i].begin(), value[i].end());
        char name[200];
        if (!run_conv(&op, d, &tune, in, &result, name)) return;
        compare(result, d, name);
        tested++;
    }

    template <class real> void compare(const std::vector<real> &got, int d, const char *name)
    {
        const double eps = sizeof(real) == 8 ? DBL_EPSILON : (double)FLT_EPSILON;
        size_t bad = 0, at = 0;
        for (size_t i = 0; i < got.size(); i++) {
            if (fabs((double)got[i] - want[d][i]) <= 4 * sqrt(terms[d][i]) * eps * mass[d][i]) continue;
            if (!bad++) at = i;
        }
        DG_CHECKF(!bad, "%s: %zu of %zu wrong, at %zu %.9g instead of %.9g", name, bad, got.size(), at,
                  bad ? (double)got[at] : 0, bad ? want[d][at] : 0);
    }
};

static dg_tune tune_of(const dg_variant *variant, int m, int n, int stages, int split)
{
    dg_tune t = {};
    t.variant = variant;
    t.tile_m = m;
    t.tile_n = n;
    t.stages = stages;
    t.split = split;
    return t;
}

/* Everything that a tuning row could say of this shape and direction, more or less. */
static void all_variants(problem *p, int d, int number)
{
    static const int splits[] = {1, 2, 3, 7};
    for (const dg_variant *variant : dg_op_info_of(kind_of[d])->variants) {
        if (!variant) break;
        const dg_tune plain = tune_of(variant, 0, 0, 0, 0);
        if (variant == &dg_conv_variant_direct) p->run<double>(d, plain);
        if (variant == &dg_conv_variant_direct || variant == &dg_conv_variant_gemv ||
            variant == &dg_conv_variant_cublas)
            p->run<float>(d, plain);
        if (variant == &dg_conv_variant_thin)
            for (int split : splits) {
                p->run<float>(d, tune_of(variant, 0, 0, 0, split));
                p->run<float>(d, tune_of(variant, 0, 0, 3, split));
            }
        int k = number; /* which combination is next: all of them over the shapes, some for each */
#define X(M, N, TM, TN)                                                         \
    if (variant == &dg_conv_variant_tiled && (!dev_small() || k % 3 == 0))      \
        p->run<float>(d, tune_of(variant, M, N, 2 + k % 3, splits[k / 3 % 4])); \
    k++;
        DG_TILED_TILES(X)
#undef X
#define X(M, N)                                                                 \
    if (variant == &dg_conv_variant_patch && (!dev_small() || k % 3 == 0))      \
        p->run<float>(d, tune_of(variant, M, N, 2 + k % 3, splits[k / 3 % 4])); \
    k++;
        DG_PATCH_TILES(X)
#undef X
    }
}

/* The same twice gives the same bits, in whatever order blocks ran. */
int main()
{
    size_t tested = 0;
    for (int i = 0; i < SHAPES; i++) {
        if (dev_small() && i % 4) continue;
        problem p(shapes[i]);
        for (int d = 0; d < 3; d++) all_variants(&p, d, i);
        tested += p.tested;
    }
    printf("%zu launches compared\n", tested);
    return dg_test_report();
}
