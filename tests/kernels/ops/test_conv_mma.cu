/* Convolutions on tensor cores, 4x4 with every tile in all precisions, 3x3 and 1x1, against the reference. Operands are
 * rounded here as the kernels round them. Each element is within 8 sqrt(terms) eps sum|a||b| of the reference. */
#include "tests/run_conv.h"

/* N, H, W, Ci, Co, which directions (1 fwd, 2 dx, 4 dw), and K and S if they are not 4 and 2; pad is half of K */
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
    /* thin_mma */
    {2, 7, 5, 3, 8, 7},
    {1, 9, 33, 1, 20, 7},
    {1, 16, 66, 3, 36, 7},
    {3, 18, 32, 3, 52, 7},
    {2, 2, 3, 1, 4, 7},
    /* mma_odd */
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

/* For fp16: the size of gradients and the shift of their exponent. The cases are no shift, a shift out of the
 * subnormals, and a shift to the end of the range. */
static const struct {
    float size;
    int shift;
} gradients[] = {{1, 0}, {1e-6f, 18}, {1e3f, 8}};

struct problem : conv_problem {
    int shift[2] = {}; /* shifts of y and of x; one of the two is a gradient */
    dg_gpu gpu;
    int tested = 0;

    problem(const int *d, dg_math math, int number)
        : conv_problem(d[6] ? dg_ref_conv_shape(d[0], d[1], d[2], d[3], d[4], d[6], d[7], d[6] / 2)
                            : dg_ref_conv_shape(d[0], d[1], d[2], d[3], d[4], 4, 2, 1)),
          gpu(dev_gpu(200 << 10, math))
    {
        const auto &gradient = gradients[number % 3];
        const int side = number / 3 % 2;
        if (math == DG_MATH_FP16) {
            shift[side] = gradient.shift;
            for (float &v : value[side]) v *= gradient.size;
        }
        expect(d[5], math, shift);
    }

    /* False if there is no such kernel. */
    bool run(const dg_variant *variant, int d, int m, int n, int split)
    {
        dg_op op = conv_op(d, s);
        op.u.conv.shift_x = shift[1];
        op.u.conv.shift_y = shift[0];
        dg_tune tune = {};
        tune.variant = variant;
        tune.tile_m = m;
        tune.tile_n = n;
        tune.split = split;
        const dg_gpu here = variant == &dg_conv_variant_mma_odd ? gpu : dev_gpu_of(variant, gpu);
        if (dg_variant_check(&op, &tune, DG_F32, &here)) return false;
        std::vector<float> in[3] = {value[0], value[1], value[2]}, result;
        char name[200];
        if (run_conv(&op, d, &tune, in, &result, name)) compare(result, d, 8, name);
        tested++;
        return true;
    }
};

/* The maps for which a tile exists, by precision and tile number. SMALL maps use cells of 4x4. NOWHERE: mma does
 * not run the tile, because wgmma replaces mma. */
enum { ALL, LARGE, SMALL, NOWHERE };
static int maps_of[2][20];

/* Each shape runs some tiles, and all shapes together run all tiles. Splits change from tile to tile. */
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
    if (p->s.Ci == 1 || p->s.Ci == 3) {
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
        if (of && (of == SMALL) != (p->s.Wo <= DG_MMA_SMALL)) return;
        if (!(shape[5] >> d & 1) || k % step) return;
        if (p->run(variant, d, m, n, 1 + k / step % 3) || p->run(variant, d, m, n, 1))
            seen[mine][p->s.Wo <= DG_MMA_SMALL]++;
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

/* Operands that are not finite give results that are not finite. Finite operands beyond fp16's range are clamped. */
static void not_finite()
{
    static const int shape[8] = {1, 4, 4, 16, 16, 7};
    for (int d = 0; d < 3; d++)
        for (float bad : {INFINITY, -INFINITY, NAN, 1e30f}) {
            problem p(shape, DG_MATH_FP16, 0);
            p.shift[d == 1 ? 0 : 1] = 12;
            p.value[d == 1 ? 0 : 1][5] = bad;
            dg_op op = conv_op(d, p.s);
            op.u.conv.shift_x = p.shift[1];
            op.u.conv.shift_y = p.shift[0];
            dg_tune tune = {};
            tune.variant = &dg_conv_variant_mma;
            const char *why = dg_variant_check(&op, &tune, DG_F32, &p.gpu);
            if (!DG_CHECKF(!why, "%s", why)) continue;
            std::vector<float> in[3] = {p.value[0], p.value[1], p.value[2]}, result;
            char name[200];
            if (!run_conv(&op, d, &tune, in, &result, name)) continue;
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
    const dg_gpu gpu = dev_gpu(200 << 10, DG_MATH_BF16); /* a smaller GPU does not have all tiles */
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
