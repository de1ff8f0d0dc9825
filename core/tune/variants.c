/* The variants of the CUDA ops: what each can take, and which one an op gets when nobody says. The rules look at
 * shapes alone, not at the size of the GPU, so that sums have the same order on every one. */
#include "core/tune/variants.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/tune/conv_tiles.h"

static _Thread_local char reason[160];

#define no dg_variant_no

const char *dg_variant_no(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(reason, sizeof reason, format, ap);
    va_end(ap);
    return reason;
}

const char *dg_variant_name(dg_op_kind kind, int i)
{
    const char *const *name = dg_op_info_of(kind)->variants;
    if (i < 0 || !name) return NULL;
    for (; i && *name; i--) name++;
    return *name;
}

static bool is(const dg_tune *t, const char *variant) { return strcmp(t->variant, variant) == 0; }

static bool is_conv(dg_op_kind k) { return k == DG_OP_conv_fwd || k == DG_OP_conv_dx || k == DG_OP_conv_dw; }

static bool is_norm(dg_op_kind k) { return k == DG_OP_norm_stats || k == DG_OP_norm_act || k == DG_OP_norm_act_dx; }

/* Do all operands start at 16 bytes? Rows do; an operand may begin inside of one. */
static bool aligned(const dg_op *op, dg_type real)
{
    int n;
    dg_operands(op->kind, &n);
    for (int k = 0; k < n; k++)
        if (op->operand[k].offset * (int64_t)dg_type_bytes(real) % 16) return false;
    return true;
}

static const char *check_sweep(const dg_op *op, dg_tune *t, dg_type real)
{
    if (t->tile_m || t->stages || t->split > 1) return no("%s has no tile, stages or split", t->variant);
    if (!t->block) t->block = 256;
    /* a multiprocessor has 64K registers: the powers in double take more than 64 of a thread's */
    const int most = op->kind == DG_OP_adam && real == DG_F64 ? 512 : 1024;
    if (t->block < 32 || t->block > most || t->block % 32)
        return no("block=%d: must be a multiple of 32 up to %d", t->block, most);
    if (is_norm(op->kind) && (t->block > 512 || (t->block & (t->block - 1))))
        return no("block=%d: must be a power of two from 32 to 512", t->block);
    if (!is(t, "vector")) return NULL;
    const int wide = 16 / (int)dg_type_bytes(real);
    if (dg_op_wide(op) % wide)
        return no("vector: %lld values side by side are no multiple of %d", (long long)dg_op_wide(op), wide);
    if (!aligned(op, real)) return no("vector: an operand does not start at 16 bytes");
    return NULL;
}

/* ---- Convolution ---- */

static int at_least_1(int n) { return n < 1 ? 1 : n; }
static int div_up(int a, int b) { return (a + b - 1) / b; }

static double elements(const dg_conv_args *a, int which)
{
    const double x = (double)a->N * a->H * a->W * a->Ci, y = (double)a->N * a->Ho * a->Wo * a->Co;
    return which == 0 ? x : which == 1 ? y : (double)a->Co * a->K * a->K * a->Ci;
}

static bool is_halving(const dg_conv_args *a) { return a->K == 4 && a->S == 2 && a->P == 1; }

/* Threads of the block of a tile, 0 if there is no such tile. */
static int tile_threads(dg_op_kind kind, const char *variant, int m, int n)
{
#define X(BM, BN, TM, TN) \
    if (m == BM && n == BN) return BM / TM * (BN / TN);
    if (strcmp(variant, "tiled") == 0) { DG_TILED_WIDE(X) }
    if (strcmp(variant, "tiled") == 0 && kind != DG_OP_conv_dw) { DG_TILED_NARROW(X) }
#undef X
#define X(POSITIONS, BN) \
    if (m == POSITIONS && n == BN) return POSITIONS / 4 * (BN / 4);
    if (strcmp(variant, "patch") == 0) { DG_PATCH_TILES(X) }
#undef X
    return 0;
}

static size_t stage_bytes(dg_op_kind kind, const dg_conv_args *a, const dg_tune *t)
{
    int words;
    if (is(t, "tiled")) words = DG_TILED_WORDS(t->tile_m, t->tile_n, kind != DG_OP_conv_dw, kind == DG_OP_conv_fwd);
    else if (is(t, "thin"))
        words = a->W <= 4 * DG_PATCH_SMALL ? DG_PATCH_WORDS(8, 8, 8, 4) : DG_PATCH_WORDS(16, 32, 1, 4);
    else
        words = a->W <= DG_PATCH_SMALL ? DG_PATCH_WORDS(4, 4, t->tile_m / 16, t->tile_n)
                                       : DG_PATCH_WORDS(t->tile_m / 8, 8, 1, t->tile_n);
    return (size_t)words * sizeof(float);
}

/* Into how many parts the sum can be cut at most. */
static int most_parts(dg_op_kind kind, const dg_conv_args *a, const dg_tune *t)
{
    if (is(t, "tiled")) {
        if (kind == DG_OP_conv_dw) return a->N;
        const int taps = kind == DG_OP_conv_fwd ? a->K * a->K : div_up(a->K, a->S) * div_up(a->K, a->S);
        return taps * div_up(kind == DG_OP_conv_fwd ? a->Ci : a->Co, DG_TILED_K);
    }
    if (kind == DG_OP_conv_dx && is(t, "patch")) return a->Co / DG_PATCH_STEP;
    if (kind == DG_OP_conv_dw && (is(t, "thin") || is(t, "thin_mma")))
        return a->N * div_up(a->Ho, 4) * div_up(a->Wo, 32);
    return 1;
}

static const char *check_tile(dg_op_kind kind, const dg_conv_args *a, dg_tune *t, const dg_gpu *gpu)
{
    const bool thin = is(t, "thin"), piped = !thin || kind == DG_OP_conv_dx;
    if (thin) {
        const int threads = kind == DG_OP_conv_dw ? 256 : 128;
        if (t->tile_m) return no("thin has a tile of its own");
        if (t->block && t->block != threads) return no("block=%d: thin has %d threads", t->block, threads);
        t->block = threads;
    } else {
        if (!t->tile_m) t->tile_m = t->tile_n = is(t, "tiled") ? 64 : 32;
        const int threads = tile_threads(kind, t->variant, t->tile_m, t->tile_n);
        if (!threads) return no("tile=%dx%d: %s is not compiled for it", t->tile_m, t->tile_n, t->variant);
        if (t->block && t->block != threads)
            return no("block=%d: a tile of %dx%d has %d threads", t->block, t->tile_m, t->tile_n, threads);
        t->block = threads;
    }
    if (!piped && t->stages) return no("this variant has no stages");
    if (!piped) return NULL;
    if (!t->stages) t->stages = is(t, "tiled") ? 3 : 2;
    if (t->stages < 2 || t->stages > 4) return no("stages=%d: must be 2, 3 or 4", t->stages);
    const size_t bytes = (size_t)t->stages * stage_bytes(kind, a, t);
    if (bytes > gpu->shared)
        return no("%d stages need %zu bytes of shared memory, a block here has at most %zu", t->stages, bytes,
                  gpu->shared);
    return NULL;
}

static const char *check_fast_conv(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    const dg_op_kind kind = op->kind;
    const dg_conv_args flat = dg_conv_flat(&op->u.conv), *a = is(t, "patch") || is(t, "thin") ? &op->u.conv : &flat;
    const bool halving = is_halving(a);
    if (real != DG_F32) return no("%s computes in fp32 only", t->variant);
    if (!aligned(op, real)) return no("an operand does not start at 16 bytes");
    if (is(t, "mma") || is(t, "wgmma")) return dg_variant_check_mma(kind, &op->u.conv, t, gpu);
    if (is(t, "thin_mma"))
        return dg_variant_check_thin_mma(kind, &op->u.conv, most_parts(kind, &op->u.conv, t), t, gpu);
    if (is(t, "cublas")) {
        if (t->block || t->tile_m || t->stages || t->split > 1) return no("cublas chooses its own numbers");
        const double patches = (double)a->N * a->Ho * a->Wo * a->K * a->K * a->Ci;
        return patches > 2147483647.0 ? no("cublas: %.0f million values of patches are too many", patches / 1e6) : NULL;
    }
    if (is(t, "gemv")) {
        if (a->K != 1 || a->S != 1 || a->P || a->Ho != 1 || a->Wo != 1)
            return no("gemv needs a y of one pixel that sees all of x");
        if (a->Co > 4) return no("gemv takes at most 4 channels of y, not %d", a->Co);
        if (a->Ci % 4) return no("gemv needs a multiple of 4 values an image, not %d", a->Ci);
        if (a->N > 65535) return no("gemv takes at most 65535 images");
        if ((t->block && t->block != 256) || t->tile_m || t->stages || t->split > 1)
            return no("gemv has 256 threads, no tile, stages or split");
        t->block = 256;
        return NULL;
    }
    if (!is(t, "tiled") && !halving) return no("%s is for K=4 S=2 P=1", t->variant);
    if (is(t, "thin") && a->Ci != 1 && a->Ci != 3) return no("thin is for 1 or 3 channels of x, not %d", a->Ci);
    if (!is(t, "thin") && a->Ci % 4) return no("%s needs channels in multiples of 4, not %d", t->variant, a->Ci);
    if (a->Co % 4) return no("%s needs channels in multiples of 4, not %d", t->variant, a->Co);
    const char *why = check_tile(kind, a, t, gpu);
    if (why) return why;
    if (!t->split) t->split = 1;
    const int phases = is(t, "tiled") && kind == DG_OP_conv_dx ? a->S * a->S : 1, most = most_parts(kind, a, t);
    if (t->split < 1 || t->split > most || t->split * phases > 65535)
        return no("split=%d: must be from 1 to %d", t->split, most);
    return NULL;
}

static const char *check_conv(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    const dg_conv_args *a = &op->u.conv;
    for (int i = 0; i < 3; i++)
        if (elements(a, i) > 2147483647.0)
            return no("%.0f million values in one tensor are too many", elements(a, i) / 1e6);
    if (!is(t, "direct")) return check_fast_conv(op, t, real, gpu);
    const char *why = check_sweep(op, t, real);
    t->split = 1;
    return why;
}

const char *dg_variant_check(const dg_op *op, dg_tune *tune, dg_type real, const dg_gpu *gpu)
{
    const char *name = NULL;
    for (int i = 0; (name = dg_variant_name(op->kind, i)); i++)
        if (strcmp(name, tune->variant) == 0) break;
    if (!name) return no("%s has no variant %s", dg_op_kind_name(op->kind), tune->variant);
    tune->variant = name; /* static text */
    if (is_conv(op->kind)) return check_conv(op, tune, real, gpu);
    return check_sweep(op, tune, real);
}

/* ---- The rule ---- */

/* Parts of a sum, so that there are about `want` blocks, each with at least `least` steps. */
static int parts(int blocks, int want, int steps, int least)
{
    int split = 1;
    while (blocks * split < want && steps / (split * 2) >= least) split *= 2;
    return split;
}

static void choose_tiled(dg_op_kind kind, const dg_conv_args *a, dg_tune *t)
{
    const int phases = kind == DG_OP_conv_dx ? a->S * a->S : 1, taps = div_up(a->K, a->S) * div_up(a->K, a->S);
    int m = a->N * a->Ho * a->Wo, n = a->Co, steps = a->K * a->K * div_up(a->Ci, DG_TILED_K);
    if (kind == DG_OP_conv_dx) {
        m = a->N * div_up(a->H, a->S) * div_up(a->W, a->S);
        n = a->Ci;
        steps = taps * div_up(a->Co, DG_TILED_K);
    } else if (kind == DG_OP_conv_dw) {
        m = a->Co;
        n = a->K * a->K * a->Ci;
        steps = a->N * a->Ho * a->Wo / DG_TILED_K;
    }
    t->tile_m = m <= 32 ? 32 : 64;
    t->tile_n = n <= 32 ? 32 : 64;
    if (t->tile_m == 32) t->tile_n = 32;
    const int wide = div_up(m, 128) * phases;
    if (m >= 128 && n <= 32 && wide >= 256) t->tile_m = 128;
    if (m >= 128 && n >= 64 && wide * div_up(n, 64) >= 512) t->tile_m = 128;
    if (t->tile_m == 128 && n >= 128 && wide * div_up(n, 128) >= 512) t->tile_n = 128;
    const int blocks = div_up(m, t->tile_m) * div_up(n, t->tile_n) * phases;
    t->split = parts(blocks, 256, steps, kind == DG_OP_conv_dw ? 4 : 16);
    if (kind == DG_OP_conv_dw && t->split > a->N) t->split = at_least_1(a->N);
}

static void choose_patch(const dg_conv_args *a, dg_tune *t)
{
    const int positions = a->N * div_up(a->H, 2) * div_up(a->W, 2), steps = a->Co / DG_PATCH_STEP;
    t->tile_m = 64;
    t->tile_n = a->Ci <= 32 || div_up(positions, 64) * div_up(a->Ci, 64) < 512 ? 32 : 64;
    int blocks = div_up(positions, 64) * div_up(a->Ci, t->tile_n);
    if (blocks < 256) {
        t->tile_m = 32;
        blocks = div_up(positions, 32) * div_up(a->Ci, t->tile_n);
    }
    t->split = parts(blocks, 256, steps, 16);
}

const char *dg_variant_choose(const dg_op *op, dg_tune *out, dg_type real, const dg_gpu *gpu)
{
    /* the fast ones in the order in which they are preferred, if they can take the op */
    static const char *const order[] = {"gemv", "thin_mma", "thin", "mma", "patch", "tiled", "vector", "direct"};
    const char *why = NULL;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        dg_tune t = {.variant = order[i], .why = "rule"};
        if (dg_variant_check(op, &t, real, gpu) && strcmp(order[i], "direct") != 0) continue;
        t = (dg_tune){.variant = order[i], .why = "rule"};
        const dg_conv_args flat = is_conv(op->kind) ? dg_conv_flat(&op->u.conv) : (dg_conv_args){0};
        if (is(&t, "tiled")) choose_tiled(op->kind, &flat, &t);
        if (is(&t, "mma")) dg_variant_choose_mma(op, &t, gpu);
        if (is(&t, "patch")) choose_patch(&op->u.conv, &t);
        if ((is(&t, "thin") || is(&t, "thin_mma")) && op->kind == DG_OP_conv_dw) {
            const int most = most_parts(op->kind, &op->u.conv, &t);
            t.split = most < 256 ? at_least_1(most) : 256;
        }
        why = dg_variant_check(op, &t, real, gpu);
        *out = t;
        if (!why) return NULL;
    }
    return why;
}
