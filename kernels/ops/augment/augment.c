/* Differentiable augmentation and its adjoint. Each thread computes whole images. Means are summed in double, in
 * memory order. */
#include "kernels/cpu/cpu.h"
#include "kernels/ops/augment/augment.h"

#include <stdbool.h>

static double pixel_of(double v[DG_CHANNELS_MAX], const real *image, int from, const dg_augment_args *a)
{
    const int colours = dg_augment_colours(a);
    double sum = 0;
    for (int c = 0; c < a->C; c++) {
        v[c] = from < 0 ? 0 : (double)image[(int64_t)from * a->C + c];
        sum += c < colours ? v[c] : 0;
    }
    return sum / colours;
}

static void change(real *out, const real *in, const dg_augment_args *a, const dg_augmentation *g, bool back)
{
    const int colours = dg_augment_colours(a), pixels = a->H * a->W;
    double v[DG_CHANNELS_MAX], mean = 0;
    for (int p = 0; g->contrast != 1 && p < pixels; p++) /* with contrast 1, the mean has no effect */
        mean += pixel_of(v, in, back ? dg_augment_to(a, g, p / a->W, p % a->W) : p, a);
    mean /= pixels;
    for (int p = 0; p < pixels; p++) {
        const int y = p / a->W, x = p % a->W, from = back ? dg_augment_to(a, g, y, x) : dg_augment_from(a, g, y, x);
        const double own = pixel_of(v, in, from, a), k = g->contrast, s = g->saturation;
        const double rest = k * (1 - s) * own + (1 - k) * mean + (back ? 0 : g->bias);
        for (int c = 0; c < a->C; c++) {
            const double colour = c < colours ? k * s * v[c] + rest : v[c];
            out[(int64_t)p * a->C + c] = (real)(from < 0 && (!back || c >= colours) ? 0 : colour);
        }
    }
}

static void sweep(void *out, const void *in, const dg_augment_args *a, bool back)
{
    const int64_t each = (int64_t)a->H * a->W * a->C;
#pragma omp parallel for schedule(static)
    for (int n = 0; n < a->N; n++) {
        const dg_augmentation g = dg_augment_of(a, n);
        change((real *)out + n * each, (const real *)in + n * each, a, &g, back);
    }
}

DG_CPU_OP(augment, augment) { sweep(a->y, a->x, a, false); }

DG_CPU_OP(augment_dx, augment) { sweep(a->dx, a->dy, a, true); }
