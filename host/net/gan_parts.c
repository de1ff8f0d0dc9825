#include "host/net/gan_parts.h"

dg_op *dg_add_noise(dg_job *job, dg_plan *plan, int z, int N, int stream)
{
    dg_op *op = dg_plan_add(plan, DG_OP_noise, "G.z");
    op->u.noise = (dg_noise_args){.n = (int64_t)N * job->model.latent, .stream = stream};
    dg_bind_row(op, "z", z);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
    return op;
}

static dg_augment_args augment_of(const dg_job *job, int N, int order)
{
    const dg_model *m = &job->model;
    return (
        dg_augment_args){.N = N, .H = m->size, .W = m->size, .C = m->channels, .what = job->o.augment, .order = order};
}

dg_view dg_add_augment(dg_builder *b, dg_job *job, dg_view images, int N, int order)
{
    const dg_model *m = &job->model;
    if (!job->o.augment) return images;
    const char *suffix = order ? ".g" : "";
    const dg_shape shape = {N, m->size, m->size, m->channels};
    const dg_view seen = {dg_work_row(b, DG_D, shape, "D.x.augmented%s", suffix), 0};
    dg_op *op = dg_plan_add(b->plan, DG_OP_augment, "D.x.augment%s", suffix);
    op->u.augment = augment_of(job, N, order);
    dg_bind(op, "y", seen);
    dg_bind(op, "x", images);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
    return seen;
}

dg_view dg_add_augment_dx(dg_builder *b, dg_job *job, dg_view dy, int N, int order)
{
    const dg_model *m = &job->model;
    if (!job->o.augment) return dy;
    const dg_shape shape = {N, m->size, m->size, m->channels};
    const dg_view dx = {dg_work_row(b, DG_D, shape, "D.x.augment.dx"), 0};
    dg_op *op = dg_plan_add(b->plan, DG_OP_augment_dx, "D.x.augment.dx");
    op->u.augment = augment_of(job, N, order);
    dg_bind(op, "dx", dx);
    dg_bind(op, "dy", dy);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
    return dx;
}
