/* Checks that every op's description (dg_op_info) is complete and agrees with the op's argument struct. */
#include <string.h>

#include "core/plan/op_info.h"
#include "core/tune/tune.h"
#include "kernels/ops/conv/variants.h"
#include "tests/all_ops.h"
#include "test.h"

static const dg_gpu gpu = {90, 232448, DG_MATH_FP32, true};

static dg_op small_op(dg_op_kind kind)
{
    dg_op op = {.kind = kind};
    const dg_op_info *info = dg_op_info_of(kind);
    for (int k = 0; info->operand[k].name; k++)
        for (int d = 0; d < 4; d++)
            if (info->operand[k].dim[d].bytes) dg_field_set(&op, &info->operand[k].dim[d], 2);
    for (int i = 0; info->shape[i].name; i++) { /* pooling gets a window of one pixel and no padding */
        const char first = info->shape[i].name[0];
        dg_field_set(&op, &info->shape[i].field, first == 'K' ? 1 : first == 'P' ? 0 : 2);
    }
    for (int k = 0; k < DG_MAX_OPERANDS; k++) op.operand[k].row = -1;
    return op;
}

static bool known_number(const dg_field *f) { return f->bytes == sizeof(int) || f->bytes == sizeof(int64_t); }

static void check_operands(dg_op_kind kind, const dg_op *op)
{
    const char *name = dg_op_kind_name(kind);
    int n, results = 0, workspaces = 0;
    const dg_operand *list = dg_operands(kind, &n);
    DG_CHECKF(n > 0 && n <= DG_MAX_OPERANDS, "%s: %d operands", name, n);
    for (int k = 0; k < n; k++) {
        const dg_operand *o = &list[k];
        results += (o->role & DG_OUT) != 0;
        workspaces += o->role == DG_SCRATCH;
        DG_CHECKF(dg_operand_index(kind, o->name) == k, "%s: two operands are %s", name, o->name);
        DG_CHECKF(o->member + sizeof(void *) <= sizeof op->u && o->member % sizeof(void *) == 0,
                  "%s: %s is not a pointer", name, o->name);
        for (int j = 0; j < k; j++) DG_CHECKF(list[j].member != o->member, "%s: %s twice", name, o->name);
        const bool counted = (o->element == DG_REAL || o->element == DG_BYTE || o->element == DG_INDEX) &&
                             o->role != DG_SCRATCH;
        DG_CHECKF(!counted || known_number(&o->dim[0]), "%s: how large is %s?", name, o->name);
        DG_CHECKF(!counted || dg_operand_count(op, k) > 0, "%s: %s has no elements", name, o->name);
        DG_CHECKF(o->role != DG_SCRATCH || k == n - 1, "%s: scratch memory comes last", name);
    }
    DG_CHECKF(results > 0 && list[0].role & DG_OUT, "%s: the first operand is a result", name);
    DG_CHECKF((workspaces == 1) == (dg_op_info_of(kind)->scratch != NULL), "%s: scratch memory, but not how much",
              name);
}

static void check_shape(dg_op_kind kind)
{
    const dg_op_info *info = dg_op_info_of(kind);
    const char *name = dg_op_kind_name(kind);
    DG_CHECKF(info->shape[0].name, "%s: no shape, so that it cannot be tuned", name);
    for (int i = 0; info->shape[i].name; i++)
        DG_CHECKF(known_number(&info->shape[i].field), "%s: %s is not a number", name, info->shape[i].name);
}

/* Checks that the tuning row of an op can be parsed and found. Each variant must accept the tuning row or give a
 * reason. */
static void check_tuning(dg_op_kind kind, dg_op *op)
{
    char text[200];
    dg_tune_table t = {0};
    const char *name = dg_op_kind_name(kind);
    if (dg_op_info_of(kind)->complete) DG_CHECKF(!dg_op_info_of(kind)->complete(op), "%s: its shape", name);
    const dg_variant *const *v = dg_op_info_of(kind)->variants;
    DG_CHECKF(!strcmp(v[0]->name, "direct"), "%s: the first variant is %s", name, v[0]->name);
    for (int i = 0; v[i]; i++)
        DG_CHECKF(v[i]->check && dg_variant_find(kind, v[i]->name) == v[i], "%s: variant %s", name, v[i]->name);
    op->tune = (dg_tune){.variant = v[0]};
    DG_CHECKF(!dg_variant_check(op, &op->tune, DG_F32, &gpu), "%s: direct does not take it", name);
    dg_tune_text(text, sizeof text, op, &op->tune);
    DG_CHECKF(dg_tune_parse(&t, text, "row", DG_F32, &gpu) == DG_OK, "%s: %s", text, dg_message());
    DG_CHECKF(dg_tune_find(&t, op, 90), "%s: its row is not found", text);
    dg_tune_free(&t);
    if (v[1] == &dg_vector)
        DG_CHECKF(known_number(&dg_op_info_of(kind)->wide[0]), "%s: no contiguous dimension, for vectors", name);
}

static bool has(dg_op_kind kind, const dg_variant *variant) { return dg_variant_find(kind, variant->name) == variant; }

static void check_conv_variants(void)
{
#define X(name)                                                                                              \
    DG_CHECKF(has(DG_OP_conv_fwd, &dg_conv_variant_##name) || has(DG_OP_conv_dx, &dg_conv_variant_##name) || \
                  has(DG_OP_conv_dw, &dg_conv_variant_##name),                                               \
              "%s: no convolution has this variant", #name);
    DG_CONV_VARIANTS(X)
#undef X
}

int main(void)
{
    check_conv_variants();
    for (int k = 0; k < DG_OP_KINDS; k++) {
        const dg_op_kind kind = (dg_op_kind)k;
        const dg_op_info *info = dg_op_info_of(kind);
        dg_op op = small_op(kind);
        check_operands(kind, &op);
        check_shape(kind);
        DG_CHECKF((info->flops || info->flops_each > 0) && dg_op_flops(&op) >= 0, "%s: no FLOPs",
                  dg_op_kind_name(kind));
        DG_CHECKF(!info->limit != !info->limits, "%s: how far may two backends be apart?", dg_op_kind_name(kind));
        DG_CHECKF(info->variants[0], "%s: no variants", dg_op_kind_name(kind));
        if (info->variants[0]) check_tuning(kind, &op);
    }
    int n;
    DG_CHECK(dg_operands(DG_OP_KINDS, &n)[0].name == NULL && n == 0);
    DG_CHECK(dg_op_flops(&(dg_op){.kind = DG_OP_KINDS}) == 0);
    return dg_test_report();
}
