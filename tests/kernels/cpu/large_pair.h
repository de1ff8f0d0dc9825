/* Runs an op on a large batch, and on a small batch of the large batch's first and last images. */
#pragma once

#include "core/plan/backend.h"
#include "large_tensor.h"

enum { ENDS = 9 };            /* number of images that the small batch has from each end of the large batch */
static double least = 0x1p29; /* minimum number of values of the largest tensor, or 0 for INT32_MAX */
static dg_backend *backend;

typedef struct {
    dg_op many, few;
    tensor of_many[DG_MAX_OPERANDS];
    char *of_few[DG_MAX_OPERANDS];
    int64_t ends; /* images at each end of the batch, or values if the op has no images */
} pair;

static dg_step_state state = {.seed = 7, .step = 3, .lr = {0.5, 0.5}, .beta2 = 0.5, .ema = 0.5};
static dg_metrics ring[DG_RING];

static void **pointer(dg_op *op, const dg_operand *o) { return (void **)(void *)((char *)&op->u + o->member); }

static size_t element_bytes(const dg_operand *o)
{
    return o->element == DG_BYTE ? 1 : o->element == DG_ONE_STEP || o->element == DG_ALL_STEPS ? 0 : 4;
}

/* Returns the field of the op's arguments that holds the number of images or values. */
static const dg_field *extent(const dg_op *op)
{
    const dg_shape_word *w = dg_op_info_of(op->kind)->shape;
    while (strcmp(w->name, "N") && strcmp(w->name, "n")) w++;
    return &w->field;
}

static bool by_image(const dg_op *op, const dg_operand *o)
{
    for (int i = 0; i < 4; i++)
        if (o->dim[i].bytes && o->dim[i].at == extent(op)->at) return true;
    return false;
}

/* Fills an operand with integers from -3 to 3, or with indices that are valid for the op. */
static void fill(const dg_op *op, const dg_operand *o, char *to, size_t count, unsigned long long *seed)
{
    for (size_t i = 0; i < count; i++) {
        const int number = (int)(dg_test_random(seed) * 4);
        const bool largest = op->kind == DG_OP_maxpool || op->kind == DG_OP_maxpool_dx;
        const int below = largest ? op->u.pool.K * op->u.pool.K : op->kind == DG_OP_softmax ? op->u.softmax.C : 1;
        const float real = (float)number;
        const int32_t index = (number + 4) % below;
        if (o->element == DG_BYTE) to[i] = (char)index;
        else memcpy(to + 4 * i, o->element == DG_INDEX ? (const void *)&index : &real, 4);
    }
}

/* The small operand consists of the first and last images of the large operand. */
static void make_operand(pair *p, int k, unsigned long long *seed)
{
    const dg_operand *o = &dg_op_info_of(p->many.kind)->operand[k];
    const size_t each = element_bytes(o), few = (size_t)dg_operand_count(&p->few, k) * each,
                 many = (size_t)dg_operand_count(&p->many, k) * each, half = few / 2;
    p->many.operand[k].row = p->few.operand[k].row = 0;
    if (!each || o->role == DG_SCRATCH) {
        void *shared = o->element == DG_ONE_STEP ? (void *)&state : o->element == DG_ALL_STEPS ? (void *)ring : NULL;
        *pointer(&p->many, o) = *pointer(&p->few, o) = shared;
        return;
    }
    p->of_few[k] = malloc(few);
    if (!p->of_few[k]) lacks("no memory for a small batch");
    memset(p->of_few[k], 0xff, few);
    if (o->role != DG_OUT) fill(&p->few, o, p->of_few[k], few / each, seed);
    const bool split = by_image(&p->many, o);
    p->of_many[k] = tensor_of(many, split ? half : many, o->role != DG_IN);
    memcpy(p->of_many[k].data, p->of_few[k], split ? half : few);
    if (split) memcpy(p->of_many[k].data + many - half, p->of_few[k] + half, half);
    *pointer(&p->many, o) = p->of_many[k].data;
    *pointer(&p->few, o) = p->of_few[k];
}

static void run(dg_op *op, const dg_variant *variant)
{
    const char *why = backend->refuses(backend, op);
    if (!DG_CHECKF(!why, "%s: %s", op->name, why)) return;
    if (variant)
        DG_CHECKF(op->tune.variant == variant, "%s: %s, not %s", op->name, op->tune.variant->name, variant->name);
    const size_t bytes = backend->scratch(backend, op);
    const int k = dg_operand_index(op->kind, "scratch");
    void *scratch = bytes ? malloc(bytes) : NULL;
    if (bytes && !scratch) lacks("no scratch memory");
    if (k >= 0) *pointer(op, &dg_op_info_of(op->kind)->operand[k]) = scratch;
    DG_CHECK(backend->run_op(backend, op, NULL) == DG_OK);
    free(scratch);
}

static void set_extent(dg_op *op, int64_t value)
{
    const dg_op_info *info = dg_op_info_of(op->kind);
    dg_field_set(op, extent(op), value);
    if (info->complete) DG_CHECK(!info->complete(op));
}

/* Makes a large and a small op from `op`, which lacks only its number of images and its pointers. */
static pair pair_of(dg_op op)
{
    pair p = {.many = op, .few = op};
    const bool values = !strcmp(dg_op_info_of(op.kind)->shape[0].name, "n");
    p.ends = values ? 5003 : ENDS;
    set_extent(&p.few, 2 * p.ends);
    int operands;
    double largest = 1; /* values of the largest operand per image */
    dg_operands(op.kind, &operands);
    for (int k = 0; k < operands; k++)
        if (by_image(&p.few, &dg_op_info_of(op.kind)->operand[k]))
            largest = fmax(largest, (double)dg_operand_count(&p.few, k) / (double)(2 * p.ends));
    /* the last images, and the tiles that contain them, start after `least` values */
    set_extent(&p.many, least > 0 ? (int64_t)(least / largest) + 8 * p.ends : (int64_t)(INT32_MAX / largest));
    snprintf(p.many.name, sizeof p.many.name, "%.20s, %lld", op.name,
             (long long)dg_field_get(&p.many, extent(&p.many)));
    unsigned long long seed = 11;
    for (int k = 0; k < operands; k++) make_operand(&p, k, &seed);
    return p;
}

static void forget(pair *p)
{
    for (int k = 0; k < DG_MAX_OPERANDS; k++) {
        free(p->of_few[k]);
        tensor_free(p->of_many[k]);
    }
}

static const char *many_of(const pair *p, const char *name)
{
    return p->of_many[dg_operand_index(p->many.kind, name)].data;
}
static const char *few_of(const pair *p, const char *name) { return p->of_few[dg_operand_index(p->many.kind, name)]; }

static double number(const char *at, size_t i)
{
    float v;
    memcpy(&v, at + 4 * i, 4);
    return (double)v;
}

/* Compares n elements of an operand. `within` is the tolerance relative to the largest value, or 0 for equal bits. */
static void same(const pair *p, const char *where, const dg_operand *o, const char *is, const char *want, size_t n,
                 double within)
{
    double largest = 0;
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < n && within > 0; i++) largest = fmax(largest, fabs(number(want, i)));
    for (size_t i = 0; i < n; i++) {
        const size_t each = element_bytes(o);
        const bool equal = within > 0 ? fabs(number(is, i) - number(want, i)) <= within * largest
                                      : !memcmp(is + each * i, want + each * i, each);
        if (!equal && !wrong++) first = i;
    }
    DG_CHECKF(!wrong, "%s: %s: %zu of %zu values %s are others, the first is number %zu", p->many.name, o->name, wrong,
              n, where, first);
}

static void check_result(const pair *p, int k, double within)
{
    const dg_operand *o = &dg_op_info_of(p->many.kind)->operand[k];
    const size_t each = element_bytes(o), few = (size_t)dg_operand_count(&p->few, k),
                 many = (size_t)dg_operand_count(&p->many, k);
    const char *is = p->of_many[k].data, *want = p->of_few[k];
    if (!by_image(&p->many, o)) {
        same(p, "of all", o, is, want, few, within);
        return;
    }
    same(p, "at the beginning", o, is, want, few / 2, within);
    same(p, "at the end", o, is + (many - few / 2) * each, want + few / 2 * each, few / 2, within);
}

static void check_results(const pair *p, double within)
{
    int n;
    const dg_operand *list = dg_operands(p->many.kind, &n);
    for (int k = 0; k < n; k++)
        if (list[k].role != DG_IN && list[k].role != DG_SCRATCH && element_bytes(&list[k])) check_result(p, k, within);
}
