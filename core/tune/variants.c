/* The elementwise variants of the CUDA ops, and the rule that chooses variants without a tuning row. The rule depends
 * on shapes only, so that sums have the same order on all GPUs. */
#include "core/tune/variants.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/plan/optimizer.h"
#include "core/plan/precision.h"

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

const char *dg_variant_refuses_math(const dg_gpu *gpu)
{
    if (dg_math_on(gpu->math, gpu->arch)) return NULL;
    return dg_variant_no(DG_MSG("no-bf16",
                                "--precision %s: needs the bf16 tensor cores of sm_80 or newer (this is sm_%d); "
                                "use --precision fp32%s"),
                         dg_precision_name(DG_F32, gpu->math), gpu->arch,
                         dg_math_on(DG_MATH_FP16, gpu->arch) ? " or fp16" : "");
}

static bool sums_columns(dg_op_kind k)
{
    return k == DG_OP_norm_stats || k == DG_OP_norm_act || k == DG_OP_norm_act_dx || k == DG_OP_bias_act_dx;
}

/* True if vector loads are possible. Tensors are aligned to 16 bytes, but an operand may begin within a tensor. */
bool dg_variant_aligned(const dg_op *op, dg_type real)
{
    int n;
    dg_operands(op->kind, &n);
    for (int k = 0; k < n; k++)
        if (op->operand[k].offset * (int64_t)dg_type_bytes(real) % 16) return false;
    return true;
}

const char *dg_variant_check_sweep(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    (void)gpu;
    if (t->tile_m || t->stages || t->split > 1)
        return no("variant %s accepts no tile, stages or split", t->variant->name);
    if (!t->block) t->block = 256;
    /* an update in double with 1024 threads would need more than a multiprocessor's 64K registers */
    const int most = dg_is_update(op->kind) && real == DG_F64 ? 512 : 1024;
    if (t->block < 32 || t->block > most || t->block % 32)
        return no("block=%d: must be a multiple of 32 up to %d", t->block, most);
    if (sums_columns(op->kind) && (t->block > 512 || (t->block & (t->block - 1))))
        return no("block=%d: must be a power of two from 32 to 512", t->block);
    return NULL;
}

static const char *check_vector(const dg_op *op, dg_tune *t, dg_type real, const dg_gpu *gpu)
{
    const char *why = dg_variant_check_sweep(op, t, real, gpu);
    if (why) return why;
    if (real != DG_F32) return no("variant vector supports fp32 only, not fp64");
    if (dg_op_wide(op) % 4)
        return no("variant vector: the number of contiguous values, %lld, is not a multiple of 4",
                  (long long)dg_op_wide(op));
    return dg_variant_aligned(op, real) ? NULL
                                        : no("variant vector: the address of an operand is not a multiple of 16 bytes");
}

const dg_variant dg_direct = {.name = "direct", .check = dg_variant_check_sweep};
const dg_variant dg_vector = {.name = "vector", .check = check_vector};

const dg_variant *dg_variant_find(dg_op_kind kind, const char *name)
{
    const dg_variant *const *v = dg_op_info_of(kind)->variants;
    while (*v && strcmp((*v)->name, name) != 0) v++;
    return *v;
}

const char *dg_variant_check(const dg_op *op, dg_tune *tune, dg_type real, const dg_gpu *gpu)
{
    const dg_variant *const *v = dg_op_info_of(op->kind)->variants;
    while (*v && *v != tune->variant) v++;
    if (*v) return (*v)->check(op, tune, real, gpu);
    return no("%s has no variant %s", dg_op_kind_name(op->kind), tune->variant ? tune->variant->name : "(none)");
}

const char *dg_variant_choose(const dg_op *op, dg_tune *out, dg_type real, const dg_gpu *gpu)
{
    const dg_variant *const *v = dg_op_info_of(op->kind)->variants;
    const char *why = NULL;
    int i = 0;
    while (v[i]) i++;
    while (i-- > 0) {
        if (v[i]->by_row) continue;
        dg_tune t = {.variant = v[i], .why = "rule"};
        if (i > 0 && dg_variant_check(op, &t, real, gpu)) continue;
        t = (dg_tune){.variant = v[i], .why = "rule"};
        if (v[i]->choose) v[i]->choose(op, &t, gpu);
        why = dg_variant_check(op, &t, real, gpu);
        *out = t;
        if (!why) return NULL;
    }
    return why;
}
