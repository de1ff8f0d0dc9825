/* Runs all variants and launch parameters of dg_variant_list() for every op at odd shapes. Each variant runs at every
 * shape that it accepts. Each value of a launch parameter (tile, stages, block size, split) runs a few times in every
 * precision. The test fails if a variant accepts none of the shapes. */
#include <map>
#include <memory>
#include <string>
#include "any_op.h"
#include "tests/op_shape.h"
extern "C" {
#include "tests/reference_conv.h"
}

/* N, H, W, Ci, Co, K, S, P of small batches, few channels, and sizes that tiles do not divide */
static const int convs[][8] = {
    {1, 5, 7, 3, 5, 4, 2, 1},      {3, 9, 6, 1, 8, 4, 2, 1},     {3, 6, 5, 5, 3, 3, 3, 1},
    {3, 7, 9, 4, 12, 4, 2, 1},     {3, 4, 4, 8, 1, 4, 1, 0},     {3, 8, 8, 16, 16, 4, 2, 1},
    {3, 12, 14, 24, 8, 4, 2, 1},   {1, 3, 3, 20, 36, 3, 1, 1},   {3, 4, 4, 4, 20, 4, 1, 0},
    {1, 9, 33, 72, 16, 4, 2, 1},   {1, 36, 70, 3, 36, 4, 2, 1},  {5, 8, 6, 16, 72, 4, 2, 1},
    {1, 12, 12, 68, 136, 4, 2, 1}, {3, 36, 34, 16, 24, 4, 2, 1}, {65, 6, 4, 16, 8, 4, 2, 1},
    {3, 7, 7, 16, 24, 3, 1, 1},    {2, 5, 9, 48, 16, 1, 1, 0},   {3, 7, 6, 16, 32, 3, 2, 1},
    {1, 14, 13, 16, 80, 1, 2, 0},  {1, 1, 1, 1, 1, 1, 1, 0},     {2, 4, 6, 3, 2, 2, 3, 2},
    {3, 4, 4, 20, 8, 4, 2, 1},     {1, 10, 6, 36, 4, 4, 2, 1},   {2, 7, 8, 8, 4, 5, 2, 2},
    {1, 9, 7, 4, 4, 3, 3, 0},      {2, 5, 5, 12, 8, 1, 2, 0},    {34, 4, 4, 8, 40, 4, 1, 0},
    {3, 6, 4, 1, 4, 4, 2, 1},      {1, 9, 66, 1, 8, 4, 2, 1},    {10, 2, 2, 4, 4, 4, 2, 1},
    {2, 20, 18, 40, 8, 4, 2, 1},
};
static const int maps[][5] = {
    /* N, H, W, C and groups of batch norms */
    {1, 3, 5, 1, 1},    {3, 7, 3, 3, 1},  {3, 5, 7, 5, 3},    {3, 3, 3, 12, 3}, {2, 9, 9, 6, 2},
    {1, 17, 17, 68, 1}, {4, 8, 9, 64, 2}, {3, 16, 15, 12, 1}, {3, 5, 8, 3, 1},
};
static const int64_t lengths[] = {1, 3, 5, 68, 1001, 4100};

static int tested, offered;
static std::map<std::string, int> runs;

static std::string piece(const char *kind, const char *precision, const dg_tune *t, const char *what, int a, int b)
{
    return std::string(kind) + " " + t->variant->name + " " + precision + " " + what + std::to_string(a) + "x" +
           std::to_string(b);
}

static void every_choice(dg_backend *b, const dg_op &shape)
{
    static dg_tune list[DG_VARIANT_LIST];
    dg_gpu gpu = dg_case_gpu;
    gpu.math = b->math;
    const char *kind = dg_op_kind_name(shape.kind), *precision = dg_precision_name(b->real, b->math);
    const int n = dg_variant_list(&shape, list, DG_VARIANT_LIST, b->real, &gpu);
    DG_CHECKF(n > 0 && n < DG_VARIANT_LIST, "%s: %d choices", kind, n);
    std::unique_ptr<any_op> op;
    const dg_variant *last = nullptr;
    for (int i = 0; i < n; i++) {
        const dg_tune *t = &list[i];
        /* a variant that does not round operands has already run in fp32 */
        if (b->math != DG_MATH_FP32 && t->math != b->math) continue;
        if (t->variant == &dg_conv_variant_cublas && !dev_cublas()) continue;
        offered++;
        const std::string pieces[] = {piece(kind, precision, t, "tile", t->tile_m, t->tile_n),
                                      piece(kind, precision, t, "stages", t->tile_m, t->stages),
                                      piece(kind, precision, t, "block", 0, t->block),
                                      piece(kind, precision, t, "split", 0, t->split)};
        bool wanted = t->variant != last; /* the first launch parameters of each variant run at every shape */
        for (const std::string &p : pieces) wanted |= runs[p] < 1;
        if (!wanted) continue;
        last = t->variant;
        for (const std::string &p : pieces) runs[p]++;
        runs[std::string(kind) + " " + t->variant->name]++;
        if (!op) op.reset(new any_op(shape));
        op->run(b, t);
        tested++;
    }
}

static void shapes_of(dg_backend *b, dg_op_kind kind)
{
    const bool f64 = b->real == DG_F64;
    dg_op op = {};
    if (kind <= DG_OP_conv_dw) {
        for (const int *d : convs) {
            const double macs = (double)d[0] * d[1] * d[2] * d[3] * d[4] * d[5] * d[5] / d[6] / d[6];
            if (macs >= (dev_small() ? 2e5 : f64 ? 1e6 : 1e8)) continue;
            op.kind = kind;
            op.u.conv = dg_ref_conv_shape(d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]);
            every_choice(b, op);
        }
        return;
    }
    if (b->math != DG_MATH_FP32) return;
    if (shape_has(kind, "n") || shape_has(kind, "batch")) {
        for (int64_t n : lengths) {
            const shape_value values[] = {{"n", n}, {"batch", n}, {"shards", 4}, {"ranks", 1}};
            if (dev_small() && n >= 1100) continue;
            if (kind == DG_OP_penalty && n < 2) continue; /* a gradient penalty requires a real image and a sample */
            DG_CHECK(!shape_set(&op, kind, values, 4));
            every_choice(b, op);
        }
        return;
    }
    for (const int *d : maps) {
        const shape_value values[] = {{"N", d[0]},
                                      {"H", d[1]},
                                      {"W", d[2]},
                                      {"C", d[3]},
                                      {"groups", d[4]},
                                      {"K", 3},
                                      {"S", 2},
                                      {"P", 1},
                                      {"each", d[1] * d[2] * d[3]},
                                      {">", d[3]},
                                      {"width", d[3] + 2},
                                      {"latent", d[3]},
                                      {"labels", d[0]},
                                      {"shards", 4}};
        if (dev_small() && d[0] * d[1] * d[2] * d[3] >= 1100) continue;
        if (kind == DG_OP_shard_running && 2 * d[4] > d[1] * d[2]) continue; /* `each` has all statistics */
        if (shape_set(&op, kind, values, 14)) continue;
        every_choice(b, op);
    }
}

int main()
{
    static const struct {
        dg_type real;
        dg_math math;
    } precisions[] = {{DG_F32, DG_MATH_FP32}, {DG_F32, DG_MATH_BF16}, {DG_F32, DG_MATH_FP16}, {DG_F64, DG_MATH_FP32}};
    for (const auto &p : precisions) {
        if (!any_math(p.math)) continue;
        dg_backend *b = any_backend(p.real, p.math);
        for (int kind = 0; kind < DG_OP_KINDS; kind++) shapes_of(b, (dg_op_kind)kind);
        b->close(b);
    }
    for (int kind = 0; kind < DG_OP_KINDS; kind++)
        for (const dg_variant *const *v = dg_op_info_of((dg_op_kind)kind)->variants; *v; v++)
            DG_CHECKF(!any_math(DG_MATH_BF16) || (dg_case_gpu.arch != 90 && *v == &dg_conv_variant_wgmma) ||
                          (*v == &dg_conv_variant_cublas && !dev_cublas()) ||
                          runs[std::string(dg_op_kind_name((dg_op_kind)kind)) + " " + (*v)->name] > 0,
                      "%s: no shape here suits variant %s", dg_op_kind_name((dg_op_kind)kind), (*v)->name);
    printf("%d of %d choices compared\n", tested, offered);
    return dg_test_report();
}
