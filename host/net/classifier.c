#include "host/net/classifier.h"

#include "host/net/job.h"
#include "host/net/layers/layers.h"
#include "host/net/recipe_parts.h"
#include "host/net/shards.h"

static const dg_view nothing = {-1, 0};

static const dg_layer *last_layer(const dg_model *m) { return &m->net[0].layer[m->net[0].layers - 1]; }

int dg_classifier_classes(const dg_model *m) { return last_layer(m)->out.C; }

static dg_err check_model(const dg_model *m)
{
    const dg_layer *last = last_layer(m);
    const dg_shape is = last->out;
    if (m->net[0].latent)
        return dg_layer_fail(&m->net[0].layer[0], m->where, "in = latent: a classifier needs in = image");
    if (is.H != 1 || is.W != 1)
        return dg_layer_fail(last, m->where,
                             "output is %d x %d x %d; a classifier needs 1 x 1 with one logit per class (op = dense)",
                             is.H, is.W, is.C);
    if (last->norm == DG_NORM_BATCH || last->act != DG_ACT_NONE || last->kind == &dg_layer_dropout)
        return dg_layer_fail(
            last, m->where,
            "is the last layer: needs norm = none or spectral, act = none, and an op other than dropout");
    if (is.C < 2) return dg_layer_fail(last, m->where, "has one logit; a classifier needs at least two");
    const size_t values = dg_size_values(m->size, m->channels);
    if (m->input == DG_INPUT_ZCA && values > DG_WHITENED_MOST)
        return dg_fail(DG_USAGE, DG_MSG("zca-size", "%s: input = zca: images are too large (%zu values, at most %d)"),
                       m->where, values, DG_WHITENED_MOST);
    return dg_check_trainable(m, 0);
}

static dg_err check(const dg_model *m, const dg_job_options *o)
{
    const dg_err e = check_model(m);
    if (e || !o) return e;
    if (o->loss)
        return dg_fail(DG_USAGE, DG_MSG("loss-for-gans", "{loss}: applies to GANs only; model %s is a classifier"),
                       m->name);
    if (dg_is_averaged(o))
        return dg_fail(DG_USAGE,
                       DG_MSG("ema-for-gans",
                              "{ema} and {ema-half-life}: apply to GANs only; model %s is a classifier"),
                       m->name);
    if (o->augment)
        return dg_fail(DG_USAGE,
                       DG_MSG("augment-for-gans", "{augment}: applies to GANs only; model %s is a classifier"),
                       m->name);
    if (m->input == DG_INPUT_ZCA && o->flip)
        return dg_fail(DG_USAGE,
                       DG_MSG("flip-with-zca",
                              "{flip}: not supported with input = zca of model %s; remove one of them"),
                       m->name);
    return dg_check_sizes(m, 0, o, o->train ? o->batch : 1);
}

static dg_op *add_images(dg_builder *b, dg_job *job, int B, dg_view *images, dg_view *label, const char *suffix)
{
    const dg_model *m = &job->model;
    char name[40];
    images->row = dg_work_row(b, 0, dg_size_shape(B, m->size, m->channels), "C.x%s", suffix);
    snprintf(name, sizeof name, "C.label%s", suffix);
    label->row = dg_arena_row(b->arena, name, DG_WORK, 0, DG_I32, (dg_shape){1, 1, 1, B});
    snprintf(name, sizeof name, "C.x.gather%s", suffix);
    return dg_add_gather(job, b->plan, name, *images, *label, B);
}

static dg_op *add_softmax(dg_builder *b, dg_job *job, const dg_pass *c, dg_view label)
{
    dg_op *op = dg_plan_add(b->plan, DG_OP_softmax, "C.softmax%s", c->suffix);
    op->u.softmax = (dg_softmax_args){.N = c->N,
                                      .C = dg_classifier_classes(&job->model),
                                      .smoothing = job->o.smoothing,
                                      .loss = DG_CLASS_LOSS,
                                      .right = DG_CLASS_RIGHT};
    dg_bind(op, "logit", c->out);
    dg_bind(op, "label", label);
    return op;
}

/* Append the ops of a shard of B images, up to the gradients. */
static void shard(dg_builder *b, dg_job *job, int B)
{
    dg_view images = nothing, label = nothing, dlogit = nothing;
    dg_op *op = add_images(b, job, B, &images, &label, "");
    op->u.gather.flip = job->o.flip;
    op->u.gather.first = (int)dg_shard_first(b, B);
    dg_pass c = {.net = 0, .N = B, .groups = 1, .suffix = "", .in = images, .target = nothing};
    dg_forward(b, &c);
    dlogit.row = dg_work_row(b, 0, (dg_shape){B, 1, 1, dg_classifier_classes(&job->model)}, "C.dlogit");
    op = add_softmax(b, job, &c, label);
    dg_bind(op, "dlogit", dlogit);
    dg_bind_row(op, "ring", job->row[DG_ROW_METRICS]);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
    dg_backward(b, &c, dlogit, DG_WANT_WEIGHTS);
}

static void train_plan(dg_builder *b, dg_job *job, dg_plan_role role, int B)
{
    const unsigned of_shard = 1u << DG_CLASS_LOSS | 1u << DG_CLASS_RIGHT;
    const int shards = dg_shards_own(b);
    b->plan = &job->plan[role];
    dg_plan_begin(b->plan, &job->arena, dg_plan_role_name[role]);
    dg_shards_begin_plan(b, (const int[]){1, 0});
    for (int k = 0; k < shards; k++) {
        dg_shard_begin(b, k);
        shard(b, job, B / dg_shards_all(b));
        dg_shard_collect(b, job, 0, of_shard);
    }
    dg_shards_end_phase(b);
    dg_shards_update(b, job, 0, DG_CLASS_BAD);
    dg_shards_end_plan(b, job, of_shard, 1u << DG_CLASS_BAD);
    dg_add_advance(job, b->plan, B);
}

static void test_rows(dg_job *job, int N)
{
    dg_arena *a = &job->arena;
    const dg_shape records = {N, 1, 1, (int)dg_job_record_bytes(job)}, state = {1, 1, 1, (int)sizeof(dg_step_state)};
    job->test.data = dg_keep(job, dg_arena_row(a, "test.data", DG_WORK, 0, DG_U8, records));
    job->test.perm = dg_keep(job, dg_arena_row(a, "test.permutation", DG_WORK, 0, DG_I32, (dg_shape){1, 1, 1, N}));
    job->test.state = dg_keep(job, dg_arena_row(a, "test.state", DG_WORK, 0, DG_U8, state));
}

/* Copy the last layer's input to its own arena row, because fused launches may not store the output of a norm. */
static void add_hidden(dg_builder *b, dg_job *job, const dg_pass *c)
{
    const dg_layer *last = last_layer(&job->model);
    const dg_shape shape = dg_batch_of(last->in, c->N);
    job->test.hidden = dg_keep(job, dg_work_row(b, 0, shape, "test.hidden"));
    dg_op *op = dg_plan_add(b->plan, DG_OP_act, "C.hidden%s", c->suffix);
    op->u.act = (dg_act_args){.n = (int64_t)dg_count(shape), .act = DG_ACT_NONE};
    dg_bind_row(op, "y", job->test.hidden);
    dg_bind(op, "x", c->layer[job->model.net[0].layers - 1].in);
}

static void test_plan(dg_builder *b, dg_job *job, int N)
{
    dg_plan *plan = b->plan = &job->plan[DG_PLAN_TEST];
    dg_view images = nothing, label = nothing;
    dg_plan_begin(plan, &job->arena, dg_plan_role_name[DG_PLAN_TEST]);
    test_rows(job, N);
    dg_op *op = add_images(b, job, N, &images, &label, ".test");
    dg_bind_row(op, "data", job->test.data);
    dg_bind_row(op, "perm", job->test.perm);
    dg_bind_row(op, "state", job->test.state);
    dg_pass c = {.net = 0, .N = N, .groups = 1, .frozen = true, .suffix = ".test", .in = images, .target = nothing};
    dg_forward(b, &c);
    if (!job->o.train) add_hidden(b, job, &c);
    job->test.p = dg_keep(job, dg_work_row(b, 0, (dg_shape){N, 1, 1, dg_classifier_classes(&job->model)}, "test.p"));
    job->test.each = dg_keep(job, dg_work_row(b, 0, (dg_shape){1, 1, 1, N}, "test.loss"));
    op = add_softmax(b, job, &c, label);
    op->u.softmax.smoothing = 0;
    dg_bind_row(op, "p", job->test.p);
    dg_bind_row(op, "each", job->test.each);
}

static void build(dg_job *job)
{
    dg_builder b = dg_job_builder(job);
    dg_add_parameters(job, &b, 0);
    if (job->o.train) {
        dg_job_rows(job);
        b.state = job->row[DG_ROW_STATE];
        dg_shards *const shards = b.shards = dg_shards_open(&b, job);
        train_plan(&b, job, DG_PLAN_TRAIN, job->o.batch);
        if (job->o.last_batch) train_plan(&b, job, DG_PLAN_TRAIN_SHORT, job->o.last_batch);
        b.shards = NULL;
        dg_shards_close(shards);
    }
    if (job->o.tested) test_plan(&b, job, job->o.tested);
}

enum { LOSSES, SHARES };
static const dg_recipe_plot plots[] = {
    [LOSSES] = {"Loss, cross entropy", 0}, [SHARES] = {"Accuracy, share of images", 1}};

static const dg_metric metrics[] = {
    {.name = "loss",
     .terms = 1,
     .term = {DG_CLASS_LOSS},
     .label = "loss",
     .plot = LOSSES,
     .legend = "training",
     .title = "Training loss",
     .bad = DG_NOT_FINITE,
     .what = "the loss"},
    {.name = "accuracy",
     .terms = 1,
     .term = {DG_CLASS_RIGHT},
     .kind = DG_METRIC_PROBABILITY,
     .label = "accuracy",
     .brief = "acc",
     .plot = SHARES,
     .legend = "training"},
    {.name = "test_loss",
     .terms = 1,
     .term = {DG_CLASS_TEST_LOSS},
     .over = DG_OVER_TEST,
     .label = "test",
     .plot = LOSSES,
     .legend = "test",
     .title = "Test loss"},
    {.name = "test_accuracy",
     .terms = 1,
     .term = {DG_CLASS_TEST_RIGHT},
     .kind = DG_METRIC_PROBABILITY,
     .over = DG_OVER_TEST,
     .label = "test accuracy",
     .brief = "test acc",
     .plot = SHARES,
     .legend = "test",
     .title = "Test accuracy"},
    {.terms = 1,
     .term = {DG_CLASS_BAD},
     .bad = DG_NOT_ZERO,
     .what = "the weights of the classifier are NaN or infinite after the update"},
};

static const char *const preset[][2] = {
    {"epochs", "25"}, {"lr", "0.001"}, {"beta1", "0.9"}, {"start", "he"}, {NULL, NULL}};

const dg_recipe dg_classifier_recipe = {
    .name = "classifier",
    .nets = 1,
    .net = {{'C', "network", 1}},
    .labels = true,
    .metrics = sizeof metrics / sizeof metrics[0],
    .metric = metrics,
    .plots = sizeof plots / sizeof plots[0],
    .plot = plots,
    .preset = preset,
    .check = check,
    .build = build,
};
