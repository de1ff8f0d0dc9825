/* Tests tuning files. An error names file and line, and valid rows are still used. A row that is written and read
 * back is unchanged. Every op of every built-in model gets a variant. */
#include "host/net/job.h"
#include "host/net/recipe.h"
#include "tests/all_ops.h"
#include "test.h"
#include "tempdir.h"
#include "kernels/cuda/choose.h"

static const dg_gpu gpu = {90, 232448, DG_MATH_FP32, true}, small = {75, 65536, DG_MATH_FP32, false};

#define CONV "conv_fwd N=64 H=32 W=32 C=32>64 K=4 S=2 P=1"
static const dg_op the_conv = {
    .kind = DG_OP_conv_fwd,
    .u.conv = {.N = 64, .H = 32, .W = 32, .Ci = 32, .Ho = 16, .Wo = 16, .Co = 64, .K = 4, .S = 2, .P = 1}};

static void bad(int line, const char *reason, const char *text)
{
    dg_tune_table t = {0};
    char where[40];
    snprintf(where, sizeof where, "t.tune:%d: ", line);
    DG_CHECKF(dg_tune_parse(&t, text, "t.tune", DG_F32, &gpu) == DG_USAGE, "accepted: %s", text);
    DG_CHECKF(strstr(dg_message(), where) && strstr(dg_message(), reason), "%s\n   -> %s\n   not '%s ... %s'", text,
              dg_message(), where, reason);
    DG_CHECKF(t.rows == 0, "%s: a bad row is kept", text);
    dg_tune_free(&t);
}

static void check_bad(void)
{
    bad(1, "no such op", "rubbish\xff\xfe = 3");
    bad(1, "requires precision bf16 or fp16", CONV " : mma");
    bad(2, "requires precision bf16 or fp16", "[sm_90 fp32]\n" CONV " : mma");
    bad(2, "this is sm_75", "[sm_75 bf16]\n" CONV " : mma");
    bad(2, "tile=128x128: variant mma is not compiled for this tile", "[sm_75 fp16]\n" CONV " : mma tile=128x128");
    bad(2, "not compiled for this tile", "[sm_90 bf16]\n" CONV " : mma tile=64x64");
    bad(2, "a fixed number of stages", "[sm_90 bf16]\n" CONV " : mma stages=2");
    bad(1, "requires precision bf16", CONV " : wgmma");
    bad(2, "requires precision bf16", "[sm_90 fp16]\n" CONV " : wgmma");
    bad(2, "wgmma requires sm_90, not sm_100", "[sm_100 bf16]\n" CONV " : wgmma");
    bad(2, "tile=64x64: variant wgmma is not compiled for this tile", "[sm_90 bf16]\n" CONV " : wgmma tile=64x64");
    bad(2, "block=128: a tile of 128x64 requires 256 threads", "[sm_90 bf16]\n" CONV " : wgmma block=128");
    bad(2, "has no variant wgmma", "[sm_90 bf16]\nconv_dw N=64 H=16 W=16 C=64>128 K=4 S=2 P=1 : wgmma");
    bad(2, "requires 128 threads", "[sm_90 bf16]\n" CONV " : mma tile=128x64 block=256");
    bad(2, "must be from 1 to 2", "[sm_90 bf16]\n" CONV " : mma split=3");
    bad(2, "mma has no bf16 kernels on sm_90", "[sm_90 bf16]\n" CONV " : mma");
    bad(2, "multiple of 16 channels, not 40", "[sm_90 bf16]\nconv_fwd N=64 H=32 W=32 C=40>64 K=4 S=2 P=1 : mma");
    bad(2, "multiples of 8, not 12", "[sm_90 bf16]\nconv_fwd N=64 H=32 W=32 C=16>12 K=4 S=2 P=1 : mma");
    bad(2, "K=4 S=2 P=1", "[sm_90 fp16]\nconv_fwd N=64 H=32 W=32 C=16>16 K=3 S=1 P=1 : mma");
    bad(1, "[sm_90 fp12]", "[sm_90 fp12]\n" CONV " : tiled");
    bad(4, "no such op", "[sm_90 tf32]\nrubbish : mma\n[sm_90]\nrubbish : mma");
    bad(1, "[turing tf32]", "[turing tf32]\n" CONV " : mma");
    bad(1, "[sm_90 ]", "[sm_90 ]\n" CONV " : tiled");
    bad(1, "no such op", "conv_bwd N=1 : direct");
    bad(2, "neither a row nor a [section]", "\nconv_fwd\n");
    bad(3, "[turing]", "; comment\n\n[turing]\n" CONV " : direct\n");
    bad(1, "is incomplete", "conv_fwd N=64 H=32 W=32 C=32>64 K=4 S=2 : tiled");
    bad(1, "C=3>64", "conv_fwd N=64 H=32 W=32 C=32 K=4 S=2 P=1 : tiled");
    bad(1, "N=x", "conv_fwd N=x H=32 W=32 C=32>64 K=4 S=2 P=1 : tiled");
    bad(1, "N=0", "conv_fwd N=0 H=32 W=32 C=32>64 K=4 S=2 P=1 : tiled");
    bad(1, "N=-1", "conv_fwd N=-1 H=32 W=32 C=32>64 K=4 S=2 P=1 : tiled");
    bad(1, "N=99999999999999999999", "conv_fwd N=99999999999999999999 H=32 W=32 C=32>64 K=4 S=2 P=1 : tiled");
    bad(1, "duplicate name in the shape", "conv_fwd N=64 N=64 H=32 W=32 C=32>64 K=4 S=2 P=1 : tiled");
    bad(1, "unknown name in the shape", "conv_fwd N=64 X=64 H=32 W=32 C=32>64 K=4 S=2 P=1 : tiled");
    bad(1, "does not fit into the image", "conv_fwd N=64 H=2 W=32 C=32>64 K=9 S=2 P=1 : direct");
    bad(1, "too many", "conv_fwd N=65536 H=1024 W=1024 C=32>64 K=4 S=2 P=1 : direct");
    bad(1, "missing colon and variant", CONV);
    bad(1, "missing variant after the colon", CONV " :");
    bad(1, "no variant winograd", CONV " : winograd");
    bad(1, "no variant patch", "conv_dx N=64 H=32 W=32 C=32>64 K=4 S=2 P=1 : patch");
    bad(1, "not compiled for this tile", CONV " : tiled tile=64x65");
    bad(1, "not compiled for this tile", "conv_dw N=64 H=32 W=32 C=32>64 K=4 S=2 P=1 : tiled tile=128x64");
    bad(1, "tile=64x32", CONV " : tiled tile=64");
    bad(1, "requires 128 threads", CONV " : tiled tile=64x64 block=256");
    bad(1, "must be 2, 3 or 4", CONV " : tiled tile=64x64 stages=5");
    bad(1, "split=33: must be from 1 to 32", CONV " : tiled split=33");
    bad(1, "not a whole number", CONV " : tiled split=0");
    bad(1, "block=, tile=, stages= and split=", CONV " : tiled colour=blue");
    bad(1, "no tile", CONV " : direct tile=64x64");
    bad(1, "multiple of 32", CONV " : direct block=100");
    bad(1, "1 or 3 channels", CONV " : thin");
    bad(1, "one pixel", CONV " : gemv");
    bad(1, "multiples of 4", "conv_fwd N=64 H=32 W=32 C=3>64 K=4 S=2 P=1 : tiled");
    bad(1, "not a multiple of 4", "norm_act N=2 H=4 W=4 C=6 groups=1 : vector");
    bad(1, "power of two", "norm_act N=2 H=4 W=4 C=8 groups=1 : vector block=96");
    bad(1, "not a multiple of the number of groups", "norm_act N=3 H=4 W=4 C=8 groups=2 : vector");
    bad(1, "has no variant vector", "gan_loss n=64 : vector");
    bad(1, "gan_loss has no variant vector", "bce n=64 : vector"); /* older files use the name bce for op gan_loss */
    bad(1, "has no block, tile, stages or split", "conv_fwd N=64 H=4 W=4 C=32>64 K=4 S=1 P=0 : cublas split=2");
    bad(1, "K=1 S=1 P=0", CONV " : cublas");
    bad(1, "K=1 S=1 P=0", "conv_dx N=64 H=8 W=8 C=32>64 K=1 S=2 P=0 : cublas");
    bad(2, "longer than",
        "; fine\n" CONV " : tiled                                                                                      "
        "                                                                                                    "
        "split=1\n");
}

/* The int indices of tiled variants reach up to 8 images beyond the batch. Tensors whose tiled indices would exceed
 * INT_MAX use variant direct. */
static void check_largest(void)
{
    static const dg_op_kind kinds[] = {DG_OP_conv_fwd, DG_OP_conv_dx, DG_OP_conv_dw};
    for (int k = 0; k < 3; k++)
        for (int more = 0; more < 3; more++) {
            dg_op op = {.kind = kinds[k]};
            op.u.conv = (dg_conv_args){.N = 131063 + 8 * more,
                                       .H = 16,
                                       .W = 16,
                                       .Ci = 64,
                                       .Ho = 16,
                                       .Wo = 16,
                                       .Co = 64,
                                       .K = 3,
                                       .S = 1,
                                       .P = 1};
            dg_tune t;
            const char *why = dg_variant_choose(&op, &t, DG_F32, &gpu), *name = why ? "" : t.variant->name;
            const char *const want = more == 0 ? "tiled" : more == 1 ? "direct" : "";
            DG_CHECKF(!strcmp(name, want), "%d images: %s, not %s", op.u.conv.N, why ? why : name, want);
            DG_CHECK(!why || strstr(why, "too many"));
        }
}

/* Without a tuning row, a weight gradient has a square tile, even where tile 128x64 would fill the GPU. */
static void check_square(void)
{
    dg_op op = {.kind = DG_OP_conv_dw};
    op.u.conv =
        (dg_conv_args){.N = 64, .H = 8, .W = 8, .Ci = 1024, .Ho = 4, .Wo = 4, .Co = 256, .K = 4, .S = 2, .P = 1};
    dg_tune t;
    const char *why = dg_variant_choose(&op, &t, DG_F32, &gpu);
    DG_CHECKF(!why && !strcmp(t.variant->name, "tiled") && t.tile_m == 64 && t.tile_n == 64, "%s tile=%dx%d",
              why ? why : t.variant->name, t.tile_m, t.tile_n);
}

static void check_good(void)
{
    static const char text[] = "\xef\xbb\xbf; a comment\r\n"
                               "   " CONV "   :   tiled   tile=128x64 stages=4 ; comment\r\n"
                               "adam n=1100224: vector block=512\n"
                               "nonsense\n"
                               "[sm_75]\n" CONV " : direct\n"
                               "[sm_90]\n" CONV " : tiled tile=32x32 split=8\n"
                               "conv_dw N=64 H=32 W=32 C=32>64 K=4 S=2 P=1 : tiled\n"
                               "conv_dw N=64 H=32 W=32 C=32>64 K=4 S=2 P=1 : direct\n";
    dg_tune_table t = {0};
    DG_CHECK(dg_tune_parse(&t, text, "good.tune", DG_F32, &gpu) == DG_USAGE);
    DG_CHECKF(strstr(dg_message(), "good.tune:4: ") && strstr(dg_message(), "(further errors: 1)"), "%s", dg_message());
    DG_CHECK(t.rows == 5);
    dg_op op = the_conv;
    const dg_tune_row *r = dg_tune_find(&t, &op, 80);
    DG_CHECK(r && r->tune.tile_m == 128 && r->tune.tile_n == 64 && r->tune.stages == 4 && r->tune.block == 128 &&
             r->tune.split == 1);
    DG_CHECK(r && !strcmp(r->why, "good.tune:2"));
    op.u.conv.N = 65;
    DG_CHECK(!dg_tune_find(&t, &op, 90));
    op.kind = DG_OP_conv_dw;
    op.u.conv.N = 64;
    r = dg_tune_find(&t, &op, 90);
    DG_CHECK(r && r->line == 9 && !strcmp(r->tune.variant->name, "tiled"));
    DG_CHECK(!dg_tune_find(&t, &op, 80));
    dg_tune_free(&t);
    DG_CHECK(dg_tune_parse(&t, "", "empty", DG_F32, &gpu) == DG_OK && t.rows == 0);
    static const char large[] = CONV " : tiled tile=128x128 stages=4";
    DG_CHECK(dg_tune_parse(&t, large, "large", DG_F32, &gpu) == DG_OK && t.rows == 1);
    DG_REFUSED(dg_tune_parse(&t, large, "large", DG_F32, &small), DG_USAGE, "shared memory");
    DG_REFUSED(dg_tune_parse(&t, CONV " : tiled", "double", DG_F64, &gpu), DG_USAGE, "fp32 only");
    /* a block of 1024 threads has at most 64 registers per thread, which fp64 exceeds */
    static const char threads[] = "adam n=4096 : vector block=1024";
    DG_REFUSED(dg_tune_parse(&t, threads, "double", DG_F64, &gpu), DG_USAGE, "up to 512");
    DG_CHECK(dg_tune_parse(&t, threads, "float", DG_F32, &gpu) == DG_OK);
    static const char vector[] = "adam n=4096 : vector";
    DG_REFUSED(dg_tune_parse(&t, vector, "double", DG_F64, &gpu), DG_USAGE, "not fp64");
    dg_tune_free(&t);
}

/* Tuning rows for one precision take precedence over rows for all precisions, in any order. Rows for tf32, which
 * older versions wrote, are ignored. */
static void check_precisions(void)
{
    static const char text[] = "[sm_90]\n" CONV " : tiled tile=32x32\n"
                               "adam n=1024 : vector block=512\n"
                               "[sm_90 bf16]\n" CONV " : wgmma tile=128x64\n"
                               "adam n=2048 : vector block=512\n"
                               "[sm_90 fp16]\nadam n=4096 : vector block=512\n" CONV " : mma tile=128x64 split=2\n"
                               "[sm_90 tf32]\nadam n=1024 : vector block=256\n" CONV " : mma tile=64x32\n"
                               "[sm_90 fp64]\n" CONV " : direct\n";
    static const char reverse[] = "[sm_90 bf16]\n" CONV " : wgmma tile=128x64\n[sm_90]\n" CONV " : tiled tile=32x32\n";
    static const struct {
        dg_math math;
        int rows, tile_m, tile_n;
    } want[] = {{DG_MATH_FP32, 2, 32, 32}, {DG_MATH_BF16, 3, 128, 64}, {DG_MATH_FP16, 3, 128, 64}};
    dg_op op = the_conv;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const dg_gpu g = {90, 232448, want[i].math, true};
        dg_tune_table t = {0};
        DG_WORKS(dg_tune_parse(&t, text, "p.tune", DG_F32, &g));
        const dg_tune_row *r = dg_tune_find(&t, &op, 90);
        DG_CHECKF(t.rows == want[i].rows && r && r->tune.tile_m == want[i].tile_m && r->tune.tile_n == want[i].tile_n,
                  "%d rows, tile %dx%d", t.rows, r ? r->tune.tile_m : 0, r ? r->tune.tile_n : 0);
        DG_CHECK(r && r->tune.math == (i ? g.math : DG_MATH_FP32) && r->tune.split == (i == 2 ? 2 : 1));
        dg_tune_free(&t);
    }
    const dg_gpu g = {90, 232448, DG_MATH_BF16, true};
    dg_tune_table t = {0};
    DG_CHECK(dg_tune_parse(&t, reverse, "r.tune", DG_F32, &g) == DG_OK && t.rows == 1 &&
             !strcmp(t.row[0].tune.variant->name, "wgmma"));
    dg_tune_free(&t);
    DG_REFUSED(dg_tune_parse(&t, "[sm_90 bf16]\n" CONV " : tiled\n" CONV " : wgmma\n", "d.tune", DG_F32, &g), DG_USAGE,
               "d.tune:3: a row for this op and shape");
    dg_tune_free(&t);
}

static void check_file(void)
{
    temp_make("tune");
    dg_tune_table t = {0};
    DG_REFUSED(dg_tune_read(&t, temp_path("nothing.tune"), DG_F32, &gpu), DG_IO, "nothing.tune");
    temp_put(temp_path("a.tune"), CONV " : tiled\n", strlen(CONV " : tiled\n"));
    DG_CHECK(dg_tune_read(&t, temp_path("a.tune"), DG_F32, &gpu) == DG_OK && t.rows == 1);
    temp_put(temp_path("b.tune"), "x\0y", 3);
    DG_REFUSED(dg_tune_read(&t, temp_path("b.tune"), DG_F32, &gpu), DG_USAGE, "not a text file");
    dg_tune_free(&t);
    temp_remove(temp_dir);
}

/* For every op of every built-in model, dg_variant_check accepts the selected variant. Writing and reading the
 * tuning row does not change the variant. */
static void check_models(dg_type real, const dg_gpu *g)
{
    static dg_model model;
    dg_backend *b;
    if (!DG_CHECK(dg_cpu_open(&(dg_cpu_options){.threads = 1, .real = real}, &b) == DG_OK)) return;
    for (int i = 0; dg_model_builtin(i); i++) {
        dg_job job;
        DG_CHECK(dg_model_read(dg_model_builtin(i), &model) == DG_OK);
        if (!dg_recipe_find(&model)) continue;
        dg_job_options o = {.batch = 64, .last_batch = 33, .samples = 64, .rows = 97, .train = true};
        if (!DG_WORKS(dg_job_build(&job, &model, &o, b))) continue;
        const dg_plan *plan[] = {&job.plan[DG_PLAN_TRAIN], &job.plan[DG_PLAN_TRAIN_SHORT], &job.plan[DG_PLAN_SAMPLE]};
        for (int p = 0; p < 3; p++)
            for (int k = 0; k < plan[p]->ops; k++) {
                dg_op op = plan[p]->op[k];
                const char *why = dg_variant_choose(&op, &op.tune, real, g);
                char text[256];
                dg_tune_text(text, sizeof text, &op, &op.tune);
                DG_CHECKF(!why, "%s: %s: %s", model.name, text, why ? why : "");
                dg_tune_table t = {0};
                DG_CHECKF(dg_tune_parse(&t, text, "text", real, g) == DG_OK, "%s: %s", text, dg_message());
                const dg_tune_row *r = dg_tune_find(&t, &op, g->arch);
                DG_CHECKF(r && r->tune.variant == op.tune.variant && r->tune.block == op.tune.block &&
                              r->tune.tile_m == op.tune.tile_m && r->tune.tile_n == op.tune.tile_n &&
                              r->tune.stages == op.tune.stages,
                          "%s: read back differently", text);
                /* no fast kernel supports first and last layers of classifiers, or 1x1 convolutions of images */
                const dg_conv_args *c = &op.u.conv;
                const bool odd = (dg_recipe_find(&model)->labels || c->K == 1) && (c->Ci % 4 || c->Co % 4);
                const bool heavy = op.kind <= DG_OP_conv_dw && real == DG_F32 && !odd;
                DG_CHECKF(!heavy || op.tune.variant != dg_op_info_of(op.kind)->variants[0], "%s: %s", model.name, text);
                dg_tune_free(&t);
            }
        dg_job_free(&job);
    }
    b->close(b);
}

static void check_shipped(void)
{
    const char *name, *text;
    int files = 0;
    for (; (text = dg_tune_shipped(files, &name)); files++) {
        dg_tune_table t = {0};
        DG_WORKS(dg_tune_parse(&t, text, name, DG_F32, &gpu));
        dg_tune_free(&t);
    }
    DG_CHECK(files > 0);
}

int main(void)
{
    check_bad();
    check_largest();
    check_square();
    check_good();
    check_precisions();
    check_file();
    check_models(DG_F32, &gpu);
    check_models(DG_F32, &small);
    check_models(DG_F32, &(dg_gpu){90, 232448, DG_MATH_BF16, true});
    check_models(DG_F32, &(dg_gpu){75, 65536, DG_MATH_FP16, false});
    check_models(DG_F64, &gpu);
    check_shipped();
    return dg_test_report();
}
