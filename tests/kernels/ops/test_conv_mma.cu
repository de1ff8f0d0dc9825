/* Compares convolutions on tensor cores with the reference. 4x4 convolutions use every tile in all precisions. The
 * test rounds operands as the kernels do. Each result is within 8 sqrt(terms) eps sum|a||b| of the reference. */
#include <float.h>

#include "tests/all_ops.h"
#include "tests/devtest.h"
#include "kernels/ops/conv/cuda/conv.cuh"
extern "C" {
#include "core/plan/precision.h"
#include "core/plan/work.h"
#include "core/tune/conv_tiles.h"
#include "tests/reference_conv.h"
}

/* N, H, W, Ci, Co, bit set of ops (1 fwd, 2 dx, 4 dw), K, S. P is K / 2. If K and S are missing, K is 4, S is 2 and P
 * is 1. */
static const int shapes[][8] = {
    {1, 4, 4, 16, 16, 7},
    {3, 8, 8, 32, 16, 7},
    {5, 8, 6, 16, 72, 7},
    {2, 5, 7, 16, 24, 1},
    {1, 6, 10, 24, 16, 6},
    {3, 12, 14, 48, 8, 1},
    {1, 16, 16, 16, 136, 1},
    {1, 36, 34, 16, 8, 5},
    {2, 20, 18, 40, 32, 6},
    {1, 9, 33, 72, 16, 2},
    {1, 64, 64, 8, 16, 7},
    {1, 10, 12, 8, 8, 7},
    {17, 4, 4, 16, 16, 7},
    {3, 2, 2, 16, 16, 7},
    /* for thin_mma */
    {2, 7, 5, 3, 8, 7},
    {1, 9, 33, 1, 20, 7},
    {1, 16, 66, 3, 36, 7},
    {3, 18, 32, 3, 52, 7},
    {2, 2, 3, 1, 4, 7},
    /* for mma_odd */
    {1, 1, 1, 16, 16, 7, 3, 1},
    {3, 7, 7, 16, 40, 5, 3, 1},
    {2, 5, 9, 48, 16, 7, 3, 1},
    {3, 4, 4, 32, 72, 5, 3, 1},
    {2, 3, 33, 16, 72, 5, 3, 1},
    {2, 8, 12, 24, 16, 6, 3, 1},
    {3, 1, 1, 80, 144, 7, 1, 1},
    {2, 5, 9, 144, 16, 7, 1, 1},
    {1, 14, 13, 40, 136, 4, 1, 1},
    {3, 7, 7, 32, 24, 5, 1, 2},
    {2, 9, 5, 16, 40, 5, 1, 3},
    {3, 7, 7, 16, 40, 5, 3, 2},
    {2, 8, 6, 32, 16, 7, 3, 2},
    {2, 2, 1, 16, 16, 7, 3, 2},
};

/* Magnitudes and exponent shifts of fp16 gradients: no shift, a shift out of the subnormals, and a shift to the end of
 * the range. */
static const struct {
    float size;
    int shift;
} gradients[] = {{1, 0}, {1e-6f, 18}, {1e3f, 8}};

struct problem {
    dg_op op[3]; /* conv_fwd writes y, conv_dx writes x, conv_dw writes w */
    dg_gpu gpu;
    int shift[2] = {};           /* exponent shifts of y and x, nonzero only for a gradient */
    std::vector<float> value[3]; /* values of y, x and w */
    std::vector<double> want[3], mass[3];
    std::vector<int> terms[3];
    int tested = 0;

    problem(const int *d, dg_math math, int number) : op(), gpu(dev_gpu(200 << 10, math))
    {
        for (int i = 0; i < 3; i++) {
            op[i].kind = (dg_op_kind)(DG_OP_conv_fwd + i);
            op[i].u.conv = dg_ref_conv_shape(d[0], d[1], d[2], d[3], d[4], d[6] ? d[6] : 4, d[6] ? d[7] : 2,
                                             d[6] ? d[6] / 2 : 1);
            value[i] = dev_random((size_t)dg_operand_count(&op[i], 0), (unsigned long long)(i + 1));
        }
        const auto &gradient = gradients[number % 3];
        const int side = number / 3 % 2;
        if (math != DG_MATH_FP16) return;
        shift[side] = gradient.shift;
        for (float &v : value[side]) v *= gradient.size;
    }

    /* Runs op[d], whose result starts as NaN, and sets `name` for messages. If the launch fails, prints the error and
     * returns false. */
    bool launch(int d, const dg_tune *tune, std::vector<float> *result, char (&name)[200])
    {
        dg_conv_args *a = &op[d].u.conv;
        dev_buffer<float> y(value[0]), x(value[1]), w(value[2]), *const out = d == 0 ? &y : d == 1 ? &x : &w;
        out->put(std::vector<float>(out->n, NAN));
        op[d].tune = *tune;
        dev_buffer<char> scratch(dg_scratch_of(&op[d], DG_F32));
        a->x = x.p, a->y = y.p, a->w = w.p;
        a->scratch = scratch.n ? scratch.p : nullptr;
        const int n = snprintf(name, sizeof name, "%s ", dg_precision_name(DG_F32, tune->math));
        dg_tune_text(name + n, sizeof name - (size_t)n, &op[d], tune);
        dev_op = name;
        if (d == 0) dg_cuda_conv_fwd<float>(a, tune, 0);
        if (d == 1) dg_cuda_conv_dx<float>(a, tune, 0);
        if (d == 2) dg_cuda_conv_dw<float>(a, tune, 0);
        if (!dev_ok(name)) return false;
        *result = out->get();
        return true;
    }

    /* Computes expected results from operands that are rounded as in kernels, so that only sums may differ. */
    void expect(int d)
    {
        std::vector<double> in[3];
        for (int i = 0; i < 3; i++)
            for (float v : value[i]) in[i].push_back(dev_rounded((double)v, gpu.math, i < 2 ? shift[i] : 0));
        want[d].resize(in[d].size()), mass[d].resize(in[d].size()), terms[d].resize(in[d].size());
        dg_conv_args a = op[d].u.conv;
        a.y = (d == 0 ? want : in)[0].data();
        a.x = (d == 1 ? want : in)[1].data();
        a.w = (d == 2 ? want : in)[2].data();
        dg_ref_conv(op[d].kind, &a, 1, mass[d].data(), terms[d].data());
    }

    void compare(int d, const std::vector<float> &got, const char *name)
    {
        size_t bad = 0, at = 0;
        if (want[d].empty()) expect(d);
        for (size_t i = 0; i < got.size(); i++)
            if (!(fabs((double)got[i] - want[d][i]) <= 8 * sqrt(terms[d][i]) * (double)FLT_EPSILON * mass[d][i]) &&
                !bad++)
                at = i;
        DG_CHECKF(!bad, "%s: %zu of %zu wrong, at %zu %.9g instead of %.9g", name, bad, got.size(), at, (double)got[at],
                  want[d][at]);
    }

    /* Returns false if the kernel does not exist. */
    bool run(const dg_variant *variant, int d, int m, int n, int split)
    {
        dg_tune tune = {};
        tune.variant = variant;
        tune.tile_m = m;
        tune.tile_n = n;
        tune.split = split;
        op[d].u.conv.shift_x = shift[1];
        op[d].u.conv.shift_y = shift[0];
        const dg_gpu here = variant == &dg_conv_variant_mma_odd ? gpu : dev_gpu_of(variant, gpu);
        if (dg_variant_check(&op[d], &tune, DG_F32, &here)) return false;
        std::vector<float> result;
        char name[200];
        if (launch(d, &tune, &result, name)) compare(d, result, name);
        tested++;
        return true;
    }
};

/* Maps that a tile supports, by precision and tile number. SMALL tiles support only maps with 4x4 cells
 * (conv_mma.cuh). NOWHERE tiles are unused, because wgmma replaces mma. */
enum { ALL, LARGE, SMALL, NOWHERE };
static int maps_of[2][20];

/* Each shape runs some tiles, and all shapes together run all tiles. The split of sums differs from tile to tile. */
static int all_tiles(problem *p, const int *shape, int number, int (*seen)[3], int *maps)
{
    int k = number, tile = 0;
    if (shape[6]) {
        for (int i = 0; i < 6 && p->gpu.math == DG_MATH_BF16; i++) {
            const int d = i / 2, split = 1 + i % 2 * (1 + number % 2);
            if (!(shape[5] >> d & 1)) continue;
            const bool ran = p->run(&dg_conv_variant_mma_odd, d, 0, 0, split);
            DG_CHECKF(ran || split > 1 || p->gpu.arch < 80, "shape %d, direction %d: mma_odd refuses it", number, d);
        }
        return 0;
    }
    if (p->op[0].u.conv.Ci == 1 || p->op[0].u.conv.Ci == 3) {
        for (int d = 0; d < 3; d++)
            DG_CHECK((d == 2 && p->run(&dg_conv_variant_thin_mma, d, 0, 0, 2)) ||
                     p->run(&dg_conv_variant_thin_mma, d, 0, 0, 0) || p->gpu.arch < 80 || p->gpu.math == DG_MATH_FP16);
        return 0;
    }
    auto next = [&](const dg_variant *variant, int d, int m, int n, int of = ALL) {
        k++;
        const int step = dev_small() ? 3 : 2, mine = tile++;
        if (d == 0 && p->gpu.math == DG_MATH_BF16 && variant == &dg_conv_variant_mma &&
            dev_gpu_of(variant, p->gpu).wgmma)
            of = NOWHERE;
        maps[mine] = of;
        if (of == NOWHERE) return;
        if (of && (of == SMALL) != (p->op[0].u.conv.Wo <= DG_MMA_SMALL)) return;
        if (!(shape[5] >> d & 1) || k % step) return;
        if (p->run(variant, d, m, n, 1 + k / step % 3) || p->run(variant, d, m, n, 1))
            seen[mine][p->op[0].u.conv.Wo <= DG_MMA_SMALL]++;
    };
#define X(OF_SMALL, M, N, ...) next(&dg_conv_variant_mma, 0, M, N, OF_SMALL ? SMALL : LARGE);
#define Y(OF_SMALL, M, N, ...) next(&dg_conv_variant_mma, 1, M, N, OF_SMALL ? SMALL : LARGE);
    if (p->gpu.math == DG_MATH_FP16) {
        DG_FP16_FWD_TILES(X)
        DG_MMA_DX_TILES(Y)
    } else {
        DG_MMA_FWD_TILES(X)
        DG_MMA_DX_TILES(Y)
    }
#undef X
#undef Y
#define X(M, N) next(&dg_conv_variant_mma, 2, M, N);
    DG_MMA_DW_TILES(X)
#undef X
    if (p->gpu.math != DG_MATH_BF16 || p->gpu.arch != 90) return tile;
#define X(OF_SMALL, M, N, ...) next(&dg_conv_variant_wgmma, 0, M, N, OF_SMALL ? SMALL : LARGE);
    DG_WGMMA_FWD_TILES(X)
#undef X
#define X(OF_SMALL, M, N, ...) next(&dg_conv_variant_wgmma, 1, M, N, OF_SMALL ? SMALL : LARGE);
    DG_WGMMA_DX_TILES(X)
#undef X
    return tile;
}

/* Checks that non-finite operands give non-finite results, and that finite operands beyond fp16's range are clamped. */
static void not_finite()
{
    static const int shape[8] = {1, 4, 4, 16, 16, 7};
    for (int d = 0; d < 3; d++)
        for (float bad : {INFINITY, -INFINITY, NAN, 1e30f}) {
            problem p(shape, DG_MATH_FP16, 0);
            p.shift[d == 1 ? 0 : 1] = 12;
            p.value[d == 1 ? 0 : 1][5] = bad;
            p.op[d].u.conv.shift_x = p.shift[1];
            p.op[d].u.conv.shift_y = p.shift[0];
            dg_tune tune = {};
            tune.variant = &dg_conv_variant_mma;
            const char *why = dg_variant_check(&p.op[d], &tune, DG_F32, &p.gpu);
            if (!DG_CHECKF(!why, "%s", why)) continue;
            std::vector<float> result;
            char name[200];
            if (!p.launch(d, &tune, &result, name)) continue;
            bool finite = true;
            for (float v : result) finite = finite && isfinite(v);
            DG_CHECKF(finite == (bool)isfinite(bad), "%s: %g is hidden, or makes what is not finite", name,
                      (double)bad);
        }
}

int main()
{
    const dg_math maths[] = {DG_MATH_BF16, DG_MATH_FP16};
    int tested = 0, tiles[2] = {}, seen[2][20][3] = {};
    const int count = (int)(sizeof shapes / sizeof *shapes);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 2; k++) {
            if (dev_small() && shapes[i][0] * shapes[i][1] * shapes[i][2] > 200) continue;
            problem p(shapes[i], maths[k], i);
            const int had = all_tiles(&p, shapes[i], i + 1 + k, seen[k], maps_of[k]);
            tiles[k] = had ? had : tiles[k];
            tested += p.tested;
        }
    const dg_gpu gpu = dev_gpu(200 << 10, DG_MATH_BF16); /* a smaller GPU supports only some tiles */
    for (int k = 0; k < 2 && !dev_small() && gpu.arch >= 80 && gpu.shared == 200 << 10; k++)
        for (int tile = 0; tile < 2 * tiles[k]; tile++) {
            const bool small = tile & 1;
            const int of = maps_of[k][tile / 2];
            DG_CHECKF(of == NOWHERE || of == (small ? LARGE : SMALL) || seen[k][tile / 2][small],
                      "tile %d of %s, maps %s, was not tested", tile / 2, dg_precision_name(DG_F32, maths[k]),
                      small ? "small" : "large");
        }
    not_finite();
    printf("%d launches compared\n", tested);
    return dg_test_report();
}
