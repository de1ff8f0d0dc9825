/* Tests shards: the gradients, running statistics and metrics of a batch with shards follow from those of the shards,
 * which a job with a small batch computes one at a time. */
#include "host/net/classifier.h"
#include "host/net/gan_step.h"
#include "host/net/shards.h"
#include "machine.h"

enum { V = 4, BATCH = 12, LAST = 8, ROWS = 20, SIZE = 16, CLASSES = 3, TENSORS = 64, VALUES = 4096 };

typedef struct {
    const char *name;
    dg_type real;
    const char *classifier; /* model text, or NULL for a GAN */
    dg_norm norm;           /* of D */
    dg_loss loss;
    double penalty, decay;
    int augment;
    bool conditional;
} trial;

static const char classifier[] =
    "[model]\nname = few\nsize = 16\nclasses = 3\n[C]\nkernel = 3\nnorm = batch\nact = relu\n"
    "[C.1]\nfilters = 5\nstride = 2\n[C.2]\nop = dropout\np = 0.3\n"
    "[C.3]\nop = dense\nfilters = 3\nnorm = none\nact = none\n";

static const trial trials[] = {
    {.name = "bce", .norm = DG_NORM_BATCH},
    {.name = "bce, double", .real = DG_F64, .norm = DG_NORM_BATCH},
    {.name = "rpgan, penalty", .norm = DG_NORM_NONE, .loss = DG_LOSS_RPGAN, .penalty = 0.5, .augment = 7},
    {.name = "hinge, spectral", .real = DG_F64, .norm = DG_NORM_SPECTRAL, .loss = DG_LOSS_HINGE},
    {.name = "spectral, penalty", .norm = DG_NORM_SPECTRAL, .loss = DG_LOSS_RPGAN, .penalty = 0.5},
    {.name = "ralsgan, classes", .norm = DG_NORM_BATCH, .loss = DG_LOSS_RALSGAN, .conditional = true},
    {.name = "classifier", .classifier = classifier, .decay = 0.1},
};

static bool build_model(const trial *t, dg_model *m)
{
    static char text[DG_MODEL_TEXT_MAX], other[DG_MODEL_TEXT_MAX];
    if (t->classifier) return DG_WORKS(dg_model_parse(t->classifier, "few", m));
    dg_err e = dg_model_stock(text, "tiny", dg_square(SIZE), 3, 10, 5, 3);
    if (!e && t->norm != DG_NORM_BATCH) {
        e = dg_model_norm_d(text, "tiny", t->norm, other);
        snprintf(text, sizeof text, "%s", other);
    }
    if (!e && t->conditional) {
        e = dg_model_reclassed(text, "tiny", CLASSES, other);
        snprintf(text, sizeof text, "%s", other);
    }
    return DG_WORKS(e ? e : dg_model_parse(text, "tiny", m));
}

static bool up(machine *x, const trial *t, int shards)
{
    static uint8_t pixels[ROWS * SIZE * SIZE * 3];
    memset(x, 0, sizeof *x);
    dg_job_options o = machine_training(BATCH / (shards > 1 ? 1 : V), LAST / (shards > 1 ? 1 : V), 0, ROWS);
    o.shards = shards;
    o.optimizer = DG_SGD;
    o.decay = t->decay;
    o.loss = t->loss;
    o.r1 = o.r2 = t->penalty;
    o.augment = t->augment;
    o.augment_p = 0.7;
    machine_pixels(pixels, sizeof pixels);
    return build_model(t, &x->m) && machine_begin(x, &(dg_cpu_options){.threads = 2, .real = t->real}, &o, NULL, 7);
}

static bool fill(machine *x)
{
    static uint8_t pixels[ROWS * SIZE * SIZE * 3];
    uint8_t *records;
    machine_pixels(pixels, sizeof pixels);
    if (!DG_WORKS(dg_job_records(&x->g, pixels, NULL, ROWS, &records))) return false;
    const dg_err e = x->b->put(x->b, x->data, records, ROWS * dg_job_record_bytes(&x->g));
    free(records);
    return DG_WORKS(e);
}

/* Let the random numbers of a plan begin where those of shard k begin. */
static void number(dg_plan *p, int k)
{
    for (int i = 0; i < p->ops; i++) {
        dg_op *op = &p->op[i];
        if (op->kind == DG_OP_gather) op->u.gather.first = k * op->u.gather.N;
        if (op->kind == DG_OP_noise) op->u.noise.first = k * op->u.noise.n;
        if (op->kind == DG_OP_dropout) op->u.dropout.first = k * op->u.dropout.n;
        if (op->kind == DG_OP_augment || op->kind == DG_OP_augment_dx) op->u.augment.first = k * op->u.augment.N;
    }
}

/* One step from the initial weights, which a learning rate of 0 does not change. */
static void step(machine *x, int batch, dg_metrics *metrics)
{
    const dg_step_state state = {.seed = 9, .step = 3};
    DG_WORKS(dg_job_init(&x->g, 7));
    DG_WORKS(dg_job_put_state(&x->g, &state));
    DG_WORKS(dg_job_step(&x->g, batch));
    DG_WORKS(dg_job_get_metrics(&x->g, 3, 1, metrics));
}

static double sum_of(const double v[V]) { return (v[0] + v[1]) + (v[2] + v[3]); }
static float narrow_sum(const double v[V])
{
    const float a = (float)v[0] + (float)v[1], b = (float)v[2] + (float)v[3];
    return a + b;
}

static double of_shard[V][TENSORS][VALUES], together[VALUES];

static void keep(machine *x, int k)
{
    DG_CHECK(x->g.tensors <= TENSORS);
    for (int i = 0; i < x->g.tensors; i++) {
        const dg_job_tensor *t = &x->g.tensor[i];
        DG_CHECK(dg_job_tensor_count(t) <= VALUES);
        DG_WORKS(dg_job_read(&x->g, t, t->grad >= 0 ? t->grad : t->row, DG_F64, of_shard[k][i]));
    }
}

/* Gradients have equal bits. Running statistics are computed from the rounded 1 / standard deviation. */
static void compare(machine *x, const trial *t, int batch)
{
    for (int i = 0; i < x->g.tensors; i++) {
        const dg_job_tensor *own = &x->g.tensor[i];
        DG_WORKS(dg_job_read(&x->g, own, own->grad >= 0 ? own->grad : own->row, DG_F64, together));
        for (size_t n = 0; n < dg_job_tensor_count(own); n++) {
            const double v[V] = {of_shard[0][i][n], of_shard[1][i][n], of_shard[2][i][n], of_shard[3][i][n]};
            const double sum = t->real == DG_F64 ? sum_of(v) : (double)narrow_sum(v), want = sum / V;
            const double within = own->grad >= 0 ? 0 : (t->real == DG_F64 ? 1e-12 : 1e-5) * (1 + fabs(want));
            if (!DG_CHECKF(fabs(together[n] - want) <= within, "%s, batch %d: %s[%zu] is %.9g, not %.9g", t->name,
                           batch, own->name, n, together[n], want))
                break;
        }
    }
}

static void compare_metrics(const dg_metrics *all, const dg_metrics each[V], const trial *t)
{
    for (int i = 0; i < DG_METRICS_MAX; i++) {
        if (t->classifier && i > DG_CLASS_RIGHT) break;
        double mean = 0;
        for (int k = 0; k < V; k++) mean += each[k].value[i] / V;
        DG_NEAR(all->value[i], mean, 1e-6 * (1 + fabs(mean)));
    }
}

static void same_as_its_shards(const trial *t, int batch)
{
    static machine whole, part;
    dg_metrics each[V], all;
    if (!up(&whole, t, V) || !up(&part, t, 1) || !fill(&whole) || !fill(&part)) return;
    for (int k = 0; k < V; k++) {
        number(&part.g.plan[batch == BATCH ? DG_PLAN_TRAIN : DG_PLAN_TRAIN_SHORT], k);
        step(&part, batch / V, &each[k]);
        keep(&part, k);
    }
    step(&whole, batch, &all);
    compare(&whole, t, batch);
    compare_metrics(&all, each, t);
    machine_down(&whole);
    machine_down(&part);
}

/* A weight that is not finite is counted once, whichever shard it comes from. */
static void counts_are_sums(void)
{
    static machine x;
    dg_metrics m;
    if (!up(&x, &trials[0], V) || !fill(&x)) return;
    const dg_step_state state = {.seed = 9, .step = 3, .lr = {NAN, 0}};
    DG_WORKS(dg_job_init(&x.g, 7));
    DG_WORKS(dg_job_put_state(&x.g, &state));
    DG_WORKS(dg_job_step(&x.g, BATCH));
    DG_WORKS(dg_job_get_metrics(&x.g, 3, 1, &m));
    DG_CHECKF(m.value[DG_BAD_G] > 1000, "%g weights of G are bad", m.value[DG_BAD_G]);
    DG_CHECKF(m.value[DG_BAD_D] == 0, "%g weights of D are bad", m.value[DG_BAD_D]);
    machine_down(&x);
}

static void refused(int batch, int shards, const char *want)
{
    dg_model m;
    dg_backend *b;
    dg_job job;
    dg_job_options o = machine_training(batch, 0, 0, ROWS);
    o.shards = shards;
    if (!build_model(&trials[0], &m) || !DG_WORKS(dg_cpu_open(&(dg_cpu_options){.real = DG_F32}, &b))) return;
    DG_CHECK(dg_job_build(&job, &m, &o, b) == DG_USAGE);
    DG_CHECKF(strstr(dg_message(), want) != NULL, "%s", dg_message());
    b->close(b);
}

int main(void)
{
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        same_as_its_shards(&trials[i], BATCH);
        same_as_its_shards(&trials[i], LAST);
    }
    counts_are_sums();
    refused(12, 3, "not a power of two");
    refused(12, 128, "not a power of two");
    refused(12, 8, "cannot be divided into 8 shards");
    const int used[][5] = {{2944, 64, 1, 0, 2944}, {2945, 64, 4, 0, 2944}, {2951, 64, 8, 0, 2944},
                           {2951, 64, 8, 1, 2944}, {100, 64, 8, 0, 96},    {63, 64, 64, 0, 0}};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        DG_CHECK(dg_used_images(used[i][0], used[i][1], used[i][2], used[i][3]) == used[i][4]);
    return dg_test_report();
}
