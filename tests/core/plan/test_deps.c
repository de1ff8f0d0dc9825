/* Compares the dependencies between the ops of a GAN's training step with a brute-force search. */
#include "core/plan/deps.h"
#include "host/net/job.h"
#include "test.h"

static dg_model m;

/* True if operand o of op uses tensor `row`. One operand of op adam covers all weights of a network. */
static bool touches(const dg_plan *p, const dg_op *op, int o, int row)
{
    const dg_row *mine = dg_plan_row(p, op, o), *r = &p->arena->row[row];
    if (!mine || r == mine) return mine != NULL;
    return op->kind == DG_OP_adam && mine->kind != DG_STATE && r->kind == mine->kind && r->net == mine->net;
}

/* Returns the last op before op i that writes the tensor of operand k, or -1. */
static int writer_of(const dg_plan *p, int i, int k)
{
    const int row = p->op[i].operand[k].row;
    for (int j = i - 1; j >= 0 && row >= 0; j--) {
        int n;
        const dg_operand *list = dg_operands(p->op[j].kind, &n);
        for (int o = 0; o < n; o++)
            if (list[o].role & DG_OUT && touches(p, &p->op[j], o, row)) return j;
    }
    return -1;
}

static void check_writers(const dg_plan *p, const dg_deps *d)
{
    int found = 0;
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < DG_MAX_OPERANDS; k++) {
            const int want = writer_of(p, i, k), got = dg_deps_writer(d, i, k);
            found += want >= 0;
            DG_CHECKF(got == want, "%s, operand %d: written by op %d, not %d", p->op[i].name, k, got, want);
        }
    DG_CHECKF(found > p->ops, "only %d operands were written before", found);
    DG_CHECK(dg_deps_writer(d, 3, -1) == -1);
}

/* Checks that the lists of accesses (dg_deps) contain each access once, and that each access is inside of its
 * tensor. */
static void check_lists(const dg_plan *p, const dg_deps *d)
{
    const int all = d->of_op[p->ops];
    DG_CHECKF(d->of_row[d->rows] == all && all < 40 * p->ops, "%d accesses of %d ops", all, p->ops);
    for (int r = 0; r < d->rows; r++)
        for (int n = d->of_row[r]; n < d->of_row[r + 1]; n++) {
            const dg_access *a = &d->access[d->by_row[n]];
            DG_CHECKF(a->row == r && a->from < a->to && a->to <= p->arena->row[r].bytes, "%s: bytes %zu to %zu of %s",
                      p->op[a->op].name, a->from, a->to, p->arena->row[r].name);
            DG_CHECK(n == d->of_row[r] || d->by_row[n] > d->by_row[n - 1]);
        }
}

static int named(const dg_plan *p, const char *name)
{
    for (int i = 0; i < p->ops; i++)
        if (!strcmp(p->op[i].name, name)) return i;
    DG_CHECKF(false, "no op %s", name);
    return 0;
}

static bool need_each_other(const dg_deps *d, int i, int j)
{
    for (int n = d->of_op[i]; n < d->of_op[i + 1]; n++)
        for (int k = d->of_op[j]; k < d->of_op[j + 1]; k++)
            if (dg_deps_conflict(&d->access[n], &d->access[k])) return true;
    return false;
}

static void check_special(const dg_plan *p, const dg_deps *d)
{
    DG_CHECK(need_each_other(d, named(p, "D.1.conv.dw"), named(p, "D.adam")));
    DG_CHECK(need_each_other(d, named(p, "D.3.conv.dw"), named(p, "D.adam")));
    DG_CHECK(!need_each_other(d, named(p, "D.3.conv.dw"), named(p, "G.adam")));
    /* ops on real and on generated images are independent, because their losses are separate metrics */
    DG_CHECK(!need_each_other(d, named(p, "D.x.gather"), named(p, "G.4.conv_transpose.fwd")));
    DG_CHECK(!need_each_other(d, named(p, "D.bce.real"), named(p, "D.bce.fake")));
    DG_CHECK(need_each_other(d, named(p, "D.bce.real"), named(p, "D.4.conv.fwd")));
    DG_CHECK(need_each_other(d, named(p, "advance"), named(p, "D.x.gather")));
}

static void check_unknown_operand(dg_backend *b)
{
    dg_arena a = {0};
    dg_plan p, *plans[] = {&p};
    dg_plan_begin(&p, &a, "wrong");
    dg_op *op = dg_plan_add(&p, DG_OP_to_u8, "image");
    op->u.to_u8.n = 4;
    dg_plan_operand(op, "y", dg_arena_bytes(&a, "row", DG_WORK, 4), 0);
    DG_CHECK(dg_arena_place(&a, plans, 1, b) == DG_FAILED);
    DG_CHECKF(strstr(dg_message(), "image: to_u8 has no operand y"), "%s", dg_message());
    dg_plan_free(&p);
    dg_arena_free(&a, b);
}

int main(void)
{
    dg_backend *b;
    dg_job g;
    dg_deps d;
    const dg_job_options o = {
        .batch = 5, .rows = 20, .samples = 3, .train = true, .beta1 = 0.5, .beta2 = 0.999, .eps = 1e-8};
    DG_CHECK(dg_cpu_open(&(dg_cpu_options){.threads = 1, .real = DG_F32}, &b) == DG_OK);
    DG_CHECKF(dg_model_read("dcgan32", &m) == DG_OK && dg_job_build(&g, &m, &o, b) == DG_OK, "%s", dg_message());
    DG_CHECK(dg_deps_find(&d, &g.plan[DG_PLAN_TRAIN]) == DG_OK);
    check_writers(&g.plan[DG_PLAN_TRAIN], &d);
    check_lists(&g.plan[DG_PLAN_TRAIN], &d);
    check_special(&g.plan[DG_PLAN_TRAIN], &d);
    dg_deps_free(&d);
    dg_job_free(&g);
    check_unknown_operand(b);
    b->close(b);
    return dg_test_report();
}
