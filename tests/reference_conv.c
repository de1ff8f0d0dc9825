#include "reference_conv.h"

#include <math.h>
#include <string.h>

dg_ref_conv dg_ref_conv_shape(int N, int H, int W, int Ci, int Co, int K, int S, int P)
{
    dg_ref_conv s = {N, H, W, Ci, (H + 2 * P - K) / S + 1, (W + 2 * P - K) / S + 1, Co, K, S, P};
    return s;
}

enum { FWD, DX, DW };

/* Offset of element [n, y, x, c] in an array (?, H, W, C). */
static size_t offset(int n, int H, int y, int W, int x, int C, int c)
{
    return (((size_t)n * (size_t)H + (size_t)y) * (size_t)W + (size_t)x) * (size_t)C + (size_t)c;
}

/* Visits every term x * w -> y once; `which` is the index of the written tensor. */
static void visit(int which, double *out, double *mass, int *terms, const double *x, const double *w, const double *y,
                  const dg_ref_conv *s)
{
    size_t nx = (size_t)s->N * (size_t)s->H * (size_t)s->W * (size_t)s->Ci;
    size_t nw = (size_t)s->Co * (size_t)s->K * (size_t)s->K * (size_t)s->Ci;
    size_t ny = (size_t)s->N * (size_t)s->Ho * (size_t)s->Wo * (size_t)s->Co;
    size_t count = which == FWD ? ny : which == DX ? nx : nw;
    memset(out, 0, count * sizeof *out);
    memset(mass, 0, count * sizeof *mass);
    memset(terms, 0, count * sizeof *terms);
    for (int n = 0; n < s->N; n++)
        for (int oy = 0; oy < s->Ho; oy++)
            for (int ox = 0; ox < s->Wo; ox++)
                for (int co = 0; co < s->Co; co++)
                    for (int ky = 0; ky < s->K; ky++)
                        for (int kx = 0; kx < s->K; kx++) {
                            int iy = oy * s->S - s->P + ky, ix = ox * s->S - s->P + kx;
                            if (iy < 0 || iy >= s->H || ix < 0 || ix >= s->W) continue;
                            for (int ci = 0; ci < s->Ci; ci++) {
                                size_t xi = offset(n, s->H, iy, s->W, ix, s->Ci, ci);
                                size_t wi = offset(co, s->K, ky, s->K, kx, s->Ci, ci);
                                size_t yi = offset(n, s->Ho, oy, s->Wo, ox, s->Co, co);
                                double term = which == FWD  ? x[xi] * w[wi]
                                              : which == DX ? y[yi] * w[wi]
                                                            : x[xi] * y[yi];
                                size_t at = which == FWD ? yi : which == DX ? xi : wi;
                                out[at] += term;
                                mass[at] += fabs(term);
                                terms[at]++;
                            }
                        }
}

void dg_ref_conv_fwd(double *y, double *mass, int *terms, const double *x, const double *w, const dg_ref_conv *s)
{
    visit(FWD, y, mass, terms, x, w, 0, s);
}

void dg_ref_conv_dx(double *x, double *mass, int *terms, const double *y, const double *w, const dg_ref_conv *s)
{
    visit(DX, x, mass, terms, 0, w, y, s);
}

void dg_ref_conv_dw(double *w, double *mass, int *terms, const double *x, const double *y, const dg_ref_conv *s)
{
    visit(DW, w, mass, terms, x, 0, y, s);
}
