/* Nearest-neighbour metrics: recall (Kynkaanniemi et al. 2019), coverage (Naeem et al. 2020), copies of real images. */
#include <math.h>
#include <stdlib.h>

#include "host/judge/judge_internal.h"
#include "host/whiten/products.h"

enum { F = DG_RANDOM_FEATURES, NEIGHBOURS = 5, AT_ONCE = 64 };

/* For each point of x, find its neighbours in y. If x and y are one array, a point is not its own neighbour. */
typedef struct {
    const double *x, *y;
    int n;
    const double *ball; /* (n) squared radius of the ball around each point of y, or NULL */
    double *nearest;    /* (n) result: squared distance to the nearest neighbour */
    double *fifth;      /* (n) result: squared distance to the fifth neighbour, or NULL */
    bool *inside;       /* (n) result: true if the point of x is in the ball of a point of y */
} question;

static double square_of(const double *x)
{
    double sum = 0;
    for (int k = 0; k < F; k++) sum += x[k] * x[k];
    return sum;
}

/* Store the results of point i of x. `d` has the inner products of point i with the points of y. `square` has the
 * squared lengths of the points of y. */
static void answer(const question *q, int i, const double *d, const double *square)
{
    const double own = square_of(q->x + (size_t)i * F);
    double least[NEIGHBOURS];
    for (int a = 0; a < NEIGHBOURS; a++) least[a] = INFINITY;
    bool inside = false;
    for (int k = 0; k < q->n; k++) {
        if (q->x == q->y && k == i) continue;
        const double far = fmax(0, own + square[k] - 2 * d[k]);
        inside |= q->ball && far < q->ball[k];
        if (far >= least[NEIGHBOURS - 1]) continue;
        int a = NEIGHBOURS - 1;
        for (; a > 0 && least[a - 1] > far; a--) least[a] = least[a - 1];
        least[a] = far;
    }
    q->nearest[i] = least[0];
    if (q->fifth) q->fifth[i] = least[NEIGHBOURS - 1];
    if (q->inside) q->inside[i] = inside;
}

static dg_err ask(const dg_jury *j, const question *q)
{
    dg_products p = {.rows = AT_ONCE, .k = F, .columns = q->n, .type = DG_F64};
    double *square = malloc((size_t)q->n * sizeof *square), *d = malloc((size_t)AT_ONCE * (size_t)q->n * sizeof *d);
    dg_err e = square && d ? dg_products_open(&p, j->threads, q->y, NULL)
                           : dg_fail(DG_DEVICE, "out of memory for %d images", q->n);
    for (int i = 0; i < q->n && !e; i++) square[i] = square_of(q->y + (size_t)i * F);
    for (int first = 0; first < q->n && !e; first += AT_ONCE) {
        const int rows = q->n - first < AT_ONCE ? q->n - first : AT_ONCE;
        e = dg_products_take(&p, q->x + (size_t)first * F, rows, d);
#pragma omp parallel for
        for (int i = 0; i < (e ? 0 : rows); i++) answer(q, first + i, d + (size_t)i * (size_t)q->n, square);
    }
    dg_products_close(&p);
    free(square);
    free(d);
    return e;
}

dg_err dg_judged_neighbours(const dg_jury *j, dg_judged *x)
{
    const size_t n = (size_t)j->count;
    x->next = malloc(n * sizeof *x->next);
    x->ball = malloc(n * sizeof *x->ball);
    const question q = {.x = x->feature, .y = x->feature, .n = j->count, .nearest = x->next, .fifth = x->ball};
    return x->next && x->ball ? ask(j, &q) : dg_fail(DG_DEVICE, "out of memory for %d images", j->count);
}

/* Returns the mean distance of real images to their nearest neighbour in the union of both sets of real images. */
static double mean_of_reals(const dg_jury *j, const dg_judged *reals, const dg_judged *held)
{
    double sum = 0;
    for (int i = 0; i < j->count; i++)
        sum += sqrt(fmin(reals->next[i], held->reals_near[i])) + sqrt(fmin(held->next[i], held->near[i]));
    return sum / (2 * j->count);
}

static void share(const dg_jury *j, const dg_judged *reals, const bool *inside, dg_judged *other)
{
    double recalled = 0, covered = 0;
    for (int i = 0; i < j->count; i++) {
        recalled += inside[i];
        covered += other->reals_near[i] < reals->ball[i];
    }
    other->beside[DG_BESIDE_RECALL] = recalled / j->count;
    other->beside[DG_BESIDE_COVERAGE] = covered / j->count;
}

static dg_err compare(const dg_jury *j, const dg_judged *reals, const dg_judged *held, dg_judged *other, double *room)
{
    const int n = j->count;
    bool *inside = (void *)(room + n);
    const question from_reals = {.x = reals->feature,
                                 .y = other->feature,
                                 .n = n,
                                 .ball = other->ball,
                                 .nearest = other->reals_near,
                                 .inside = inside},
                   to_reals = {.x = other->feature, .y = reals->feature, .n = n, .nearest = other->near},
                   to_held = {.x = other->feature, .y = held->feature, .n = n, .nearest = room};
    dg_err e = ask(j, &from_reals);
    if (!e) e = ask(j, &to_reals);
    if (!e) e = ask(j, &to_held); /* if other == held, an image is not its own neighbour */
    if (e) return e;
    share(j, reals, inside, other);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += sqrt(fmin(other->near[i], room[i]));
    other->beside[DG_BESIDE_NEAREST] = sum / n / mean_of_reals(j, reals, held);
    return DG_OK;
}

dg_err dg_beside_neighbours(const dg_jury *j, const dg_judged *reals, const dg_judged *held, dg_judged *other)
{
    const size_t n = (size_t)j->count;
    double *room = malloc(n * (sizeof *room + sizeof(bool)));
    other->near = malloc(n * sizeof *other->near);
    other->reals_near = malloc(n * sizeof *other->reals_near);
    const dg_err e = room && other->near && other->reals_near
                         ? compare(j, reals, held, other, room)
                         : dg_fail(DG_DEVICE, "out of memory for %d images", j->count);
    free(room);
    return e;
}
