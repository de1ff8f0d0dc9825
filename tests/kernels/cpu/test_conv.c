/* Convolution kernels against plain loops in double, for every instruction set of this machine, float and
 * double: values, guard bands, the adjoint identity, and equal bits for any number of threads. */
#include "conv_kernels.h"
#include "reference_conv.h"
#include "test.h"

#include <float.h>
#include <omp.h>

/* N, H, W, Ci, Co, K, S, P */
static const int shapes[][8] = {
    {1, 1, 1, 1, 1, 1, 1, 0},       {2, 1, 1, 3, 5, 1, 1, 0},       {7, 1, 1, 17, 3, 3, 1, 1},
    {3, 1, 1, 5, 17, 3, 2, 1},      {1, 2, 3, 1, 3, 2, 1, 0},       {2, 3, 2, 3, 1, 2, 2, 1},
    {3, 4, 4, 5, 5, 4, 1, 0},       {7, 4, 4, 17, 1, 4, 1, 0},      {2, 4, 4, 127, 1, 4, 1, 0},
    {1, 4, 4, 1, 127, 4, 1, 0},     {9, 4, 4, 20, 33, 4, 1, 0},     {8, 1, 1, 40, 7, 1, 1, 0},
    {2, 5, 7, 3, 17, 4, 2, 1},      {3, 7, 5, 17, 3, 4, 2, 1},      {1, 8, 8, 3, 32, 4, 2, 1},
    {8, 8, 8, 16, 16, 4, 2, 1},     {7, 8, 8, 17, 17, 4, 2, 1},     {2, 16, 16, 3, 32, 4, 2, 1},
    {2, 16, 16, 32, 3, 4, 2, 1},    {9, 8, 8, 32, 33, 4, 2, 1},     {1, 33, 1, 3, 5, 1, 1, 0},
    {1, 1, 33, 5, 3, 1, 1, 0},      {2, 33, 2, 1, 3, 2, 1, 1},      {2, 3, 33, 3, 1, 3, 2, 1},
    {1, 33, 33, 1, 1, 5, 1, 2},     {1, 33, 31, 3, 3, 5, 2, 2},     {1, 32, 33, 3, 5, 5, 3, 2},
    {2, 17, 19, 5, 3, 5, 3, 1},     {3, 9, 11, 5, 5, 3, 3, 0},      {3, 10, 9, 5, 5, 3, 3, 1},
    {2, 10, 8, 1, 17, 3, 3, 2},     {1, 11, 13, 17, 5, 5, 3, 0},    {2, 6, 6, 5, 3, 1, 2, 0},
    {2, 7, 6, 3, 5, 1, 3, 0},       {3, 6, 7, 3, 3, 2, 3, 0},       {1, 8, 9, 17, 1, 2, 3, 1},
    {2, 5, 5, 3, 5, 1, 1, 1},       {2, 5, 5, 5, 3, 1, 2, 2},       {1, 6, 4, 3, 3, 1, 3, 2},
    {2, 4, 6, 3, 3, 2, 2, 2},       {1, 12, 12, 127, 3, 3, 1, 1},   {1, 12, 10, 3, 127, 3, 1, 1},
    {1, 6, 6, 127, 17, 4, 2, 1},    {1, 5, 6, 17, 127, 4, 2, 1},    {2, 3, 3, 127, 5, 3, 1, 1},
    {3, 3, 3, 5, 127, 3, 1, 1},     {1, 2, 2, 127, 127, 2, 1, 0},   {7, 2, 2, 65, 33, 2, 2, 0},
    {7, 13, 13, 3, 3, 4, 2, 1},     {3, 15, 14, 1, 5, 4, 3, 1},     {1, 31, 29, 5, 1, 4, 2, 2},
    {2, 14, 15, 17, 5, 5, 2, 1},    {17, 4, 4, 3, 5, 4, 2, 1},      {25, 2, 2, 5, 3, 2, 1, 1},
    {12, 6, 6, 5, 17, 4, 2, 1},     {11, 3, 5, 3, 3, 3, 2, 2},      {2, 24, 24, 16, 8, 4, 2, 1},
    {1, 64, 64, 3, 8, 4, 2, 1},     {1, 64, 64, 8, 3, 4, 2, 1},     {2, 12, 12, 33, 20, 4, 2, 1},
    {4, 16, 16, 24, 48, 4, 2, 1},   {6, 4, 4, 64, 70, 4, 2, 1},     {3, 5, 4, 2, 4, 5, 1, 2},
    {2, 2, 2, 4, 2, 5, 3, 2},       {1, 40, 40, 40, 8, 4, 2, 1},    {1, 3, 3, 2, 2, 21, 1, 10},
    {34, 8, 8, 4, 4, 4, 2, 1},      {66, 1, 1, 12, 24, 1, 1, 0},    {5, 8, 8, 34, 100, 4, 2, 1},
    {3, 16, 8, 40, 33, 4, 2, 1},    {2, 19, 33, 20, 17, 4, 2, 0},   {2, 17, 18, 9, 40, 4, 2, 2},
    {7, 4, 5, 33, 90, 2, 1, 1},     {3, 9, 9, 19, 20, 2, 1, 0},     {2, 13, 26, 5, 9, 6, 3, 2},
    {9, 32, 32, 2, 3, 4, 2, 1},     {12, 64, 64, 1, 2, 4, 2, 1},    {9, 24, 24, 127, 3, 3, 2, 1},
    {1, 1, 1, 1, 7, 1, 1, 0},       {3, 3, 3, 7, 10, 3, 1, 0},      {65, 5, 5, 3, 21, 5, 2, 0},
    {8, 14, 14, 10, 100, 14, 1, 0}, {65, 1, 1, 100, 10, 1, 1, 0},   {1, 7, 7, 3, 1, 7, 1, 0},
    {3, 1, 29, 130, 1, 1, 1, 0},    {65, 1, 1, 1, 129, 1, 1, 0},    {3, 9, 11, 65, 257, 1, 1, 0},
    {65, 8, 9, 1, 3, 1, 1, 0},      {1, 65, 65, 17, 24, 1, 1, 0},   {9, 1, 1, 2049, 3, 1, 1, 0},
    {65, 13, 17, 5, 35, 1, 1, 0},   {7, 1, 1, 300, 40, 1, 1, 0},    {4, 5, 5, 16, 16, 5, 1, 0},
    {2, 2, 2, 3, 8, 1, 1, 0},       {7, 14, 13, 17, 33, 3, 1, 1},   {1, 26, 26, 32, 64, 3, 1, 0},
    {3, 7, 7, 33, 16, 3, 1, 2},     {1, 29, 31, 16, 17, 3, 1, 1},   {33, 4, 4, 16, 33, 3, 1, 1},
    {2, 5, 6, 130, 33, 3, 1, 1},    {1, 9, 10, 20, 145, 3, 1, 0},   {7, 16, 16, 16, 16, 3, 1, 1},
    {5, 2, 3, 20, 300, 3, 1, 2},    {9, 31, 15, 18, 7, 3, 1, 1},    {1, 3, 66, 40, 24, 3, 1, 2},
    {16, 3, 90, 145, 5, 3, 1, 1},   {3, 28, 29, 1, 10, 3, 1, 1},    {1, 9, 15, 3, 17, 5, 1, 2},
    {3, 8, 21, 7, 24, 4, 2, 1},     {1, 40, 31, 1, 7, 3, 1, 2},     {2, 7, 23, 1, 100, 3, 2, 1},
    {1, 5, 13, 10, 33, 3, 1, 0},    {2, 90, 70, 3, 9, 3, 1, 1},     {1, 1, 20, 2, 35, 7, 1, 6},
    {65, 3, 3, 40, 140, 3, 1, 0},   {260, 1, 1, 200, 150, 1, 1, 0}, {100, 5, 5, 7, 131, 5, 1, 0},
    {5, 1, 1, 131, 17, 1, 1, 0},    {13, 3, 3, 57, 11, 3, 1, 0},    {100, 1, 1, 520, 10, 1, 1, 0},
    {1, 1, 1, 1100, 1, 1, 1, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, GUARD = 64, WINOGRAD = 4 * 4 };

static const char *const direction[] = {"fwd", "dx", "dw"};
static const dg_op_kind kind_of[] = {DG_OP_conv_fwd, DG_OP_conv_dx, DG_OP_conv_dw};

typedef struct {
    dg_ref_conv s;
    char name[80];
    size_t count[3];  /* of y, x, w: what fwd, dx and dw write */
    double *value[3]; /* inputs y, x, w */
    double *want[3], *mass[3];
    int *terms[3];
} problem;

static void *must(void *p)
{
    if (!p) {
        printf("out of memory\n");
        exit(1);
    }
    return p;
}

static problem problem_make(const int *shape, dg_type real)
{
    static unsigned long long seed = 1;
    problem p;
    p.s = dg_ref_conv_shape(shape[0], shape[1], shape[2], shape[3], shape[4], shape[5], shape[6], shape[7]);
    const dg_ref_conv *s = &p.s;
    snprintf(p.name, sizeof p.name, "%dx%dx%dx%d>%dx%dx%d K%d S%d P%d", s->N, s->H, s->W, s->Ci, s->Ho, s->Wo, s->Co,
             s->K, s->S, s->P);
    p.count[0] = (size_t)s->N * (size_t)s->Ho * (size_t)s->Wo * (size_t)s->Co;
    p.count[1] = (size_t)s->N * (size_t)s->H * (size_t)s->W * (size_t)s->Ci;
    p.count[2] = (size_t)s->Co * (size_t)s->K * (size_t)s->K * (size_t)s->Ci;
    for (int i = 0; i < 3; i++) {
        p.value[i] = must(malloc(p.count[i] * sizeof(double)));
        p.want[i] = must(malloc(p.count[i] * sizeof(double)));
        p.mass[i] = must(malloc(p.count[i] * sizeof(double)));
        p.terms[i] = must(malloc(p.count[i] * sizeof(int)));
        for (size_t k = 0; k < p.count[i]; k++) {
            double v = dg_test_random(&seed);
            p.value[i][k] = real == DG_F32 ? (double)(float)v : v;
        }
    }
    dg_ref_conv_fwd(p.want[0], p.mass[0], p.terms[0], p.value[1], p.value[2], s);
    dg_ref_conv_dx(p.want[1], p.mass[1], p.terms[1], p.value[0], p.value[2], s);
    dg_ref_conv_dw(p.want[2], p.mass[2], p.terms[2], p.value[1], p.value[0], s);
    return p;
}

static void problem_free(problem *p)
{
    for (int i = 0; i < 3; i++) {
        free(p->value[i]);
        free(p->want[i]);
        free(p->mass[i]);
        free(p->terms[i]);
    }
}

/* Memory with guard bands of 0xff bytes, which are NaN as numbers; the inside starts as NaN, too. */
typedef struct {
    unsigned char *base;
    size_t bytes;
} guarded;

static guarded guarded_make(size_t bytes)
{
    guarded g = {must(aligned_alloc(64, (bytes + 2 * GUARD + 63) / 64 * 64)), bytes};
    memset(g.base, 0xff, bytes + 2 * GUARD);
    return g;
}

static void *inside(const guarded *g) { return g->base + GUARD; }

static int guards_hold(const guarded *g)
{
    int ok = 1;
    for (size_t i = 0; i < GUARD; i++) ok &= g->base[i] == 0xff && g->base[GUARD + g->bytes + i] == 0xff;
    return ok;
}

static void to_real(void *to, const double *from, size_t n, dg_type real)
{
    for (size_t i = 0; i < n; i++) {
        if (real == DG_F32) ((float *)to)[i] = (float)from[i];
        else ((double *)to)[i] = from[i];
    }
}

static double value_at(const void *p, size_t i, dg_type real)
{
    return real == DG_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

/* Every element within 4 sqrt(terms) eps sum|a||b| of the reference; NaN fails. Minimal filtering mixes
 * neighbours, so there all elements share the largest of these limits, times the growth of its transforms. */
static void compare(const problem *p, int d, const void *got, const conv_kernels *k, const dg_variant *variant)
{
    double eps = k->real == DG_F32 ? FLT_EPSILON : DBL_EPSILON, worst = 0, common = 0;
    size_t at = 0, bad = 0;
    if (variant == &dg_conv_variant_winograd) {
        double mass = 0, terms = 1;
        for (size_t i = 0; i < p->count[d]; i++) {
            mass = fmax(mass, p->mass[d][i]);
            terms = fmax(terms, p->terms[d][i]);
        }
        common = WINOGRAD * sqrt(terms) * eps * mass;
    }
    for (size_t i = 0; i < p->count[d]; i++) {
        double error = fabs(value_at(got, i, k->real) - p->want[d][i]);
        double limit = common > 0 ? common : 4 * sqrt(p->terms[d][i]) * eps * p->mass[d][i];
        if (error <= limit) continue;
        if (!bad++ || error > worst) {
            worst = error;
            at = i;
        }
    }
    DG_CHECKF(!bad, "%s %s %s %s: %zu of %zu wrong, at %zu %.9g instead of %.9g", k->name, variant->name, direction[d],
              p->name, bad, p->count[d], at, value_at(got, at, k->real), p->want[d][at]);
}

/* <fwd(x), y> = <x, dx(y)> = <w, dw(x, y)>: all are the sum of x w y over every term. */
static void adjoint(const problem *p, void *const out[3], const conv_kernels *k)
{
    double eps = k->real == DG_F32 ? FLT_EPSILON : DBL_EPSILON, product[3] = {0}, mass = 0, terms = 1;
    for (int d = 0; d < 3; d++)
        for (size_t i = 0; i < p->count[d]; i++) product[d] += value_at(out[d], i, k->real) * p->value[d][i];
    for (size_t i = 0; i < p->count[0]; i++) mass += p->mass[0][i] * fabs(p->value[0][i]);
    for (int d = 0; d < 3; d++)
        for (size_t i = 0; i < p->count[d]; i++) terms = fmax(terms, p->terms[d][i]);
    double limit = 4 * sqrt(terms) * eps * mass;
    for (int d = 1; d < 3; d++)
        DG_CHECKF(fabs(product[0] - product[d]) <= limit, "%s %s: adjoint: fwd %.12g, %s %.12g", k->name, p->name,
                  product[0], direction[d], product[d]);
}

static void run(const problem *p, const conv_kernels *k, const dg_variant *variant)
{
    static const int threads[] = {1, 2, 3, 7};
    size_t size = dg_type_bytes(k->real);
    const dg_ref_conv *s = &p->s;
    dg_conv_args a = {.N = s->N,
                      .H = s->H,
                      .W = s->W,
                      .Ci = s->Ci,
                      .Ho = s->Ho,
                      .Wo = s->Wo,
                      .Co = s->Co,
                      .K = s->K,
                      .S = s->S,
                      .P = s->P};
    dg_tune tune = {.variant = variant, .why = "test"};
    if (!k->variant(DG_OP_conv_fwd, &a, variant)) return;
    void *in[3], *out[3];
    for (int i = 0; i < 3; i++) {
        in[i] = must(malloc(p->count[i] * size));
        out[i] = must(malloc(p->count[i] * size));
        to_real(in[i], p->value[i], p->count[i], k->real);
    }
    for (int d = 0; d < 3; d++) {
        size_t bytes = p->count[d] * size;
        for (int t = 0; t < 4; t += DG_TEST_SANITIZED ? 2 : 1) {
            guarded result = guarded_make(bytes), scratch = guarded_make(k->scratch(kind_of[d], &a, &tune));
            a.y = d == 0 ? inside(&result) : in[0];
            a.x = d == 1 ? inside(&result) : in[1];
            a.w = d == 2 ? inside(&result) : in[2];
            a.scratch = inside(&scratch);
            omp_set_num_threads(threads[t]);
            k->run[d](&a, &tune);
            DG_CHECKF(guards_hold(&result) && guards_hold(&scratch), "%s %s %s: wrote outside", k->name, direction[d],
                      p->name);
            if (!t) memcpy(out[d], inside(&result), bytes);
            else
                DG_CHECKF(!memcmp(out[d], inside(&result), bytes), "%s %s %s: %d threads give other bits", k->name,
                          direction[d], p->name, threads[t]);
            free(result.base);
            free(scratch.base);
        }
        compare(p, d, out[d], k, variant);
    }
    adjoint(p, out, k);
    for (int i = 0; i < 3; i++) {
        free(in[i]);
        free(out[i]);
    }
}

/* Dense layers and pixels are products of matrices, but on the 4x4 maps where GANs begin and end; and nothing else can
 * be one. */
static void flat(const conv_kernels *k)
{
    static const struct {
        dg_conv_args a;
        bool chosen, can;
    } rows[] = {
        {{.N = 8, .H = 14, .W = 14, .Ci = 10, .Ho = 1, .Wo = 1, .Co = 100, .K = 14, .S = 1}, true, true},
        {{.N = 8, .H = 1, .W = 1, .Ci = 100, .Ho = 1, .Wo = 1, .Co = 10, .K = 1, .S = 1}, true, true},
        {{.N = 2, .H = 7, .W = 9, .Ci = 64, .Ho = 7, .Wo = 9, .Co = 256, .K = 1, .S = 1}, true, true},
        {{.N = 64, .H = 4, .W = 4, .Ci = 256, .Ho = 1, .Wo = 1, .Co = 100, .K = 4, .S = 1}, false, true},
        {{.N = 64, .H = 4, .W = 4, .Ci = 256, .Ho = 1, .Wo = 1, .Co = 1, .K = 4, .S = 1}, false, true},
        {{.N = 2, .H = 8, .W = 8, .Ci = 64, .Ho = 4, .Wo = 4, .Co = 256, .K = 1, .S = 2}, false, false},
        {{.N = 2, .H = 7, .W = 7, .Ci = 64, .Ho = 9, .Wo = 9, .Co = 64, .K = 1, .S = 1, .P = 1}, false, false},
        {{.N = 2, .H = 3, .W = 4, .Ci = 64, .Ho = 1, .Wo = 2, .Co = 64, .K = 3, .S = 1}, false, false},
    };
    const dg_variant *gemm = &dg_conv_variant_gemm;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int d = 0; d < 3; d++) {
            DG_CHECKF((k->variant(kind_of[d], &rows[i].a, NULL) == gemm) == rows[i].chosen, "%s: row %zu", k->name, i);
            DG_CHECKF((k->variant(kind_of[d], &rows[i].a, gemm) == gemm) == rows[i].can, "%s: row %zu", k->name, i);
        }
}

/* Filters of three taps: whatever their padding, as long as most of their tiles lies inside, and stride 1 alone. */
static void choice_of_three(const conv_kernels *k)
{
    const dg_variant *direct = &dg_conv_variant_direct, *winograd = &dg_conv_variant_winograd,
                     *fast = k->real == DG_F32 ? winograd : direct;
    for (int P = 0; P <= 2; P++)
        for (int d = 0; d < 3; d++) {
            dg_conv_args a = {.N = 64, .H = 14, .W = 13, .Ci = 33, .Co = 47, .K = 3, .S = 1, .P = P};
            a.Ho = a.H + 2 * P - 2, a.Wo = a.W + 2 * P - 2;
            DG_CHECK(k->variant(kind_of[d], &a, NULL) == fast && k->variant(kind_of[d], &a, winograd) == winograd);
            a.Co = 15;
            DG_CHECK(k->variant(kind_of[d], &a, NULL) == direct && k->variant(kind_of[d], &a, winograd) == winograd);
            a.Co = 47, a.H = a.W = a.Ho = a.Wo = 2;
            DG_CHECK(k->variant(kind_of[d], &a, NULL) == (d == 2 ? fast : direct)); /* a quarter of a tile */
            a.H = a.W = a.Ho = a.Wo = 5;
            DG_CHECK(k->variant(kind_of[d], &a, NULL) == (d == 2 ? fast : direct));
            a.H = a.Ho = 1;
            DG_CHECK(k->variant(kind_of[d], &a, NULL) == direct);
            a.H = a.W = 15, a.Ho = a.Wo = 7 + P, a.S = 2;
            DG_CHECK(k->variant(kind_of[d], &a, NULL) == direct && !k->variant(kind_of[d], &a, winograd));
        }
}

/* Which variant a shape gets: filtering for float, whole tiles and sums of 256 terms or more only, and a name that
 * cannot run is refused. */
static void choice(const conv_kernels *k)
{
    dg_conv_args a = {.N = 16, .H = 8, .W = 8, .Ci = 16, .Ho = 4, .Wo = 4, .Co = 64, .K = 4, .S = 2, .P = 1};
    const dg_conv_args shorter = {
        .N = 15, .H = 8, .W = 8, .Ci = 15, .Ho = 4, .Wo = 4, .Co = 63, .K = 4, .S = 2, .P = 1};
    const dg_variant *direct = &dg_conv_variant_direct, *winograd = &dg_conv_variant_winograd,
                     *fast = k->real == DG_F32 ? winograd : direct;
    for (int d = 0; d < 3; d++) {
        DG_CHECK(k->variant(kind_of[d], &a, NULL) == fast);
        DG_CHECK(k->variant(kind_of[d], &shorter, NULL) == direct);
        DG_CHECK(k->variant(kind_of[d], &a, direct) == direct);
        DG_CHECK(k->variant(kind_of[d], &a, winograd) == winograd);
        DG_CHECK(!k->variant(kind_of[d], &a, &dg_conv_variant_tiled));
    }
    a.Ci = 3;
    DG_CHECK(k->variant(DG_OP_conv_fwd, &a, NULL) == direct);
    a.Ci = 16, a.H = 10, a.Ho = 5;
    DG_CHECK(k->variant(DG_OP_conv_fwd, &a, NULL) == direct);
    a.H = 8, a.Ho = 4, a.W = 10, a.Wo = 5;
    DG_CHECK(k->variant(DG_OP_conv_fwd, &a, NULL) == direct);
    a.S = 1, a.H = a.W = 4, a.Ho = a.Wo = 3;
    DG_CHECK(k->variant(DG_OP_conv_dw, &a, NULL) == direct);
    DG_CHECK(!k->variant(DG_OP_conv_dw, &a, winograd));
    choice_of_three(k);
    flat(k);
}

/* Reals that repeat late. */
static void *numbers(size_t n, dg_type real)
{
    const size_t size = real == DG_F32 ? 4 : 8;
    char *p = must(aligned_alloc(64, (n * size + 63) / 64 * 64));
    for (size_t i = 0; i < n; i++) to_real(p + i * size, &(double){(double)(i * 7919 % 10007) / 5000 - 1}, 1, real);
    return p;
}

/* Results of 64 MB and more pass the caches by, as two images do here; each alone does not: the bits are the same. */
static void streams(const conv_kernels *k, int d, int K, int S)
{
    const dg_tune tune = {.variant = &dg_conv_variant_winograd};
    const int H = k->real == DG_F32 ? 512 : 256, W = 1028;
    dg_conv_args a = {.N = 2, .H = H, .W = W, .Ci = 16, .Ho = H / S, .Wo = W / S, .Co = 16, .K = K, .S = S, .P = 1};
    const size_t size = k->real == DG_F32 ? 4 : 8, x = (size_t)H * (size_t)W * 16, y = x / (size_t)(S * S);
    const size_t bytes = (d ? x : y) * size;
    a.x = numbers(2 * x, k->real), a.y = numbers(2 * y, k->real), a.w = numbers((size_t)(256 * K * K), k->real);
    char *both = d ? a.x : a.y, *one = numbers(bytes / size, k->real);
    a.scratch = must(aligned_alloc(64, (k->scratch(kind_of[d], &a, &tune) + 63) / 64 * 64));
    k->run[d](&a, &tune);
    dg_conv_args part = a;
    part.N = 1;
    for (size_t i = 0; i < 2; i++) {
        part.x = d ? one : (char *)a.x + i * x * size;
        part.y = d ? (char *)a.y + i * y * size : one;
        k->run[d](&part, &tune);
        DG_CHECKF(!memcmp(one, both + i * bytes, bytes), "%s %s K %d S %d: a large result has other bits", k->name,
                  direction[d], K, S);
    }
    free(a.x), free(a.y), free(a.w), free(a.scratch), free(one);
}

int main(void)
{
    conv_kernels table[CONV_KERNELS];
    int kernels = conv_kernel_table(table);
    for (int i = 0; i < SHAPES; i++)
        for (dg_type real = DG_F32; real <= DG_F64; real++) {
            if (DG_TEST_SANITIZED && real == DG_F64 && i % 4) continue;
            problem p = problem_make(shapes[i], real);
            for (int k = 0; k < kernels; k++)
                if (table[k].supported && table[k].real == real) {
                    run(&p, &table[k], &dg_conv_variant_direct);
                    run(&p, &table[k], &dg_conv_variant_winograd);
                    run(&p, &table[k], &dg_conv_variant_gemm);
                }
            problem_free(&p);
        }
    for (int k = 0; k < kernels; k++) {
        if (table[k].supported) {
            choice(&table[k]);
            if (DG_TEST_SANITIZED && k > 0) continue;
            streams(&table[k], 0, 3, 1);
            streams(&table[k], 1, 4, 2);
        } else {
            printf("%s: ", table[k].name);
            dg_test_skip("this machine lacks the instructions");
        }
    }
    return dg_test_report();
}
