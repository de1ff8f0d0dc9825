#include "host/judge/directions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/infer/fold.h"
#include "host/judge/frechet.h"
#include "host/net/gan_step.h"
#include "host/net/layers/layers.h"

/* True if kernel row or column k of the layer maps its 1 x 1 input to an output pixel of `side` rows or columns. */
static bool reaches(const dg_layer *l, int k, int side)
{
    if (l->kind == &dg_layer_conv_transpose) return k >= l->pad && k - l->pad < side;
    return k <= l->pad && (l->pad - k) % l->stride == 0 && (l->pad - k) / l->stride < side;
}

/* Add W^T W of the first n inputs to a (n, n), for weights in PyTorch's layout. */
static void add_products(const dg_layer *l, const double *w, size_t n, double *a)
{
    const bool transposed = l->kind == &dg_layer_conv_transpose;
    const size_t filters = (size_t)l->filters, places = dg_size_pixels(l->kernel),
                 input = transposed ? filters * places : places,
                 filter = transposed ? places : (size_t)l->in.C * places;
    for (size_t at = 0; at < filters * places; at++) {
        const int place = (int)(at % places), columns = l->kernel.W;
        const double *row = w + at / places * filter + place;
        if (!reaches(l, place / columns, l->out.H) || !reaches(l, place % columns, l->out.W)) continue;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) a[i * n + j] += row[i * input] * row[j * input];
    }
}

static void copy_positive(double *out, const double *v, size_t n)
{
    size_t largest = 0;
    for (size_t i = 1; i < n; i++)
        if (fabs(v[i]) > fabs(v[largest])) largest = i;
    for (size_t i = 0; i < n; i++) out[i] = v[largest] < 0 ? -v[i] : v[i];
}

dg_err dg_directions(dg_generator *g, int first, int n, double *out)
{
    const dg_layer *l = &g->model.net[DG_G].layer[0];
    const size_t size = (size_t)g->latent;
    double *a = calloc(size * size + size + (size_t)l->filters, sizeof *a), *w = NULL;
    dg_err e = a ? dg_fold_read(&g->job, DG_G, 0, &w, a + size * size + size)
                 : dg_fail(DG_DEVICE, "out of memory for a matrix of %d rows", g->latent);
    if (!e && (!w || l->groups > 1))
        e = dg_fail(DG_USAGE,
                    "layer %s of model %s: has no matrix of weights; directions need "
                    "op = conv, conv_transpose or dense with groups = 1",
                    l->name, g->model.name);
    if (!e) add_products(l, w, size, a);
    if (!e) e = dg_eigen(a, g->latent, a + size * size);
    for (int i = 0; i < n && !e; i++)
        copy_positive(out + (size_t)i * size, a + (size - (size_t)(first + i)) * size, size);
    free(a);
    free(w);
    return e;
}
