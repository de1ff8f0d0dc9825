/* The pass that puts ops into fused launches: every op is in one, none runs before what it needs, and the published
 * network's step has as few kernels as can be. What the launches compute is judged in the simulator. */
#include "gan.h"
#include "planner.h"
#include "rng.h"
#include "test.h"

#include "kernels/fuse_parts.h"

static void names(void)
{
    unsigned what = 99;
    DG_CHECK(dg_fuse_parse("all", &what) && what == DG_FUSE_ALL);
    DG_CHECK(dg_fuse_parse("none", &what) && what == DG_FUSE_NONE);
    DG_CHECK(dg_fuse_parse("norm,stats", &what) && what == (DG_FUSE_norm | DG_FUSE_stats));
    DG_CHECK(dg_fuse_parse("all,-update", &what) && what == (DG_FUSE_ALL & ~(unsigned)DG_FUSE_update));
    DG_CHECK(dg_fuse_parse("-head,-act", &what) && what == (DG_FUSE_ALL & ~(unsigned)(DG_FUSE_head | DG_FUSE_act)));
    static const char *const wrong[] = {"", ",", "al", "alll", "norm,", ",norm", "-", "--norm", "-none", "norm stats", "Norm"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        what = 99;
        DG_CHECKF(!dg_fuse_parse(wrong[i], &what) && what == 99, "'%s'", wrong[i]);
    }
    int n = 0;
    while (dg_fusion_name(n)) DG_CHECK(*dg_fusion_help(n++) != 0);
    DG_CHECK(n == DG_FUSE_KINDS);
}

/* ---- The shape of plans ---- */

static int kernels_of(const dg_plan *p)
{
    int n = 0;
    for (int i = 0; i < p->ops; i++) n += dg_op_kernels(p, i);
    return n;
}

static void check_launches(const dg_plan *p, unsigned what)
{
    int next = 0, fused = 0, counters = 0;
    for (int i = 0; i < p->launches; i++) {
        const dg_launch *l = &p->launch[i];
        DG_CHECKF(l->first == next && l->count > 0 && l->main >= l->first && l->main < l->first + l->count, "launch %d", i);
        next = l->first + l->count;
        if (l->kind == DG_LAUNCH_OP) {
            DG_CHECKF(l->count == 1, "%s", p->op[l->main].name);
            for (int k = 0; k < DG_MAX_OPERANDS; k++) {
                const dg_row *r = dg_plan_row(p, &p->op[l->main], k);
                DG_CHECKF(!r || !r->absent, "%s reads or writes %s, which is not there", p->op[l->main].name, r ? r->name : "");
                DG_CHECK(p->op[l->main].operand[k].from == 0);
            }
            continue;
        }
        fused++;
        DG_CHECKF(l->counter == counters, "%s has counters from %d on, not from %d", p->op[l->main].name, l->counter, counters);
        const dg_fused_size size = dg_fused_size_of(p, l);
        counters += size.counters;
        DG_CHECKF(size.bytes ? l->row >= 0 && p->arena->row[l->row].bytes >= size.bytes : l->row < 0, "scratch of %s", p->op[l->main].name);
    }
    DG_CHECKF(next == p->ops, "launches hold %d of %d ops", next, p->ops);
    DG_CHECK((what == DG_FUSE_NONE) <= (fused == 0));
    if (!counters) return;
    const dg_row *row = p->row_counters < 0 ? NULL : &p->arena->row[p->row_counters];
    DG_CHECKF(row && row->kind == DG_STATE && row->type == DG_I32 && (int)dg_count(row->shape) == counters, "%d counters", counters);
}

/* What an operand is made from while it is read lies in memory then. */
static void check_lives(const dg_plan *p)
{
    for (int i = 0; i < p->ops; i++)
        for (int k = 0; k < DG_MAX_OPERANDS; k++) {
            const int from = p->op[i].operand[k].from - 1;
            for (int j = 0; j < DG_MAX_OPERANDS && from >= 0; j++) {
                const dg_row *r = dg_plan_row(p, &p->op[from], j);
                if (r && r->kind == DG_WORK && !r->absent) DG_CHECKF(r->first <= i && i <= r->last, "%s when %s needs it", r->name, p->op[i].name);
            }
        }
}

static void plans(const char *name, int batch, dg_math math, const char *arch, unsigned what, int most)
{
    static dg_model m;
    dg_machine machine;
    dg_backend *b;
    dg_gan g;
    if (!DG_CHECKF(!dg_model_read(name, &m) && !dg_machine_arch(arch, DG_F32, &machine), "%s", dg_message())) return;
    machine.math = math;
    if (!DG_CHECKF(!dg_planner_open(&machine, NULL, what, &b), "%s", dg_message())) return;
    const dg_gan_options o = {.batch = batch, .last_batch = batch > 2 ? batch / 2 : 0, .samples = 9, .rows = 2 * batch, .train = true};
    if (DG_CHECKF(!dg_gan_build(&g, &m, &o, b), "%s", dg_message())) {
        const dg_plan *const p[] = {&g.train, &g.train_short, &g.sample};
        for (int i = 0; i < 3; i++) {
            if (!p[i]->ops) continue;
            check_launches(p[i], what);
            check_lives(p[i]);
        }
        if (most) DG_CHECKF(kernels_of(&g.train) <= most, "%s has %d dependent kernels, more than %d", name, kernels_of(&g.train), most);
        dg_gan_free(&g);
    }
    b->close(b);
}

/* ---- Order ---- */

/* A CPU that runs the ops of a fused plan in their order, one by one. */
typedef struct {
    dg_backend b;
    dg_backend *cpu;
    unsigned what;
    int fused;
} ordered;
static const dg_gpu gpu = {.arch = 90, .shared = 227 * 1024, .math = DG_MATH_BF16};

static const char *as_on_a_gpu(dg_backend *b, dg_op *op)
{
    (void)b;
    return dg_variant_choose(op, &op->tune, DG_F32, &gpu);
}

static dg_err only_order(dg_backend *b, struct dg_plan *p)
{
    ordered *me = (ordered *)b;
    dg_err e = dg_fuse_plan(p, me->what, DG_F32, &gpu);
    for (int i = 0; i < p->launches; i++) me->fused += p->launch[i].kind != DG_LAUNCH_OP;
    free(p->launch);
    p->launch = NULL;
    p->launches = 0;
    for (int i = 0; i < p->arena->rows; i++) p->arena->row[i].absent = false;
    for (int i = 0; i < p->ops && !e; i++) {
        int n;
        const dg_operand *list = dg_operands(p->op[i].kind, &n);
        for (int k = 0; k < n; k++) {
            p->op[i].operand[k].from = 0;
            if (list[k].role == DG_SCRATCH) p->op[i].operand[k].row = -1;
        }
        if (me->cpu->refuses(me->cpu, &p->op[i])) e = dg_fail(DG_FAILED, "%s", p->op[i].name);
    }
    return e;
}
static size_t its_scratch(dg_backend *b, const dg_op *op) { return ((ordered *)b)->cpu->scratch(((ordered *)b)->cpu, op); }
static dg_err its_alloc(dg_backend *b, size_t n, void **mem) { return ((ordered *)b)->cpu->alloc(((ordered *)b)->cpu, n, mem); }
static void its_release(dg_backend *b, void *mem) { ((ordered *)b)->cpu->release(((ordered *)b)->cpu, mem); }
static dg_err its_put(dg_backend *b, void *to, const void *from, size_t n) { return ((ordered *)b)->cpu->put(((ordered *)b)->cpu, to, from, n); }
static dg_err its_get(dg_backend *b, void *to, const void *from, size_t n) { return ((ordered *)b)->cpu->get(((ordered *)b)->cpu, to, from, n); }
static dg_err its_run(dg_backend *b, struct dg_plan *p) { return ((ordered *)b)->cpu->run(((ordered *)b)->cpu, p); }

enum { ROWS = 8, BATCH = 4 };

/* The checksum of all that training leaves, after two steps. */
static uint64_t train(unsigned what, dg_backend *cpu, uint8_t *pixels, int32_t *perm, int *fused)
{
    static char text[DG_MODEL_TEXT_MAX];
    static dg_model m;
    ordered o = {.cpu = cpu, .what = what};
    o.b = (dg_backend){.real = DG_F32, .threads = 1, .alloc = its_alloc, .release = its_release, .put = its_put, .get = its_get,
                       .refuses = as_on_a_gpu, .scratch = its_scratch, .fuse = only_order, .run = its_run};
    dg_gan g;
    const dg_gan_options options = {.batch = BATCH, .samples = 2, .rows = ROWS, .train = true, .flip = true, .beta1 = 0.5, .beta2 = 0.9, .eps = 1e-8};
    uint64_t sum = 14695981039346656037u;
    bool ok = !dg_model_stock(text, "wide", 16, 3, 10, 16, 16) && !dg_model_parse(text, "wide", &m) && !dg_gan_build(&g, &m, &options, &o.b);
    if (!DG_CHECKF(ok, "%s", dg_message())) return 0;
    DG_CHECK(!dg_gan_alloc(&g, pixels, perm) && !dg_gan_init(&g, 7));
    const dg_step_state s = {.seed = 3, .lr = {2e-4, 2e-4}};
    DG_CHECK(!dg_gan_put_state(&g, &s) && !dg_gan_step(&g, BATCH) && !dg_gan_step(&g, BATCH));
    for (int i = 0; i < g.arena.rows; i++) {
        const dg_row *r = &g.arena.row[i];
        if (r->kind > DG_BUFFER && strcmp(r->name, "metrics") != 0) continue;
        const uint8_t *byte = (const uint8_t *)g.arena.base + r->offset;
        for (size_t k = 0; k < r->bytes; k++) sum = (sum ^ byte[k]) * 1099511628211u;
    }
    *fused = o.fused;
    dg_gan_free(&g);
    return sum;
}

static void order(void)
{
    dg_backend *cpu;
    static uint8_t pixels[ROWS * 16 * 16 * 3];
    int32_t perm[ROWS];
    unsigned long long seed = 5;
    int fused, most = 0;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(127.5 + 127 * dg_test_random(&seed));
    dg_permutation(perm, ROWS, 3, 0);
    if (!DG_CHECKF(!dg_cpu_open(&(dg_cpu_options){.threads = 1, .real = DG_F32, .conv = "direct"}, &cpu), "%s", dg_message())) return;
    const uint64_t want = train(DG_FUSE_NONE, cpu, pixels, perm, &fused);
    DG_CHECK(fused == 0);
    for (unsigned what = 1; what <= DG_FUSE_ALL; what++) {
        const uint64_t got = train(what, cpu, pixels, perm, &fused);
        DG_CHECKF(got == want, "fusions %#x put an op before one that it needs", what);
        if (fused > most) most = fused;
    }
    DG_CHECKF(most > 12, "at most %d fused launches: the network does not try the pass", most);
    cpu->close(cpu);
}

int main(void)
{
    names();
    for (unsigned what = 0; what <= DG_FUSE_ALL; what++) plans("dcgan64-paper", 64, DG_MATH_BF16, "sm_90", what, 0);
    plans("dcgan64-paper", 64, DG_MATH_BF16, "sm_90", DG_FUSE_ALL, 28);
    plans("dcgan64-paper", 64, DG_MATH_TF32, "sm_80", DG_FUSE_ALL, 28);
    plans("dcgan64-paper", 37, DG_MATH_BF16, "sm_86", DG_FUSE_ALL, 28);
    plans("dcgan64", 128, DG_MATH_BF16, "sm_90", DG_FUSE_ALL, 28);
    plans("dcgan128", 64, DG_MATH_BF16, "sm_90", DG_FUSE_ALL, 34);
    plans("dcgan128", 64, DG_MATH_BF16, "sm_120", DG_FUSE_ALL, 37); /* a tile that fits there alone, but not with its factors */
    plans("dcgan32", 64, DG_MATH_BF16, "sm_89", DG_FUSE_ALL, 22);
    plans("dcgan64-paper", 64, DG_MATH_FP32, "sm_75", DG_FUSE_ALL, 126);
    plans("dcgan32", 1, DG_MATH_TF32, "sm_90", DG_FUSE_ALL, 0);
    order();
    return dg_test_report();
}
