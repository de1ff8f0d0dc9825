/* Tests that invalid fused launches are refused. Tests how a fused update divides its sums among blocks. */
#include "tests/all_ops.h"
#include "tests/devtest.h"
#include "kernels/fused/fuse.cuh"
#include "update_jobs.h"
extern "C" {
#include "tests/gather_signed.h"
#include "core/tune/conv_tiles.h"
#include "core/tune/tune.h"
}

static void convolutions()
{
    dg_op op = {};
    op.kind = DG_OP_conv_fwd;
    op.u.conv = dg_ref_conv_shape(12, 8, 8, 1024, 256, 4, 2, 1);
    dg_gpu gpu = {90, 200 << 10, DG_MATH_BF16, false};
    dg_tune tune = {};
    tune.variant = &dg_conv_variant_mma;
    tune.tile_m = tune.tile_n = 128;
    DG_CHECK(!dg_variant_check(&op, &tune, DG_F32, &gpu));
    dg_fused_conv f = {};
    f.conv = op.u.conv;
    f.in.kind = DG_PROLOGUE_NORM_DX;
    f.in.groups = f.out.groups = 2;
    auto refuses = [&](const char *word) {
        const char *const why = dg_fused_conv_refuses(op.kind, &f, &tune, &gpu);
        if (word) DG_CHECKF(why && strstr(why, word), "not refused with %s but %s", word, why ? why : "not at all");
        else DG_CHECKF(!why, "refused: %s", why);
    };
    refuses(nullptr);
    gpu.shared = 99 << 10;
    refuses("shared memory");
    tune.split = 8;
    refuses(nullptr);
    f.in.groups = 3;
    refuses("same groups");
    f.in.groups = 5;
    refuses("equal parts");
    f.in.groups = 1;
    f.out.kind = DG_EPILOGUE_ACT_DX;
    f.out.act = DG_ACT_TANH;
    refuses("does not support this activation");
    f.out.act = DG_ACT_RELU;
    refuses(nullptr);
    f.out.kind = DG_EPILOGUE_ACT;
    refuses("does not support this activation");
    f.out.kind = DG_EPILOGUE_PLAIN;
    f.gather.N = 1;
    refuses("images");
    f.gather.N = 0;
    gpu.math = tune.math = DG_MATH_FP16;
    refuses("no fused kernels from sm_80 on");
    gpu.arch = 75;
    tune.tile_m = 64;
    refuses(nullptr);
}

/* Sets the side lengths of x, the result of a dense layer. The layer's input y has one pixel. */
static void dense_side(dg_fused_conv *f, int side) { f->conv.H = f->conv.W = f->conv.K = side; }
static void rows_of(dg_fused_conv *f, int Ho) { f->conv.Ho = Ho, f->conv.H = 2 * Ho; }
static void gathers(dg_fused_conv *f, int images, bool as_signed)
{
    f->gather.N = images, f->gather.H = f->gather.W = 8, f->gather.C = 3;
    if (as_signed) gather_signed(&f->gather);
}

static void dense_and_thin()
{
    static const dg_op_kind FWD = DG_OP_conv_fwd, DX = DG_OP_conv_dx;
    static const struct {
        const char *what;
        bool dense, refused;
        dg_op_kind kind;
        void (*make)(dg_fused_conv *);
    } rows[] = {
        {"dense", true, false, DX, [](dg_fused_conv *) {}},
        {"the largest grid", true, false, DX, [](dg_fused_conv *f) { dense_side(f, 255); }},
        {"one block more", true, true, DX, [](dg_fused_conv *f) { dense_side(f, 256); }},
        {"noise", true, false, DX, [](dg_fused_conv *f) { f->noise.n = 20; }},
        {"more noise than y", true, true, DX, [](dg_fused_conv *f) { f->noise.n = 24; }},
        {"six channels", true, true, DX, [](dg_fused_conv *f) { f->conv.Ci = 6; }},
        {"gradient of a norm", true, true, DX, [](dg_fused_conv *f) { f->out.kind = DG_EPILOGUE_NORM_DX; }},
        {"two groups", true, true, DX, [](dg_fused_conv *f) { f->out.kind = DG_EPILOGUE_STATS, f->out.groups = 2; }},
        {"forward", false, false, FWD, [](dg_fused_conv *) {}},
        {"data gradient", false, false, DX, [](dg_fused_conv *) {}},
        {"the largest grid", false, false, FWD, [](dg_fused_conv *f) { rows_of(f, 4 * 65535); }},
        {"one tile more", false, true, FWD, [](dg_fused_conv *f) { rows_of(f, 4 * 65535 + 1); }},
        {"statistics", false, true, FWD, [](dg_fused_conv *f) { f->out.kind = DG_EPILOGUE_STATS; }},
        {"statistics", false, true, DX, [](dg_fused_conv *f) { f->out.kind = DG_EPILOGUE_STATS; }},
        {"a norm of x", false, true, FWD, [](dg_fused_conv *f) { f->in.kind = NORM; }},
        {"a norm of y", false, false, DX, [](dg_fused_conv *f) { f->in.kind = NORM; }},
        {"a norm of two groups", false, true, DX, [](dg_fused_conv *f) { f->in.kind = NORM, f->in.groups = 2; }},
        {"too many images", false, true, FWD, [](dg_fused_conv *f) { gathers(f, 3, true); }},
        {"images scaled otherwise", false, true, FWD, [](dg_fused_conv *f) { gathers(f, 2, false); }},
        {"images", false, false, FWD, [](dg_fused_conv *f) { gathers(f, 2, true); }},
        {"labels", false, true, FWD, [](dg_fused_conv *f) { gathers(f, 2, true), f->gather.record += 4; }},
    };
    const dg_gpu gpu = {90, 200 << 10, DG_MATH_FP32, true}, little = {90, 16 << 10, DG_MATH_FP32, true};
    dg_fused_conv f = {};
    dg_tune tune = {};
    tune.stages = 2;
    tune.split = 1;
    for (const auto &r : rows) {
        f = {};
        f.conv = r.dense ? dg_ref_conv_shape(2, 4, 4, 8, 10, 4, 1, 0) : dg_ref_conv_shape(2, 8, 8, 3, 8, 4, 2, 1);
        f.in.groups = f.out.groups = 1;
        r.make(&f);
        tune.variant = r.dense ? &dg_conv_variant_tiled : &dg_conv_variant_thin;
        const char *const why = (r.dense ? dg_fused_dense_refuses : dg_fused_thin_refuses)(r.kind, &f, &tune, &gpu);
        DG_CHECKF(!why == !r.refused, "%s, %s: %s", r.dense ? "dense" : "thin", r.what, why ? why : "not refused");
    }
    gathers(&f, 0, true);
    DG_CHECK(dg_fused_thin_refuses(DX, &f, &tune, &little));
}

/* Returns the fused update of D or G in the published network, without memory for tensors. */
static dg_fused_update published(int N, bool is_G, dg_math math)
{
    const dg_prologue_kind kind = is_G ? NORM : DX;
    const std::vector<job_case> layers = {
        {DG_FUSED_THIN, N, 64, 64, 3, 32, PLAIN, is_G ? NORM : PLAIN, 1},
        {DG_FUSED_MMA, N, 32, 32, 32, 64, is_G ? DX : PLAIN, kind, 1},
        {DG_FUSED_MMA, N, 16, 16, 64, 128, is_G ? DX : NORM, kind, 1},
        {DG_FUSED_MMA, N, 8, 8, 128, 256, is_G ? DX : NORM, kind, 1},
        {is_G ? DG_FUSED_DENSE : DG_FUSED_GEMV, N, 4, 4, 256, is_G ? 100 : 1, is_G ? DX : NORM, PLAIN, 1},
    };
    dg_fused_update u = {};
    for (const job_case &k : layers) {
        dg_update_job *j = &u.job[u.jobs++];
        j->conv = shape_of(k);
        j->kind = k.kind;
        j->x.kind = k.x, j->y.kind = k.y;
        j->x.groups = j->y.groups = 2;
        j->tune.math = math;
        j->tune.split = 1;
        j->offset = u.adam.n;
        u.adam.n += (int64_t)k.Co * j->conv.K * j->conv.K * k.Ci + 64;
    }
    return u;
}

static void by_warpgroups(dg_fused_update *u)
{
    for (int i = 0; i < u->jobs; i++)
        if (u->job[i].kind == DG_FUSED_MMA) u->job[i].kind = DG_FUSED_WGMMA;
}

static void updates()
{
    const dg_gpu gpu = {80, 163 << 10, DG_MATH_BF16, false};
    typedef void change(dg_fused_update *, dg_gpu *);
    static const struct {
        const char *what;
        change *make;
    } wrong[] = {
        {"no job", [](dg_fused_update *u, dg_gpu *) { u->jobs = 0; }},
        {"too many jobs", [](dg_fused_update *u, dg_gpu *) { u->jobs = DG_UPDATE_JOBS + 1; }},
        {"a kind that there is not", [](dg_fused_update *u, dg_gpu *) { u->job[2].kind = DG_FUSED_NONE; }},
        {"warpgroups for fp16",
         [](dg_fused_update *u, dg_gpu *g) {
             by_warpgroups(u);
             for (int i = 0; i < u->jobs; i++) u->job[i].tune.math = DG_MATH_FP16;
             *g = {90, 227 << 10, DG_MATH_FP16, true};
         }},
        {"warpgroups and warps",
         [](dg_fused_update *u, dg_gpu *g) {
             u->job[2].kind = DG_FUSED_WGMMA;
             *g = {90, 227 << 10, DG_MATH_BF16, true};
         }},
        {"warpgroups without code for them", [](dg_fused_update *u, dg_gpu *) { by_warpgroups(u); }},
        {"weights that Adam has not", [](dg_fused_update *u, dg_gpu *) { u->adam.n = u->job[4].offset; }},
        {"weights off 16 bytes", [](dg_fused_update *u, dg_gpu *) { u->job[4].offset += 2; }},
        {"weights not a multiple of four", [](dg_fused_update *u, dg_gpu *) { u->adam.n += 2; }},
        {"weights of two jobs", [](dg_fused_update *u, dg_gpu *) { u->job[3].offset = u->job[2].offset + 16; }},
        {"an old device", [](dg_fused_update *, dg_gpu *g) { g->arch = 75; }},
        {"little shared memory", [](dg_fused_update *, dg_gpu *g) { g->shared = 64 << 10; }},
        {"shared memory for the launch alone", [](dg_fused_update *u, dg_gpu *g) { g->shared = dg_update_shared(u); }},
        {"fp16 where bf16 is",
         [](dg_fused_update *u, dg_gpu *) {
             for (int i = 0; i < u->jobs; i++) u->job[i].tune.math = DG_MATH_FP16;
         }},
        {"no rounding", [](dg_fused_update *u, dg_gpu *) { u->job[1].tune.math = DG_MATH_FP32; }},
        {"two roundings", [](dg_fused_update *u, dg_gpu *) { u->job[1].tune.math = DG_MATH_FP16; }},
        {"an image without rounding",
         [](dg_fused_update *u, dg_gpu *) { u->job[0].kind = DG_FUSED_THIN_MMA, u->job[0].tune.math = DG_MATH_FP32; }},
        {"an image rounded in another way",
         [](dg_fused_update *u, dg_gpu *) { u->job[0].kind = DG_FUSED_THIN_MMA, u->job[0].tune.math = DG_MATH_FP16; }},
        {"another stride", [](dg_fused_update *u, dg_gpu *) { u->job[1].conv.S = 1; }},
        {"odd channels", [](dg_fused_update *u, dg_gpu *) { u->job[1].conv.Co = 62; }},
        {"two gradients", [](dg_fused_update *u, dg_gpu *) { u->job[2].x.kind = u->job[2].y.kind = DX; }},
        {"three groups", [](dg_fused_update *u, dg_gpu *) { u->job[2].x.groups = u->job[2].y.groups = 3; }},
        {"groups of unequal size", [](dg_fused_update *u, dg_gpu *) { u->job[2].conv.N = 63; }},
        {"groups of one side", [](dg_fused_update *u, dg_gpu *) { u->job[2].x.groups = 1; }},
        {"an image of two channels", [](dg_fused_update *u, dg_gpu *) { u->job[0].conv.Ci = 2; }},
        {"an image with a norm", [](dg_fused_update *u, dg_gpu *) { u->job[0].x.kind = DX; }},
        {"many channels of one pixel",
         [](dg_fused_update *u, dg_gpu *) { u->job[4].kind = DG_FUSED_GEMV, u->job[4].conv.Co = 5; }},
        {"a pixel with a norm", [](dg_fused_update *u, dg_gpu *) { u->job[4].y.kind = NORM; }},
        {"more than one pixel", [](dg_fused_update *u, dg_gpu *) { u->job[4].conv.H = 8; }},
    };
    for (int is_G = 0; is_G < 2; is_G++) {
        const dg_fused_update right = published(64, is_G, DG_MATH_BF16);
        const char *why = dg_fused_update_refuses(&right, &gpu);
        DG_CHECKF(!why, "refused: %s", why);
        for (const auto &w : wrong) {
            dg_fused_update u = right;
            dg_gpu g = gpu;
            w.make(&u, &g);
            DG_CHECKF(dg_fused_update_refuses(&u, &g) != nullptr, "%s: %s is taken", is_G ? "G" : "D", w.what);
        }
    }
}

/* On an H100, an update has enough blocks, and no block has much more work than the other blocks. */
static void splits()
{
    for (int N = 2; N <= 512; N *= 4)
        for (int is_G = 0; is_G < 2; is_G++) {
            dg_fused_update u = published(N, is_G, DG_MATH_BF16), again = u;
            dg_fused_update_split(&u);
            dg_fused_update_split(&again);
            int blocks = 0;
            double most = 0, all = 0;
            for (int i = 0; i < u.jobs; i++) {
                const dg_update_job *j = &u.job[i];
                const int mine = dg_update_work_of(&u.job[i]).producers;
                DG_CHECKF(j->tune.split >= 1 && mine >= j->tune.split && j->tune.split == again.job[i].tune.split,
                          "job %d: split=%d", i, j->tune.split);
                blocks += mine;
                if (j->kind != DG_FUSED_MMA && j->kind != DG_FUSED_THIN) continue;
                const double work = (double)j->conv.Ho * j->conv.Wo * j->conv.Ci * j->conv.Co *
                                    (j->kind == DG_FUSED_THIN ? 6 : 1);
                all += work;
                most = fmax(most, work / mine);
            }
            DG_CHECKF(N < 128 || (blocks >= 100 && blocks <= 800), "%c, %d images: %d blocks", "DG"[is_G], N, blocks);
            DG_CHECKF(N < 128 || most <= 2.5 * all / 132, "%c, %d images: the longest block has %g times its share",
                      "DG"[is_G], N, most / all * 132);
            /* a split from a tuning row is limited to the number of parts into which the sum can be divided */
            u.job[1].tune.split = 1 << 20;
            DG_CHECK(dg_update_work_of(&u.job[1]).producers <= 2 * 4 * N && dg_fused_update_size(&u).bytes > 0);
        }
}

DG_TESTS(convolutions, dense_and_thin, updates, splits)
