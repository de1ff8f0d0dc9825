/* What is known of an op without running it: one row an op, in the op's own folder (kernels/ops/NAME/op.c). Placing,
 * binding, printing, fusing, tuning, checking and the tests read the row; none of them has a switch over kinds.
 * tests/core/plan/test_ops.c holds every row to be complete; an op of DG_OPS without a row does not link. */
#ifndef DG_OP_INFO_H
#define DG_OP_INFO_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/plan/variant.h"

typedef enum { DG_IN = 1, DG_OUT = 2, DG_INOUT = 3, DG_SCRATCH = 4 } dg_role;

typedef enum {
    DG_REAL,      /* the backend's type */
    DG_NUMBER,    /* the same, of which there is one */
    DG_BYTE,      /* uint8_t */
    DG_INDEX,     /* int32_t */
    DG_ONE_STEP,  /* a dg_step_state */
    DG_ALL_STEPS, /* DG_RING dg_metrics, of which an op writes some values of one row */
    DG_COUNTERS /* DG_OP_COUNTERS of uint32_t for the blocks of a GPU's launch, 0 before and after it; CPUs need none */
} dg_element;
enum { DG_OP_COUNTERS = 2 };

/* A whole number in an op's argument struct: its offset there and its size, 4 or 8 bytes; 0: there is none. */
typedef struct {
    uint16_t at, bytes;
} dg_field;

typedef struct {
    const char *name; /* the member's name */
    size_t member;    /* offset of the pointer inside the argument struct */
    dg_role role;
    dg_element element;
    dg_field dim[4]; /* how many elements the op touches: their product; numbers and scratch memory have none */
    bool anywhere;   /* they lie anywhere in its tensor, not from the operand's offset on */
} dg_operand;

/* A word of a row in a tuning file, N=64. The name ">" continues the word before: C=3>64. */
typedef struct {
    const char *name;
    dg_field field;
} dg_shape_word;

enum { DG_MAX_VARIANTS = 10 };

struct dg_op_values;

typedef struct dg_op_info {
    dg_operand operand[DG_MAX_OPERANDS + 1]; /* results first, scratch memory last; the one without a name ends them */
    dg_shape_word shape[10];                 /* what kernels are tuned for; all others are parameters */
    /* Completes the shape (numbers that follow from others); NULL, or why there is no such shape, static text. */
    const char *(*complete)(dg_op *op);
    /* Values that lie side by side in all operands, a product: where it is a multiple of 16 bytes, vectors are loaded.
     */
    dg_field wide[3];
    /* Arithmetic operations of one run. A multiply-add counts as two, taps in the padding count; outside of the
     * convolutions every addition, multiplication, division, comparison and function value of the formula is one. */
    double (*flops)(const dg_op *op);
    /* Bytes of operand `scratch` that the CUDA backend's choice in op->tune needs, where there is such an operand and
     * the variant does not say. */
    size_t (*scratch)(const dg_op *op, dg_type real);
    /* What all variants do besides, as far as time depends on it (core/plan/work.h); NULL: nothing. */
    void (*work)(const dg_op *op, dg_type real, struct dg_work *w);
    /* Of the CUDA backend, up to a NULL. The first takes every shape, on CPUs, too; the rule takes the last that can.
     */
    const dg_variant *variants[DG_MAX_VARIANTS + 1];
    /* Fills in `limit` of every result, how far two backends may be apart in each number (core/plan/limits.h).
     * weighed: the results of the op with the magnitudes of its inputs are its measure, as of sums of products. */
    dg_err (*limits)(const struct dg_op_values *v);
    bool weighed;
    double roundings; /* of dg_limits_relative: so many roundings of a result's own size; 0: equal to the bit */
} dg_op_info;

/* Pass the rows of all kinds, in the order of DG_OPS, to core. Each backend does this when it is opened; all pass the
 * same rows (kernels/ops/ops.h), which are never freed. */
void dg_ops_use(const dg_op_info *const info[DG_OP_KINDS]);

/* The row of a kind; that of DG_OP_KINDS, and of every kind before dg_ops_use, has nothing in it. */
const dg_op_info *dg_op_info_of(dg_op_kind kind);

const char *dg_op_kind_name(dg_op_kind kind);
const dg_operand *dg_operands(dg_op_kind kind, int *count);

/* Index of the operand with that name among those of the kind, -1: it has none. */
int dg_operand_index(dg_op_kind kind, const char *name);

/* Elements that the op touches of operand k: 0 of scratch memory, 1 of a number or a step's state, DG_RING of metrics.
 */
int64_t dg_operand_count(const dg_op *op, int k);

/* A number of an op's arguments. */
int64_t dg_field_get(const dg_op *op, const dg_field *f);
void dg_field_set(dg_op *op, const dg_field *f, int64_t value);

/* How many values lie side by side, 1 where the row names none. */
int64_t dg_op_wide(const dg_op *op);

/* Arithmetic operations of one run of this op, as its row counts them. */
double dg_op_flops(const dg_op *op);

/* ---- For the rows ---- */

#define DG_FIELD(args, what)                                                                    \
    {                                                                                           \
        offsetof(dg_##args##_args, what), (uint16_t)sizeof(((const dg_##args##_args *)0)->what) \
    }
#define DG_FIELDS_1(args, a) DG_FIELD(args, a)
#define DG_FIELDS_2(args, a, b) DG_FIELD(args, a), DG_FIELD(args, b)
#define DG_FIELDS_3(args, a, b, c) DG_FIELDS_2(args, a, b), DG_FIELD(args, c)
#define DG_FIELDS_4(args, a, b, c, d) DG_FIELDS_3(args, a, b, c), DG_FIELD(args, d)
#define DG_FIELDS_PICK(a, b, c, d, name, ...) name
#define DG_FIELDS(args, ...)                                                                                 \
    {                                                                                                        \
        DG_FIELDS_PICK(__VA_ARGS__, DG_FIELDS_4, DG_FIELDS_3, DG_FIELDS_2, DG_FIELDS_1, )(args, __VA_ARGS__) \
    }

/* Operands: DG_OUTPUT(conv, y, N, Ho, Wo, Co) is the real tensor (N, Ho, Wo, Co) that is written. */
#define DG_OPERAND(args, what, role, element, ...)                                                  \
    {                                                                                               \
#what, offsetof(dg_##args##_args, what), role, element, DG_FIELDS(args, __VA_ARGS__), false \
    }
#define DG_OUTPUT(args, what, ...) DG_OPERAND(args, what, DG_OUT, DG_REAL, __VA_ARGS__)
#define DG_INPUT(args, what, ...) DG_OPERAND(args, what, DG_IN, DG_REAL, __VA_ARGS__)
#define DG_UPDATED(args, what, ...) DG_OPERAND(args, what, DG_INOUT, DG_REAL, __VA_ARGS__)
#define DG_SINGLE(args, what, role)                                                 \
    {                                                                               \
#what, offsetof(dg_##args##_args, what), role, DG_NUMBER, {{0, 0 } }, false \
    }
#define DG_WORKSPACE(args)                                                                   \
    {                                                                                        \
        "scratch", offsetof(dg_##args##_args, scratch), DG_SCRATCH, DG_BYTE, {{0, 0}}, false \
    }
#define DG_STEP_READ(args)                                                              \
    {                                                                                   \
        "state", offsetof(dg_##args##_args, state), DG_IN, DG_ONE_STEP, {{0, 0}}, false \
    }
#define DG_COUNTED(args)                                                                         \
    {                                                                                            \
        "counters", offsetof(dg_##args##_args, counters), DG_INOUT, DG_COUNTERS, {{0, 0}}, false \
    }
#define DG_METRICS_WRITTEN(args)                                                          \
    {                                                                                     \
        "ring", offsetof(dg_##args##_args, ring), DG_INOUT, DG_ALL_STEPS, {{0, 0}}, false \
    }

#endif
