/* Rounds a network's weights, and operands of weight gradients that no fused convolution has rounded.
 * Thread tile: 4 values.
 * Shared memory: none.
 * Bound by: memory, 6 or 8 bytes per weight */
#include "kernels/fused/rounded.cuh"

enum { NT = 256 };

static __global__ void round_kernel(const dg_rounded r)
{
    const int64_t at = dg_thread() * 4;
    if (at < r.n) dg_round_four(r, at, dg_load<4>(r.from + at));
}

void dg_round_weights(const dg_rounded *r, cudaStream_t stream)
{
    if (r->to) KLAUNCH(round_kernel, dg_grid(r->n / 4, NT), dim3(NT), 0, stream, *r);
}

static __global__ void factors_kernel(const dg_rounded r, const dg_prologue s, int C, int64_t per_group, float times)
{
    const int64_t at = dg_thread() * 4;
    if (at >= r.n) return;
    dg_four of(s, (int)(at % C), C);
    of.of_group((int)(at / per_group));
    dg_pack<float, 4> v = of.value(dg_load_four(r.from, at, s.rounded),
                                   of.two() ? dg_load_four(s.pre, at, s.rounded) : dg_pack<float, 4>{});
#pragma unroll
    for (int e = 0; e < 4; e++) v.v[e] *= times;
    dg_round_four(r, at, v);
}

void dg_round_factors(const dg_update_job *j, int side, cudaStream_t stream)
{
    const dg_conv_args *a = &j->conv;
    const dg_prologue *s = side ? &j->y : &j->x;
    const int C = side ? a->Co : a->Ci;
    const dg_rounded r = {s->x, j->factors[side], (int64_t)a->N * (side ? a->Ho * a->Wo : a->H * a->W) * C,
                          j->tune.math};
    const float times = r.math == DG_MATH_FP16 ? ldexpf(1, side ? a->shift_y : a->shift_x) : 1;
    KLAUNCH(factors_kernel, dg_grid(r.n / 4, NT), dim3(NT), 0, stream, r, *s, C, r.n / s->groups, times);
}
