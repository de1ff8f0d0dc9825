/* Convolutions of 3x3 and of one pixel on tensor cores, against plain loops in double. The factors are rounded here as
 * the kernels round them, so that what is left is the rounding of sums: each element within 8 sqrt(terms) eps
 * sum|a||b|. The same launch twice gives the same bits. */
#include <float.h>
#include <string.h>

#include "tests/run_conv.h"
extern "C" {
#include "core/plan/precision.h"
#include "core/tune/tune.h"
#include "tests/reference_conv.h"
}

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

static void one(const dg_ref_conv &s, const std::vector<float> (&value)[3], int d, int split, dg_math math)
{
    const dg_gpu gpu = dev_gpu(200 << 10, math);
    dg_op op = conv_op(d, s);
    dg_tune tune = {};
    tune.variant = &dg_conv_variant_mma_odd;
    tune.split = split;
    const char *why = dg_variant_check(&op, &tune, DG_F32, &gpu);
    const int chunk = 2 * dg_math_unit(math), summed = d == 0 ? s.Ci : d == 1 ? s.Co : chunk;
    if (why) {
        DG_CHECKF(summed % chunk || split > 1 || gpu.arch < 80, "%s", why);
        refused[d]++;
        return;
    }
    std::vector<float> in[3] = {value[0], value[1], value[2]}, got, again;
    char name[200];
    if (!run_conv(&op, d, &tune, in, &got, name)) return;
    std::vector<double> factor[3], want(got.size()), mass(got.size());
    std::vector<int> terms(got.size());
    for (int i = 0; i < 3; i++)
        for (float v : value[i]) factor[i].push_back(dev_rounded((double)v, math, 0));
    if (d == 0) dg_ref_conv_fwd(want.data(), mass.data(), terms.data(), factor[1].data(), factor[2].data(), &s);
    if (d == 1) dg_ref_conv_dx(want.data(), mass.data(), terms.data(), factor[0].data(), factor[2].data(), &s);
    if (d == 2) dg_ref_conv_dw(want.data(), mass.data(), terms.data(), factor[1].data(), factor[0].data(), &s);
    size_t bad = 0, at = 0;
    for (size_t i = 0; i < got.size(); i++)
        if (!(fabs((double)got[i] - want[i]) <= 8 * sqrt(terms[i]) * (double)FLT_EPSILON * mass[i]) && !bad++) at = i;
    DG_CHECKF(!bad, "%s %s: %zu of %zu wrong, at %zu %.9g instead of %.9g", dg_precision_name(DG_F32, math), name, bad,
              got.size(), at, bad ? (double)got[at] : 0, bad ? want[at] : 0);
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
        const dg_ref_conv s = dg_ref_conv_shape(d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[5] / 2);
        const size_t count[] = {(size_t)s.N * s.Ho * s.Wo * s.Co, (size_t)s.N * s.H * s.W * s.Ci,
                                (size_t)s.Co * s.K * s.K * s.Ci};
        std::vector<float> value[3];
        for (int i = 0; i < 3; i++) value[i] = dev_random(count[i], (unsigned long long)(i + 1));
        for (int k = 0; k < 3; k++)
            for (dg_math math : {DG_MATH_BF16, DG_MATH_TF32}) {
                one(s, value, k, 1, math);
                one(s, value, k, 2 + number % 2, math);
            }
    }
    const dg_gpu gpu = dev_gpu(200 << 10, DG_MATH_BF16);
    DG_CHECKF(gpu.arch < 80 || tested > 100 || dev_small(), "%d launches are too few", tested);
    printf("%d launches compared\n", tested);
    return dg_test_report();
}
