/* Test cases for the spectral norm of weights. */
#include "op_rows.h"

static op_shape spectral_shapes[] = {{1, 1}, {1, 17}, {5, 1}, {3, 5}, {6, 7}, {31, 33}, {7, 513}, {64, 100}, {130, 67}};

/* Variations: no power iteration, one power iteration, vectors shorter than eps, and weights of 0. */
enum { STAYS, ITERATES, SMALL, ZERO, SPECTRAL_VALUES };

static void make_length_1(dg_op *op, const char *name)
{
    op_fill(op, name, 1, 0.1);
    double *x = op_values(op, name);
    const double length = op_length(op, name);
    for (size_t i = 0, n = op_count(op, name); i < n; i++) x[i] = (double)(float)(x[i] / length);
}

static void spectral_set(dg_op *op, int variation)
{
    dg_spectral_args *a = &op->u.spectral;
    a->iterate = variation != STAYS;
    a->eps = variation == SMALL ? 64 : 1e-12;
    make_length_1(op, "u");
    make_length_1(op, "v");
    op_fill(op, "sigma", 0.5, 1);
    if (op->kind == DG_OP_spectral && variation == ZERO) op_zero(op, "w");
}

/* Cancellation in a product with W causes an error relative to |W|, which is then divided by sigma. */
static op_bound spectral_bound(const dg_op *want, const char *result, double eps)
{
    const dg_spectral_args *a = &want->u.spectral;
    const double sigma = fabs(*(double *)a->sigma), whole = op_length(want, "w"),
                 loss = whole > 0 ? 8 * eps * (1 + whole / sigma) : 0;
    if (isnan(sigma)) return (op_bound){64 * eps, 0};
    if (strcmp(result, "wn") == 0) return (op_bound){0, loss / sigma};
    if (strcmp(result, "sigma") == 0) return (op_bound){a->eps > 1 ? 64 * eps : 0, loss * sigma};
    if (!a->iterate) return (op_bound){0, 0}; /* without a power iteration u and v are unchanged */
    return (op_bound){0, a->eps > 1 ? 2 * eps : loss};
}

static op_bound spectral_dw_bound(const dg_op *want, const char *result, double eps)
{
    (void)result;
    return (op_bound){0, 8 * eps * (1 + op_length(want, "dwn") * op_length(want, "wn")) / 0.5};
}

/* W is 3 p q^T + r s^T with unit vectors, where p is orthogonal to r, and q to s. Then sigma converges to 3, u to p,
 * and v to q. */
static void check_converges(dg_backend *b)
{
    static const double p[4] = {0.5, 0.5, 0.5, 0.5}, r[4] = {0.5, -0.5, 0.5, -0.5};
    static const double q[5] = {0.6, 0, -0.8, 0, 0}, s[5] = {0, 1, 0, 0, 0};
    dg_op op = {.kind = DG_OP_spectral, .u.spectral = {.rows = 4, .cols = 5, .iterate = 1, .eps = 1e-12}};
    const dg_spectral_args *a = &op.u.spectral;
    op_add_operands(&op);
    for (int i = 0; i < 20; i++) ((double *)a->w)[i] = 3 * p[i / 5] * q[i % 5] + r[i / 5] * s[i % 5];
    for (int i = 0; i < 40; i++) op_run(b, &op);
    const double *u = a->u, *v = a->v, eps = 16 * dg_case_eps(b), sign = u[0] < 0 ? -1 : 1;
    DG_NEAR(*(double *)a->sigma, 3, 3 * eps);
    for (int i = 0; i < 4; i++) DG_NEAR(sign * u[i], p[i], eps);
    for (int i = 0; i < 5; i++) DG_NEAR(sign * v[i], q[i], eps);
}

static const op_row row_spectral = {.variations = SPECTRAL_VALUES,
                                    .usual = ITERATES,
                                    OP_SHAPES(spectral_shapes),
                                    .threads = {{130, 700}, {130, 67}},
                                    .set = spectral_set,
                                    .bound = spectral_bound,
                                    /* the gradient of spectral norm treats u and v as constants */
                                    .gradient = {{{"w", "dw"}}, DG_OP_spectral_dw, "dwn", .variations = 1, .most = 50},
                                    .more = check_converges};

static const op_row row_spectral_dw = {OP_SHAPES(spectral_shapes), .threads = {{130, 700}, {130, 67}},
                                       .set = spectral_set, .bound = spectral_dw_bound};
