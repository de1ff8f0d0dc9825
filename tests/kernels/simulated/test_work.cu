/* Compares dg_variant.work with the kernels, blocks, threads and shared memory of actual launches. Tests all variants
 * of dg_variant_list() at even and odd shapes. No kernel runs. */
#include "tests/all_ops.h"
#include "tests/devtest.h"
#include "tests/op_shape.h"
#include "kernels/ops/conv/cuda/conv.cuh"
#include "kernels/cuda/cublas.cuh"
extern "C" {
#include "core/tune/tune.h"
#include "core/plan/work.h"
#include "tests/reference_conv.h"
}

static const dg_gpu gpu = {90, 232448, DG_MATH_FP32, true}, small_gpu = {75, 65536, DG_MATH_FP32, false},
                    bf16_gpu = {90, 232448, DG_MATH_BF16, true}, fp16_gpu = {75, 65536, DG_MATH_FP16, false};
static std::vector<sim::launch_view> seen;
static size_t compared;

template <class real> static void launch(const dg_op *op)
{
    switch (op->kind) {
#define X(kind, member, cpu) \
    case DG_OP_##kind: dg_cuda_##kind<real>(&op->u.member, &op->tune, 0); break;
        DG_OPS(X)
#undef X
    case DG_OP_KINDS: break;
    }
}

static void compare(const dg_op *op, dg_type real)
{
    char name[200];
    const dg_conv_args *a = &op->u.conv;
    /* with stride 2, mma_odd first launches a kernel that copies the weights to scratch memory */
    const bool second = op->tune.variant == &dg_conv_variant_mma_odd && a->S == 2 && a->K == 3 &&
                        op->kind != DG_OP_conv_dw;
    dev_buffer<char> scratch(second ? dg_scratch_of(op, real) : 0);
    dg_op launched = *op;
    if (second) launched.u.conv.scratch = scratch.p;
    seen.clear();
    dg_tune_text(name, sizeof name, op, &op->tune);
    real == DG_F64 ? launch<double>(&launched) : launch<float>(&launched);
    const dg_work w = dg_work_of(op, real);
    DG_CHECKF((int)seen.size() == w.kernels, "%s: %zu launches, not %d", name, seen.size(), w.kernels);
    compared++;
    if (!w.products || op->tune.variant == &dg_conv_variant_cublas || seen.empty())
        return; /* the launches of cuBLAS are unknown */
    const sim::launch_view &k = seen[second];
    const double blocks = (double)k.grid.x * k.grid.y * k.grid.z;
    DG_CHECKF(w.blocks == blocks && (unsigned)w.threads == k.block.x, "%s: %g blocks of %u threads, not %g of %d", name,
              blocks, k.block.x, w.blocks, w.threads);
    if (k.shared)
        DG_CHECKF(w.shared == (double)k.shared, "%s: %zu bytes of shared memory, not %g", name, k.shared, w.shared);
    /* the blocks compute all products of the op (2 FLOPs each), and more if tiles extend beyond the result */
    const double all = 2 * w.blocks * w.products, flops = dg_op_flops(op);
    DG_CHECKF(all >= 0.2 * flops, "%s: %g products for %g FLOPs", name, all / 2, flops);
    /* some splits of variant tiled divide nine taps unevenly */
    if ((a->K != 3 || op->tune.variant == &dg_conv_variant_mma_odd) && a->N % 64 == 0 && a->Ci % 128 == 0 &&
        a->Co % 128 == 0 && a->H % 32 == 0)
        DG_CHECKF(fabs(all / flops - 1) < 0.01, "%s: %g products for %g FLOPs, though the tiles fit", name, all / 2,
                  flops);
}

static void every_choice(dg_op op, dg_type real, const dg_gpu *g)
{
    static dg_tune list[DG_VARIANT_LIST];
    const int n = dg_variant_list(&op, list, DG_VARIANT_LIST, real, g);
    DG_CHECKF(n > 0 && n < DG_VARIANT_LIST, "%s: %d choices", dg_op_kind_name(op.kind), n);
    for (int i = 0; i < n; i++) {
        op.tune = list[i];
        compare(&op, real);
        bool twice = false;
        for (int k = 0; k < i; k++) twice |= memcmp(&list[i], &list[k], sizeof list[i]) == 0;
        DG_CHECKF(!twice, "%s: choice %d is there already", dg_op_kind_name(op.kind), i);
    }
}

static void convolutions(dg_type real, const dg_gpu *g)
{
    static const int shapes[][8] = {
        {64, 32, 32, 128, 128, 4, 2, 1}, {64, 64, 64, 3, 32, 4, 2, 1},    {128, 4, 4, 256, 1, 4, 1, 0},
        {33, 4, 4, 128, 100, 4, 1, 0},   {5, 12, 12, 36, 20, 4, 2, 1},    {3, 70, 66, 1, 12, 4, 2, 1},
        {7, 9, 11, 8, 12, 5, 3, 2},      {2, 7, 5, 3, 5, 3, 1, 1},        {64, 8, 8, 128, 256, 4, 2, 1},
        {5, 10, 34, 48, 80, 4, 2, 1},    {7, 4, 8, 16, 32, 4, 2, 1},      {9, 16, 16, 64, 64, 2, 2, 0},
        {64, 32, 32, 128, 256, 3, 1, 1}, {64, 32, 32, 256, 128, 1, 1, 0}, {3, 7, 7, 48, 80, 3, 1, 1},
        {5, 9, 7, 80, 144, 1, 2, 0},     {6, 9, 8, 32, 16, 3, 2, 1},
    };
    for (const int *d : shapes)
        for (int kind = DG_OP_conv_fwd; kind <= DG_OP_conv_dw; kind++) {
            dg_op op = {};
            op.kind = (dg_op_kind)kind;
            op.u.conv = dg_ref_conv_shape(d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]);
            every_choice(op, real, g);
        }
}

static void others(dg_type real, const dg_gpu *g)
{
    void *somewhere;
    DG_CHECK(cudaMalloc(&somewhere, 256) == cudaSuccess);
    for (int kind = DG_OP_conv_dw + 1; kind < DG_OP_KINDS; kind++) {
        dg_op op;
        DG_CHECKF(!shape_any(&op, (dg_op_kind)kind, somewhere), "%s", dg_op_kind_name((dg_op_kind)kind));
        every_choice(op, real, g);
    }
    DG_CHECK(cudaFree(somewhere) == cudaSuccess);
}

int main()
{
    dg_cublas_open();
    sim::watch = [](const sim::launch_view &v) {
        seen.push_back(v);
        return false;
    };
    convolutions(DG_F32, &gpu);
    convolutions(DG_F32, &small_gpu);
    convolutions(DG_F64, &gpu);
    convolutions(DG_F32, &bf16_gpu);
    convolutions(DG_F32, &fp16_gpu);
    others(DG_F32, &gpu);
    others(DG_F64, &gpu);
    printf("%zu choices compared\n", compared);
    DG_CHECK(compared > 2000);
    return dg_test_report();
}
