/* Test cases for ops that use random numbers: dropout, normals, augmentation. */
#include "core/base/rng.h"
#include "op_rows.h"

/* Seeds, steps and layers that differ in low and in high bits. */
static const struct {
    uint64_t seed, step;
    int layer;
} draws[] = {{0x0123456789abcdefull, 41, 0x2b5},
             {0x0123456789abcdefull, 41 + (1ull << 32), 0x1b5},
             {0x0123456889abcdefull, 42, 0},
             {0x0123456789abcdf0ull, 1000000007, 65535}};
enum { DRAWS = sizeof draws / sizeof *draws };

/* ---- Dropout ---- */

/* Philox4x32-10 for seed draws[0].seed, subsequence DROPOUT << 56 | layer << 40 | step, and blocks 0 to 5. The values
 * come from a separate program that passes Random123's tests. */
static const uint32_t philox_words[24] = {0x912f41d4, 0x878514de, 0x256623b8, 0xfec39aa9, 0x1414e91b, 0x2f1c5926,
                                          0xf47dabf3, 0x34352723, 0xb80b68e3, 0xe5674c47, 0x848cf0a1, 0x1536e695,
                                          0xad02e4d1, 0xaf844a7b, 0xf45a3fdf, 0x41ae177e, 0xcdfbb772, 0x4cfc3168,
                                          0x769fa060, 0x5c8dede3, 0xb0adc1fe, 0x9b96e09a, 0xdae91d9a, 0xd620a6ce};
enum { WORDS = 24 };

static op_shape dropout_shapes[] = {{1},  {2},   {3},   {4},   {5},   {7},   {8},   {9},   {16},   {17},   {31},   {63},
                                    {67}, {100}, {127}, {255}, {256}, {257}, {259}, {511}, {1021}, {4099}, {20002}};

static void dropout_set(dg_op *op, int variation)
{
    static const double shares[] = {0, 0.25, 0.5, 0.8};
    op_state.seed = draws[variation].seed;
    op_state.step = draws[variation].step;
    op->u.dropout.layer = draws[variation].layer;
    op->u.dropout.first = (int[]){0, 5, 8, 15}[variation];
    op->u.dropout.p = shares[(variation + op->u.dropout.n) % 4];
    op_fill(op, "x", 1, 3);
}

static const op_row row_dropout;

static dg_op dropout_op(int n, double p)
{
    const int shape[] = {n};
    dg_op op = op_make(&row_dropout, DG_OP_dropout, shape, 0);
    op.u.dropout.p = p;
    return op;
}

/* Dropout keeps a value if its random 32-bit word is at least p * 2^32. Tests p * 2^32 at and near the Philox words. */
static void check_words(dg_backend *b)
{
    for (int k = 0; k < WORDS; k++)
        for (int above = -1; above < 3; above++) {
            const double limit = (double)philox_words[k] + above * 0.5;
            dg_op op = dropout_op(WORDS, ldexp(limit, -32));
            op_run(b, &op);
            for (int i = 0; i < WORDS; i++)
                DG_CHECKF((((double *)op.u.dropout.y)[i] != 0) == ((double)philox_words[i] >= limit),
                          "%s: word %d at word %d + %g", b->name, i, k, above * 0.5);
        }
    dg_op op = dropout_op(WORDS, 1 - 0x1p-53); /* for the largest p < 1, no 32-bit word reaches p * 2^32 */
    op_run(b, &op);
    for (int i = 0; i < WORDS; i++) DG_CHECK(((double *)op.u.dropout.y)[i] == 0);
}

/* Checks that a kept value is the correctly rounded product, and that a dropped value is 0 even if the input is NaN.
 * Checks that <dropout(u), v> = <u, dropout(v)>. */
static void check_dropout(dg_backend *b)
{
    enum { N = 1021 };
    check_words(b);
    dg_op op = dropout_op(N, 0.3);
    double *u = op.u.dropout.x, *v = dg_case_numbers(N, 1, 0), *y = op.u.dropout.y, scale = 1 / (1 - 0.3),
           sums[2] = {0};
    op_run(b, &op);
    for (int i = 0; i < N; i++) {
        const double kept = b->real == DG_F64 ? u[i] * scale : (double)((float)u[i] * (float)scale);
        DG_CHECKF((y[i] == 0 && !signbit(y[i])) || y[i] == kept, "%s: %g becomes %.17g", b->name, u[i], y[i]);
        sums[0] += y[i] * v[i];
    }
    const double *mask = dg_case_copy(y, N);
    op.u.dropout.x = v;
    op_run(b, &op);
    for (int i = 0; i < N; i++) sums[1] += y[i] * u[i];
    DG_NEAR(sums[0], sums[1], 1e4 * dg_case_eps(b));
    for (int i = 0; i < N; i++) v[i] = NAN;
    op_run(b, &op);
    for (int i = 0; i < N; i++) DG_CHECKF(mask[i] != 0 ? isnan(y[i]) : y[i] == 0, "%s: y[%d] is %g", b->name, i, y[i]);
}

static const op_row row_dropout = {.variations = DRAWS,
                                   OP_SHAPES(dropout_shapes),
                                   .threads = {{65537}, {3011}},
                                   .set = dropout_set,
                                   .within = {3, 0},
                                   .same = {{"y", "x"}},
                                   .more = check_dropout};

/* ---- Normals ---- */

static op_shape noise_shapes[] = {{1}, {2}, {3}, {4}, {5}, {100}, {255}, {257}, {1001}, {6400}};

/* The counter of DG_STREAM_NOISE is the step. The counter of other random streams is first_step. */
static void noise_set(dg_op *op, int variation)
{
    op_state.seed = draws[variation / 2].seed;
    op_state.step = draws[variation / 2].step;
    op->u.noise.stream = variation % 2 ? DG_STREAM_SAMPLE : DG_STREAM_NOISE;
    op->u.noise.first_step = 7;
    op->u.noise.first = 3 * (variation / 2);
}

/* Noise must have equal bits for all instruction sets. */
static const op_row row_noise = {.variations = 2 * DRAWS,
                                 .usual = 1,
                                 OP_SHAPES(noise_shapes),
                                 .threads = {{6401}, {6401}},
                                 .set = noise_set,
                                 .gpu = {0x1p-20, 0x1p-20 * 0.01}};

/* ---- Augmentation ---- */

/* N, H, W, C, index among the augmentations of a step */
static op_shape augment_shapes[] = {{1, 1, 1, 1, 0}, {3, 5, 7, 3, 1},   {2, 8, 8, 1, 2},  {3, 16, 9, 4, 0},
                                    {2, 4, 3, 2, 1}, {3, 7, 5, 4, 200}, {2, 12, 11, 3, 2}};
enum { ALL = DG_AUGMENT_COLOR | DG_AUGMENT_TRANSLATION | DG_AUGMENT_CUTOUT };

static void augment_set(dg_op *op, int variation)
{
    const int draw = variation / (ALL + 1);
    op_state.seed = draws[draw % 3].seed;
    op_state.step = draws[draw % 3].step;
    op_state.augment = draw < 3 ? 1 : 0.4;
    op->u.augment.what = variation % (ALL + 1);
    op->u.augment.order = *op_more;
    op->u.augment.first = draw;
    op_fill(op, op->kind == DG_OP_augment ? "x" : "dy", 1, 0.25);
}

static op_bound augment_bound(const dg_op *want, const char *result, double eps)
{
    (void)result;
    const dg_augment_args *a = &want->u.augment;
    const double relative = 4 * eps + (double)(a->H * a->W * a->C) * 0x1p-54;
    return (op_bound){relative, relative};
}

/* Without colour augmentation, each result is an input value or 0. A shift by n pixels sets n rows or columns to 0.
 * The erased box has half the side length of the image. */
static void check_moves(dg_backend *b)
{
    dg_op op = {.kind = DG_OP_augment,
                .u.augment = {.N = 64, .H = 16, .W = 16, .C = 1, .what = DG_AUGMENT_TRANSLATION}};
    int least = 99, most = -99, moved = 0, empty = 0;
    op_state.augment = 1;
    op_add_operands(&op);
    double *const x = op.u.augment.x, *const all = op.u.augment.y;
    for (int i = 0; i < 64 * 256; i++) x[i] = 1 + i % 256;
    op_run(b, &op);
    for (int n = 0; n < 64; n++) {
        const double *y = all + n * 256;
        const int shift = (int)y[8 * 16 + 8] - 1 - (8 * 16 + 8), rows = (int)floor((shift + 8.0) / 16);
        least = rows < least ? rows : least, most = rows > most ? rows : most;
        moved += shift != 0;
        for (int i = 0; i < 256; i++) DG_CHECK(y[i] == 0 || (int)y[i] - 1 - i == shift);
    }
    DG_CHECKF(least == -2 && most == 2 && moved > 50, "%s: shifts from %d to %d rows, %d moved", b->name, least, most,
              moved);
    op.u.augment.what = DG_AUGMENT_CUTOUT;
    op_run(b, &op);
    for (int n = 0; n < 64; n++) {
        int zeros = 0;
        for (int i = n * 256; i < n * 256 + 256; i++) {
            zeros += all[i] == 0;
            DG_CHECK(all[i] == 0 || all[i] == x[i]);
        }
        DG_CHECKF(zeros >= 16 && zeros <= 64, "%s: image %d: a box of %d pixels", b->name, n, zeros);
        empty += zeros == 64;
    }
    DG_CHECKF(empty > 5 && empty < 40, "%s: %d of 64 boxes are inside", b->name, empty);
    op_state.augment = 0.5;
    op_run(b, &op);
    int cut = 0;
    for (int n = 0; n < 64; n++) cut += memcmp(all + n * 256, x + n * 256, 256 * sizeof *x) != 0;
    DG_CHECKF(cut > 12 && cut < 52, "%s: %d of 64 images have a box with probability 0.5", b->name, cut);
    op_state.augment = 0;
    op.u.augment.what = ALL;
    op_run(b, &op);
    DG_CHECK(!memcmp(all, x, 64 * 256 * sizeof *x));
}

static const op_row row_augment = {.variations = 4 * (ALL + 1),
                                   .usual = ALL,
                                   OP_SHAPES(augment_shapes),
                                   .threads = {{5, 28, 28, 3, 0}, {5, 12, 12, 3, 0}},
                                   .set = augment_set,
                                   .bound = augment_bound,
                                   .gradient = {{{"x", "dx"}}, DG_OP_augment_dx, "dy", .most = 300},
                                   .more = check_moves};

static const op_row row_augment_dx = {.variations = 4 * (ALL + 1),
                                      .usual = ALL,
                                      OP_SHAPES(augment_shapes),
                                      .threads = {{5, 28, 28, 3, 0}, {5, 12, 12, 3, 0}},
                                      .set = augment_set,
                                      .bound = augment_bound};
