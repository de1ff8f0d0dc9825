/* Tests CPU ops on tensors of more than 2^29 values (2^31 - 1 with DG_TEST_LARGE). The first and last images must have
 * equal results in a large batch and in a small batch. Sums over the two batches must agree, because the images
 * between the first and last are zeros. Values are small integers, so that sums are exact in any order. */
#include "core/base/rng.h"
#include "kernels/ops/conv/variants.h"
#include "kernels/ops/values.h"
#include "large_pair.h"

/* Compares the large batch with the small batch. If `variant` is NULL, the backend selects the variant. */
static void check(dg_op op, const dg_variant *variant, double within)
{
    pair p = pair_of(op);
    run(&p.many, variant);
    run(&p.few, p.many.tune.variant);
    check_results(&p, within);
    forget(&p);
}

/* ---- Convolutions ---- */

enum { FWD = 1, DX = 2, DW = 4, ALL = 7 };
#define SHAPE(h, w, ci, co, k, s, p)                                             \
    {                                                                            \
        .H = (h), .W = (w), .Ci = (ci), .Co = (co), .K = (k), .S = (s), .P = (p) \
    }
static const struct {
    const dg_variant *variant;
    int quick; /* ops that run without DG_TEST_LARGE */
    dg_conv_args conv;
} shapes[] = {
    {&dg_conv_variant_direct, 0, SHAPE(16, 16, 1, 2, 3, 2, 1)},
    {&dg_conv_variant_direct, DW, SHAPE(8, 8, 1, 16, 3, 1, 1)},
    {&dg_conv_variant_direct, FWD | DX, SHAPE(8, 8, 16, 3, 4, 2, 1)},
    {&dg_conv_variant_direct, 0, SHAPE(16, 16, 3, 2, 4, 2, 1)},
    {&dg_conv_variant_winograd, FWD | DW, SHAPE(8, 8, 16, 5, 4, 2, 1)},
    {&dg_conv_variant_winograd, DX, SHAPE(8, 8, 5, 16, 3, 1, 1)},
    {&dg_conv_variant_gemm, ALL, SHAPE(4, 4, 16, 5, 1, 1, 0)},
    {&dg_conv_variant_gemm, 0, SHAPE(4, 4, 5, 40, 1, 1, 0)},
    {&dg_conv_variant_gemm, ALL, SHAPE(5, 5, 40, 3, 5, 1, 0)},
    {&dg_conv_variant_gemm, 0, SHAPE(5, 5, 8, 70, 5, 1, 0)},
};

static void check_convolutions(void)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const dg_cpu_options options = {.real = DG_F32, .conv = shapes[i].variant};
        dg_backend *const before = backend;
        if (!DG_CHECKF(dg_cpu_open(&options, &backend) == DG_OK, "%s", dg_message())) return;
        for (int d = 0; d < 3; d++) {
            dg_op op = {.kind = (dg_op_kind)(DG_OP_conv_fwd + d)};
            if (least > 0 && !(shapes[i].quick >> d & 1)) continue;
            op.u.conv = shapes[i].conv;
            snprintf(op.name, sizeof op.name, "%s %d", dg_op_kind_name(op.kind) + 5, (int)i);
            check(op, shapes[i].variant, shapes[i].variant == &dg_conv_variant_winograd ? 1e-4 : 0);
        }
        backend->close(backend);
        backend = before;
    }
}

/* ---- Ops whose results depend on the position of an image or on the number of images ---- */

static void check_dropout(void)
{
    pair p = pair_of((dg_op){.name = "dropout", .kind = DG_OP_dropout, .u.dropout = {.p = 0.5, .layer = 2}});
    const dg_dropout_args *a = &p.many.u.dropout;
    run(&p.many, NULL);
    int wrong = 0;
    for (int64_t i = a->n - p.ends; i < a->n; i++) {
        uint32_t word[4];
        dg_philox(word, state.seed, dg_dropout_subsequence(a), (uint64_t)i / 4);
        const double want = word[i % 4] >= dg_dropout_threshold(a) ? 2 * number(many_of(&p, "x"), (size_t)i) : 0;
        wrong += number(many_of(&p, "y"), (size_t)i) != want;
    }
    DG_CHECKF(!wrong, "%s: %d of %lld values at the end are others", p.many.name, wrong, (long long)p.ends);
    forget(&p);
}

/* The images between the first and last images are zeros, so they only change the divisor of the mean. */
static void check_statistics(void)
{
    dg_op op = {.name = "norm_stats", .kind = DG_OP_norm_stats};
    op.u.norm_stats = (dg_norm_stats_args){.H = 8, .W = 8, .C = 5, .groups = 1, .momentum = 0.5};
    pair p = pair_of(op);
    run(&p.many, NULL);
    run(&p.few, NULL);
    const double share = (double)p.few.u.norm_stats.N / p.many.u.norm_stats.N;
    for (size_t c = 0; c < 5; c++) {
        const double mean = number(few_of(&p, "mean"), c), rstd = number(few_of(&p, "rstd"), c),
                     squares = share * (1 / (rstd * rstd) + mean * mean), is = number(many_of(&p, "mean"), c);
        DG_NEAR(is, share * mean, 1e-6 * share);
        const double want = 1 / sqrt(squares - share * share * mean * mean);
        DG_NEAR(number(many_of(&p, "rstd"), c), want, 1e-5 * want);
    }
    forget(&p);
}

/* With mean 0 and rstd 1, dbeta and dgamma are exact, and dx = g - (dbeta + x dgamma) / pixels. */
static void check_norm_dx(void)
{
    dg_op op = {.name = "norm_act_dx", .kind = DG_OP_norm_act_dx};
    op.u.norm_act = (dg_norm_act_args){.H = 8, .W = 8, .C = 5, .groups = 1, .act = DG_ACT_NONE};
    pair p = pair_of(op);
    const char *const names[] = {"mean", "beta", "rstd", "gamma"};
    for (int k = 0; k < 4; k++)
        for (int c = 0; c < 5; c++) {
            const float value = k < 2 ? 0 : 1;
            memcpy((char *)(uintptr_t)many_of(&p, names[k]) + 4 * c, &value, 4);
            memcpy((char *)(uintptr_t)few_of(&p, names[k]) + 4 * c, &value, 4);
        }
    run(&p.many, NULL);
    run(&p.few, NULL);
    check_result(&p, dg_operand_index(op.kind, "dgamma"), 0);
    check_result(&p, dg_operand_index(op.kind, "dbeta"), 0);
    const size_t values = (size_t)dg_operand_count(&p.many, 0);
    const double rows = (double)values / 5;
    int wrong = 0;
    for (size_t i = values - 64 * 5 * ENDS; i < values; i++) {
        const double sum = number(many_of(&p, "dbeta"), i % 5), sum_x = number(many_of(&p, "dgamma"), i % 5),
                     want = number(many_of(&p, "dy"), i) - (sum + number(many_of(&p, "x"), i) * sum_x) / rows;
        wrong += !(fabs(number(many_of(&p, "dx"), i) - want) <= 1e-6);
    }
    DG_CHECKF(!wrong, "%s: %d values at the end are others", p.many.name, wrong);
    forget(&p);
}

/* The gradient of softmax is divided by the batch size, which differs between the large and the small batch. */
static void check_softmax(void)
{
    pair p = pair_of((dg_op){.name = "softmax", .kind = DG_OP_softmax, .u.softmax = {.C = 300, .loss = 1, .right = 2}});
    run(&p.many, NULL);
    run(&p.few, NULL);
    check_result(&p, dg_operand_index(DG_OP_softmax, "p"), 0);
    check_result(&p, dg_operand_index(DG_OP_softmax, "each"), 0);
    const size_t few = (size_t)dg_operand_count(&p.few, 0), many = (size_t)dg_operand_count(&p.many, 0);
    const double N = p.many.u.softmax.N, few_N = p.few.u.softmax.N;
    int wrong = 0;
    for (size_t i = 1; i <= few / 2; i++)
        wrong += !(fabs(number(many_of(&p, "dlogit"), many - i) * N - number(few_of(&p, "dlogit"), few - i) * few_N) <
                   1e-6);
    DG_CHECKF(!wrong, "%s: dlogit: %d values at the end are others", p.many.name, wrong);
    forget(&p);
}

/* The last images of the batch are the last records of a dataset of more than 2^32 bytes. */
static void check_gather(void)
{
    enum { SIDE = 8, VALUES = SIDE * SIDE * 3, LABEL = 4 };
    dg_gather_args a = {.H = SIDE, .W = SIDE, .C = 3, .record = VALUES + LABEL, .state = &(dg_step_state){.seed = 1}};
    a.N = least > 0 ? (int)(least / VALUES) + 8 * ENDS : INT32_MAX / VALUES;
    const int records = 8 * a.N;
    for (int c = 0; c < 3; c++) a.dev[c] = 1;
    const size_t bytes = (size_t)records * (size_t)a.record, values = (size_t)a.N * VALUES;
    tensor data = tensor_of(bytes, (size_t)ENDS * (size_t)a.record, false),
           x = tensor_of(4 * values, 4 * ENDS * VALUES, true);
    int32_t *perm = calloc((size_t)a.N, sizeof *perm), *label = malloc((size_t)a.N * sizeof *label);
    if (!perm || !label) lacks("no memory for the order of the images");
    for (int i = 0; i < ENDS; i++) {
        perm[a.N - 1 - i] = records - 1 - i;
        for (int k = 0; k < VALUES + LABEL; k++)
            data.data[bytes - (size_t)(i + 1) * (size_t)a.record + (size_t)k] = (char)(k < VALUES ? i + k % 100 : 0);
        data.data[bytes - (size_t)(i + 1) * (size_t)a.record + VALUES] = (char)(i + 1);
    }
    a.x = x.data, a.data = (const uint8_t *)data.data, a.perm = perm, a.label = label;
    dg_op op = {.name = "gather", .kind = DG_OP_gather, .u.gather = a};
    run(&op, NULL);
    int wrong = 0;
    for (int i = 0; i < ENDS; i++) {
        const size_t image = (size_t)(a.N - 1 - i) * VALUES;
        for (size_t k = 0; k < VALUES; k++) wrong += number(x.data, image + k) != (double)((size_t)i + k % 100);
        wrong += label[a.N - 1 - i] != i + 1;
    }
    DG_CHECKF(!wrong, "gather: %d values at the end are others", wrong);
    free(perm);
    free(label);
    tensor_free(data);
    tensor_free(x);
}

/* The middle rows of the weight matrix are zeros and do not change sigma. There is no power iteration, because the
 * middle parts of its results share memory. */
static void check_spectral(void)
{
    check((dg_op){.name = "spectral", .kind = DG_OP_spectral, .u.spectral = {.cols = 5}}, NULL, 1e-6);
    pair p = pair_of((dg_op){.name = "spectral_dw", .kind = DG_OP_spectral_dw, .u.spectral = {.cols = 5}});
    const float sigma = 2;
    memcpy((char *)(uintptr_t)many_of(&p, "sigma"), &sigma, sizeof sigma);
    memcpy((char *)(uintptr_t)few_of(&p, "sigma"), &sigma, sizeof sigma);
    run(&p.many, NULL);
    run(&p.few, NULL);
    check_results(&p, 0);
    forget(&p);
}

/* ---- Other ops ---- */

static void check_pools(void)
{
    static const dg_op_kind kinds[] = {DG_OP_maxpool, DG_OP_maxpool_dx, DG_OP_meanpool, DG_OP_meanpool_dx};
    static const int windows[][4] = {{16, 2, 2, 0}, {9, 3, 2, 1}}; /* channels, K, S, P */
    for (int i = 0; i < (least > 0 ? 4 : 8); i++) {
        const int *w = windows[i / 4];
        dg_op op = {.kind = kinds[i % 4]};
        op.u.pool = (dg_pool_args){.H = 8, .W = 8, .C = w[0], .K = w[1], .S = w[2], .P = w[3]};
        snprintf(op.name, sizeof op.name, "%s", dg_op_kind_name(op.kind));
        check(op, NULL, 0);
    }
}

static void check_sweeps(void)
{
    const dg_bias_act_args bias = {.H = 8, .W = 8, .C = 5, .act = DG_ACT_LEAKY, .slope = 0.5};
    const dg_act_args act = {.act = DG_ACT_LEAKY, .slope = 0.5};
    const dg_resample_args resample = {.H = 4, .W = 4, .C = 5};
    const dg_op ops[] = {
        {.name = "bias_act", .kind = DG_OP_bias_act, .u.bias_act = bias},
        {.name = "bias_act_dx", .kind = DG_OP_bias_act_dx, .u.bias_act = bias},
        {.name = "act", .kind = DG_OP_act, .u.act = act},
        {.name = "add", .kind = DG_OP_add, .u.add = {.act = DG_ACT_RELU}},
        {.name = "norm_act", .kind = DG_OP_norm_act, .u.norm_act = {.H = 8, .W = 8, .C = 5, .groups = 1}},
        {.name = "to_u8", .kind = DG_OP_to_u8},
        {.name = "adam", .kind = DG_OP_adam, .u.adam = {.beta1 = 0.5, .eps = 1}},
        {.name = "sgd", .kind = DG_OP_sgd, .u.update = {.momentum = 0.5, .decay = 0.5}},
        {.name = "ema", .kind = DG_OP_ema},
        {.name = "augment_dx", .kind = DG_OP_augment_dx, .u.augment = {.H = 8, .W = 8, .C = 3}},
        /* The next ops run only with DG_TEST_LARGE, because their code is short or tested above. */
        {.name = "augment", .kind = DG_OP_augment, .u.augment = {.H = 8, .W = 8, .C = 3}},
        {.name = "act_dx", .kind = DG_OP_act_dx, .u.act = act},
        {.name = "resample_up", .kind = DG_OP_resample_up, .u.resample = resample},
        {.name = "resample_down", .kind = DG_OP_resample_down, .u.resample = resample},
        {.name = "adadelta", .kind = DG_OP_adadelta, .u.update = {.rho = 0.5, .eps = 1}},
    };
    const size_t n = sizeof ops / sizeof *ops;
    for (size_t i = 0; i < (least > 0 ? n - 5 : n); i++) check(ops[i], NULL, 0);
}

int main(void)
{
    if (getenv("DG_TEST_LARGE")) least = 0;
    if (DG_TEST_SANITIZED && least > 0) {
        dg_test_skip("large tensors: a build without sanitizers compares them");
        return dg_test_report();
    }
    if (!DG_CHECKF(dg_cpu_open(&(dg_cpu_options){.real = DG_F32}, &backend) == DG_OK, "%s", dg_message()))
        return dg_test_report();
    check_convolutions();
    check_pools();
    check_sweeps();
    check_gather();
    check_dropout();
    check_statistics();
    check_norm_dx();
    /* Softmax is slow, and no real model has such large weights for spectral norm. */
    if (least == 0) check_softmax(), check_spectral();
    backend->close(backend);
    return dg_test_report();
}
