/* The plan: a flat list of ops over rows of one arena. Built from a model and a batch size; shapes, bytes and
 * FLOPs are exact before anything is allocated.
 *
 * Several plans (full batch, short last batch, samples) share one arena: persistent rows (weights, gradients,
 * Adam moments, running statistics, state) exist once, work rows of different plans overlap.
 *
 *     0                                                        persistent                             bytes
 *     | weights | gradients | moments 1, 2 | running | state    | work                                 |
 *     |  G | D  |   G | D   |  G | D  each |  G | D  |          | plan train:       D.x, G.1.pre ...   |
 *     |<- one Adam each ->                             |        | plan train-short: the same bytes     |
 *                                                               | plan sample:      the same bytes     |
 *
 *     within the work of one plan, by first op .. last op (time goes down):
 *
 *     offset ->   | D.x ........................ |
 *        op 1     | #### | G.1.pre | G.1.out     |     a row has its bytes from its first to its last op;
 *        op 5     | #### |   G.2.pre   | G.2.out |     two that never live at the same time may lie over
 *        op 9     | #### | D.1.out |  D.2.pre    |     each other: first fit, the largest first
 *
 * Rows of kind DG_OUTSIDE (the data set, its permutation) are the caller's memory. */
#ifndef DG_PLAN_H
#define DG_PLAN_H

#include <stdio.h>
#include "core/plan/backend.h"

typedef enum {
    DG_PARAM, /* weights; those of one network are contiguous, so Adam is one sweep */
    DG_GRAD,  /* same order and padding as DG_PARAM */
    DG_MOMENT1,
    DG_MOMENT2,
    DG_AVERAGE, /* of weights that are averaged over the steps: same order and padding */
    DG_BUFFER,  /* running statistics */
    DG_STATE,   /* dg_step_state, metrics ring */
    DG_WORK,    /* lives from its first to its last op */
    DG_OUTSIDE  /* memory that is not the arena's: the data set, the permutation */
} dg_row_kind;

typedef struct {
    char name[40]; /* "G.1.conv.w", "D.2.x" */
    dg_shape shape;
    dg_type type;
    dg_row_kind kind;
    int net;              /* of the model, for the first six kinds */
    size_t offset, bytes; /* in the arena; offset is a multiple of 256 */
    int first, last;      /* DG_WORK: the ops of its plan between which it lives, set by placing */
    int plan;             /* DG_WORK: the plan that it belongs to */
    bool keep;            /* DG_WORK: the host writes it before the plan or reads it afterwards */
    bool absent;          /* DG_WORK: a fused launch never writes it to memory; it has no place */
    bool rounded;         /* DG_WORK: of fp32, and bf16 in memory (fused.h) */
    void *outside;        /* DG_OUTSIDE: set by dg_arena_outside before binding */
} dg_row;

/* Of a value, in memory. */
static inline size_t dg_value_bytes(const dg_row *r) { return r->rounded ? sizeof(uint16_t) : dg_type_bytes(r->type); }

typedef struct {
    dg_row *row;
    int rows, capacity;
    size_t persistent, bytes; /* bytes of the persistent part, of the whole */
    void *base;               /* the backend's memory once allocated */
    int plans;                /* begun so far; new work rows belong to the last one */
    bool full;                /* a row or an op could not be stored: placing will say so */
    int rounded[DG_NETS_MAX]; /* row of a network's weights as fused convolutions read them (fused.h), 0: none */
    dg_math rounding;         /* how they are rounded */
    uint64_t rounded_at;      /* the backend's: what the host had written by the time when they were made */
} dg_arena;

/* What a backend runs at a time. Fused launches are made by dg_fuse_plan (fused.h); each has one kernel. */
typedef enum { DG_LAUNCH_OP, DG_LAUNCH_CONV, DG_LAUNCH_HEAD, DG_LAUNCH_UPDATE } dg_launch_kind;
typedef struct {
    dg_launch_kind kind;
    int first, count; /* the ops of the plan that it does */
    int main;         /* the op whose name and time it has: the convolution, of an update Adam */
    int row;          /* of its scratch memory, -1: needs none */
    int counter;      /* first of its counters in row_counters */
    bool warpgroups;  /* of an update: products of bf16 by Hopper's warpgroups */
} dg_launch;

typedef struct dg_plan {
    char name[24]; /* "train", "train-short", "sample" */
    dg_op *op;
    int ops, capacity;
    dg_op nowhere;     /* written to after running out of memory; dg_arena_place refuses such a plan */
    dg_arena *arena;   /* shared, not owned */
    int id;            /* of its work rows */
    dg_launch *launch; /* all ops in order, NULL on a backend that fuses nothing */
    int launches;
    int row_counters; /* of fused launches, -1: none */
    bool branches;    /* launches that need nothing of each other may run side by side (branches.h) */
    void *captured;   /* owned by the backend */
} dg_plan;

/* Start an empty plan; rows and ops are then appended. Running out of memory is remembered and reported by
 * dg_arena_place. */
void dg_plan_begin(dg_plan *p, dg_arena *a, const char *name);
/* Make room for rows: then row 0, which dg_arena_row returns out of memory, can be changed. */
dg_err dg_arena_begin(dg_arena *a);
int dg_arena_row(dg_arena *a, const char *name, dg_row_kind kind, int net, dg_type type, dg_shape shape);
int dg_arena_bytes(dg_arena *a, const char *name, dg_row_kind kind, size_t bytes); /* a row without a shape */
int dg_arena_find(const dg_arena *a, const char *name);                            /* -1: no such row */
/* Valid until the next dg_plan_add of this plan. */
dg_op *dg_plan_add(dg_plan *p, dg_op_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* member is static text; dg_arena_place refuses an op that has no such operand. */
void dg_plan_operand(dg_op *op, const char *member, int row, int64_t skip);

/* Give every row its place: persistent rows one after another, work rows by first fit over their lifetimes.
 * Asks the backend for scratch sizes and refusals (DG_DEVICE names the op). */
dg_err dg_arena_place(dg_arena *a, dg_plan *const *plans, int n, dg_backend *b);
dg_err dg_arena_alloc(dg_arena *a, dg_backend *b);
void dg_arena_free(dg_arena *a, dg_backend *b);

/* Fill in the pointers of every op; those of absent rows are NULL. */
dg_err dg_plan_bind(dg_plan *p);
void dg_plan_free(dg_plan *p);

/* Where operand i of op lies and what shape its row has. */
const dg_row *dg_plan_row(const dg_plan *p, const dg_op *op, int operand);

/* Bytes that one run of this op reads and writes, scratch excluded. */
double dg_op_bytes(const dg_plan *p, const dg_op *op);

double dg_operand_bytes(const dg_plan *p, const dg_op *op, int operand);

/* The launch that op number `op` belongs to, NULL where the plan has none; is it fused; how many kernels the op has of
 * its own: of a fused launch the main op has all. Kernels of a fused launch; bytes that it reads and writes. */
const dg_launch *dg_plan_launch(const dg_plan *p, int op);
bool dg_plan_fused(const dg_plan *p, int op);
int dg_op_kernels(const dg_plan *p, int op);
int dg_launch_kernels(const dg_plan *p, const dg_launch *l);
double dg_launch_bytes(const dg_plan *p, const dg_launch *l);

/* Does a convolution write this row of factors (dg_op.operand), which weight gradients read? */
bool dg_factors_written(const dg_plan *p, int row);

/* Tables for `dcgan plan`: an op a line with shapes, bytes, FLOPs; of a GPU's plan, whose chain (branches.h) is not 0,
 * how each is launched and where that choice comes from, too. Then memory by kind. */
void dg_plan_print(const dg_plan *p, int chain, FILE *to);
void dg_arena_print(const dg_arena *a, FILE *to);

#endif
