/* Plans and their arena: no two rows that live at the same time overlap, weights lie as Adam sweeps them, the
 * counts of work are those of the published tables. No op is run here. */
#include "host/net/job.h"
#include "host/net/gan.h"
#include "test.h"

static dg_model m;
static dg_backend *b;

static size_t end_of(const dg_row *r) { return r->offset + r->bytes; }

static void check_layout(const dg_job *g)
{
    const dg_arena *a = &g->arena;
    long pairs = 0, clashes = 0;
    for (int i = 0; i < a->rows; i++) {
        const dg_row *r = &a->row[i];
        if (r->kind == DG_OUTSIDE) continue;
        DG_CHECKF(r->offset % 256 == 0 && end_of(r) <= a->bytes, "%s lies at %zu", r->name, r->offset);
        DG_CHECKF((r->kind == DG_WORK) == (r->offset >= a->persistent), "%s is on the wrong side", r->name);
        for (int k = 0; k < i; k++) {
            const dg_row *o = &a->row[k];
            if (o->kind == DG_OUTSIDE || end_of(o) <= r->offset || end_of(r) <= o->offset) continue;
            pairs++;
            /* overlapping is for work rows of different plans, or of one plan at different times */
            if (r->kind == DG_WORK && o->kind == DG_WORK &&
                (r->plan != o->plan || r->last < o->first || o->last < r->first))
                continue;
            clashes++;
            printf("%s and %s overlap\n", r->name, o->name);
        }
    }
    DG_CHECK(clashes == 0);
    DG_CHECKF(pairs > 0, "nothing shares a place, so sharing was not tested");
}

/* Every operand of every op has a row, but for those that are optional. */
static void check_operands(const dg_plan *p)
{
    for (int i = 0; i < p->ops; i++) {
        int n;
        const dg_operand *operand = dg_operands(p->op[i].kind, &n);
        for (int k = 0; k < n; k++) {
            bool optional = operand[k].role == DG_SCRATCH || p->op[i].kind == DG_OP_norm_act_dx ||
                            p->op[i].kind == DG_OP_noise || !strcmp(operand[k].name, "label");
            DG_CHECKF(optional || p->op[i].operand[k].row >= 0, "%s has no %s", p->op[i].name, operand[k].name);
        }
        for (int k = 0; k < i; k++)
            DG_CHECKF(strcmp(p->op[i].name, p->op[k].name), "two ops are called %s", p->op[i].name);
    }
}

/* Weights, gradients and moments of a network: same order, same distances. */
static void check_adam(const dg_job *g)
{
    for (int i = 0; i < g->tensors; i++) {
        const dg_job_tensor *t = &g->tensor[i];
        if (t->grad < 0) continue;
        const dg_job_tensor *first = t;
        while (first > g->tensor && first[-1].net == t->net) first--;
        const dg_row *row = g->arena.row;
        size_t at = row[t->row].offset - row[first->row].offset;
        DG_CHECK(row[t->grad].offset - row[first->grad].offset == at);
        DG_CHECK(row[t->moment1].offset - row[first->moment1].offset == at);
        DG_CHECK(row[t->moment2].offset - row[first->moment2].offset == at);
    }
    for (int i = 0; i < g->plan[DG_PLAN_TRAIN].ops; i++) {
        const dg_op *op = &g->plan[DG_PLAN_TRAIN].op[i];
        if (op->kind != DG_OP_adam) continue;
        size_t bytes = 0;
        for (int k = 0; k < g->arena.rows; k++)
            if (g->arena.row[k].kind == DG_PARAM && g->arena.row[k].net == op->u.adam.net)
                bytes += (g->arena.row[k].bytes + 255) / 256 * 256;
        DG_CHECKF((size_t)op->u.adam.n * 4 == bytes, "%s sweeps %lld values", op->name, (long long)op->u.adam.n);
    }
}

static void build(dg_job *g, const char *model, dg_job_options o)
{
    DG_CHECK(dg_model_read(model, &m) == DG_OK);
    DG_CHECKF(dg_job_build(g, &m, &o, b) == DG_OK, "%s: %s", model, dg_message());
}

/* Multiply-adds of the convolutions, in G. */
static double conv_gmac(const dg_plan *p)
{
    double flops = 0;
    for (int i = 0; i < p->ops; i++)
        if (p->op[i].kind <= DG_OP_conv_dw) flops += dg_op_flops(&p->op[i]);
    return flops / 2e9;
}

int main(void)
{
    static dg_job g;
    if (dg_cpu_open(&(dg_cpu_options){.threads = 1, .real = DG_F32}, &b) != DG_OK) {
        printf("%s\n", dg_message());
        return 1;
    }
    dg_job_options o = {.batch = 64,
                        .last_batch = 44,
                        .samples = 64,
                        .rows = 2924,
                        .train = true,
                        .beta1 = 0.5,
                        .beta2 = 0.999,
                        .eps = 1e-8};
    build(&g, "dcgan64-paper", o);
    check_layout(&g);
    check_operands(&g.plan[DG_PLAN_TRAIN]);
    check_operands(&g.plan[DG_PLAN_TRAIN_SHORT]);
    check_operands(&g.plan[DG_PLAN_SAMPLE]);
    check_adam(&g);
    DG_NEAR(conv_gmac(&g.plan[DG_PLAN_TRAIN]), 18.68, 0.005); /* the published work table of W1 */
    DG_CHECK(g.plan[DG_PLAN_SAMPLE].ops > 0 && g.plan[DG_PLAN_TRAIN_SHORT].ops == g.plan[DG_PLAN_TRAIN].ops);
    size_t params = 0;
    for (int i = 0; i < g.tensors; i++)
        if (g.tensor[i].grad >= 0) params += dg_count(g.arena.row[g.tensor[i].row].shape);
    DG_CHECKF(params == 1100224 + 694656, "%zu weights", params);
    dg_job_free(&g);

    o.batch = 128;
    o.last_batch = 0;
    build(&g, "dcgan64", o);
    check_layout(&g);
    DG_NEAR(conv_gmac(&g.plan[DG_PLAN_TRAIN]), 145.58, 0.005);
    DG_CHECK(g.plan[DG_PLAN_TRAIN_SHORT].ops == 0);
    dg_job_free(&g);
    o.batch = 64;
    build(&g, "dcgan128", o);
    DG_NEAR(conv_gmac(&g.plan[DG_PLAN_TRAIN]), 385.42, 0.005);
    check_layout(&g);
    dg_job_free(&g);

    /* only a generator: no gradients, no D */
    build(&g, "dcgan32", (dg_job_options){.samples = 5});
    check_operands(&g.plan[DG_PLAN_SAMPLE]);
    DG_CHECK(g.plan[DG_PLAN_TRAIN].ops == 0);
    for (int i = 0; i < g.arena.rows; i++) DG_CHECK(g.arena.row[i].kind != DG_GRAD && g.arena.row[i].net == DG_G);
    dg_job_free(&g);

    /* batch norm cannot normalise a single value */
    static char text[DG_MODEL_TEXT_MAX];
    DG_CHECK(dg_model_stock(text, "small", 16, 3, 10, 4, 4) == DG_OK);
    char *k = strstr(text, "[D.3]"); /* 4x4 -> 1x1 with a norm, then 1x1 -> 1x1 */
    strcpy(k, "[D.3]\nop = conv\nfilters = 8\nkernel = 4\nstride = 1\npad = 0\nnorm = batch\nact = leaky\n"
              "[D.4]\nop = conv\nfilters = 1\nkernel = 1\nstride = 1\npad = 0\nnorm = none\nact = none\n");
    DG_CHECKF(dg_model_parse(text, "one.cfg", &m) == DG_OK, "%s", dg_message());
    o = (dg_job_options){
        .batch = 4, .last_batch = 1, .rows = 5, .train = true, .beta1 = 0.5, .beta2 = 0.999, .eps = 1e-8};
    DG_CHECK(dg_job_build(&g, &m, &o, b) == DG_USAGE && strstr(dg_message(), "D.3"));
    o.last_batch = 2;
    DG_CHECK(dg_job_build(&g, &m, &o, b) == DG_OK);
    dg_job_free(&g);
    o.batch = 1 << 24;
    DG_CHECK(dg_job_build(&g, &m, &o, b) == DG_USAGE && strstr(dg_message(), "batch "));
    b->close(b);
    return dg_test_report();
}
