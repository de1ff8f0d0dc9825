/* Static descriptions of the ops: one dg_op_info per op in its folder (kernels/ops/NAME/op.c). Placing, binding,
 * printing, tuning and tests read these descriptions and have no switch over op kinds. tests/core/plan/test_ops.c
 * checks that the descriptions are complete. */
#pragma once

#include <stdbool.h>

#include "core/base/err.h"
#include "core/plan/variant.h"

typedef enum { DG_IN = 1, DG_OUT = 2, DG_INOUT = 3, DG_SCRATCH = 4 } dg_role;

typedef enum {
    DG_REAL,
    DG_NUMBER,
    DG_BYTE,
    DG_INDEX,
    DG_ONE_STEP,
    DG_ALL_STEPS, /* ring of DG_RING elements of type dg_metrics; an op writes some metrics of one element */
    DG_COUNTERS   /* DG_OP_COUNTERS counters (uint32_t), 0 before and after a GPU's launch; unused on CPUs */
} dg_element;
enum { DG_OP_COUNTERS = 2 };

/* An integer in an op's argument struct. `at` is the offset. `bytes` is 4, 8 or, for no integer, 0. */
typedef struct {
    uint16_t at, bytes;
} dg_field;

typedef struct {
    const char *name;
    size_t member;
    dg_role role;
    dg_element element;
    dg_field dim[4]; /* fields whose product is the operand's number of elements; empty for scalars and scratch */
    bool anywhere;   /* the op may access the whole tensor, also before the operand's offset */
} dg_operand;

/* A word of a row in a tuning file, such as N=64. A word named ">" follows the previous word without a space, as in
 * C=3>64 (Ci and Co). */
typedef struct {
    const char *name;
    dg_field field;
} dg_shape_word;

enum { DG_MAX_VARIANTS = 10 };

struct dg_op_values;
struct dg_check_operand;

/* Returns the limit of value i of a result. The last argument is the absolute value of the reference backend's result.
 */
typedef double dg_limit_of(const struct dg_op_values *v, const struct dg_check_operand *o, size_t i, double want);

typedef struct dg_op_info {
    dg_operand operand[DG_MAX_OPERANDS + 1]; /* results are first, scratch is last; an unnamed operand ends the list */
    dg_shape_word shape[10];                 /* fields of the op's shape in the order of a tuning row */
    /* Computes arguments that follow from the op's shape. Returns NULL, or the reason why the shape is invalid. */
    const char *(*complete)(dg_op *op);
    /* The product of these fields is the number of values that are contiguous in every operand, such as a pixel's
     * channels. Vector loads are possible if these values fill a multiple of 16 bytes. */
    dg_field wide[3];
    /* Returns the FLOPs of one run of the op. A multiply-add counts as two FLOPs, also for taps in the padding. Outside
     * of convolutions every arithmetic operation, comparison and function value counts as one FLOP. */
    double (*flops)(const dg_op *op);
    double flops_each; /* without `flops`: FLOPs per value of the first operand */
    /* Returns the bytes of operand `scratch` for the CUDA variant in op->tune. dg_variant.scratch takes precedence. */
    size_t (*scratch)(const dg_op *op, dg_type real);
    /* Counts the work that all variants of the op have in common, for time predictions (core/plan/work.h). May be
     * NULL. */
    void (*work)(const dg_op *op, dg_type real, struct dg_work *w);
    /* The op's variants on CUDA, ended by NULL. The first variant supports every shape. Without a tuning row, the last
     * variant in the list that supports the shape is used. */
    const dg_variant *variants[DG_MAX_VARIANTS + 1];
    /* The limits of an op's results (core/plan/limits.h): of each value, or of all. If `weighed` is set, the limits are
     * relative to the op's result for the absolute values of its inputs. */
    dg_limit_of *limit;
    dg_err (*limits)(const struct dg_op_values *v);
    bool weighed;
    double roundings; /* roundings per result, for dg_limits_relative; 0: results must have equal bits */
} dg_op_info;

/* Registers the descriptions of all op kinds, in the order of DG_OPS. Each backend's open function calls dg_ops_use
 * with the static descriptions of kernels/ops/ops.h. */
void dg_ops_use(const dg_op_info *const info[DG_OP_KINDS]);

/* Returns an empty description for DG_OP_KINDS and before dg_ops_use. */
const dg_op_info *dg_op_info_of(dg_op_kind kind);

const char *dg_op_kind_name(dg_op_kind kind);
const dg_operand *dg_operands(dg_op_kind kind, int *count);

int dg_operand_index(dg_op_kind kind, const char *name);

/* Returns the number of elements of operand k that the op accesses: 0 for scratch, 1 for a scalar or the step state,
 * DG_RING for metrics. */
int64_t dg_operand_count(const dg_op *op, int k);

int64_t dg_field_get(const dg_op *op, const dg_field *f);
void dg_field_set(dg_op *op, const dg_field *f, int64_t value);

int64_t dg_op_wide(const dg_op *op);

double dg_op_flops(const dg_op *op);

#define DG_FIELD(args, what)                                                                    \
    {                                                                                           \
        offsetof(dg_##args##_args, what), (uint16_t)sizeof(((const dg_##args##_args *)0)->what) \
    }
#define DG_NHWC(args) \
    {"N", DG_FIELD(args, N)}, {"H", DG_FIELD(args, H)}, {"W", DG_FIELD(args, W)}, { "C", DG_FIELD(args, C) }
#define DG_FIELDS_1(args, a) DG_FIELD(args, a)
#define DG_FIELDS_2(args, a, b) DG_FIELD(args, a), DG_FIELD(args, b)
#define DG_FIELDS_3(args, a, b, c) DG_FIELDS_2(args, a, b), DG_FIELD(args, c)
#define DG_FIELDS_4(args, a, b, c, d) DG_FIELDS_3(args, a, b, c), DG_FIELD(args, d)
#define DG_FIELDS_PICK(a, b, c, d, name, ...) name
#define DG_FIELDS(args, ...)                                                                                 \
    {                                                                                                        \
        DG_FIELDS_PICK(__VA_ARGS__, DG_FIELDS_4, DG_FIELDS_3, DG_FIELDS_2, DG_FIELDS_1, )(args, __VA_ARGS__) \
    }

/* Macros for operands: DG_OUTPUT(conv, y, N, Ho, Wo, Co) describes the output y (N, Ho, Wo, Co) of type DG_REAL. */
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
