/* Convolutions of 3x3 and of one pixel on tensor cores, against the reference. Operands are rounded here as the kernels
 * round them. Each element is within 8 sqrt(terms) eps sum|a||b|. Repeated launches give the same bits. */
#include "tests/run_conv.h"

/* N, H, W, Ci, Co, K, S; pad is half of K */
static const int shapes[][7] = {
    {1, 1, 1, 16, 16, 3, 1},   {3, 2, 2, 32, 24, 3, 1},  {3, 7, 7, 16, 40, 3, 1},   {2, 5, 9, 48, 16, 3, 1},
    {3, 4, 4, 32, 72, 3, 1},   {1, 14, 13, 16, 8, 3, 1}, {2, 8, 12, 24, 16, 3, 1},  {2, 3, 33, 16, 72, 3, 1},
    {3, 1, 1, 80, 144, 1, 1},  {3, 7, 7, 16, 24, 1, 1},  {2, 5, 9, 144, 16, 1, 1},  {1, 14, 13, 40, 136, 1, 1},
    {2, 9, 17, 64, 32, 1, 1},  {3, 7, 7, 32, 24, 1, 2},  {1, 8, 11, 80, 16, 1, 2},  {2, 9, 5, 16, 40, 1, 3},
    {3, 7, 7, 16, 40, 3, 2},   {2, 8, 6, 32, 16, 3, 2},  {1, 5, 11, 16, 24, 3, 2},  {2, 2, 1, 16, 16, 3, 2},
    {1, 18, 20, 16, 16, 3, 1}, {1, 1, 70, 96, 16, 1, 1}, {2, 16, 16, 16, 16, 3, 1}, {3, 12, 12, 16, 16, 1, 2},
};

static int tested, refused[3];

static bool same_bits(const std::vector<float> &a, const std::vector<float> &b)
{
    return a.size() == b.size() && !memcmp(a.data(), b.data(), a.size() * sizeof(float));
}

static void one(const conv_problem &p, int d, int split)
{
    const dg_gpu gpu = dev_gpu(200 << 10, DG_MATH_BF16);
    dg_op op = conv_op(d, p.s);
    dg_tune tune = {};
    tune.variant = &dg_conv_variant_mma_odd;
    tune.split = split;
    const char *why = dg_variant_check(&op, &tune, DG_F32, &gpu);
    const int summed = d == 0 ? p.s.Ci : d == 1 ? p.s.Co : DG_MMA_CHUNK;
    if (why) {
        DG_CHECKF(summed % DG_MMA_CHUNK || split > 1 || gpu.arch < 80, "%s", why);
        refused[d]++;
        return;
    }
    std::vector<float> in[3] = {p.value[0], p.value[1], p.value[2]}, got, again;
    char name[200];
    if (!run_conv(&op, d, &tune, in, &got, name)) return;
    p.compare(got, d, 8, name);
    if (!dev_small() && run_conv(&op, d, &tune, in, &again, name))
        DG_CHECKF(same_bits(got, again), "%s: other bits again", name);
    tested++;
}

int main()
{
    int number = 0;
    for (const int *d : shapes) {
        number++;
        if (dev_small() && d[0] * d[1] * d[2] * d[5] > 300) continue;
        conv_problem p(dg_ref_conv_shape(d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[5] / 2));
        p.expect(7, DG_MATH_BF16);
        for (int k = 0; k < 3; k++)
            for (int split : {1, 2 + number % 2}) one(p, k, split);
    }
    const dg_gpu gpu = dev_gpu(200 << 10, DG_MATH_BF16);
    DG_CHECKF(gpu.arch < 80 || tested > 50 || dev_small(), "%d launches are too few", tested);
    printf("%d launches compared\n", tested);
    return dg_test_report();
}
