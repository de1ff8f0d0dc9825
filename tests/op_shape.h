/* Makes an op of any kind from the named dimensions of its shape. */
#pragma once

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
#include "core/plan/op_info.h"
#ifdef __cplusplus
}
#endif

typedef struct {
    const char *word;
    int64_t value;
} shape_value;

static inline bool shape_has(dg_op_kind kind, const char *word)
{
    for (const dg_shape_word *w = dg_op_info_of(kind)->shape; w->name; w++)
        if (!strcmp(w->name, word)) return true;
    return false;
}

/* Sets n dimensions of an op and 0 for its other dimensions, and completes the shape. Returns NULL, or the reason why
 * the shape is invalid. */
static inline const char *shape_set(dg_op *op, dg_op_kind kind, const shape_value *values, int n)
{
    memset(op, 0, sizeof *op);
    op->kind = kind;
    const dg_op_info *info = dg_op_info_of(kind);
    for (const dg_shape_word *w = info->shape; w->name; w++)
        for (int i = 0; i < n; i++)
            if (!strcmp(w->name, values[i].word)) dg_field_set(op, &w->field, values[i].value);
    return info->complete ? info->complete(op) : NULL;
}

/* Makes a shape with a different value for each dimension. All operands point to `somewhere`, because no kernel runs.
 * Returns NULL, or the reason why no shape is valid. */
static inline const char *shape_any(dg_op *op, dg_op_kind kind, void *somewhere)
{
    const bool images = kind == DG_OP_gather || kind == DG_OP_augment || kind == DG_OP_augment_dx;
    const int C = images ? 4 : 20;
    const shape_value values[] = {{"N", 8},       {"H", 7},      {"W", 6},      {"C", C},      {">", 12},
                                  {"groups", 2},  {"K", 3},      {"S", 2},      {"P", 1},      {"n", 6400},
                                  {"batch", 3},   {"each", 840}, {"width", 11}, {"latent", 5}, {"labels", 4},
                                  {"shards", 16}, {"ranks", 1}};
    const char *const wrong = shape_set(op, kind, values, (int)(sizeof values / sizeof *values));
    for (const dg_operand *o = dg_op_info_of(kind)->operand; o->name; o++)
        memcpy((char *)&op->u + o->member, &somewhere, sizeof somewhere);
    return wrong;
}
