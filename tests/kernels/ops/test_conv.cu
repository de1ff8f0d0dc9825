/* Every variant of the convolutions, with every tile and number of stages and some splits, against plain loops in
 * double. Each element is within 4 sqrt(terms) eps sum|a||b|, which is also the tolerance of the CPU kernels. */
#include "tests/run_conv.h"

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

struct problem : conv_problem {
    size_t tested = 0;

    explicit problem(const int *d) : conv_problem(dg_ref_conv_shape(d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]))
    {
        expect(7, DG_MATH_FP32);
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
        compare(result, d, 4, name);
        tested++;
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

/* Tests almost all choices of a tuning row for this shape and direction. */
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
        int k = number; /* index of the combination; each shape tests some, all shapes together test all */
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

/* Running a kernel twice gives the same bits for any order of blocks. */
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
