/* Runs one convolution by the CUDA kernels and compares it with the reference, for tests that choose the variant. */
#ifndef RUN_CONV_H
#define RUN_CONV_H

#include <float.h>

#include "tests/all_ops.h"
#include "tests/devtest.h"
#include "kernels/ops/conv/cuda/conv.cuh"
extern "C" {
#include "core/plan/precision.h"
#include "core/plan/work.h"
#include "core/tune/conv_tiles.h"
#include "core/tune/tune.h"
#include "tests/reference_conv.h"
}

static const dg_op_kind kind_of[] = {DG_OP_conv_fwd, DG_OP_conv_dx, DG_OP_conv_dw};

/* Runs a convolution of kind kind_of[d] on y, x and w. The operand that it writes starts as NaN and is copied to
 * *result. `name` receives a name for messages. False after a failure, which has been reported. */
template <class real>
static bool run_conv(dg_op *op, int d, const dg_tune *tune, std::vector<real> (&in)[3], std::vector<real> *result,
                     char (&name)[200])
{
    dg_conv_args *a = &op->u.conv;
    in[d].assign(in[d].size(), (real)NAN);
    dev_buffer<real> y(in[0]), x(in[1]), w(in[2]);
    op->tune = *tune;
    dev_buffer<char> scratch(dg_scratch_of(op, sizeof(real) == 8 ? DG_F64 : DG_F32));
    a->x = x.p;
    a->y = y.p;
    a->w = w.p;
    a->scratch = scratch.n ? scratch.p : nullptr;
    const int n = snprintf(name, sizeof name, "%s ",
                           dg_precision_name(sizeof(real) == 8 ? DG_F64 : DG_F32, tune->math));
    dg_tune_text(name + n, sizeof name - (size_t)n, op, tune);
    dev_op = name;
    if (d == 0) dg_cuda_conv_fwd<real>(a, tune, 0);
    if (d == 1) dg_cuda_conv_dx<real>(a, tune, 0);
    if (d == 2) dg_cuda_conv_dw<real>(a, tune, 0);
    if (!dev_ok(name)) return false;
    *result = d == 0 ? y.get() : d == 1 ? x.get() : w.get();
    return true;
}

/* Returns the op of direction d for a shape, without operands. */
static inline dg_op conv_op(int d, const dg_ref_conv &s)
{
    dg_op op = {};
    op.kind = kind_of[d];
    op.u.conv = dg_conv_args{nullptr, nullptr, nullptr, nullptr, s.N, s.H, s.W, s.Ci,
                             s.Ho,    s.Wo,    s.Co,    s.K,     s.S, s.P, 0,   0};
    return op;
}

/* Operands of a shape, and the expected results of each direction. */
struct conv_problem {
    dg_ref_conv s;
    std::vector<float> value[3]; /* y, x and w: the results of fwd, dx and dw */
    std::vector<double> want[3], mass[3];
    std::vector<int> terms[3];

    explicit conv_problem(const dg_ref_conv &shape) : s(shape)
    {
        const int count[] = {s.N * s.Ho * s.Wo * s.Co, s.N * s.H * s.W * s.Ci, s.Co * s.K * s.K * s.Ci};
        for (int i = 0; i < 3; i++) value[i] = dev_random((size_t)count[i], (unsigned long long)(i + 1));
    }

    /* directions: 1 fwd, 2 dx, 4 dw. Operands are rounded here as kernels round them in `math`, y and x after a shift,
     * so that only the rounding of sums remains. */
    void expect(int directions, dg_math math, const int *shift = nullptr)
    {
        std::vector<double> rounded[3];
        for (int i = 0; i < 3; i++) {
            for (float v : value[i])
                rounded[i].push_back(
                    math == DG_MATH_FP32 ? (double)v : dev_rounded((double)v, math, shift && i < 2 ? shift[i] : 0));
            want[i].resize(value[i].size());
            mass[i].resize(value[i].size());
            terms[i].resize(value[i].size());
        }
        const double *y = rounded[0].data(), *x = rounded[1].data(), *w = rounded[2].data();
        if (directions & 1) dg_ref_conv_fwd(want[0].data(), mass[0].data(), terms[0].data(), x, w, &s);
        if (directions & 2) dg_ref_conv_dx(want[1].data(), mass[1].data(), terms[1].data(), y, w, &s);
        if (directions & 4) dg_ref_conv_dw(want[2].data(), mass[2].data(), terms[2].data(), x, y, &s);
    }

    /* Checks that each element is within `times` sqrt(terms) eps sum|a||b|. */
    template <class real> void compare(const std::vector<real> &got, int d, double within, const char *name) const
    {
        const double eps = sizeof(real) == 8 ? DBL_EPSILON : (double)FLT_EPSILON;
        size_t bad = 0, at = 0;
        for (size_t i = 0; i < got.size(); i++)
            if (!(fabs((double)got[i] - want[d][i]) <= within * sqrt(terms[d][i]) * eps * mass[d][i]) && !bad++) at = i;
        DG_CHECKF(!bad, "%s: %zu of %zu wrong, at %zu %.9g instead of %.9g", name, bad, got.size(), at,
                  bad ? (double)got[at] : 0, bad ? want[d][at] : 0);
    }
};

#endif
