#include "host/net/gan_find.h"

#include <stdio.h>

#include "host/net/gan_step.h"
#include "host/net/layers/layers.h"
#include "host/net/recipe_parts.h"

static const dg_view nothing = {-1, 0};

int dg_find_row(const dg_job *job, const char *name, int layer)
{
    char full[64];
    if (layer < 0) return dg_arena_find(&job->arena, name);
    snprintf(full, sizeof full, "%s.%d", name, layer);
    return dg_arena_find(&job->arena, full);
}

bool dg_find_compares(const dg_model *m, int layer) { return m->net[DG_D].layer[layer].kind != &dg_layer_dropout; }

static dg_view kept(dg_builder *b, dg_job *job, int net, dg_shape shape, const char *name)
{
    return (dg_view){dg_keep(job, dg_work_row(b, net, dg_batch_of(shape, job->o.batch), "%s", name)), 0};
}

static dg_view kept_of(dg_builder *b, dg_job *job, dg_shape shape, const char *name, int layer)
{
    char full[40];
    snprintf(full, sizeof full, "%s.%d", name, layer);
    return kept(b, job, DG_D, shape, full);
}

static dg_pass frozen(const dg_job *job, int net, const char *suffix, dg_view in)
{
    return (dg_pass){
        .net = net, .N = job->o.batch, .groups = 1, .frozen = true, .suffix = suffix, .in = in, .target = nothing};
}

/* y[n] = weight[n] (f[n] - f(t)[n]). The second term of op mix has a factor of 0. */
static dg_view feature_gradient(dg_builder *b, dg_job *job, const dg_pass *d, int i)
{
    const dg_layer *l = dg_layer_of(b, d, i);
    const dg_view diff = {dg_work_row(b, DG_D, dg_batch_of(l->out, d->N), "%s.find.diff", l->name), 0},
                  target = kept_of(b, job, l->out, "find.target", i),
                  weight = kept_of(b, job, (dg_shape){1, 1, 1, 1}, "find.weight", i);
    dg_build_add(b, d, l->name, "find.diff", l->out, (const dg_view[]){diff, d->layer[i].out, target});
    dg_op *op = dg_plan_add(b->plan, DG_OP_mix, "%s.find.weigh", l->name);
    op->u.mix = (dg_mix_args){.N = d->N, .each = (int)dg_count(l->out), .first = 1};
    dg_bind(op, "y", diff);
    dg_bind(op, "s", weight);
    dg_bind(op, "a", diff);
    dg_bind(op, "t", diff);
    dg_bind_row(op, "state", b->state);
    return diff;
}

/* Returns the gradient of the image: x - t, plus the gradients of D's layers. */
static dg_view image_gradient(dg_builder *b, dg_job *job, const dg_pass *g)
{
    const dg_net *generator = &job->model.net[DG_G];
    const dg_shape image = generator->layer[generator->layers - 1].out;
    const dg_view pixels = {dg_work_row(b, DG_G, dg_batch_of(image, g->N), "find.diff"), 0},
                  target = kept(b, job, DG_G, image, "find.target");
    dg_build_add(b, g, "find", "diff", image, (const dg_view[]){pixels, g->out, target});
    if (job->model.nets < 2) return pixels;
    dg_view gradient[DG_MAX_LAYERS];
    dg_pass d = frozen(job, DG_D, ".find", g->out);
    d.gradient = gradient;
    dg_forward(b, &d);
    for (int i = 0; i < job->model.net[DG_D].layers; i++)
        gradient[i] = dg_find_compares(&job->model, i) ? feature_gradient(b, job, &d, i) : nothing;
    const dg_view features = dg_backward(b, &d, nothing, DG_WANT_INPUT),
                  sum = {dg_work_row(b, DG_G, dg_batch_of(image, g->N), "find.sum"), 0};
    dg_build_add(b, g, "find", "sum", image, (const dg_view[]){sum, pixels, features});
    return sum;
}

/* dz[n][c] = mask[c] dz[n][c], as a convolution with one group per channel. */
static dg_view latent_gradient(dg_builder *b, dg_job *job, dg_view dz)
{
    if (!job->model.classes) return dz;
    const int C = dg_net_input(&job->model, &job->model.net[DG_G]).C, N = job->o.batch;
    const dg_view mask = {dg_keep(job, dg_work_row(b, DG_G, (dg_shape){C, 1, 1, 1}, "find.mask")), 0},
                  masked = {dg_work_row(b, DG_G, (dg_shape){N, 1, 1, C}, "find.dz"), 0};
    dg_op *op = dg_plan_add(b->plan, DG_OP_group_fwd, "find.mask");
    op->u.group =
        (dg_group_args){.N = N, .H = 1, .W = 1, .Ci = C, .Ho = 1, .Wo = 1, .Co = C, .K = 1, .groups = C, .Cg = 1};
    dg_bind(op, "x", dz);
    dg_bind(op, "w", mask);
    dg_bind(op, "y", masked);
    return masked;
}

static void step_plan(dg_builder *b, dg_job *job)
{
    dg_plan *plan = b->plan = &job->plan[DG_PLAN_TRAIN];
    dg_plan_begin(plan, &job->arena, "find");
    const dg_shape input = dg_net_input(&job->model, &job->model.net[DG_G]);
    const dg_view z = kept(b, job, DG_G, input, "find.z"), m = kept(b, job, DG_G, input, "find.m"),
                  v = kept(b, job, DG_G, input, "find.v");
    dg_pass g = frozen(job, DG_G, "", z);
    dg_forward(b, &g);
    const dg_view dz = latent_gradient(b, job, dg_backward(b, &g, image_gradient(b, job, &g), DG_WANT_INPUT));
    dg_op *op = dg_plan_add(plan, DG_OP_adam, "find.adam");
    op->u.adam =
        (dg_adam_args){.n = (int64_t)job->o.batch * input.C, .beta1 = job->o.beta1, .eps = job->o.eps, .net = DG_G};
    dg_bind(op, "p", z);
    dg_bind(op, "g", dz);
    dg_bind(op, "m", m);
    dg_bind(op, "v", v);
    dg_bind_row(op, "ring", job->row[DG_ROW_METRICS]);
    dg_bind_row(op, "state", b->state);
    dg_add_advance(job, plan, 0);
}

static void target_plan(dg_builder *b, dg_job *job)
{
    const dg_net *n = &job->model.net[DG_D];
    dg_plan *plan = b->plan = &job->plan[DG_PLAN_TEST];
    dg_plan_begin(plan, &job->arena, "find-target");
    dg_pass d = frozen(job, DG_D, ".f", kept(b, job, DG_D, dg_net_input(&job->model, n), "find.image"));
    dg_forward(b, &d);
    for (int i = 0; i < n->layers; i++) {
        if (!dg_find_compares(&job->model, i)) continue;
        dg_row *r = &job->arena.row[dg_keep(job, d.layer[i].out.row)];
        snprintf(r->name, sizeof r->name, "find.f.%d", i);
    }
}

static void build(dg_job *job)
{
    dg_builder b = dg_job_builder(job);
    for (int net = 0; net < job->model.nets; net++) dg_add_parameters(job, &b, net);
    dg_job_rows(job);
    b.state = job->row[DG_ROW_STATE];
    step_plan(&b, job);
    if (job->model.nets > 1) target_plan(&b, job);
}

static dg_err check(const dg_model *m, const dg_job_options *o)
{
    dg_err e = DG_OK;
    for (int net = 0; net < m->nets && o && !e; net++) {
        e = dg_net_check_values(m, net, o->batch);
        if (!e) e = dg_net_check_backward(m, net);
    }
    return e;
}

const dg_recipe dg_find_recipe = {.name = "search for latents", .nets = 2, .check = check, .build = build};
