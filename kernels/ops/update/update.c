/* Optimizers for the flat weights of one network. */
#include "kernels/ops/update/sweep.h"

/* A piece of n weights. Weight decay applies to the first `decayed` weights. */
typedef struct {
    real *p, *m, *v;
    const real *g;
    int n, decayed;
    real rate, decay, momentum, rho, eps;
    int nesterov;
} piece;

/* Updates a piece and returns the number of its weights that are not finite. */
typedef int rule(piece a);

/* g and p are passed by value, because conditional loads would prevent vectorisation. */
static inline real gradient(const piece *a, int i, real g, real p) { return i < a->decayed ? g + a->decay * p : g; }

enum { SGD, MOMENTUM, ADAGRAD, ADADELTA };

/* After inlining, `op` is a constant. Only its case may read the moments m and v. */
INLINE int update(const int op, piece a)
{
    real *restrict p = a.p, *restrict m = a.m, *restrict v = a.v;
    const real *restrict g = a.g;
    const real fresh = 1 - a.rho;
    int bad = 0;
#pragma omp simd reduction(+ : bad)
    for (int i = 0; i < a.n; i++) {
        const real gi = gradient(&a, i, g[i], p[i]);
        if (op == SGD) {
            p[i] -= a.rate * gi;
        } else if (op == MOMENTUM) {
            const real mi = a.momentum * m[i] + gi;
            m[i] = mi;
            p[i] -= a.rate * (a.nesterov ? gi + a.momentum * mi : mi);
        } else if (op == ADAGRAD) {
            const real vi = v[i] + gi * gi;
            v[i] = vi;
            p[i] -= a.rate * gi / (dg_root(vi) + a.eps);
        } else {
            const real vi = a.rho * v[i] + fresh * (gi * gi);
            const real d = gi * dg_root(m[i] + a.eps) / dg_root(vi + a.eps);
            v[i] = vi;
            m[i] = a.rho * m[i] + fresh * (d * d);
            p[i] -= a.rate * d;
        }
        bad += !dg_finite(p[i]);
    }
    return bad;
}

static int sgd(piece a) { return update(SGD, a); }
static int momentum(piece a) { return update(MOMENTUM, a); }
static int adagrad(piece a) { return update(ADAGRAD, a); }
static int adadelta(piece a) { return update(ADADELTA, a); }

static void sweep(const dg_update_args *a, rule *step)
{
    const piece all = {.rate = (real)a->state->lr[a->net],
                       .decay = (real)a->decay,
                       .momentum = (real)a->momentum,
                       .rho = (real)a->rho,
                       .eps = (real)a->eps,
                       .nesterov = a->nesterov};
    int64_t bad = 0;
#pragma omp parallel for schedule(static) reduction(+ : bad) if (a->n > DG_SWEEP_MANY)
    for (int64_t at = 0; at < a->n; at += DG_SWEEP_PIECE) {
        const int64_t left = a->n - at, decayed = a->decayed - at;
        piece one = all;
        one.p = (real *)a->p + at;
        one.m = a->m ? (real *)a->m + at : one.p; /* without a moment, not read */
        one.v = a->v ? (real *)a->v + at : one.p;
        one.g = (const real *)a->g + at;
        one.n = left < DG_SWEEP_PIECE ? (int)left : DG_SWEEP_PIECE;
        one.decayed = decayed < 0 ? 0 : decayed < one.n ? (int)decayed : one.n;
        bad += step(one);
    }
    a->ring[a->state->step % DG_RING].value[a->bad] = (double)bad;
}

DG_CPU_OP(sgd, update) { sweep(a, a->m ? momentum : sgd); }

DG_CPU_OP(adagrad, update) { sweep(a, adagrad); }

DG_CPU_OP(adadelta, update) { sweep(a, adadelta); }
