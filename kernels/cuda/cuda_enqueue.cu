/* Enqueues ops, fused launches and the rounding of weights. */
#include "kernels/cuda/cuda_internal.cuh"
#include "kernels/fused/fuse.cuh"

#include <stdio.h>

static dg_err check_launches(gpu *c)
{
    const dev_fault fault = dev_take_fault();
    if (fault.error == cudaSuccess) return DG_OK;
    char what[200];
    snprintf(what, sizeof what, "%.80s (%.80s:%d)", fault.at.kernel, fault.at.file, fault.at.line);
    return dg_gpu_report(c, fault.op, what, fault.error);
}

template <class real> static void launch(const dg_op *op, cudaStream_t stream)
{
    switch (op->kind) {
#define X(kind, member, cpu) \
    case DG_OP_##kind: dg_cuda_##kind<real>(&op->u.member, &op->tune, stream); break;
        DG_OPS(X)
#undef X
    case DG_OP_KINDS: break;
    }
}

dg_err dg_gpu_enqueue(gpu *c, const dg_op *op, cudaStream_t stream)
{
    dev_op = op->name;
    c->base.real == DG_F64 ? launch<double>(op, stream) : launch<float>(op, stream);
    const dg_err e = check_launches(c);
    dev_op = "";
    return e;
}

/* Renews the rounded copies (fused.h) of weights that an unfused op has written. */
static dg_err round_behind(gpu *c, const dg_plan *p, const dg_op *op, cudaStream_t stream)
{
    const dg_row *w = dg_plan_writes_weights(p, op);
    if (!w || (c->base.group && op->kind != DG_OP_shard_share)) return DG_OK; /* op shard_share completes a slice */
    const dg_rounded r = dg_rounded_of(p, w->net);
    dev_op = op->name;
    dg_round_weights(&r, stream);
    const dg_err e = check_launches(c);
    dev_op = "";
    return e;
}

/* Waits until the rounding kernel has ended, because a programmatic dependent launch may begin earlier. */
dg_err dg_gpu_round(gpu *c, const dg_plan *p)
{
    dg_arena *const a = p->arena;
    if (a->rounded_at == c->written + 1) return DG_OK;
    a->rounded_at = c->written + 1;
    for (int net = 0; net < DG_NETS_MAX; net++) {
        if (!a->rounded[net]) continue;
        const dg_rounded r = dg_rounded_of(p, net);
        dev_op = a->row[a->rounded[net]].name;
        dg_round_weights(&r, c->stream[DG_COMPUTE]);
        const dg_err e = check_launches(c);
        dev_op = "";
        if (e) return e;
        TRY(c, a->row[a->rounded[net]].name, cudaStreamSynchronize(c->stream[DG_COMPUTE]));
    }
    return DG_OK;
}

dg_err dg_gpu_enqueue_piece(gpu *c, const dg_plan *p, int i, cudaStream_t stream)
{
    if (!p->launch) return dg_gpu_enqueue(c, &p->op[i], stream);
    const dg_launch *l = &p->launch[i];
    const dg_op *op = &p->op[l->main];
    if (l->kind == DG_LAUNCH_OP) {
        const dg_err e = dg_gpu_enqueue(c, op, stream);
        return e ? e : round_behind(c, p, op, stream);
    }
    dev_op = op->name;
    if (l->kind == DG_LAUNCH_CONV) {
        dg_fused_conv f = dg_fused_conv_of(p, l);
        f.early = f.early && !c->alone;
        dg_fused_conv_launch(op->kind, &f, &op->tune, stream);
    } else if (l->kind == DG_LAUNCH_HEAD) {
        const dg_fused_head h = dg_fused_head_of(p, l);
        dg_fused_head_launch(&h, stream);
    } else {
        const dg_fused_update u = dg_fused_update_of(p, l);
        dg_fused_update_launch(&u, stream);
    }
    const dg_err e = check_launches(c);
    dev_op = "";
    return e;
}
