/* Trains network S of one layer with a recipe that only this test defines: S learns that images are real. The metrics
 * of S must appear in the log, in progress lines, in a plot and in the final message. */
#include "gather_signed.h"
#include "host/figure/images.h"
#include "host/rundir/log_text.h"
#include "host/run/log_curves.h"
#include "host/train/train.h"
#include "host/net/recipe.h"
#include "machine.h"
#include "tempdir.h"
#include "test.h"

enum { SIZE = 16, IMAGES = 13, BATCH = 5, EPOCHS = 3, STEPS = 3 * EPOCHS };
enum { PROBABILITY = 1, BAD = 4, LOSS = 6 };

static const dg_recipe_plot plots[] = {{"Score, cross entropy", 0}};
static const dg_metric metrics[] = {
    {.name = "score",
     .terms = 1,
     .term = {LOSS},
     .label = "S",
     .legend = "S",
     .title = "Score",
     .bad = DG_NOT_FINITE,
     .what = "the loss of S"},
    {.name = "p",
     .terms = 1,
     .term = {PROBABILITY},
     .kind = DG_METRIC_PROBABILITY,
     .over = DG_OVER_LAST,
     .label = "p(x)"},
    {.terms = 1, .term = {BAD}, .bad = DG_NOT_ZERO, .what = "weights of S are broken"},
};

static dg_err check(const dg_model *m, const dg_job_options *o)
{
    return o->batch > 2 ? DG_OK : dg_fail(DG_USAGE, "%s: S requires 3 images", m->name);
}

typedef struct {
    int w, dw, m, v;
} weights;

static void operands(dg_op *op, const char *names, const int *row)
{
    char name[16];
    for (int n; sscanf(names, "%15s%n", name, &n) == 1; names += n) dg_plan_operand(op, name, *row++, 0);
}

static dg_op *add(dg_plan *p, dg_op_kind kind, const char *name, dg_conv_args conv, const int row[3])
{
    dg_op *op = dg_plan_add(p, kind, "%s", name);
    op->u.conv = conv;
    operands(op, "x w y", row);
    return op;
}

static void add_step(dg_job *job, dg_plan_role role, int B, const weights *s)
{
    dg_arena *a = &job->arena;
    dg_plan *p = &job->plan[role];
    const dg_type real = job->backend->real;
    const int C = job->model.channels, state = job->row[DG_ROW_STATE], ring = job->row[DG_ROW_METRICS];
    const dg_conv_args conv = {.N = B, .H = SIZE, .W = SIZE, .Ci = C, .Ho = 1, .Wo = 1, .Co = 1, .K = SIZE, .S = 1};
    dg_plan_begin(p, a, dg_plan_role_name[role]);
    const int x = dg_arena_row(a, "S.x", DG_WORK, 0, real, (dg_shape){B, SIZE, SIZE, C});
    const int y = dg_arena_row(a, "S.y", DG_WORK, 0, real, (dg_shape){B, 1, 1, 1});
    const int dy = dg_arena_row(a, "S.dy", DG_WORK, 0, real, (dg_shape){B, 1, 1, 1});

    dg_op *op = dg_plan_add(p, DG_OP_gather, "S.gather");
    op->u.gather = (dg_gather_args){.N = B, .H = SIZE, .W = SIZE, .C = C};
    gather_signed(&op->u.gather);
    operands(op, "x data perm state", (const int[]){x, job->row[DG_ROW_DATA], job->row[DG_ROW_PERM], state});
    add(p, DG_OP_conv_fwd, "S.fwd", conv, (const int[]){x, s->w, y});
    op = dg_plan_add(p, DG_OP_gan_loss, "S.bce");
    op->u.gan_loss = (dg_gan_loss_args){.form = DG_GAN_CROSS, .n = B, .target = 1, .loss = LOSS, .prob = PROBABILITY};
    operands(op, "dlogit logit ring state", (const int[]){dy, y, ring, state});
    add(p, DG_OP_conv_dw, "S.dw", conv, (const int[]){x, s->dw, dy});
    op = dg_plan_add(p, DG_OP_adam, "S.adam");
    op->u.adam = (dg_adam_args){.n = (int64_t)SIZE * SIZE * C, .beta1 = job->o.beta1, .eps = job->o.eps, .bad = BAD};
    operands(op, "p g m v ring state", (const int[]){s->w, s->dw, s->m, s->v, ring, state});
    op = dg_plan_add(p, DG_OP_advance, "advance");
    op->u.advance = (dg_advance_args){.batch = B};
    operands(op, "state", &state);
}

static void build(dg_job *job)
{
    static const char *const name[] = {"S.w", "S.dw", "S.m", "S.v"};
    static const dg_row_kind kind[] = {DG_PARAM, DG_GRAD, DG_MOMENT1, DG_MOMENT2};
    const int C = job->model.channels;
    const dg_shape shape = {1, SIZE, SIZE, C};
    int row[4];
    for (int i = 0; i < 4; i++) row[i] = dg_arena_row(&job->arena, name[i], kind[i], 0, job->backend->real, shape);
    const weights s = {row[0], row[1], row[2], row[3]};
    job->tensor[job->tensors++] = (dg_job_tensor){.name = "S.main.0.weight",
                                                  .row = s.w,
                                                  .grad = s.dw,
                                                  .moment1 = s.m,
                                                  .moment2 = s.v,
                                                  .rank = 4,
                                                  .dim = {1, C, SIZE, SIZE}};
    dg_job_rows(job);
    add_step(job, DG_PLAN_TRAIN, job->o.batch, &s);
    if (job->o.last_batch) add_step(job, DG_PLAN_TRAIN_SHORT, job->o.last_batch, &s);
}

static const dg_recipe scorer = {.name = "scorer",
                                 .nets = 1,
                                 .net = {{'S', "scorer", 1}},
                                 .metrics = sizeof metrics / sizeof metrics[0],
                                 .metric = metrics,
                                 .plots = 1,
                                 .plot = plots,
                                 .check = check,
                                 .build = build};

static dg_training r;
static char data[] = "drawn/";
static dg_options o = {.data = data,
                       .epochs = EPOCHS,
                       .batch = BATCH,
                       .lr = 0.01,
                       .lr_g = 9, /* network S does not use G's learning rate */
                       .sample_every = 1,
                       .checkpoint_every = 1,
                       .grid_rows = 2,
                       .grid_cols = 2};
static char config[] = "";

/* All images are identical, so their order has no effect. */
static bool up(void)
{
    static dg_model model;
    static char text[DG_MODEL_TEXT_MAX];
    dg_job_options go = machine_training(BATCH, IMAGES % BATCH, 4, IMAGES);
    go.recipe = &scorer;
    go.flip = false;
    const size_t each = SIZE * SIZE * 3;
    r = (dg_training){.o = &o, .config = config, .batches = 3, .dir = {.lock = -1}};
    r.data = (dg_dataset){
        .count = IMAGES, .train = IMAGES, .size = dg_square(SIZE), .channels = 3, .pixels = malloc(IMAGES * each)};
    for (size_t i = 0; i < IMAGES * each; i++) r.data.pixels[i] = (uint8_t)(i % each * 5 % 251);
    dg_err e = dg_model_stock(text, "toy", dg_square(SIZE), 3, 4, 2, 2);
    if (!e) e = dg_model_parse(text, "toy", &model);
    if (!e) e = dg_cpu_open(&(dg_cpu_options){.threads = 2, .real = DG_F64}, &r.backend);
    if (!e) e = dg_job_build(&r.job, &model, &go, r.backend);
    const dg_training_records records = {.images = dg_dataset_images(&r.data), .bytes = each, .count = IMAGES};
    if (!e)
        e = dg_loader_open(&r.feed, r.backend, &records,
                           &(dg_loader_options){.batch = BATCH, .used = IMAGES, .shards = 1, .own = 1, .seed = 3});
    if (!e) e = dg_job_alloc(&r.job, r.feed.data, r.feed.perm);
    if (!e) e = dg_job_init(&r.job, 3);
    if (!e) e = dg_rundir_open(temp_path("run"), false, &r.dir);
    if (!e) e = dg_log_open(&r.dir, &scorer, 0, &r.log);
    if (!e) e = dg_ring_reader_open(&r.metrics, &r.job, 0);
    r.out = (dg_outputs){.o = &o, .config = config, .dir = &r.dir, .data = &r.data, .job = &r.job, .log = r.log};
    if (!e) e = dg_outputs_open(&r.out);
    r.progress = dg_progress_open(false);
    dg_progress_recipe(r.progress, &scorer);
    return DG_WORKS(e);
}

static void down(void)
{
    DG_CHECKF(!dg_outputs_close(&r.out) && !r.out.error && !dg_log_close(r.log), "%s", dg_message());
    dg_progress_close(r.progress);
    dg_ring_reader_close(&r.metrics);
    dg_job_free(&r.job);
    dg_loader_close(&r.feed);
    r.backend->close(r.backend);
    free(r.data.pixels);
    dg_rundir_close(&r.dir);
}

static dg_err train(const char *said)
{
    FILE *to = freopen(said, "w", stderr);
    const dg_err e = to ? dg_train_loop(&r) : DG_FAILED;
    fflush(stderr);
    return e;
}

/* Computes the first step's loss log(1 + exp(-logit)) from weights in PyTorch's order. */
static double first_loss(void)
{
    static double w[3 * SIZE * SIZE];
    double logit = 0;
    DG_CHECK(!dg_job_read(&r.job, &r.job.tensor[0], r.job.tensor[0].row, DG_F64, w));
    for (int p = 0; p < SIZE * SIZE; p++)
        for (int c = 0; c < 3; c++) logit += w[c * SIZE * SIZE + p] * ((double)r.data.pixels[p * 3 + c] / 127.5 - 1);
    return log1p(exp(-logit));
}

static void trains(void)
{
    if (!up()) return;
    DG_CHECK(!r.job.plan[DG_PLAN_SAMPLE].ops && r.job.input[DG_PLAN_TRAIN] < 0 && r.job.row[DG_ROW_DATA] >= 0);
    DG_CHECK(dg_job_plan(&r.job, "train-short") == &r.job.plan[DG_PLAN_TRAIN_SHORT] && !dg_job_plan(&r.job, "sample"));
    const double loss = first_loss();
    DG_WORKS(train(temp_path("said")));

    long n;
    const dg_log_row *row = dg_log_rows(r.log, &n);
    if (!DG_CHECKF(n == STEPS, "%ld rows in the log", n)) return;
    DG_NEAR(row[0].value[LOSS], loss, 1e-8 * loss);
    for (int i = 1; i < STEPS; i++) DG_CHECK(row[i].value[LOSS] < row[i - 1].value[LOSS]);
    const double last = row[STEPS - 1].value[PROBABILITY],
                 mean = (row[6].value[LOSS] + row[7].value[LOSS] + row[8].value[LOSS]) / 3;
    DG_CHECKF(last > 0.9 && last < 1, "S has not learned: %g", last);
    static dg_chart chart;
    double place[STEPS];
    dg_curve_places(row, n, place);
    dg_run_chart(&chart, &(dg_run_log){&scorer, row, place, n}, 0);
    DG_CHECK(!strcmp(chart.title, "Score, cross entropy") && chart.curves == 1 && chart.curve[0].points == STEPS);

    char want[200], *said = temp_slurp(temp_path("said"), NULL);
    snprintf(want, sizeof want, "\nepoch 3/3 S %.3f p(x) %.3f ", mean, last);
    DG_CHECKF(said && strstr(said, want), "progress said %s, not %s", said, want);
    free(said);
    char *json = temp_slurp(temp_path("run/log.jsonl"), NULL), *epoch = json;
    for (int i = 0; i < EPOCHS && epoch; i++) epoch = strstr(epoch + 1, "\"kind\":\"epoch\",\"epoch\":");
    if (!DG_CHECKF(epoch != NULL, "log.jsonl is %s", json ? json : "not there")) return;
    epoch = strstr(epoch, "\"step\"");
    snprintf(want, sizeof want, "\"step\":%d,\"score\":%.6f", STEPS, mean);
    DG_CHECKF(!strncmp(epoch, want, strlen(want) - 2), "log.jsonl has %s, not %s", epoch, want);
    snprintf(want, sizeof want, ",\"p\":%.9g,\"img_s\":", last);
    DG_CHECKF(strstr(epoch, want) != NULL, "log.jsonl has %s, not %s", epoch, want);
    free(json);
    down();
    char *csv = temp_slurp(temp_path("run/log.csv"), NULL);
    const char header[] = "epoch,step,score,p,img_s,seconds\n1,1,";
    DG_CHECKF(csv && !strncmp(csv, header, strlen(header)), "log.csv begins with %.80s", csv);
    free(csv);
    DG_CHECK(!temp_count(temp_path("run"), "epoch-") && temp_count(temp_path("run"), "checkpoint.safetensors") == 1);
}

static void ends(void)
{
    static double w[3 * SIZE * SIZE];
    temp_remove(temp_path("run"));
    if (!up()) return;
    w[5] = NAN;
    DG_CHECK(!dg_job_write(&r.job, &r.job.tensor[0], r.job.tensor[0].row, DG_F64, w));
    DG_REFUSED(train(temp_path("said")), DG_NUMBERS, "epoch 1, step 1: the loss of S is NaN");
    DG_CHECKF(strstr(dg_message(), "gradient S.main.0.weight"), "%s", dg_message());
    down();
    char out[160];
    dg_metrics m = {.value = {[BAD] = 3}};
    DG_CHECK(dg_recipe_bad(&scorer, &m, out, sizeof out) && !strcmp(out, "3 weights of S are broken"));
    m = (dg_metrics){.value = {[PROBABILITY] = NAN}}; /* a NaN probability gives a warning, not an error */
    DG_CHECK(!dg_recipe_bad(&scorer, &m, out, sizeof out));
    m = (dg_metrics){.value = {[LOSS] = -INFINITY}};
    DG_CHECK(dg_recipe_bad(&scorer, &m, out, sizeof out) && !strcmp(out, "the loss of S is infinite"));
    DG_CHECK(dg_job_build(&r.job, &r.job.model, &(dg_job_options){.recipe = &scorer, .batch = 2, .train = true},
                          NULL) == DG_USAGE);
}

static void tables(void)
{
    const dg_recipe *each;
    char line[DG_LOG_LINE], again[DG_LOG_LINE];
    for (int i = 0; (each = dg_recipe_at(i)); i++) {
        size_t header;
        dg_log_row row = {.step = DG_LOG_STEP_MAX, .epoch = DG_LOG_EPOCH_MAX, .seconds = -1.23456789e-300}, back;
        for (int k = 0; k < DG_METRICS_MAX; k++) row.value[k] = -1.23456789e-300;
        const int n = dg_log_header(line, each);
        DG_CHECK(n > 0 && n < DG_LOG_LINE && dg_log_recipe(line, &header) == each && header == (size_t)n);
        DG_CHECK(dg_log_json(line, each, &row, "epoch") < DG_LOG_LINE - 1 && dg_log_csv(line, each, &row) > 0);
        line[strlen(line) - 1] = 0;
        DG_CHECK(dg_log_parse(line, each, &back) && dg_log_csv(again, each, &back) == (int)strlen(line) + 1);
        DG_CHECK(!strncmp(line, again, strlen(line)) && each->exported < each->nets && each->nets <= DG_NETS_MAX);
        for (int k = 0; k < each->metrics; k++) {
            const dg_metric *m = &each->metric[k];
            DG_CHECKF(m->terms >= 1 && m->terms <= 2 && m->term[0] < DG_METRICS_MAX && m->term[1] < DG_METRICS_MAX &&
                          m->plot < each->plots && (m->terms == 1 || !m->bad) && !m->bad == !m->what,
                      "%s: metric %d", each->name, k);
        }
    }
    DG_CHECK(!dg_log_recipe("epoch,step,score,p,img_s,seconds\n", &(size_t){0}));
}

DG_TESTS_IN("recipe", tables, trains, ends)
