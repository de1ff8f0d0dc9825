#include "host/net/penalty.h"

#include "host/net/gan_step.h"
#include "host/net/recipe_parts.h"

static dg_view ones(dg_builder *b, const dg_pass *d)
{
    const dg_view y = {dg_work_row(b, d->net, (dg_shape){d->N, 1, 1, 1}, "D.ones"), 0};
    dg_op *op = dg_plan_add(b->plan, DG_OP_fill, "D.ones");
    op->u.fill = (dg_fill_args){.n = d->N, .value = 1};
    dg_bind(op, "y", y);
    return y;
}

void dg_backward_penalised(dg_builder *b, dg_job *job, dg_plan_role role, dg_pass *d, dg_view slopes)
{
    const int B = d->N / 2;
    const dg_view v = dg_backward(b, d, ones(b, d), DG_WANT_INPUT);
    dg_tangent t = {.pass = d, .slopes = slopes};
    const dg_view squares = dg_tangent_pass(b, &t, v);
    job->gradient[role] = v.row;
    job->squares[role] = squares.row;
    for (int i = 0; i < 2 && job->o.checked; i++) dg_keep(job, i ? squares.row : v.row);

    dg_op *op = dg_plan_add(b->plan, DG_OP_penalty, "D.penalty");
    op->u.penalty = (dg_penalty_args){.n = d->N, .first = B, .r1 = DG_R1, .r2 = DG_R2};
    dg_bind_row(op, "ring", job->row[DG_ROW_METRICS]);
    dg_bind(op, "x", squares);
    dg_bind_row(op, "state", job->row[DG_ROW_STATE]);
}
