/* Ops of class-conditional GANs: the input of G, and the logits of D. */
#include "kernels/cpu/cpu.h"

enum { MANY = 1 << 15 };

DG_CPU_OP(onehot, onehot)
{
#pragma omp parallel for schedule(static) if ((int64_t)a->N * a->width > MANY)
    for (int n = 0; n < a->N; n++) {
        real *y = (real *)a->y + (int64_t)n * a->width;
        const real *z = (const real *)a->z + (int64_t)n * a->latent;
        for (int i = 0; i < a->latent; i++) y[i] = z[i];
        for (int i = a->latent; i < a->width; i++) y[i] = 0;
        y[a->latent + a->label[n]] = 1;
    }
}

static real weight(const dg_pick_args *a) { return (real)(a->state ? a->state->classes : 1); }

DG_CPU_OP(pick, pick)
{
    const real k = weight(a);
    for (int n = 0; n < a->N; n++) {
        const real *x = (const real *)a->x + (int64_t)n * a->width;
        ((real *)a->y)[n] = x[a->width - 1] + k * x[a->label[n % a->labels]];
    }
}

DG_CPU_OP(pick_dx, pick)
{
    const real k = weight(a);
#pragma omp parallel for schedule(static) if ((int64_t)a->N * a->width > MANY)
    for (int n = 0; n < a->N; n++) {
        real *dx = (real *)a->dx + (int64_t)n * a->width;
        const real dy = ((const real *)a->dy)[n];
        for (int c = 0; c < a->width - 1; c++) dx[c] = 0;
        dx[a->label[n % a->labels]] = k * dy;
        dx[a->width - 1] = dy;
    }
}
