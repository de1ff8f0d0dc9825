/* Compares each variant of CPU convolutions with the reference, in float and double, for every instruction set of this
 * machine. Checks values, the adjoint identity, and equal bits for any number of threads. */

#include "core/tune/tune.h"
#include "kernels/cpu/cpu.h"
#include "kernels/ops/conv/variants.h"
#include "reference.h"
#include "reference_conv.h"
#include "test.h"

/* N, H, W, Ci, Co, K, S, P */
static const int shapes[][8] = {
    {1, 1, 1, 1, 1, 1, 1, 0},       {2, 1, 1, 3, 5, 1, 1, 0},      {7, 1, 1, 17, 3, 3, 1, 1},
    {3, 1, 1, 5, 17, 3, 2, 1},      {1, 2, 3, 1, 3, 2, 1, 0},      {2, 3, 2, 3, 1, 2, 2, 1},
    {3, 4, 4, 5, 5, 4, 1, 0},       {7, 4, 4, 17, 1, 4, 1, 0},     {2, 4, 4, 127, 1, 4, 1, 0},
    {1, 4, 4, 1, 127, 4, 1, 0},     {9, 4, 4, 20, 33, 4, 1, 0},    {8, 1, 1, 40, 7, 1, 1, 0},
    {2, 5, 7, 3, 17, 4, 2, 1},      {3, 7, 5, 17, 3, 4, 2, 1},     {1, 8, 8, 3, 32, 4, 2, 1},
    {8, 8, 8, 16, 16, 4, 2, 1},     {7, 8, 8, 17, 17, 4, 2, 1},    {2, 16, 16, 3, 32, 4, 2, 1},
    {2, 16, 16, 32, 3, 4, 2, 1},    {9, 8, 8, 32, 33, 4, 2, 1},    {1, 33, 1, 3, 5, 1, 1, 0},
    {1, 1, 33, 5, 3, 1, 1, 0},      {2, 33, 2, 1, 3, 2, 1, 1},     {2, 3, 33, 3, 1, 3, 2, 1},
    {1, 33, 33, 1, 1, 5, 1, 2},     {1, 33, 31, 3, 3, 5, 2, 2},    {1, 32, 33, 3, 5, 5, 3, 2},
    {2, 17, 19, 5, 3, 5, 3, 1},     {3, 9, 11, 5, 5, 3, 3, 0},     {3, 10, 9, 5, 5, 3, 3, 1},
    {2, 10, 8, 1, 17, 3, 3, 2},     {1, 11, 13, 17, 5, 5, 3, 0},   {2, 6, 6, 5, 3, 1, 2, 0},
    {2, 7, 6, 3, 5, 1, 3, 0},       {3, 6, 7, 3, 3, 2, 3, 0},      {1, 8, 9, 17, 1, 2, 3, 1},
    {2, 5, 5, 3, 5, 1, 1, 1},       {2, 5, 5, 5, 3, 1, 2, 2},      {1, 6, 4, 3, 3, 1, 3, 2},
    {2, 4, 6, 3, 3, 2, 2, 2},       {1, 12, 12, 127, 3, 3, 1, 1},  {1, 12, 10, 3, 127, 3, 1, 1},
    {1, 6, 6, 127, 17, 4, 2, 1},    {1, 5, 6, 17, 127, 4, 2, 1},   {2, 3, 3, 127, 5, 3, 1, 1},
    {3, 3, 3, 5, 127, 3, 1, 1},     {1, 2, 2, 127, 127, 2, 1, 0},  {7, 2, 2, 65, 33, 2, 2, 0},
    {7, 13, 13, 3, 3, 4, 2, 1},     {3, 15, 14, 1, 5, 4, 3, 1},    {1, 31, 29, 5, 1, 4, 2, 2},
    {2, 14, 15, 17, 5, 5, 2, 1},    {17, 4, 4, 3, 5, 4, 2, 1},     {25, 2, 2, 5, 3, 2, 1, 1},
    {12, 6, 6, 5, 17, 4, 2, 1},     {11, 3, 5, 3, 3, 3, 2, 2},     {2, 24, 24, 16, 8, 4, 2, 1},
    {1, 64, 64, 3, 8, 4, 2, 1},     {1, 64, 64, 8, 3, 4, 2, 1},    {2, 12, 12, 33, 20, 4, 2, 1},
    {4, 16, 16, 24, 48, 4, 2, 1},   {6, 4, 4, 64, 70, 4, 2, 1},    {3, 5, 4, 2, 4, 5, 1, 2},
    {2, 2, 2, 4, 2, 5, 3, 2},       {1, 40, 40, 40, 8, 4, 2, 1},   {1, 3, 3, 2, 2, 21, 1, 10},
    {34, 8, 8, 4, 4, 4, 2, 1},      {66, 1, 1, 12, 24, 1, 1, 0},   {5, 8, 8, 34, 100, 4, 2, 1},
    {3, 16, 8, 40, 33, 4, 2, 1},    {2, 19, 33, 20, 17, 4, 2, 0},  {2, 17, 18, 9, 40, 4, 2, 2},
    {7, 4, 5, 33, 90, 2, 1, 1},     {3, 9, 9, 19, 20, 2, 1, 0},    {2, 13, 26, 5, 9, 6, 3, 2},
    {9, 32, 32, 2, 3, 4, 2, 1},     {12, 64, 64, 1, 2, 4, 2, 1},   {2, 24, 24, 127, 3, 3, 2, 1},
    {1, 1, 1, 1, 7, 1, 1, 0},       {3, 3, 3, 7, 10, 3, 1, 0},     {65, 5, 5, 3, 21, 5, 2, 0},
    {3, 14, 14, 10, 100, 14, 1, 0}, {65, 1, 1, 100, 10, 1, 1, 0},  {1, 7, 7, 3, 1, 7, 1, 0},
    {3, 1, 29, 130, 1, 1, 1, 0},    {65, 1, 1, 1, 129, 1, 1, 0},   {3, 9, 11, 65, 257, 1, 1, 0},
    {65, 8, 9, 1, 3, 1, 1, 0},      {1, 65, 65, 17, 24, 1, 1, 0},  {9, 1, 1, 2049, 3, 1, 1, 0},
    {9, 13, 17, 5, 35, 1, 1, 0},    {7, 1, 1, 300, 40, 1, 1, 0},   {4, 5, 5, 16, 16, 5, 1, 0},
    {2, 2, 2, 3, 8, 1, 1, 0},       {7, 14, 13, 17, 33, 3, 1, 1},  {1, 18, 18, 32, 64, 3, 1, 0},
    {3, 7, 7, 33, 16, 3, 1, 2},     {1, 29, 31, 16, 17, 3, 1, 1},  {33, 4, 4, 16, 33, 3, 1, 1},
    {2, 5, 6, 130, 33, 3, 1, 1},    {1, 9, 10, 20, 145, 3, 1, 0},  {7, 16, 16, 16, 16, 3, 1, 1},
    {5, 2, 3, 20, 300, 3, 1, 2},    {9, 31, 15, 18, 7, 3, 1, 1},   {1, 3, 66, 40, 24, 3, 1, 2},
    {3, 3, 46, 145, 5, 3, 1, 1},    {3, 28, 29, 1, 10, 3, 1, 1},   {1, 9, 15, 3, 17, 5, 1, 2},
    {3, 8, 21, 7, 24, 4, 2, 1},     {1, 40, 31, 1, 7, 3, 1, 2},    {2, 7, 23, 1, 100, 3, 2, 1},
    {1, 5, 13, 10, 33, 3, 1, 0},    {1, 46, 70, 3, 9, 3, 1, 1},    {1, 1, 20, 2, 35, 7, 1, 6},
    {17, 3, 3, 40, 140, 3, 1, 0},   {70, 1, 1, 200, 150, 1, 1, 0}, {100, 5, 5, 7, 131, 5, 1, 0},
    {5, 1, 1, 131, 17, 1, 1, 0},    {13, 3, 3, 57, 11, 3, 1, 0},   {100, 1, 1, 520, 10, 1, 1, 0},
    {1, 1, 1, 1100, 1, 1, 1, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, WINOGRAD = 4 * 4 };

static const dg_op_kind kind_of[] = {DG_OP_conv_fwd, DG_OP_conv_dx, DG_OP_conv_dw};

typedef struct {
    const char *isa;
    dg_type real;
} kernels;

/* Returns NULL if this machine lacks the instruction set. */
static dg_backend *backend_of(const kernels *k, int threads, const dg_variant *variant)
{
    dg_backend *b;
    const dg_cpu_options o = {.isa = k->isa, .real = k->real, .threads = threads, .conv = variant};
    return dg_cpu_open(&o, &b) ? NULL : b;
}

typedef struct {
    dg_op op[3];     /* conv_fwd writes y, conv_dx writes x, conv_dw writes w */
    size_t count[3]; /* number of values of y, x and w */
    double *value[3], *want[3], *mass[3];
    int *terms[3];
} problem;

static dg_op writes(dg_op op, double *result)
{
    *dg_ref_pointer(&op, 0) = result;
    return op;
}

static const char *name_of(const dg_backend *b, const dg_op *op, const dg_variant *variant)
{
    static char text[300];
    const dg_tune tune = {.variant = variant};
    const int n = snprintf(text, sizeof text, "%s: ", b->name);
    dg_tune_text(text + n, sizeof text - (size_t)n, op, &tune);
    return text;
}

static problem problem_make(const int *d)
{
    problem p;
    dg_conv_args a = dg_ref_conv_shape(d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7]);
    for (int i = 0; i < 3; i++) {
        p.op[i] = (dg_op){.kind = kind_of[i], .u.conv = a};
        p.count[i] = (size_t)dg_operand_count(&p.op[i], 0);
        p.value[i] = dg_case_numbers(p.count[i], 1, 0);
        p.want[i] = dg_case_numbers(p.count[i], 1, 0);
        p.mass[i] = dg_case_numbers(p.count[i], 1, 0);
        p.terms[i] = (int *)(void *)dg_case_numbers(p.count[i], 1, 0);
    }
    a.y = p.value[0], a.x = p.value[1], a.w = p.value[2];
    for (int i = 0; i < 3; i++) {
        p.op[i].u.conv = a;
        const dg_op want = writes(p.op[i], p.want[i]);
        dg_ref_conv(kind_of[i], &want.u.conv, 1, p.mass[i], p.terms[i]);
    }
    return p;
}

static double largest_mass(const problem *p, int d)
{
    double mass = 0;
    for (size_t i = 0; i < p->count[d]; i++) mass = fmax(mass, p->mass[d][i]);
    return mass;
}

static double most_terms(const problem *p, int d)
{
    int terms = 1;
    for (size_t i = 0; i < p->count[d]; i++) terms = p->terms[d][i] > terms ? p->terms[d][i] : terms;
    return terms;
}

/* Checks that every result is within 4 sqrt(terms) eps sum|a||b| of the reference. NaN fails. Winograd's algorithm
 * spreads errors to neighbouring results, so its limit is the largest limit times WINOGRAD. */
static void compare(const problem *p, int d, const double *got, const dg_backend *b, const dg_variant *variant)
{
    const double eps = 2 * dg_case_eps(b);
    const bool mixed = variant == &dg_conv_variant_winograd;
    const double common = mixed ? WINOGRAD * sqrt(most_terms(p, d)) * eps * largest_mass(p, d) : 0;
    size_t at = 0, bad = 0;
    for (size_t i = 0; i < p->count[d]; i++) {
        const double limit = mixed ? common : 4 * sqrt(p->terms[d][i]) * eps * p->mass[d][i];
        if (!(fabs(got[i] - p->want[d][i]) <= limit) && !bad++) at = i;
    }
    DG_CHECKF(!bad, "%s: %zu of %zu wrong, at %zu %.9g instead of %.9g", name_of(b, &p->op[d], variant), bad,
              p->count[d], at, got[at], p->want[d][at]);
}

/* Checks the adjoint identity <fwd(x), y> = <x, dx(y)> = <w, dw(x, y)>. */
static void adjoint(const problem *p, double *const out[3], const dg_backend *b, const dg_variant *variant)
{
    double product[3] = {0}, mass = 0, terms = 1;
    for (int d = 0; d < 3; d++)
        for (size_t i = 0; i < p->count[d]; i++) product[d] += out[d][i] * p->value[d][i];
    for (size_t i = 0; i < p->count[0]; i++) mass += p->mass[0][i] * fabs(p->value[0][i]);
    for (int d = 0; d < 3; d++) terms = fmax(terms, most_terms(p, d));
    const double limit = 8 * sqrt(terms) * dg_case_eps(b) * mass;
    for (int d = 1; d < 3; d++)
        DG_CHECKF(fabs(product[0] - product[d]) <= limit, "%s: fwd %.12g, adjoint %.12g",
                  name_of(b, &p->op[d], variant), product[0], product[d]);
}

/* Returns `asked`, or NULL if it cannot run. If `asked` is NULL, returns the backend's choice. */
static const dg_variant *chosen(const kernels *k, dg_op_kind kind, const dg_conv_args *a, const dg_variant *asked)
{
    dg_backend *b = backend_of(k, 1, asked);
    dg_op op = {.kind = kind, .u.conv = *a};
    DG_CHECK(b && !b->refuses(b, &op));
    b->close(b);
    return !asked || op.tune.variant == asked ? op.tune.variant : NULL;
}

static void run(const problem *p, const kernels *k, const dg_variant *variant)
{
    static const int threads[] = {1, 2, 3, 7};
    double *first[3];
    for (int d = 0; d < 3; d++)
        if (!chosen(k, kind_of[d], &p->op[d].u.conv, variant)) return;
    for (int t = 0; t < 4; t += DG_TEST_SANITIZED ? 2 : 1) {
        dg_backend *b = backend_of(k, threads[t], variant);
        for (int d = 0; d < 3; d++) {
            double *out = dg_case_copy(p->value[d], p->count[d]);
            const dg_op op = writes(p->op[d], out);
            const char *wrong = dg_case_run(b, &op);
            DG_CHECKF(!wrong, "%s: %s", name_of(b, &op, variant), wrong);
            if (!t) compare(p, d, first[d] = out, b, variant);
            else
                DG_CHECKF(!memcmp(out, first[d], p->count[d] * sizeof *out), "%s: not one thread's bits",
                          name_of(b, &op, variant));
        }
        if (!t) adjoint(p, first, b, variant);
        b->close(b);
    }
}

/* Checks that dense layers and 1x1 convolutions use variant gemm, and that 4x4 convolutions do not. */
static void flat(const kernels *k)
{
    static const struct {
        int shape[8];
        bool chosen, can;
    } rows[] = {
        {{8, 14, 14, 10, 100, 14, 1, 0}, true, true}, {{8, 1, 1, 100, 10, 1, 1, 0}, true, true},
        {{2, 7, 9, 64, 256, 1, 1, 0}, true, true},    {{64, 4, 4, 256, 100, 4, 1, 0}, false, true},
        {{64, 4, 4, 256, 1, 4, 1, 0}, false, true},   {{2, 8, 8, 64, 256, 1, 2, 0}, false, false},
        {{2, 7, 7, 64, 64, 1, 1, 1}, false, false},   {{2, 3, 4, 64, 64, 3, 1, 0}, false, false},
    };
    const dg_variant *gemm = &dg_conv_variant_gemm;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int d = 0; d < 3; d++) {
            const int *n = rows[i].shape;
            const dg_conv_args a = dg_ref_conv_shape(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]);
            DG_CHECKF((chosen(k, kind_of[d], &a, NULL) == gemm) == rows[i].chosen, "%s: row %zu", k->isa, i);
            DG_CHECKF((chosen(k, kind_of[d], &a, gemm) == gemm) == rows[i].can, "%s: row %zu", k->isa, i);
        }
}

/* Checks which 3x3 convolutions with stride 1 use Winograd's algorithm. */
static void choice_of_three(const kernels *k)
{
    const dg_variant *direct = &dg_conv_variant_direct, *winograd = &dg_conv_variant_winograd,
                     *fast = k->real == DG_F32 ? winograd : direct;
    for (int P = 0; P <= 2; P++)
        for (int d = 0; d < 3; d++) {
            dg_conv_args a = dg_ref_conv_shape(64, 14, 13, 33, 47, 3, 1, P);
            DG_CHECK(chosen(k, kind_of[d], &a, NULL) == fast && chosen(k, kind_of[d], &a, winograd) == winograd);
            a.Co = 15;
            DG_CHECK(chosen(k, kind_of[d], &a, NULL) == direct && chosen(k, kind_of[d], &a, winograd) == winograd);
            a.Co = 47, a.H = a.W = a.Ho = a.Wo = 2;
            DG_CHECK(chosen(k, kind_of[d], &a, NULL) == (d == 2 ? fast : direct)); /* y fills a quarter of a tile */
            a.H = a.W = a.Ho = a.Wo = 5;
            DG_CHECK(chosen(k, kind_of[d], &a, NULL) == (d == 2 ? fast : direct));
            a.H = a.Ho = 1;
            DG_CHECK(chosen(k, kind_of[d], &a, NULL) == direct);
            a.H = a.W = 15, a.Ho = a.Wo = 7 + P, a.S = 2;
            DG_CHECK(chosen(k, kind_of[d], &a, NULL) == direct && !chosen(k, kind_of[d], &a, winograd));
        }
}

/* Checks that Winograd's algorithm is selected only for float, whole tiles and sums of at least 256 terms. A variant
 * that cannot run is refused. */
static void choice(const kernels *k)
{
    dg_conv_args a = dg_ref_conv_shape(16, 8, 8, 16, 64, 4, 2, 1);
    const dg_conv_args shorter = dg_ref_conv_shape(15, 8, 8, 15, 63, 4, 2, 1);
    const dg_variant *direct = &dg_conv_variant_direct, *winograd = &dg_conv_variant_winograd,
                     *fast = k->real == DG_F32 ? winograd : direct;
    for (int d = 0; d < 3; d++) {
        DG_CHECK(chosen(k, kind_of[d], &a, NULL) == fast);
        DG_CHECK(chosen(k, kind_of[d], &shorter, NULL) == direct);
        DG_CHECK(chosen(k, kind_of[d], &a, direct) == direct);
        DG_CHECK(chosen(k, kind_of[d], &a, winograd) == winograd);
        DG_CHECK(!chosen(k, kind_of[d], &a, &dg_conv_variant_tiled));
    }
    a.Ci = 3;
    DG_CHECK(chosen(k, DG_OP_conv_fwd, &a, NULL) == direct);
    a.Ci = 16, a.H = 10, a.Ho = 5;
    DG_CHECK(chosen(k, DG_OP_conv_fwd, &a, NULL) == direct);
    a.H = 8, a.Ho = 4, a.W = 10, a.Wo = 5;
    DG_CHECK(chosen(k, DG_OP_conv_fwd, &a, NULL) == direct);
    a.S = 1, a.H = a.W = 4, a.Ho = a.Wo = 3;
    DG_CHECK(chosen(k, DG_OP_conv_dw, &a, NULL) == direct);
    DG_CHECK(!chosen(k, DG_OP_conv_dw, &a, winograd));
    choice_of_three(k);
    flat(k);
}

/* ---- Large results ---- */

static void *numbers(size_t n, dg_type real)
{
    const size_t size = dg_type_bytes(real);
    char *p = aligned_alloc(64, (n * size + 63) / 64 * 64);
    if (!p) exit(1);
    for (size_t i = 0; i < n; i++) {
        const double wide = (double)(i * 7919 % 10007) / 5000 - 1;
        const float narrow = (float)wide;
        memcpy(p + i * size, real == DG_F32 ? (const void *)&narrow : &wide, size);
    }
    return p;
}

/* Results of 64 MB and more are written by non-temporal stores. The result of two images exceeds 64 MB, but the result
 * of one image does not. Non-temporal and ordinary stores must give equal bits. */
static void streams(const kernels *k, int d, int K, int S)
{
    const int H = k->real == DG_F32 ? 512 : 256, W = 1028;
    const int Ci = d ? 16 : 2, Co = d ? 2 : 16;
    const dg_conv_args a = dg_ref_conv_shape(2, H, W, Ci, Co, K, S, 1);
    const size_t size = dg_type_bytes(k->real), pixels = (size_t)H * (size_t)W, x = pixels * (size_t)Ci,
                 y = pixels / (size_t)(S * S) * (size_t)Co;
    const size_t bytes = (d ? x : y) * size;
    dg_backend *b = backend_of(k, 2, &dg_conv_variant_winograd);
    dg_op op = {.kind = kind_of[d], .u.conv = a};
    dg_conv_args *now = &op.u.conv;
    DG_CHECK(!b->refuses(b, &op));
    char *all_x = now->x = numbers(2 * x, k->real), *all_y = now->y = numbers(2 * y, k->real);
    now->w = numbers((size_t)(32 * K * K), k->real);
    now->scratch = numbers(b->scratch(b, &op) / size + 1, k->real);
    char *both = d ? all_x : all_y, *one = numbers(bytes / size, k->real);
    DG_CHECK(!b->run_op(b, &op, NULL));
    now->N = 1;
    for (size_t i = 0; i < 2; i++) {
        now->x = d ? one : all_x + i * x * size;
        now->y = d ? all_y + i * y * size : one;
        DG_CHECK(!b->run_op(b, &op, NULL));
        DG_CHECKF(!memcmp(one, both + i * bytes, bytes), "%s %s K %d S %d: a large result has other bits", b->name,
                  dg_op_kind_name(op.kind), K, S);
    }
    free(all_x), free(all_y), free(now->w), free(now->scratch), free(one);
    b->close(b);
}

int main(void)
{
    static const kernels all[] = {{"base", DG_F32}, {"base", DG_F64},   {"avx2", DG_F32},
                                  {"avx2", DG_F64}, {"avx512", DG_F32}, {"avx512", DG_F64}};
    static const dg_variant *const variants[] = {&dg_conv_variant_direct, &dg_conv_variant_winograd,
                                                 &dg_conv_variant_gemm};
    bool there[6];
    for (int k = 0; k < 6; k++) {
        dg_backend *b = backend_of(&all[k], 1, NULL);
        there[k] = b;
        if (b) b->close(b);
        else dg_test_skip(all[k].isa);
    }
    for (int i = 0; i < SHAPES; i++) {
        const problem p = problem_make(shapes[i]);
        for (int k = 0; k < 6; k++)
            for (int v = 0; v < 3 && there[k] && !(DG_TEST_SANITIZED && all[k].real == DG_F64 && i % 4); v++)
                run(&p, &all[k], variants[v]);
        dg_case_free();
    }
    for (int k = 0; k < 6; k++) {
        if (!there[k]) continue;
        choice(&all[k]);
        if (DG_TEST_SANITIZED && k > 0) continue;
        streams(&all[k], 0, 3, 1);
        streams(&all[k], 1, 4, 2);
    }
    return dg_test_report();
}
