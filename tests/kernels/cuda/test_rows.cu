/* Compares the results of every row of the shipped tuning tables (kernels/tuning/), and of the tuning rows in this
 * file, with the reference. In the slow simulator, the test halves batch, image and channels as long as the row stays
 * valid. Random text must be refused. */
#include <memory>
#include "any_op.h"
extern "C" {
#include "kernels/cuda/choose.h"
}

static const char rows[] = "[sm_90]\n"
                           "conv_fwd N=64 H=32 W=32 C=32>64 K=4 S=2 P=1 : tiled tile=128x32 stages=4 split=2\n"
                           "conv_dx N=128 H=16 W=16 C=128>256 K=4 S=2 P=1 : tiled tile=64x64 stages=4 split=8\n"
                           "conv_dw N=64 H=64 W=64 C=3>32 K=4 S=2 P=1 : thin split=128\n"
                           "conv_dw N=64 H=16 W=16 C=64>128 K=4 S=2 P=1 : tiled tile=32x32 stages=2 split=16\n"
                           "conv_fwd N=64 H=4 W=4 C=256>1 K=4 S=1 P=0 : gemv\n"
                           "norm_stats N=64 H=32 W=32 C=32 groups=2 : vector block=512\n"
                           "norm_act_dx N=64 H=16 W=16 C=64 groups=1 : vector block=128\n"
                           "adam n=1100224 : vector block=512\n"
                           "gather N=64 H=64 W=64 C=3 : vector block=128\n"
                           "[sm_90 bf16]\n"
                           "conv_fwd N=128 H=32 W=32 C=64>128 K=4 S=2 P=1 : wgmma tile=128x64\n"
                           "conv_dx N=64 H=8 W=8 C=128>256 K=4 S=2 P=1 : wgmma tile=64x32 split=4\n"
                           "conv_fwd N=64 H=16 W=16 C=128>256 K=3 S=1 P=1 : mma_odd\n"
                           "conv_dx N=64 H=14 W=14 C=256>128 K=1 S=1 P=0 : mma_odd split=2\n"
                           "conv_dw N=64 H=16 W=16 C=64>64 K=3 S=2 P=1 : mma_odd tile=64x16 split=4\n"
                           "[sm_75 fp16]\n"
                           "conv_fwd N=128 H=8 W=8 C=128>256 K=4 S=2 P=1 : mma tile=64x128 split=2\n"
                           "conv_dw N=64 H=16 W=16 C=64>128 K=4 S=2 P=1 : mma split=3\n";

static int tested, skipped;

static bool takes(const dg_op *op, const dg_tune *row, const dg_gpu *gpu)
{
    dg_tune t = *row;
    return !dg_variant_check(op, &t, DG_F32, gpu) && t.block == row->block && t.tile_m == row->tile_m &&
           t.tile_n == row->tile_n && t.stages == row->stages && t.split == row->split;
}

static double work_of(const dg_op *op) { return dg_op_flops(op) * (op->kind <= DG_OP_conv_dw ? 0.5 : 25); }

/* Halves the dimensions that `words` names. Returns false if a dimension is missing or the halved shape is invalid. */
static bool halve(dg_op *op, const char *words)
{
    bool halved = false;
    const dg_op_info *info = dg_op_info_of(op->kind);
    for (const dg_shape_word *w = info->shape; w->name; w++) {
        const int64_t n = dg_field_get(op, &w->field);
        if (!strstr(words, w->name) || n < 2) continue;
        dg_field_set(op, &w->field, *w->name == 'n' ? n / 2 : (n + 1) / 2);
        halved = true;
    }
    return halved && (!info->complete || !info->complete(op));
}

static dg_op smaller(const dg_op *original, const dg_tune *row, const dg_gpu *gpu, double most)
{
    dg_op op = *original;
    for (const char *words : {"N", "HW", ">", "C", "n"}) {
        dg_op next = op;
        while (work_of(&op) > most && halve(&next, words) && takes(&next, row, gpu)) op = next;
    }
    return op;
}

static void run_table(const char *text, const char *name, const dg_gpu *gpu, dg_backend *b, std::vector<bool> *lines)
{
    dg_tune_table table = {};
    DG_CHECKF(dg_tune_parse(&table, text, name, DG_F32, gpu) == DG_OK, "%s", dg_message());
    for (int i = 0; i < table.rows; i++) {
        const dg_tune_row *row = &table.row[i];
        if ((size_t)row->line >= lines->size()) lines->resize((size_t)row->line + 1);
        if (row->arch && row->arch != gpu->arch) continue;
        if (gpu->math != DG_MATH_FP32 && !row->precise) continue; /* rows without a precision are for fp32 */
        (*lines)[(size_t)row->line] = true;
        const dg_tune_row *found = dg_tune_find(&table, &row->key, gpu->arch);
        DG_CHECKF(found && (found == row || found->precise), "%s: another row, line %d, is found for its op", row->why,
                  found ? found->line : 0);
        dg_gpu here = dg_case_gpu;
        here.math = gpu->math;
        const bool can = takes(&row->key, &row->tune, gpu) && takes(&row->key, &row->tune, &here);
#ifdef __CUDACC__
        skipped += !can;
        if (!can) continue; /* skips a tuning row that requires a larger GPU */
#endif
        if (!DG_CHECKF(can, "%s: cannot run", row->why)) continue;
        any_op(smaller(&row->key, &row->tune, gpu, dev_small() ? 5e4 : 4e6)).run(b, &row->tune);
        tested++;
    }
    dg_tune_free(&table);
}

static void run_rows(const char *text, const char *name)
{
    static const dg_gpu gpus[] = {{75, 64 << 10, DG_MATH_FP32, false}, {80, 163 << 10, DG_MATH_FP32, false},
                                  {86, 99 << 10, DG_MATH_FP32, false}, {89, 99 << 10, DG_MATH_FP32, false},
                                  {90, 227 << 10, DG_MATH_FP32, true}, {100, 227 << 10, DG_MATH_FP32, false},
                                  {120, 99 << 10, DG_MATH_FP32, false}};
    std::vector<bool> lines; /* true for each line of the tuning table whose row ran */
    for (int math = DG_MATH_FP32; math <= DG_MATH_FP16; math++) {
        if (!any_math((dg_math)math)) continue;
        dg_backend *b = any_backend(DG_F32, (dg_math)math);
        for (dg_gpu gpu : gpus) {
            gpu.math = (dg_math)math;
            if (!dg_variant_refuses_math(&gpu)) run_table(text, name, &gpu, b, &lines);
        }
        b->close(b);
    }
    int line = 1;
    for (const char *at = text; *at; line++) {
        const size_t length = strcspn(at, "\n"), blank = strspn(at, " \t\r");
        const bool row = blank < length && at[blank] != ';' && at[blank] != '[';
        DG_CHECKF(!row || !any_math(DG_MATH_BF16) || ((size_t)line < lines.size() && lines[(size_t)line]),
                  "%s:%d did not run: no supported architecture has it", name, line);
        at += length + (at[length] == '\n');
    }
}

static void refused(const char *row)
{
    dg_tune_table table = {};
    DG_CHECKF(dg_tune_parse(&table, row, "rubbish", DG_F32, &dg_case_gpu) == DG_USAGE && !table.rows, "accepted: %s",
              row);
    dg_tune_free(&table);
}

int main()
{
    const char *name, *text;
    for (int i = 0; (text = dg_tune_shipped(i, &name)) != nullptr; i++) run_rows(text, name);
    const int shipped = tested;
    run_rows(rows, "rows of this test");
    DG_CHECKF(skipped || tested - shipped == 16, "%d of 16 rows were run", tested - shipped);
    refused("conv_fwd N=64 H=32 W=32 C=32>64 K=4 S=2 P=1 : tiled tile=63x64");
    refused("conv_dw N=64 H=16 W=16 C=64>128 K=4 S=2 P=1 : tiled split=65");
    refused("adam n=1100225 : vector");
    printf("%d shipped rows and %d more compared\n", shipped, tested - shipped);
    return dg_test_report();
}
