/* The plan: a flat list of ops over the tensors (dg_row) of an arena, built from a model and a batch size. Shapes,
 * bytes and FLOPs are exact before memory is allocated.
 *
 * Several plans (full batch, short last batch, samples) share one arena. Persistent tensors are stored once, at the
 * beginning of the arena: weights, gradients, moments and running statistics of each network, and the step state. Work
 * tensors follow the persistent tensors. Work tensors of different plans share memory.
 *
 * A work tensor occupies its bytes from the first to the last op that uses it. Tensors whose lifetimes do not overlap
 * may share memory. First fit places the largest tensor first. Tensors of kind DG_OUTSIDE (the dataset and its
 * permutation) are the caller's memory. */
#pragma once

#include <stdio.h>
#include "core/plan/backend.h"

typedef enum {
    DG_PARAM, /* weights; each network's weights are contiguous */
    DG_GRAD,  /* gradients: same order and padding as DG_PARAM */
    DG_MOMENT1,
    DG_MOMENT2,
    DG_AVERAGE, /* averaged weights: same order and padding as DG_PARAM */
    DG_BUFFER,
    DG_STATE,
    DG_WORK,
    DG_OUTSIDE
} dg_row_kind;

typedef struct {
    char name[40]; /* "G.1.conv.w", "D.2.x" */
    dg_shape shape;
    dg_type type;
    dg_row_kind kind;
    int net;              /* the network's index in the model, for kinds up to DG_BUFFER */
    size_t offset, bytes; /* bytes in the arena; offset is a multiple of 256 */
    int first, last;      /* DG_WORK: first and last op that use the tensor, set by dg_arena_place */
    int plan;
    bool keep;     /* DG_WORK: the host writes the tensor before the plan runs, or reads it afterwards */
    bool absent;   /* DG_WORK: no launch stores the tensor, so it has no memory in the arena */
    bool padding;  /* no tensor: fills the tensors of this kind and network up to equal slices (core/group/slices.h) */
    bool rounded;  /* DG_WORK: the fp32 tensor is stored as bf16 (fused.h) */
    void *outside; /* DG_OUTSIDE: the tensor's memory */
} dg_row;

static inline size_t dg_value_bytes(const dg_row *r) { return r->rounded ? sizeof(uint16_t) : dg_type_bytes(r->type); }

typedef struct {
    dg_row *row;
    int rows, capacity;
    size_t persistent, bytes; /* bytes of the persistent tensors, and of the whole arena */
    void *base;
    int plans;                /* number of plans; new work tensors belong to the plan begun last */
    int shard;                /* from 1 on, names of new ops and work tensors end in .s2, .s3 ... (shards.h) */
    bool full;                /* memory ran out while a tensor or op was added, so dg_arena_place fails */
    int rounded[DG_NETS_MAX]; /* index of the tensor with a network's rounded weights (fused.h), or 0 */
    dg_math rounding;
    uint64_t rounded_at; /* 1 + number of host writes at the last rounding; 0: never rounded */
} dg_arena;

/* Consecutive ops that a backend launches together. dg_fuse_plan (fused.h) divides a plan into launches. */
typedef enum {
    DG_LAUNCH_OP,
    DG_LAUNCH_CONV,
    DG_LAUNCH_HEAD,
    DG_LAUNCH_UPDATE,   /* the weight gradients of a network, and Adam */
    DG_LAUNCH_GRADIENTS /* the weight gradients of a network for one shard (host/net/shards.h) */
} dg_launch_kind;
static inline bool dg_has_gradients(dg_launch_kind k) { return k == DG_LAUNCH_UPDATE || k == DG_LAUNCH_GRADIENTS; }
typedef struct {
    dg_launch_kind kind;
    int first, count;
    int main; /* number of the op that names the launch: the convolution, Adam in an update, or the last weight gradient
               */
    int row;
    int counter;
    bool warpgroups; /* dg_has_gradients: products of bf16 operands use Hopper's wgmma */
} dg_launch;

typedef struct dg_plan {
    char name[24];
    dg_op *op;
    int ops, capacity;
    dg_op nowhere;   /* dg_plan_add returns this op when memory runs out */
    dg_arena *arena; /* shared, not owned */
    int id;
    dg_launch *launch; /* launches of all ops in order; NULL if the backend does not fuse */
    int launches;
    int row_counters; /* index of the tensor with the counters of fused launches, or -1 */
    bool branches;    /* independent launches may run concurrently (branches.h) */
    void *captured;
} dg_plan;

/* Starts an empty plan, which owns the work tensors added before the next dg_plan_begin. dg_arena_place reports if
 * memory ran out. */
void dg_plan_begin(dg_plan *p, dg_arena *a, const char *name);
/* Allocates the arena's list of tensors. dg_arena_row returns tensor 0 when memory runs out, so tensor 0 must exist. */
dg_err dg_arena_begin(dg_arena *a);
int dg_arena_row(dg_arena *a, const char *name, dg_row_kind kind, int net, dg_type type, dg_shape shape);
int dg_arena_bytes(dg_arena *a, const char *name, dg_row_kind kind, size_t bytes);
int dg_arena_find(const dg_arena *a, const char *name); /* -1: none */
/* Writes the name of a new op or tensor to `out`. If `of_shard`, the name ends in the suffix of a->shard. */
static inline void dg_shard_name(const dg_arena *a, bool of_shard, char *out, size_t size, const char *name)
{
    if (a->shard && of_shard) snprintf(out, size, "%.*s.s%u", (int)size - 5, name, (unsigned)(a->shard + 1) % 100u);
    else snprintf(out, size, "%s", name);
}
/* Appends an op to the plan. The pointer is valid until the plan's next dg_plan_add. */
dg_op *dg_plan_add(dg_plan *p, dg_op_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Sets the tensor of operand `member` (static text). If the op has no such operand, dg_arena_place refuses the op. */
void dg_plan_operand(dg_op *op, const char *member, int row, int64_t skip);

/* Sets all tensors' offsets: persistent tensors consecutively, work tensors by first fit. If the backend refuses an op,
 * returns DG_DEVICE with a message that names the op. */
dg_err dg_arena_place(dg_arena *a, dg_plan *const *plans, int n, dg_backend *b);
dg_err dg_arena_alloc(dg_arena *a, dg_backend *b);
void dg_arena_free(dg_arena *a, dg_backend *b);

/* Sets the pointers in the arguments of every op. The pointer to an absent tensor (dg_row) is NULL. */
dg_err dg_plan_bind(dg_plan *p);
void dg_plan_free(dg_plan *p);

const dg_row *dg_plan_row(const dg_plan *p, const dg_op *op, int operand);

/* Returns the first tensor of the weights that the op writes, or NULL. */
const dg_row *dg_plan_writes_weights(const dg_plan *p, const dg_op *op);

/* Returns the bytes that one run of the op reads and writes, without scratch. */
double dg_op_bytes(const dg_plan *p, const dg_op *op);

double dg_operand_bytes(const dg_plan *p, const dg_op *op, int operand);

/* Returns the launch that runs op number `op`, or NULL if the plan has no launches. */
const dg_launch *dg_plan_launch(const dg_plan *p, int op);
bool dg_plan_fused(const dg_plan *p, int op);
/* Returns the number of kernels of an op. In a fused launch, all kernels are counted at the main op. */
int dg_op_kernels(const dg_plan *p, int op);
int dg_launch_kernels(const dg_plan *p, const dg_launch *l);
double dg_launch_bytes(const dg_plan *p, const dg_launch *l);

/* True if an earlier launch stores the weight gradient's rounded operands in this tensor. */
bool dg_factors_written(const dg_plan *p, int row);

/* Prints the table of `dcgan plan`: shapes, bytes and FLOPs per op. If chain (dg_plan_chain) is not 0, as for a GPU,
 * also prints the launches and the source of each op's variant. */
void dg_plan_print(const dg_plan *p, int chain, FILE *to);
void dg_arena_print(const dg_arena *a, FILE *to);
