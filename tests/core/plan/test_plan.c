/* Tests plans and their arena. Tensors that are live at the same time do not overlap. Weights are contiguous for
 * Adam. The number of multiply-adds equals the published number. */
#include "core/plan/fusions.h"
#include "core/tune/machine.h"
#include "kernels/cuda/planner.h"
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
        DG_CHECKF(r->offset % 256 == 0 && end_of(r) <= a->bytes, "%s is at offset %zu", r->name, r->offset);
        DG_CHECKF((r->kind == DG_WORK) == (r->offset >= a->persistent), "%s is on the wrong side", r->name);
        for (int k = 0; k < i; k++) {
            const dg_row *o = &a->row[k];
            if (o->kind == DG_OUTSIDE || end_of(o) <= r->offset || end_of(r) <= o->offset) continue;
            pairs++;
            /* Two DG_WORK tensors may overlap unless they are live at the same time in one plan. */
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

static void check_operands(const dg_plan *p)
{
    for (int i = 0; i < p->ops; i++) {
        int n;
        const dg_operand *operand = dg_operands(p->op[i].kind, &n);
        for (int k = 0; k < n; k++) {
            bool optional = operand[k].role == DG_SCRATCH || p->op[i].kind == DG_OP_norm_act_dx ||
                            p->op[i].kind == DG_OP_noise || !strcmp(operand[k].name, "label") ||
                            !strcmp(operand[k].name, "other"); /* only relativistic losses have this operand */
            DG_CHECKF(optional || p->op[i].operand[k].row >= 0, "%s has no %s", p->op[i].name, operand[k].name);
        }
        for (int k = 0; k < i; k++)
            DG_CHECKF(strcmp(p->op[i].name, p->op[k].name), "two ops are called %s", p->op[i].name);
    }
}

/* Checks that weights, gradients and moments of a network have the same order and offsets. */
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

/* Returns the multiply-adds of all convolutions of a plan, in units of 10^9. */
static double conv_gmac(const dg_plan *p)
{
    double flops = 0;
    for (int i = 0; i < p->ops; i++)
        if (p->op[i].kind <= DG_OP_conv_dw) flops += dg_op_flops(&p->op[i]);
    return flops / 2e9;
}

/* VGG16, configuration D (Simonyan & Zisserman 2015), for images of 224 x 224. */
static void parse_vgg16(void)
{
    /* number of filters and number of layers of each block */
    static const int block[][2] = {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};
    static char text[DG_MODEL_TEXT_MAX];
    char *at = text + sprintf(text, "[model]\nname = vgg16\nsize = 224\n[C]\nkernel = 3\nact = relu\nbias = yes\n");
    int n = 1;
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < block[i][1]; k++) at += sprintf(at, "[C.%d]\nfilters = %d\n", n++, block[i][0]);
        at += sprintf(at, "[C.%d]\nop = max_pool\nkernel = 2\n", n++);
    }
    for (int k = 0; k < 2; k++, n += 2)
        at += sprintf(at, "[C.%d]\nop = dense\nfilters = 4096\n[C.%d]\nop = dropout\n", n, n + 1);
    sprintf(at, "[C.%d]\nop = dense\nfilters = 1000\nact = none\n", n);
    DG_WORKS(dg_model_parse(text, "vgg16.cfg", &m));
}

static const dg_job_options classifier = {.rows = 1000, .train = true, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};

static void refused(int batch, const char *said, const char *advice)
{
    static dg_job g;
    dg_job_options o = classifier;
    o.batch = batch;
    DG_CHECKF(dg_job_build(&g, &m, &o, b) == DG_USAGE && strstr(dg_message(), said) && strstr(dg_message(), advice),
              "%s, not %s; %s", dg_message(), said, advice);
}

/* At batch size 96, VGG16 has four tensors of 1.2 GB that are live at the same time. */
static void check_vgg16(dg_backend *on)
{
    static dg_job g;
    dg_job_options o = classifier;
    o.batch = 96;
    parse_vgg16();
    if (!DG_WORKS(dg_job_build(&g, &m, &o, on))) return;
    check_layout(&g);
    check_adam(&g);
    const int first = dg_arena_find(&g.arena, "C.1.out");
    DG_CHECK(first >= 0 && g.arena.row[first].bytes == (size_t)96 * 224 * 224 * 64 * 4);
    size_t end = 0;
    for (int i = 0; i < g.arena.rows; i++)
        if (g.arena.row[i].kind != DG_OUTSIDE && end_of(&g.arena.row[i]) > end) end = end_of(&g.arena.row[i]);
    DG_CHECKF((end + 255) / 256 * 256 == g.arena.bytes, "%zu bytes, the last row ends at %zu", g.arena.bytes, end);
    /* four arrays (weights, gradients, two moments), followed by step state, metrics and counters */
    const size_t persistent = 4 * (138357544ul * 4 + 96) + 256 + sizeof(dg_metrics) * DG_RING + 256;
    DG_CHECKF(g.arena.persistent == persistent, "%zu bytes persist, not %zu", g.arena.persistent, persistent);
    DG_CHECK(g.arena.bytes > persistent + 4 * g.arena.row[first].bytes);
    dg_job_free(&g);
}

static void check_sizes(void)
{
    dg_machine gpu;
    dg_backend *p = NULL;
    check_vgg16(b);
    if (DG_CHECK(!dg_machine_arch("sm_90", DG_F32, &gpu) && !dg_planner_open(&gpu, NULL, DG_FUSE_NONE, &p))) {
        check_vgg16(p);
        p->close(p);
    }
    parse_vgg16();
    refused(669,
            "batch 669: layer C.1 of model vgg16: too large (2148.3 million values for 669 x 224 x 224 x 64, at most "
            "2^31 - 1 = 2147.5 million)",
            "668 images fit");
    DG_CHECK(!dg_model_parse("[model]\nname = in\nsize = 512\n[C.1]\nfilters = 1\nkernel = 8\nstride = 8\npad = 0\n"
                             "[C.2]\nop = dense\nfilters = 2\n",
                             "in.cfg", &m));
    refused(2731, "the input of network C of model in: too large (2147.7 million values for 2731 x 512 x 512 x 3,",
            "2730 images fit");
    DG_CHECK(!dg_model_parse("[model]\nname = wide\nsize = 512\n[C.1]\nfilters = 16384\nkernel = 1\n"
                             "[C.2]\nop = mean_pool\n[C.3]\nop = dense\nfilters = 2\n",
                             "wide.cfg", &m));
    refused(1, "layer C.1 of model wide: too large (4295.0 million values for 1 x 512 x 512 x 16384,",
            "smaller images");
    DG_CHECK(!dg_model_parse("[model]\nname = dense\nsize = 224\n[C.1]\nop = dense\nfilters = 16384\n"
                             "[C.2]\nop = dense\nfilters = 2\n",
                             "dense.cfg", &m));
    refused(1, "layer C.1 of model dense: too large (2466.3 million weights,", "smaller input map");
}

static void check_bytes(void)
{
    static const size_t bytes[] = {1, 64, 65, 137438953408, 137438953473, (size_t)1 << 45, ((size_t)1 << 45) + 1};
    dg_arena a = {0};
    for (int i = 0; i < (int)(sizeof bytes / sizeof *bytes); i++) {
        const int row = dg_arena_bytes(&a, "bytes", DG_WORK, bytes[i]);
        const dg_row *r = &a.row[row];
        DG_CHECKF(r->bytes >= bytes[i] && r->bytes - bytes[i] < 64 * (bytes[i] / 137438953408 + 1), "%zu for %zu",
                  r->bytes, bytes[i]);
    }
    free(a.row);
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
    DG_NEAR(conv_gmac(&g.plan[DG_PLAN_TRAIN]), 18.68, 0.005); /* published number for model W1 */
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

    build(&g, "dcgan32", (dg_job_options){.samples = 5});
    check_operands(&g.plan[DG_PLAN_SAMPLE]);
    DG_CHECK(g.plan[DG_PLAN_TRAIN].ops == 0);
    for (int i = 0; i < g.arena.rows; i++) DG_CHECK(g.arena.row[i].kind != DG_GRAD && g.arena.row[i].net == DG_G);
    dg_job_free(&g);

    /* batch norm requires more than one value per channel */
    static char text[DG_MODEL_TEXT_MAX];
    DG_CHECK(dg_model_stock(text, "small", dg_square(16), 3, 10, 4, 4) == DG_OK);
    char *k = strstr(text, "[D.3]"); /* adds a layer with a norm and an output of 1x1 */
    strcpy(k, "[D.3]\nop = conv\nfilters = 8\nkernel = 4\nstride = 1\npad = 0\nnorm = batch\nact = leaky\n"
              "[D.4]\nop = conv\nfilters = 1\nkernel = 1\nstride = 1\npad = 0\nnorm = none\nact = none\n");
    DG_WORKS(dg_model_parse(text, "one.cfg", &m));
    o = (dg_job_options){
        .batch = 4, .last_batch = 1, .rows = 5, .train = true, .beta1 = 0.5, .beta2 = 0.999, .eps = 1e-8};
    DG_REFUSED(dg_job_build(&g, &m, &o, b), DG_USAGE, "D.3");
    o.last_batch = 2;
    DG_CHECK(dg_job_build(&g, &m, &o, b) == DG_OK);
    dg_job_free(&g);
    o.batch = 1 << 24;
    DG_REFUSED(dg_job_build(&g, &m, &o, b), DG_USAGE, "batch ");
    check_sizes();
    check_bytes();
    b->close(b);
    return dg_test_report();
}
