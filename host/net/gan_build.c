/* The ops of a DCGAN step. One function an idea: a network forward, a network backward, and the three plans. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/net/job.h"
#include "host/net/gan_build.h"

static const double NORM_EPS = 1e-5, NORM_MOMENTUM = 0.1; /* PyTorch's defaults */

/* The persistent rows of one layer, by arena index; -1 where the layer has none. */
typedef struct {
    int w, gamma, beta;
    int dw, dgamma, dbeta;
    int running_mean, running_var;
} layer_rows;

/* Where a pass keeps what the backward pass needs. */
typedef struct {
    int in; /* row of the network's input */
    int64_t in_skip;
    int pre[DG_MAX_LAYERS]; /* before the norm; the same row as out where there is none */
    int mean[DG_MAX_LAYERS], rstd[DG_MAX_LAYERS];
    int out[DG_MAX_LAYERS];
    int64_t out_skip[DG_MAX_LAYERS];
} pass_rows;

typedef struct {
    dg_job *job;
    dg_plan *plan;
    layer_rows rows[2][DG_MAX_LAYERS];
} builder;

static int row_of(builder *b, dg_row_kind kind, int net, dg_shape shape, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static int row_of(builder *b, dg_row_kind kind, int net, dg_shape shape, const char *format, ...)
{
    char name[64];
    va_list ap;
    va_start(ap, format);
    vsnprintf(name, sizeof name, format, ap);
    va_end(ap);
    return dg_arena_row(&b->job->arena, name, kind, net, b->job->backend->real, shape);
}

static int vector_row(builder *b, dg_row_kind kind, int net, int n, const char *format, const char *layer)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", layer, format);
    return dg_arena_row(&b->job->arena, name, kind, net, b->job->backend->real, (dg_shape){1, 1, 1, n});
}

/* The convolution that a layer is: of a transposed one, x is the output and y the input. */
static dg_conv_args geometry(const dg_layer *l, int N)
{
    dg_shape x = l->transpose ? l->out : l->in, y = l->transpose ? l->in : l->out;
    return (dg_conv_args){.N = N,
                          .H = x.H,
                          .W = x.W,
                          .Ci = x.C,
                          .Ho = y.H,
                          .Wo = y.W,
                          .Co = y.C,
                          .K = l->kernel,
                          .S = l->stride,
                          .P = l->pad};
}

/* By how many binary places fp16, whose normal numbers reach from 2^-14 to 2^16, moves gradients up. The loss is a mean
 * over the batch, so that gradients are as 1 to the batch. The largest seen in any layer (dcgan64-paper from its first
 * to its 300th epoch, dcgan64, dcgan128) was 2^4.5 / batch; of every layer at least 99 in 100 were beyond 2^-22 /
 * batch, and 999 of 1000 beyond 2^-26. With these places that is 2^12.5, 2^-14 and 2^-18, and what is smaller loses
 * places one by one. */
static int shift_of(int batch)
{
    int shift = 8;
    while (1 << (shift - 8) < batch) shift++;
    return shift;
}

static dg_shape batch_of(dg_shape s, int N) { return (dg_shape){N, s.H, s.W, s.C}; }

/* Weights and what belongs to them, for every layer of a network. Kind by kind, so that the order of rows within
 * a kind is the same for weights, gradients and moments. */
static void persistent_rows(builder *b, int net)
{
    dg_job *job = b->job;
    const dg_net *n = &job->model.net[net];
    for (int i = 0; i < n->layers; i++) {
        const dg_layer *l = &n->layer[i];
        layer_rows *r = &b->rows[net][i];
        dg_conv_args c = geometry(l, 1);
        dg_shape w = {c.Co, c.K, c.K, c.Ci};
        memset(r, 0xff, sizeof *r); /* all -1 */
        dg_job_tensor *t = &job->tensor[job->tensors++];
        *t = (dg_job_tensor){
            .net = net, .rank = 4, .dim = {c.Co, c.Ci, c.K, c.K}, .moment1 = -1, .moment2 = -1, .grad = -1};
        snprintf(t->name, sizeof t->name, "%c.main.%d.weight", n->letter, l->main_conv);
        t->row = r->w = row_of(b, DG_PARAM, net, w, "%s.conv.w", l->name);
        if (job->o.train) {
            t->grad = r->dw = row_of(b, DG_GRAD, net, w, "%s.conv.dw", l->name);
            t->moment1 = row_of(b, DG_MOMENT1, net, w, "%s.conv.w.m", l->name);
            t->moment2 = row_of(b, DG_MOMENT2, net, w, "%s.conv.w.v", l->name);
        }
        if (!l->norm) continue;
        const char *const file[] = {"weight", "bias"}, *const name[] = {"norm.gamma", "norm.beta"};
        int *const value[] = {&r->gamma, &r->beta}, *const grad[] = {&r->dgamma, &r->dbeta};
        for (int k = 0; k < 2; k++) {
            t = &job->tensor[job->tensors++];
            *t = (dg_job_tensor){.net = net, .rank = 1, .dim = {l->filters}, .moment1 = -1, .moment2 = -1, .grad = -1};
            snprintf(t->name, sizeof t->name, "%c.main.%d.%s", n->letter, l->main_norm, file[k]);
            t->row = *value[k] = vector_row(b, DG_PARAM, net, l->filters, name[k], l->name);
            if (!job->o.train) continue;
            t->grad = *grad[k] = vector_row(b, DG_GRAD, net, l->filters, k ? "norm.dbeta" : "norm.dgamma", l->name);
            t->moment1 = vector_row(b, DG_MOMENT1, net, l->filters, k ? "norm.beta.m" : "norm.gamma.m", l->name);
            t->moment2 = vector_row(b, DG_MOMENT2, net, l->filters, k ? "norm.beta.v" : "norm.gamma.v", l->name);
        }
        int *const running[] = {&r->running_mean, &r->running_var};
        for (int k = 0; k < 2; k++) {
            t = &job->tensor[job->tensors++];
            *t = (dg_job_tensor){.net = net, .rank = 1, .dim = {l->filters}, .moment1 = -1, .moment2 = -1, .grad = -1};
            snprintf(t->name, sizeof t->name, "%c.main.%d.running_%s", n->letter, l->main_norm, k ? "var" : "mean");
            t->row = *running[k] = vector_row(b, DG_BUFFER, net, l->filters,
                                              k ? "norm.running_var" : "norm.running_mean", l->name);
        }
    }
}

/* Forward through a network. The input is row `in` from element in_skip on; the last layer writes to row last,
 * or to a new row when that is -1. pass goes into the names of ops and rows ("" or ".g"). */
static pass_rows forward(builder *b, int net, int N, int groups, bool frozen, int in, int64_t in_skip, int last,
                         int64_t last_skip, const char *pass)
{
    const dg_net *n = &b->job->model.net[net];
    pass_rows p = {.in = in, .in_skip = in_skip};
    for (int i = 0; i < n->layers; i++) {
        const dg_layer *l = &n->layer[i];
        const layer_rows *r = &b->rows[net][i];
        dg_shape shape = batch_of(l->out, N);
        bool to_last = i == n->layers - 1 && last >= 0;
        p.pre[i] = to_last ? last : row_of(b, DG_WORK, net, shape, "%s.%s%s", l->name, l->norm ? "pre" : "out", pass);
        p.out[i] = l->norm ? row_of(b, DG_WORK, net, shape, "%s.out%s", l->name, pass) : p.pre[i];
        p.out_skip[i] = to_last ? last_skip : 0;

        dg_op *op = dg_plan_add(b->plan, l->transpose ? DG_OP_conv_dx : DG_OP_conv_fwd, "%s.%s.fwd%s", l->name,
                                l->transpose ? "conv_transpose" : "conv", pass);
        op->u.conv = geometry(l, N);
        dg_plan_operand(op, l->transpose ? "y" : "x", in, in_skip);
        dg_plan_operand(op, l->transpose ? "x" : "y", p.pre[i], p.out_skip[i]);
        dg_plan_operand(op, "w", r->w, 0);

        if (l->norm) {
            char row[64];
            dg_shape stats = {1, 1, groups, l->filters};
            snprintf(row, sizeof row, "%s.norm.mean%s", l->name, pass);
            p.mean[i] = dg_arena_row(&b->job->arena, row, DG_WORK, net, b->job->backend->real, stats);
            snprintf(row, sizeof row, "%s.norm.rstd%s", l->name, pass);
            p.rstd[i] = dg_arena_row(&b->job->arena, row, DG_WORK, net, b->job->backend->real, stats);
            op = dg_plan_add(b->plan, frozen ? DG_OP_norm_frozen : DG_OP_norm_stats, "%s.norm.stats%s", l->name, pass);
            if (frozen) op->u.norm_frozen = (dg_norm_frozen_args){.C = l->filters, .eps = NORM_EPS};
            else
                op->u.norm_stats = (dg_norm_stats_args){.N = N,
                                                        .H = l->out.H,
                                                        .W = l->out.W,
                                                        .C = l->filters,
                                                        .groups = groups,
                                                        .eps = NORM_EPS,
                                                        .momentum = NORM_MOMENTUM};
            dg_plan_operand(op, "mean", p.mean[i], 0);
            dg_plan_operand(op, "rstd", p.rstd[i], 0);
            dg_plan_operand(op, "running_mean", r->running_mean, 0);
            dg_plan_operand(op, "running_var", r->running_var, 0);
            if (!frozen) dg_plan_operand(op, "x", p.pre[i], p.out_skip[i]);

            op = dg_plan_add(b->plan, DG_OP_norm_act, "%s.norm.act%s", l->name, pass);
            op->u.norm_act = (dg_norm_act_args){.N = N,
                                                .H = l->out.H,
                                                .W = l->out.W,
                                                .C = l->filters,
                                                .groups = groups,
                                                .act = l->act,
                                                .slope = l->slope};
            dg_plan_operand(op, "y", p.out[i], 0);
            dg_plan_operand(op, "x", p.pre[i], 0);
            dg_plan_operand(op, "mean", p.mean[i], 0);
            dg_plan_operand(op, "rstd", p.rstd[i], 0);
            dg_plan_operand(op, "gamma", r->gamma, 0);
            dg_plan_operand(op, "beta", r->beta, 0);
        } else if (l->act != DG_ACT_NONE) {
            op = dg_plan_add(b->plan, DG_OP_act, "%s.act.fwd%s", l->name, pass);
            op->u.act = (dg_act_args){.n = (int64_t)dg_count(shape), .act = l->act, .slope = l->slope};
            dg_plan_operand(op, "y", p.out[i], p.out_skip[i]);
            dg_plan_operand(op, "x", p.pre[i], p.out_skip[i]);
        }
        in = p.out[i];
        in_skip = p.out_skip[i];
    }
    return p;
}

/* Backward through a network from row dy, the gradient of its last layer's output (after the activation).
 * With weights: their gradients; with_input: returns the row of the input's gradient, else -1. */
static int backward(builder *b, int net, int N, int groups, const pass_rows *p, int dy, bool weights, bool with_input,
                    const char *pass)
{
    const dg_net *n = &b->job->model.net[net];
    for (int i = n->layers - 1; i >= 0; i--) {
        const dg_layer *l = &n->layer[i];
        const layer_rows *r = &b->rows[net][i];
        if (l->norm) {
            dg_op *op = dg_plan_add(b->plan, DG_OP_norm_act_dx, "%s.norm.act.dx%s", l->name, pass);
            op->u.norm_act = (dg_norm_act_args){.N = N,
                                                .H = l->out.H,
                                                .W = l->out.W,
                                                .C = l->filters,
                                                .groups = groups,
                                                .act = l->act,
                                                .slope = l->slope};
            dg_plan_operand(op, "dx", dy, 0);
            dg_plan_operand(op, "dy", dy, 0);
            if (weights) dg_plan_operand(op, "dgamma", r->dgamma, 0);
            if (weights) dg_plan_operand(op, "dbeta", r->dbeta, 0);
            dg_plan_operand(op, "x", p->pre[i], 0);
            dg_plan_operand(op, "mean", p->mean[i], 0);
            dg_plan_operand(op, "rstd", p->rstd[i], 0);
            dg_plan_operand(op, "gamma", r->gamma, 0);
            dg_plan_operand(op, "beta", r->beta, 0);
        } else if (l->act != DG_ACT_NONE) {
            dg_op *op = dg_plan_add(b->plan, DG_OP_act_dx, "%s.act.dx%s", l->name, pass);
            op->u.act = (dg_act_args){.n = (int64_t)dg_count(batch_of(l->out, N)), .act = l->act, .slope = l->slope};
            dg_plan_operand(op, "dx", dy, 0);
            dg_plan_operand(op, "dy", dy, 0);
            dg_plan_operand(op, "y", p->out[i], p->out_skip[i]);
        }
        const char *kind = l->transpose ? "conv_transpose" : "conv";
        int in = i ? p->out[i - 1] : p->in;
        int64_t in_skip = i ? p->out_skip[i - 1] : p->in_skip;
        if (weights) {
            dg_op *op = dg_plan_add(b->plan, DG_OP_conv_dw, "%s.%s.dw%s", l->name, kind, pass);
            op->u.conv = geometry(l, N);
            *(l->transpose ? &op->u.conv.shift_x : &op->u.conv.shift_y) = shift_of(N / groups);
            dg_plan_operand(op, "w", r->dw, 0);
            dg_plan_operand(op, l->transpose ? "y" : "x", in, in_skip);
            dg_plan_operand(op, l->transpose ? "x" : "y", dy, 0);
        }
        if (i == 0 && !with_input) return -1;
        int dx = row_of(b, DG_WORK, net, batch_of(l->in, N), "%s.din%s", l->name, pass);
        dg_op *op = dg_plan_add(b->plan, l->transpose ? DG_OP_conv_fwd : DG_OP_conv_dx, "%s.%s.dx%s", l->name, kind,
                                pass);
        op->u.conv = geometry(l, N);
        *(l->transpose ? &op->u.conv.shift_x : &op->u.conv.shift_y) = shift_of(N / groups);
        dg_plan_operand(op, l->transpose ? "y" : "x", dx, 0);
        dg_plan_operand(op, l->transpose ? "x" : "y", dy, 0);
        dg_plan_operand(op, "w", r->w, 0);
        dy = dx;
    }
    return dy;
}

static void add_bce(builder *b, const char *name, int logit, int dlogit, int64_t skip, int n, double target, int loss,
                    int prob)
{
    dg_op *op = dg_plan_add(b->plan, DG_OP_bce, "%s", name);
    op->u.bce = (dg_bce_args){.n = n, .target = target, .loss = loss, .prob = prob};
    dg_plan_operand(op, "dlogit", dlogit, skip);
    dg_plan_operand(op, "logit", logit, skip);
    dg_plan_operand(op, "ring", b->job->row_ring, 0);
    dg_plan_operand(op, "state", b->job->row_state, 0);
}

static void add_adam(builder *b, int net)
{
    const dg_arena *a = &b->job->arena;
    int first[4] = {-1, -1, -1, -1};
    size_t bytes = 0;
    for (int i = 0; i < a->rows; i++) {
        const dg_row *r = &a->row[i];
        if (r->net != net || r->kind > DG_MOMENT2) continue;
        if (first[r->kind] < 0) first[r->kind] = i;
        if (r->kind == DG_PARAM) bytes += (r->bytes + 255) & ~(size_t)255; /* as dg_arena_place lays them out */
    }
    dg_op *op = dg_plan_add(b->plan, DG_OP_adam, "%c.adam", "GD"[net]);
    op->u.adam = (dg_adam_args){.n = (int64_t)(bytes / dg_type_bytes(b->job->backend->real)),
                                .beta1 = b->job->o.beta1,
                                .beta2 = b->job->o.beta2,
                                .eps = b->job->o.eps,
                                .net = net,
                                .bad = net == DG_G ? DG_BAD_G : DG_BAD_D};
    dg_plan_operand(op, "p", first[DG_PARAM], 0);
    dg_plan_operand(op, "g", first[DG_GRAD], 0);
    dg_plan_operand(op, "m", first[DG_MOMENT1], 0);
    dg_plan_operand(op, "v", first[DG_MOMENT2], 0);
    dg_plan_operand(op, "ring", b->job->row_ring, 0);
    dg_plan_operand(op, "state", b->job->row_state, 0);
}

static void add_noise(builder *b, int z, int N, int stream)
{
    dg_op *op = dg_plan_add(b->plan, DG_OP_noise, "G.z");
    op->u.noise = (dg_noise_args){.n = (int64_t)N * b->job->model.latent, .stream = stream};
    dg_plan_operand(op, "z", z, 0);
    dg_plan_operand(op, "state", b->job->row_state, 0);
}

static void train_plan(builder *b, dg_plan *plan, const char *name, int B, int *row_z)
{
    dg_job *job = b->job;
    const dg_model *m = &job->model;
    const int S = m->size, C = m->channels;
    const int64_t half = (int64_t)B * S * S * C;
    b->plan = plan;
    dg_plan_begin(plan, &job->arena, name);

    int pictures = row_of(b, DG_WORK, DG_D, (dg_shape){2 * B, S, S, C}, "D.x"); /* real, then fake */
    int z = row_of(b, DG_WORK, DG_G, (dg_shape){B, 1, 1, m->latent}, "G.z");
    job->arena.row[z].keep = job->o.z_given;
    *row_z = z;

    dg_op *op = dg_plan_add(plan, DG_OP_gather, "D.x.gather");
    op->u.gather = (dg_gather_args){.N = B, .H = S, .W = S, .C = C, .flip = job->o.flip};
    dg_plan_operand(op, "x", pictures, 0);
    dg_plan_operand(op, "data", job->row_data, 0);
    dg_plan_operand(op, "perm", job->row_perm, 0);
    dg_plan_operand(op, "state", job->row_state, 0);
    if (!job->o.z_given) add_noise(b, z, B, DG_STREAM_NOISE);

    /* D: real and fake in one batch, each with its own batch statistics */
    pass_rows g = forward(b, DG_G, B, 1, false, z, 0, pictures, half, "");
    pass_rows d = forward(b, DG_D, 2 * B, 2, false, pictures, 0, -1, 0, "");
    int logit = d.out[m->net[DG_D].layers - 1];
    int dlogit = row_of(b, DG_WORK, DG_D, (dg_shape){2 * B, 1, 1, 1}, "D.dlogit");
    add_bce(b, "D.bce.real", logit, dlogit, 0, B, 1, DG_LOSS_D_REAL, DG_D_X);
    add_bce(b, "D.bce.fake", logit, dlogit, B, B, 0, DG_LOSS_D_FAKE, DG_D_GZ1);
    backward(b, DG_D, 2 * B, 2, &d, dlogit, true, false, "");
    add_adam(b, DG_D);

    /* G: through the updated D on the same fakes */
    d = forward(b, DG_D, B, 1, false, pictures, half, -1, 0, ".g");
    dlogit = row_of(b, DG_WORK, DG_D, (dg_shape){B, 1, 1, 1}, "D.dlogit.g");
    add_bce(b, "D.bce.g", d.out[m->net[DG_D].layers - 1], dlogit, 0, B, 1, DG_LOSS_G, DG_D_GZ2);
    int dx = backward(b, DG_D, B, 1, &d, dlogit, false, true, ".g");
    backward(b, DG_G, B, 1, &g, dx, true, false, "");
    add_adam(b, DG_G);

    op = dg_plan_add(plan, DG_OP_advance, "advance");
    op->u.advance = (dg_advance_args){.batch = B};
    dg_plan_operand(op, "state", job->row_state, 0);
}

static void sample_plan(builder *b, int N)
{
    dg_job *job = b->job;
    dg_plan *plan = &job->sample;
    b->plan = plan;
    dg_plan_begin(plan, &job->arena, "sample");
    job->row_sample_z = row_of(b, DG_WORK, DG_G, (dg_shape){N, 1, 1, job->model.latent}, "sample.z");
    job->arena.row[job->row_sample_z].keep = true;
    pass_rows p = forward(b, DG_G, N, 1, true, job->row_sample_z, 0, -1, 0, ".sample");
    job->row_sample_x = p.out[job->model.net[DG_G].layers - 1];
    job->arena.row[job->row_sample_x].keep = true;
    dg_shape shape = job->arena.row[job->row_sample_x].shape;
    job->row_sample_u8 = dg_arena_row(&job->arena, "sample.u8", DG_WORK, DG_G, DG_U8, shape);
    job->arena.row[job->row_sample_u8].keep = true;
    dg_op *op = dg_plan_add(plan, DG_OP_to_u8, "sample.to_u8");
    op->u.to_u8 = (dg_to_u8_args){.n = (int64_t)dg_count(shape)};
    dg_plan_operand(op, "out", job->row_sample_u8, 0);
    dg_plan_operand(op, "x", job->row_sample_x, 0);
}

void dg_gan_build_plans(dg_job *job)
{
    builder b = {.job = job};
    persistent_rows(&b, DG_G);
    if (job->o.train) persistent_rows(&b, DG_D);
    job->row_state = job->row_ring = job->row_data = job->row_perm = job->row_z = job->row_z_short = -1;
    job->row_sample_z = job->row_sample_x = job->row_sample_u8 = -1;
    if (job->o.train) {
        dg_arena *a = &job->arena;
        const int S = job->model.size;
        job->row_state = dg_arena_row(a, "state", DG_STATE, 0, DG_U8, (dg_shape){1, 1, 1, (int)sizeof(dg_step_state)});
        job->row_ring = dg_arena_row(a, "metrics", DG_STATE, 0, DG_F64, (dg_shape){1, 1, DG_RING, DG_METRICS});
        const dg_shape pictures = {job->o.window ? 2 * job->o.window : job->o.rows, S, S, job->model.channels};
        job->row_data = dg_arena_row(a, "data", DG_OUTSIDE, 0, DG_U8, pictures);
        job->row_perm = dg_arena_row(a, "permutation", DG_OUTSIDE, 0, DG_I32, (dg_shape){1, 1, 1, job->o.rows});
        train_plan(&b, &job->train, "train", job->o.batch, &job->row_z);
        if (job->o.last_batch) train_plan(&b, &job->train_short, "train-short", job->o.last_batch, &job->row_z_short);
    }
    if (job->o.samples) sample_plan(&b, job->o.samples);
}
