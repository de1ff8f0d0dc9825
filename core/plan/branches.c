/* Finds memory conflicts between launches, and the fewest waits that order all conflicting pairs. */
#include "core/plan/branches.h"
#include "core/plan/deps.h"

#include <stdlib.h>
#include <string.h>

/* A byte range [from, to) of the arena. Ops only read memory outside of the arena (dataset, permutation). */
typedef struct {
    size_t from, to;
    bool written;
} range;

typedef struct {
    range *range;
    int ranges;
    bool exclusive;
    int kernels;
} piece;

typedef struct {
    const dg_plan *p;
    dg_deps deps;
    int pieces;
    piece *piece;
    size_t words;
    unsigned *before; /* [launch][words]: bit set of the launches that end before this launch begins */
    unsigned *users;  /* [row][words]: per tensor, the launches that use it */
} branches;

int dg_plan_pieces(const dg_plan *p) { return p->launch ? p->launches : p->ops; }

static void include(unsigned *set, int k) { set[k / 32] |= 1u << k % 32; }

static void add(const branches *b, int i, int row, size_t skip, size_t bytes, bool written)
{
    const dg_row *r = row < 0 ? NULL : &b->p->arena->row[row];
    if (!r || r->absent || r->kind == DG_OUTSIDE || !bytes) return;
    piece *at = &b->piece[i];
    include(b->users + (size_t)row * b->words, i);
    at->range[at->ranges++] = (range){r->offset + skip, r->offset + skip + bytes, written};
}

static void add_op(const branches *b, int i, int op, bool read_only)
{
    for (int n = b->deps.of_op[op]; n < b->deps.of_op[op + 1]; n++) {
        const dg_access *a = &b->deps.access[n];
        add(b, i, a->row, a->from, a->to - a->from, !read_only && a->written);
    }
}

static size_t accesses(const branches *b, int op) { return (size_t)(b->deps.of_op[op + 1] - b->deps.of_op[op]); }

static dg_err find_ranges(const branches *b, int number, int first, int count)
{
    const dg_plan *p = b->p;
    piece *at = &b->piece[number];
    size_t most = 1;
    for (int i = first; i < first + count; i++) {
        most += accesses(b, i);
        for (int k = 0; k < DG_MAX_OPERANDS; k++) {
            const int from = p->op[i].operand[k].from;
            most += (from ? accesses(b, from - 1) : 0) + (p->op[i].operand[k].factors != 0);
        }
    }
    at->range = malloc(most * sizeof *at->range);
    if (!at->range) return dg_fail(DG_DEVICE, "out of memory while planning");
    for (int i = first; i < first + count; i++) {
        const dg_op *op = &p->op[i];
        add_op(b, number, i, false);
        for (int k = 0; k < DG_MAX_OPERANDS; k++) {
            const int factors = op->operand[k].factors;
            if (op->operand[k].from) add_op(b, number, op->operand[k].from - 1, true);
            if (factors) add(b, number, factors, 0, p->arena->row[factors].bytes, true);
        }
        at->exclusive |= op->tune.variant && op->tune.variant->exclusive;
        at->kernels += dg_op_kernels(p, i);
    }
    return DG_OK;
}

static bool conflict(const piece *a, const piece *b)
{
    if (a->exclusive && b->exclusive) return true;
    for (int i = 0; i < a->ranges; i++)
        for (int k = 0; k < b->ranges; k++) {
            const range *x = &a->range[i], *y = &b->range[k];
            if ((x->written || y->written) && x->from < y->to && y->from < x->to) return true;
        }
    return false;
}

static unsigned *before(const branches *b, int i) { return b->before + (size_t)i * b->words; }
static bool known(const branches *b, int i, int k) { return before(b, i)[k / 32] >> k % 32 & 1; }
static void wait_for(const branches *b, int i, int k)
{
    unsigned *mine = before(b, i);
    const unsigned *its = before(b, k);
    for (size_t w = 0; w < b->words; w++) mine[w] |= its[w];
    include(mine, k);
}

/* Returns a branch in which launch i needs no additional wait, or else the branch with the shortest chain. `tail` has
 * the last launch of each branch, or -1. */
static int branch_of(const branches *b, const dg_branched *out, int i, const int *tail)
{
    int best = -1, rank = 0;
    for (int k = 0; k < DG_BRANCHES; k++) {
        const int t = tail[k];
        const int now = t >= 0 && out[i].after[k] == t ? 4 : t >= 0 && known(b, i, t) ? 3 : t < 0 ? 2 : 1;
        const bool better = now > rank ||
                            (now == rank && t >= 0 &&
                             (now == 1 ? out[t].chain < out[tail[best]].chain : out[t].chain > out[tail[best]].chain));
        if (better) best = k, rank = now;
    }
    return best;
}

static void place(const branches *b, dg_branched *out, int i, int *tail)
{
    dg_branched *me = &out[i];
    for (int k = 0; k < DG_BRANCHES; k++) me->after[k] = -1;
    for (int k = i - 1; k >= 0; k--) {
        if (known(b, i, k) || (b->p->branches && !conflict(&b->piece[i], &b->piece[k]))) continue;
        me->after[out[k].branch] = k;
        wait_for(b, i, k);
    }
    me->branch = branch_of(b, out, i, tail);
    const int last = tail[me->branch];
    me->after[me->branch] = last;
    if (last >= 0) wait_for(b, i, last);
    me->chain = 0;
    for (int k = 0; k < i; k++)
        if (known(b, i, k) && out[k].chain > me->chain) me->chain = out[k].chain;
    me->chain += b->piece[i].kernels;
    tail[me->branch] = i;
}

static void forget(branches *b)
{
    dg_deps_free(&b->deps);
    for (int i = 0; b->piece && i < b->pieces; i++) free(b->piece[i].range);
    free(b->piece);
    free(b->before);
    free(b->users);
}

static dg_err find_order(branches *b, const dg_plan *p, dg_branched *out)
{
    *b = (branches){.p = p, .pieces = dg_plan_pieces(p)};
    b->words = ((size_t)b->pieces + 31) / 32;
    b->piece = calloc((size_t)b->pieces + 1, sizeof *b->piece);
    b->before = calloc((size_t)b->pieces * b->words + 1, sizeof *b->before);
    b->users = calloc((size_t)p->arena->rows * b->words + 1, sizeof *b->users);
    dg_err e = b->piece && b->before && b->users ? DG_OK : dg_fail(DG_DEVICE, "out of memory while planning");
    if (!e) e = dg_deps_find(&b->deps, p);
    for (int i = 0; i < b->pieces && !e; i++)
        e = p->launch ? find_ranges(b, i, p->launch[i].first, p->launch[i].count) : find_ranges(b, i, i, 1);
    for (int i = 0; i < b->pieces && !e && p->launch; i++) {
        const int row = p->launch[i].row;
        if (row >= 0) add(b, i, row, 0, p->arena->row[row].bytes, true);
    }
    int tail[DG_BRANCHES];
    for (int k = 0; k < DG_BRANCHES; k++) tail[k] = -1;
    for (int i = 0; i < b->pieces && !e; i++) place(b, out, i, tail);
    return e;
}

dg_err dg_plan_branch(const dg_plan *p, dg_branched *out)
{
    branches b;
    const dg_err e = find_order(&b, p, out);
    forget(&b);
    return e;
}

/* Writes the set of launches that end before all users of the tensor begin. */
static void before_users(const branches *b, size_t row, unsigned *out)
{
    const unsigned *users = b->users + row * b->words;
    memset(out, 0xff, b->words * sizeof *out);
    for (int i = 0; i < b->pieces; i++) {
        if (!(users[i / 32] >> i % 32 & 1)) continue;
        for (size_t w = 0; w < b->words; w++) out[w] &= before(b, i)[w];
    }
}

static bool all_in(const branches *b, const unsigned *users, const unsigned *ended)
{
    for (size_t w = 0; w < b->words; w++)
        if (users[w] & ~ended[w]) return false;
    return true;
}

static bool has_work(const dg_plan *p, size_t row)
{
    const dg_row *r = &p->arena->row[row];
    return r->kind == DG_WORK && r->plan == p->id && !r->absent;
}

static dg_err find_apart(const branches *b, bool *out)
{
    const size_t n = (size_t)b->p->arena->rows;
    unsigned *ended = malloc((n * b->words + 1) * sizeof *ended);
    if (!ended) return dg_fail(DG_DEVICE, "out of memory while planning");
    for (size_t i = 0; i < n; i++) {
        if (!has_work(b->p, i)) continue;
        unsigned *mine = ended + i * b->words;
        before_users(b, i, mine);
        for (size_t k = 0; k < i; k++)
            if (has_work(b->p, k))
                out[i * n + k] = out[k * n + i] = all_in(b, b->users + k * b->words, mine) ||
                                                  all_in(b, b->users + i * b->words, ended + k * b->words);
    }
    free(ended);
    return DG_OK;
}

/* Gives each work tensor its own address range during the analysis, so that no two tensors share memory. */
dg_err dg_plan_apart(const dg_plan *p, bool **out)
{
    dg_arena *a = p->arena;
    const size_t n = (size_t)a->rows;
    size_t at = a->persistent;
    branches b = {0};
    dg_branched *all = malloc(((size_t)dg_plan_pieces(p) + 1) * sizeof *all);
    *out = calloc(n * n + 1, sizeof **out);
    for (int i = 0; i < a->rows; i++) {
        if (a->row[i].kind != DG_WORK || a->row[i].plan != p->id) continue;
        a->row[i].offset = at;
        at += a->row[i].bytes;
    }
    dg_err e = all && *out ? find_order(&b, p, all) : dg_fail(DG_DEVICE, "out of memory while planning");
    if (!e) e = find_apart(&b, *out);
    forget(&b);
    free(all);
    if (e) free(*out), *out = NULL;
    return e;
}

int dg_plan_kernels(const dg_plan *p)
{
    int n = 0;
    for (int i = 0; i < p->ops; i++) n += dg_op_kernels(p, i);
    return n;
}

dg_err dg_plan_chain(const dg_plan *p, int *longest)
{
    const int pieces = dg_plan_pieces(p);
    dg_branched *all = malloc(((size_t)pieces + 1) * sizeof *all);
    *longest = 0;
    dg_err e = all ? dg_plan_branch(p, all) : dg_fail(DG_DEVICE, "out of memory while planning");
    for (int i = 0; i < pieces && !e; i++)
        if (all[i].chain > *longest) *longest = all[i].chain;
    free(all);
    return e;
}
