/* Groups the ops of a plan into launches. Each convolution is fused with its prologue and epilogue. The last layer of
 * D is fused with its loss. Adam is fused with the weight gradients of its network. If a batch has several shards, the
 * weight gradients of each shard are a launch, and Adam is another one. Tensors that all their consumers can recompute
 * are not stored. If a kernel refuses a fused launch, the ops of this launch are launched separately,
 * and the grouping is repeated. Launches are ordered by their main ops. */
#include <stdlib.h>
#include <string.h>

#include "core/tune/conv_tiles.h"
#include "core/plan/deps.h"
#include "core/plan/fusions.h"
#include "kernels/fused/fuse_launch.h"
#include "core/plan/gather.h"
#include "core/plan/precision.h"

enum { NONE = -1 };

typedef struct {
    int launch;
    int members, losses;
    int place;
    bool refused;
    bool gradients; /* this op is the main op of a launch of weight gradients */
    bool made;      /* the result (of norm_act or norm_act_dx) is not stored, because its consumers recompute it */
} note;

typedef struct {
    dg_plan *p;
    unsigned what;
    const dg_gpu *gpu;
    note *note;
    dg_deps deps;
} pass;

/* Excludes convolutions with averaged weights (EMA), because no fused update rounds these weights. */
static bool is_conv(const dg_plan *p, const dg_op *op)
{
    if (op->kind != DG_OP_conv_fwd && op->kind != DG_OP_conv_dx) return false;
    const dg_row *w = dg_plan_row(p, op, dg_operand_index(op->kind, "w"));
    return !w || w->kind != DG_AVERAGE;
}

static int row_of(const dg_op *op, const char *name)
{
    const int k = dg_operand_index(op->kind, name);
    return k < 0 ? NONE : op->operand[k].row;
}

static const char *result(const dg_op *op) { return op->kind == DG_OP_conv_fwd ? "y" : "x"; }

static bool is_loss(const pass *f, int i)
{
    const dg_op *op = &f->p->op[i];
    return op->kind == DG_OP_gan_loss && op->u.gan_loss.form == DG_GAN_CROSS;
}

static void alone(pass *f, int i)
{
    f->note[i].launch = i;
    f->note[i].members = 1;
    f->note[i].gradients = false;
    f->note[i].losses = is_loss(f, i);
}

static void join(pass *f, int i, int main)
{
    note *before = &f->note[f->note[i].launch], *now = &f->note[main];
    before->members--;
    before->losses -= is_loss(f, i);
    now->members++;
    now->losses += is_loss(f, i);
    f->note[i].launch = main;
}

static bool reads(const pass *f, int i, const char *name, int writer)
{
    const int k = dg_operand_index(f->p->op[i].kind, name);
    return k >= 0 && dg_deps_writer(&f->deps, i, k) == writer;
}

/* True if op shard_running computes running statistics from the tensor. */
static bool is_of_shard(const pass *f, int row)
{
    const dg_deps *d = &f->deps;
    for (int n = d->of_row[row]; n < d->of_row[row + 1]; n++)
        if (f->p->op[d->access[d->by_row[n]].op].kind == DG_OP_shard_running) return true;
    return false;
}

static bool is_epilogue(const pass *f, int i, int next)
{
    const dg_op *conv = &f->p->op[i], *op = &f->p->op[next];
    const int row = row_of(conv, result(conv));
    switch (op->kind) {
    case DG_OP_norm_stats:
        return row_of(op, "x") == row && (row_of(op, "running_mean") >= 0 || is_of_shard(f, row_of(op, "mean")));
    case DG_OP_act: return dg_acts[op->u.act.act].fused && row_of(op, "x") == row && row_of(op, "y") == row;
    case DG_OP_act_dx: return dg_acts[op->u.act.act].fused && row_of(op, "dy") == row && row_of(op, "dx") == row;
    case DG_OP_norm_act_dx: return row_of(op, "dy") == row && row_of(op, "dx") == row;
    default: return false;
    }
}

static void take_around(pass *f, int i)
{
    const dg_plan *p = f->p;
    const dg_op *op = &p->op[i];
    const int k = dg_operand_index(op->kind, dg_fuse_input(op)), writer = dg_deps_writer(&f->deps, i, k);
    if (i + 1 < p->ops && is_epilogue(f, i, i + 1)) join(f, i + 1, i);
    const dg_op *from = writer < 0 ? NULL : &p->op[writer];
    if (from && (from->kind == DG_OP_norm_act || from->kind == DG_OP_noise) && f->note[writer].launch == writer)
        join(f, writer, i);
    const dg_deps *d = &f->deps;
    if (op->operand[k].offset) return;
    for (int n = d->of_row[op->operand[k].row]; d->access[d->by_row[n]].op < i; n++) {
        const int j = d->access[d->by_row[n]].op;
        const dg_gather_args *g = &p->op[j].u.gather;
        if (p->op[j].kind == DG_OP_gather && dg_gather_is_signed(g) && f->note[j].launch == j) join(f, j, i);
    }
}

static bool take_head(pass *f, int i)
{
    const dg_plan *p = f->p;
    const dg_op *op = &p->op[i];
    const dg_conv_args flat = dg_conv_flat(&op->u.conv);
    int last = i + 1, losses = 0;
    if (op->kind != DG_OP_conv_fwd || flat.Co != 1 || flat.Ho != 1 || flat.Wo != 1) return false;
    for (; last < p->ops && is_loss(f, last) && reads(f, last, "logit", i); last++) losses++;
    while (last < p->ops && (p->op[last].kind == DG_OP_conv_dw || p->op[last].kind == DG_OP_spectral_dw)) last++;
    if (losses < 1 || losses > 2 || last >= p->ops || p->op[last].kind != DG_OP_conv_dx) return false;
    if (!reads(f, last, "y", i + losses) || row_of(&p->op[last], "w") != row_of(op, "w")) return false;
    for (int j = i; j <= i + losses; j++) join(f, j, i);
    join(f, last, i);
    if (last + 1 < p->ops && is_epilogue(f, last, last + 1)) join(f, last + 1, i);
    const int writer = dg_deps_writer(&f->deps, i, dg_operand_index(op->kind, "x"));
    if (writer >= 0 && p->op[writer].kind == DG_OP_norm_act) join(f, writer, i);
    return true;
}

/* Returns the tensor of a weight gradient of network `net` that no launch has yet, or NULL. */
static const dg_row *gradient_of(const pass *f, int i, int net)
{
    const dg_op *op = &f->p->op[i];
    if (op->kind != DG_OP_conv_dw || f->note[i].launch != i) return NULL;
    const dg_row *r = dg_plan_row(f->p, op, dg_operand_index(op->kind, "w"));
    return r->kind == DG_GRAD && r->net == net ? r : NULL;
}

static bool is_summed(const pass *f, const dg_row *r)
{
    const dg_deps *d = &f->deps;
    const int row = (int)(r - f->p->arena->row);
    for (int n = d->of_row[row]; n < d->of_row[row + 1]; n++)
        if (f->p->op[d->access[d->by_row[n]].op].kind == DG_OP_shard_sum) return true;
    return false;
}

static void take_gradients(pass *f, int adam)
{
    const dg_plan *p = f->p;
    const int net = p->op[adam].u.adam.net;
    if (!(f->what & DG_FUSE_update)) return;
    for (int i = 0; i < adam; i++) {
        const dg_row *r = gradient_of(f, i, net);
        if (r && !is_summed(f, r)) join(f, i, adam);
    }
    if (adam + 1 < p->ops && p->op[adam + 1].kind == DG_OP_advance) join(f, adam + 1, adam);
}

/* The weight gradients of each shard that op `sum` adds become a launch. */
static void take_shards(pass *f, int sum)
{
    const dg_op *op = &f->p->op[sum];
    const dg_row *first = dg_plan_row(f->p, op, dg_operand_index(op->kind, "g"));
    int last[DG_MAX_SHARDS];
    if (!(f->what & DG_FUSE_update) || first->kind != DG_GRAD) return;
    for (int k = 0; k < op->u.shard_sum.shards; k++) last[k] = NONE;
    for (int i = sum - 1; i >= 0; i--) {
        const dg_row *r = gradient_of(f, i, first->net);
        if (!r) continue;
        int *const main = &last[(r->offset - first->offset) / ((size_t)op->u.shard_sum.n * sizeof(float))];
        if (*main != NONE) join(f, i, *main);
        else f->note[ *main = i].gradients = true;
    }
}

static void take(pass *f)
{
    const dg_plan *p = f->p;
    for (int i = 0; i < p->ops; i++) {
        if (f->note[i].launch != i) continue;
        if (p->op[i].kind == DG_OP_adam) take_gradients(f, i);
        if (p->op[i].kind == DG_OP_shard_sum) take_shards(f, i);
        if (f->what & DG_FUSE_convs && is_conv(p, &p->op[i]) && !take_head(f, i)) take_around(f, i);
    }
}

static dg_launch_kind kind_of(const pass *f, int main)
{
    const dg_plan *p = f->p;
    const dg_op *op = &p->op[main];
    if (f->note[main].refused) return DG_LAUNCH_OP;
    const int members = f->note[main].members;
    if (op->kind == DG_OP_adam) return members > 1 ? DG_LAUNCH_UPDATE : DG_LAUNCH_OP;
    if (f->note[main].gradients) return DG_LAUNCH_GRADIENTS;
    if (!is_conv(p, op)) return DG_LAUNCH_OP;
    if (f->note[main].losses) return DG_LAUNCH_HEAD;
    /* a convolution with a split sum also uses a fused kernel, which adds the parts of the sum */
    bool around = members > 1 || (f->what != DG_FUSE_NONE && op->tune.split > 1);
    const int writer = dg_deps_writer(&f->deps, main, dg_operand_index(op->kind, dg_fuse_input(op)));
    if (writer >= 0 && f->note[writer].made) around = true;
    return around && dg_fused_family_of(op->kind, &op->u.conv, &op->tune) != DG_FUSED_NONE ? DG_LAUNCH_CONV
                                                                                           : DG_LAUNCH_OP;
}

/* True if every launch that uses the result of op i can recompute the result. */
static bool all_make(const pass *f, int i)
{
    const dg_plan *p = f->p;
    const bool backward = p->op[i].kind == DG_OP_norm_act_dx;
    const int own = f->note[i].launch;
    if (own == i || kind_of(f, own) == DG_LAUNCH_OP) return false;
    if (!(f->what & DG_FUSE_convs)) return false;
    const dg_deps *d = &f->deps;
    const int row = p->op[i].operand[0].row;
    for (int n = d->of_row[row]; n < d->of_row[row + 1]; n++) {
        const dg_access *a = &d->access[d->by_row[n]];
        if (a->op <= i || dg_deps_writer(d, a->op, a->operand) != i) continue;
        const dg_op *reader = &p->op[a->op];
        const bool conv = is_conv(p, reader) && a->operand == dg_operand_index(reader->kind, dg_fuse_input(reader));
        const dg_launch_kind kind = kind_of(f, f->note[a->op].launch);
        /* in a fused head, only the forward convolution can recompute its input */
        if (conv ? kind == DG_LAUNCH_OP || (kind == DG_LAUNCH_HEAD && (backward || f->note[a->op].launch != a->op))
                 : reader->kind != DG_OP_conv_dw || !dg_has_gradients(kind))
            return false;
    }
    return true;
}

/* Finds the ops whose results are recomputed by their consumers. Assumes at first that all results can be recomputed,
 * and removes results until nothing changes. */
static void find_made(pass *f)
{
    for (int i = 0; i < f->p->ops; i++)
        f->note[i].made = f->p->op[i].kind == DG_OP_norm_act || f->p->op[i].kind == DG_OP_norm_act_dx;
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < f->p->ops; i++)
            if (f->note[i].made && !all_make(f, i)) f->note[i].made = false, again = true;
    }
}

static void leave_alone(pass *f)
{
    for (int i = 0; i < f->p->ops; i++) {
        const dg_op_kind kind = f->p->op[i].kind;
        if ((kind == DG_OP_norm_act || kind == DG_OP_norm_act_dx) && !f->note[i].made) join(f, i, i);
        if (kind_of(f, f->note[i].launch) == DG_LAUNCH_OP) join(f, i, i);
    }
}

static dg_err reorder(pass *f, int *new_place)
{
    dg_plan *p = f->p;
    dg_op *op = malloc((size_t)p->ops * sizeof *op);
    free(p->launch);
    p->launch = calloc((size_t)p->ops, sizeof *p->launch);
    if (!op || !p->launch) {
        free(op);
        return dg_fail(DG_DEVICE, "out of memory while planning");
    }
    int n = p->launches = 0;
    for (int main = 0; main < p->ops; main++) {
        if (f->note[main].launch != main) continue;
        p->launch[p->launches] =
            (dg_launch){.kind = kind_of(f, main), .first = n, .main = main, .row = NONE, .warpgroups = f->gpu->wgmma};
        f->note[main].place = p->launches++;
        n += f->note[main].members;
    }
    for (int i = 0; i < p->ops; i++) {
        dg_launch *l = &p->launch[f->note[f->note[i].launch].place];
        new_place[i] = l->first + l->count++;
        op[new_place[i]] = p->op[i];
    }
    for (int i = 0; i < p->launches; i++) p->launch[i].main = new_place[p->launch[i].main];
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < DG_MAX_OPERANDS; k++) {
            const int writer = dg_deps_writer(&f->deps, i, k);
            const bool made = writer >= 0 && f->note[writer].made &&
                              p->op[writer].operand[0].row == p->op[i].operand[k].row &&
                              (is_conv(p, &p->op[i]) || p->op[i].kind == DG_OP_conv_dw);
            op[new_place[i]].operand[k].from = made ? new_place[writer] + 1 : 0;
        }
    memcpy(p->op, op, (size_t)p->ops * sizeof *op);
    free(op);
    dg_round_rows(p, f->gpu->math);
    return DG_OK;
}

static bool in_order(const pass *f)
{
    const dg_deps *d = &f->deps;
    for (int r = 0; r < d->rows; r++)
        for (int n = d->of_row[r]; n < d->of_row[r + 1]; n++)
            for (int m = n + 1; m < d->of_row[r + 1]; m++) {
                const dg_access *a = &d->access[d->by_row[n]], *b = &d->access[d->by_row[m]];
                if (f->note[a->op].launch > f->note[b->op].launch && dg_deps_conflict(a, b)) return false;
            }
    return true;
}

/* Returns an earlier fused convolution on tensor cores that reads operand `name` of weight gradient i, or NULL. `i` is
 * the gradient's index in the plan's original order. */
static dg_op *multiplied(const pass *f, int i, const char *name, const int *new_place)
{
    const dg_plan *p = f->p;
    const dg_op *dw = &p->op[new_place[i]];
    const int k = dg_operand_index(dw->kind, name), writer = dg_deps_writer(&f->deps, i, k);
    for (int j = f->note[i].launch - 1; j >= 0; j--) {
        dg_op *op = &p->op[new_place[j]];
        if (f->note[j].launch != j || p->launch[f->note[j].place].kind != DG_LAUNCH_CONV) continue;
        const dg_fused_family family = dg_fused_family_of(op->kind, &op->u.conv, &op->tune);
        const int input = dg_operand_index(op->kind, name);
        if ((family == DG_FUSED_MMA || family == DG_FUSED_WGMMA) && *dg_fuse_input(op) == *name &&
            op->tune.math == dw->tune.math && op->operand[input].row == dw->operand[k].row &&
            op->operand[input].offset == dw->operand[k].offset && dg_deps_writer(&f->deps, j, input) == writer &&
            dg_operand_count(op, input) == dg_operand_count(dw, k))
            return op;
    }
    return NULL;
}

static int own_row(dg_plan *p, const char *op, const char *what, size_t bytes)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", op, what);
    const int row = dg_arena_bytes(p->arena, name, DG_WORK, bytes);
    p->arena->row[row].plan = p->id;
    return row;
}

/* Adds plan rows for the rounded operands of weight gradient i. `i` is the gradient's index in the plan's original
 * order. */
static void factor_rows(const pass *f, int i, const int *new_place)
{
    dg_plan *p = f->p;
    dg_op *dw = &p->op[new_place[i]];
    if (dw->kind != DG_OP_conv_dw || dw->tune.variant->fused != DG_FUSED_MMA ||
        !dg_has_gradients(p->launch[f->note[f->note[i].launch].place].kind))
        return;
    for (const char *name = "x"; name; name = *name == 'x' ? "y" : NULL) {
        const int k = dg_operand_index(dw->kind, name);
        if (dw->operand[k].factors) continue;
        dw->operand[k].factors = own_row(p, dw->name, name, (size_t)dg_operand_count(dw, k) * sizeof(uint16_t));
        dg_op *const conv = multiplied(f, i, name, new_place);
        if (conv) conv->operand[dg_operand_index(conv->kind, name)].factors = dw->operand[k].factors;
    }
}

/* Sets `absent` in the rows of tensors that no launch stores, and adds rows for tensors that fused launches need. */
static void settle_rows(pass *f, const int *new_place)
{
    dg_plan *p = f->p;
    int counters = 0;
    for (int i = 0; i < p->ops; i++) {
        dg_op *op = &p->op[new_place[i]];
        factor_rows(f, i, new_place);
        if (!f->note[i].made) continue;
        if (op->kind == DG_OP_norm_act) {
            p->arena->row[op->operand[0].row].absent = true;
        } else {
            const int k = dg_operand_index(op->kind, "scratch");
            op->operand[k].row = own_row(p, op->name, "totals",
                                         (size_t)op->u.norm_act.groups * 2 * (size_t)op->u.norm_act.C * sizeof(float));
        }
    }
    for (int i = 0; i < p->launches; i++) {
        dg_launch *l = &p->launch[i];
        if (l->kind == DG_LAUNCH_OP) continue;
        dg_rounded_row(p, l);
        const dg_fused_size size = dg_fused_size_of(p, l);
        l->counter = counters;
        counters += size.counters;
        if (size.bytes) l->row = own_row(p, p->op[l->main].name, "fused", size.bytes);
    }
    if (!counters) return;
    char name[64];
    snprintf(name, sizeof name, "counters.%s", p->name);
    p->row_counters = dg_arena_row(p->arena, name, DG_STATE, 0, DG_I32, (dg_shape){1, 1, 1, counters});
}

static dg_err attempt(pass *f, int *new_place, bool *again)
{
    dg_plan *p = f->p;
    *again = false;
    for (int i = 0; i < p->ops; i++) alone(f, i);
    take(f);
    find_made(f);
    leave_alone(f);
    if (!in_order(f)) return dg_fail(DG_FAILED, "plan %s: fused launches would be out of order", p->name);
    dg_op *const as_it_was = p->op;
    p->op = malloc((size_t)p->ops * sizeof *p->op);
    if (p->op) memcpy(p->op, as_it_was, (size_t)p->ops * sizeof *p->op);
    dg_err e = p->op ? reorder(f, new_place) : dg_fail(DG_DEVICE, "out of memory while planning");
    for (int i = 0; i < p->launches && !e; i++) {
        const dg_launch *l = &p->launch[i];
        if (l->kind == DG_LAUNCH_OP || !dg_fused_refuses(p, l, f->gpu)) continue;
        for (int k = 0; k < p->ops; k++)
            if (new_place[k] == l->main) f->note[k].refused = *again = true;
    }
    free(p->op);
    p->op = as_it_was;
    return e;
}

dg_err dg_fuse_plan(dg_plan *p, unsigned what, dg_type real, const dg_gpu *gpu)
{
    pass f = {.p = p, .what = real == DG_F32 ? what & DG_FUSE_OPS : DG_FUSE_NONE, .gpu = gpu};
    p->branches = (what & DG_FUSE_branches) != 0;
    f.note = calloc((size_t)p->ops + 1, sizeof *f.note);
    int *new_place = calloc((size_t)p->ops + 1, sizeof *new_place);
    dg_err e = f.note && new_place ? DG_OK : dg_fail(DG_DEVICE, "out of memory while planning");
    if (!e) e = dg_deps_find(&f.deps, p);
    for (bool again = !e; again && !e;) e = attempt(&f, new_place, &again);
    if (!e) e = reorder(&f, new_place);
    if (!e) settle_rows(&f, new_place);
    dg_deps_free(&f.deps);
    free(f.note);
    free(new_place);
    return e;
}
