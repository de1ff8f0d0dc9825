/* One convolution by the CUDA kernels, for tests that give the choice of variant themselves. */
#ifndef RUN_CONV_H
#define RUN_CONV_H

#include "tests/all_ops.h"
#include "tests/devtest.h"
#include "kernels/ops/conv/cuda/conv.cuh"
extern "C" {
#include "tests/reference_conv.h"
}

static const dg_op_kind kind_of[] = {DG_OP_conv_fwd, DG_OP_conv_dx, DG_OP_conv_dw};

/* Direction d of kind_of, from y, x and w, of which the one that it writes starts as NaN: into *result, and a name for
 * messages into name. False after a failure, which has been reported. */
template <class real>
static bool run_conv(dg_op *op, int d, const dg_tune *tune, std::vector<real> (&in)[3], std::vector<real> *result,
                     char (&name)[200])
{
    dg_conv_args *a = &op->u.conv;
    in[d].assign(in[d].size(), (real)NAN);
    dev_buffer<real> y(in[0]), x(in[1]), w(in[2]);
    dev_buffer<char> scratch(dg_cuda_conv_scratch<real>(op->kind, a, tune));
    a->x = x.p;
    a->y = y.p;
    a->w = w.p;
    a->scratch = scratch.n ? scratch.p : nullptr;
    dg_tune_text(name, sizeof name, op, tune);
    dev_op = name;
    if (d == 0) dg_cuda_conv_fwd<real>(a, tune, 0);
    if (d == 1) dg_cuda_conv_dx<real>(a, tune, 0);
    if (d == 2) dg_cuda_conv_dw<real>(a, tune, 0);
    if (!dev_ok(name)) return false;
    *result = d == 0 ? y.get() : d == 1 ? x.get() : w.get();
    return true;
}

/* The op of direction d for a shape, no memory yet. */
static inline dg_op conv_op(int d, const dg_ref_conv &s)
{
    dg_op op = {};
    op.kind = kind_of[d];
    op.u.conv = dg_conv_args{nullptr, nullptr, nullptr, nullptr, s.N, s.H, s.W, s.Ci,
                             s.Ho,    s.Wo,    s.Co,    s.K,     s.S, s.P, 0,   0};
    return op;
}

#endif
