#include "reference_conv.h"
#include "reference.h"

#include <math.h>
#include <string.h>

dg_conv_args dg_ref_conv_shape(int N, int H, int W, int Ci, int Co, int K, int S, int P)
{
    return (dg_conv_args){.N = N,
                          .H = H,
                          .W = W,
                          .Ci = Ci,
                          .Ho = (H + 2 * P - K) / S + 1,
                          .Wo = (W + 2 * P - K) / S + 1,
                          .Co = Co,
                          .K = K,
                          .S = S,
                          .P = P};
}

/* Visits every term x * w of every y once. */
void dg_ref_conv(dg_op_kind kind, const dg_conv_args *a, int groups, double *mass, int *terms)
{
    const bool fwd = kind == DG_OP_conv_fwd, dx = kind == DG_OP_conv_dx;
    double *const x = a->x, *const w = a->w, *const y = a->y, *const out = fwd ? y : dx ? x : w;
    const int Cg = a->Ci / groups, taps = a->K * a->K;
    const int64_t rows = (int64_t)a->N * a->Ho * a->Wo * a->Co, count = fwd  ? rows
                                                                        : dx ? (int64_t)a->N * a->H * a->W * a->Ci
                                                                             : (int64_t)a->Co * taps * Cg;
    memset(out, 0, (size_t)count * sizeof *out);
    if (mass) memset(mass, 0, (size_t)count * sizeof *mass), memset(terms, 0, (size_t)count * sizeof *terms);
    for (int64_t yi = 0; yi < rows; yi++) {
        const int co = (int)(yi % a->Co), ox = (int)(yi / a->Co % a->Wo), oy = (int)(yi / a->Co / a->Wo % a->Ho);
        const int64_t n = yi / a->Co / a->Wo / a->Ho;
        for (int tap = 0; tap < taps; tap++) {
            const int iy = oy * a->S - a->P + tap / a->K, ix = ox * a->S - a->P + tap % a->K;
            if (iy < 0 || iy >= a->H || ix < 0 || ix >= a->W) continue;
            const int64_t xi = ((n * a->H + iy) * a->W + ix) * a->Ci + co / (a->Co / groups) * Cg,
                          wi = ((int64_t)co * taps + tap) * Cg;
            for (int k = 0; k < Cg; k++) {
                const double term = fwd ? x[xi + k] * w[wi + k] : dx ? y[yi] * w[wi + k] : x[xi + k] * y[yi];
                const int64_t at = fwd ? yi : dx ? xi + k : wi + k;
                out[at] += term;
                if (!mass) continue;
                mass[at] += fabs(term);
                terms[at]++;
            }
        }
    }
}

void dg_ref_conv_fwd(const dg_conv_args *a) { dg_ref_conv(DG_OP_conv_fwd, a, 1, NULL, NULL); }
void dg_ref_conv_dx(const dg_conv_args *a) { dg_ref_conv(DG_OP_conv_dx, a, 1, NULL, NULL); }
void dg_ref_conv_dw(const dg_conv_args *a) { dg_ref_conv(DG_OP_conv_dw, a, 1, NULL, NULL); }
