/* Any op at any shape: operands of random numbers, its result by plain loops in double, and how near a backend must
 * come. For tests that run ops as a tuning row or a list of variants says; the exact bounds of each op are in the tests
 * of the ops. Factors of convolutions are multiples of 1/128, which bf16 and tf32 hold, so that one result is right for
 * every precision. */
#ifndef ANY_OP_H
#define ANY_OP_H

#include <float.h>
#include "tests/case_cuda.h"
#include "tests/all_ops.h"
#include "tests/devtest.h"
extern "C" {
#include "tests/gather_signed.h"
#include "core/plan/precision.h"
#include "host/net/gan.h"
#include "tests/reference_conv.h"
}

static inline dg_op conv_shape(dg_op_kind kind, int N, int H, int W, int Ci, int Co, int K, int S, int P)
{
    dg_op op = {};
    op.kind = kind;
    op.u.conv =
        dg_conv_args{nullptr, nullptr, nullptr, nullptr, N, H, W, Ci, (H + 2 * P - K) / S + 1, (W + 2 * P - K) / S + 1,
                     Co,      K,       S,       P,       0, 0};
    return op;
}

class any_op {
    /* of every operand: in op, at first, as it should become */
    std::vector<std::vector<unsigned char>> now, before, want;
    std::vector<double> mass;
    std::vector<int> terms;
    dg_step_state state = {};
    std::vector<int32_t> perm;
    const dg_operand *list;
    int operands;

    double *real(int i) { return (double *)(void *)now[(size_t)i].data(); }
    bool is(int i, const char *name) const { return !strcmp(list[i].name, name); }
    int index_of(const char *name) const
    {
        for (int i = 0; i < operands; i++)
            if (is(i, name)) return i;
        return -1;
    }

    /* What neither a shape nor an operand says. */
    void parameters()
    {
        state.seed = 99;
        state.step = 3;
        state.cursor = 1;
        state.lr[0] = state.lr[1] = 1e-2;
        switch (op.kind) {
        case DG_OP_norm_stats: op.u.norm_stats.eps = 1e-5, op.u.norm_stats.momentum = 0.1; break;
        case DG_OP_norm_frozen: op.u.norm_frozen.eps = 1e-5; break;
        case DG_OP_norm_act:
        case DG_OP_norm_act_dx: op.u.norm_act.act = DG_ACT_LEAKY, op.u.norm_act.slope = 0.2; break;
        case DG_OP_act:
        case DG_OP_act_dx: op.u.act.act = DG_ACT_TANH; break;
        case DG_OP_softmax: op.u.softmax.smoothing = 0.1, op.u.softmax.loss = 1, op.u.softmax.right = 2; break;
        case DG_OP_bias_act:
        case DG_OP_bias_act_dx: op.u.bias_act.act = DG_ACT_LEAKY, op.u.bias_act.slope = 0.2; break;
        case DG_OP_add: op.u.add.act = DG_ACT_RELU; break;
        case DG_OP_dropout: op.u.dropout.p = 0.3, op.u.dropout.layer = 5; break;
        case DG_OP_gan_loss:
            op.u.gan_loss.form = DG_GAN_AVERAGE, op.u.gan_loss.both = 1, op.u.gan_loss.target = -1,
            op.u.gan_loss.low = -1;
            op.u.gan_loss.loss = DG_LOSS_G, op.u.gan_loss.prob = DG_D_GZ2;
            break;
        case DG_OP_adam:
            op.u.adam.beta1 = 0.5, op.u.adam.beta2 = 0.999, op.u.adam.eps = 1e-8;
            op.u.adam.net = DG_D, op.u.adam.bad = DG_BAD_D;
            break;
        case DG_OP_sgd:
        case DG_OP_adagrad:
        case DG_OP_adadelta:
            op.u.update.momentum = op.u.update.rho = 0.9, op.u.update.nesterov = 1, op.u.update.eps = 1e-6;
            op.u.update.decay = 0.01, op.u.update.decayed = op.u.update.n / 2;
            op.u.update.net = DG_D, op.u.update.bad = DG_BAD_D;
            break;
        case DG_OP_gather:
            op.u.gather.flip = 1;
            gather_signed(&op.u.gather);
            op.u.gather.record = dg_gather_record(&op.u.gather, DG_F32, true);
            for (int i = 0; i <= op.u.gather.N; i++) perm.push_back((op.u.gather.N - i) / 2);
            op.u.gather.state = &state;
            op.u.gather.perm = perm.data();
            break;
        case DG_OP_ema: op.u.ema.decay = 0.9; break;
        case DG_OP_augment:
        case DG_OP_augment_dx: op.u.augment.what = 7, op.u.augment.order = 1; break;
        case DG_OP_spectral: op.u.spectral.iterate = 1, op.u.spectral.eps = 1e-12; break;
        case DG_OP_noise: op.u.noise.stream = DG_STREAM_SAMPLE, op.u.noise.first_step = 5; break;
        default: break;
        }
    }

    void fill(int i, size_t count, dg_type type)
    {
        static unsigned long long seed = 17;
        std::vector<unsigned char> &bytes = now[(size_t)i];
        bytes.resize(count * dg_type_bytes(type));
        if (is(i, "state")) memcpy(bytes.data(), &state, sizeof state);
        if (is(i, "perm")) memcpy(bytes.data(), perm.data(), bytes.size());
        if (is(i, "data"))
            for (unsigned char &b : bytes)
                b = (unsigned char)((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 40);
        for (size_t k = 0; k < count && op.kind == DG_OP_softmax && is(i, "label"); k++)
            ((int32_t *)(void *)bytes.data())[k] = (int32_t)(k * 7 % (size_t)op.u.softmax.C);
        if (type != DG_F64) return;
        const bool positive = is(i, "rstd") || is(i, "v") || is(i, "running_var") || is(i, "gamma") ||
                              (is(i, "m") && op.kind == DG_OP_adadelta);
        const bool coarse = op.kind <= DG_OP_conv_dw;
        for (size_t k = 0; k < count; k++) {
            const double v = dg_test_random(&seed);
            real(i)[k] = coarse ? rint(v * 127) / 128 : (double)(float)(positive ? 1 + v / 2 : v);
        }
    }

    /* Where an activation has its kink, float and double may be on different sides. */
    void avoid_kinks()
    {
        if (op.kind != DG_OP_norm_act && op.kind != DG_OP_norm_act_dx) return;
        const dg_norm_act_args *a = &op.u.norm_act;
        const size_t all = (size_t)a->N * a->H * a->W * a->C, C = (size_t)a->C;
        double *x = (double *)a->x, *mean = (double *)a->mean, *rstd = (double *)a->rstd;
        for (size_t i = 0; i < all; i++) {
            const size_t s = i / (all / (size_t)a->groups) * C + i % C;
            const double z = ((double *)a->gamma)[i % C] * (x[i] - mean[s]) * rstd[s] + ((double *)a->beta)[i % C];
            if (fabs(z) < 1e-3) x[i] = (double)(float)(x[i] + 0.01);
        }
    }

    void reference()
    {
        const dg_conv_args *a = &op.u.conv;
        if (op.kind > DG_OP_conv_dw) return dg_ref_run(&op);
        const dg_ref_conv s = {a->N, a->H, a->W, a->Ci, a->Ho, a->Wo, a->Co, a->K, a->S, a->P};
        double *x = (double *)a->x, *y = (double *)a->y, *w = (double *)a->w;
        const size_t most = now[(size_t)index_of(op.kind == DG_OP_conv_fwd  ? "y"
                                                 : op.kind == DG_OP_conv_dx ? "x"
                                                                            : "w")]
                                .size() /
                            sizeof(double);
        mass.resize(most);
        terms.resize(most);
        if (op.kind == DG_OP_conv_fwd) dg_ref_conv_fwd(y, mass.data(), terms.data(), x, w, &s);
        if (op.kind == DG_OP_conv_dx) dg_ref_conv_dx(x, mass.data(), terms.data(), y, w, &s);
        if (op.kind == DG_OP_conv_dw) dg_ref_conv_dw(w, mass.data(), terms.data(), x, y, &s);
    }

    void compare(int i, bool narrow, const char *name)
    {
        /* normals are made of floats */
        const double eps = narrow || op.kind == DG_OP_noise ? (double)FLT_EPSILON : DBL_EPSILON;
        size_t count, bad = 0, at = 0;
        dg_type type;
        dg_ref_operand(&op, i, &count, &type);
        const bool numbers = type == DG_F64 || is(i, "ring");
        const double *w = (const double *)(const void *)want[(size_t)i].data(), *g = real(i);
        if (is(i, "ring")) count = want[(size_t)i].size() / sizeof(double);
        double largest = 1;
        for (size_t k = 0; numbers && k < count; k++) largest = fmax(largest, fabs(w[k]));
        const double summed = op.kind == DG_OP_gan_loss && is(i, "ring") ? op.u.gan_loss.n * DBL_EPSILON : 0;
        for (size_t k = 0; k < count; k++) {
            const double tolerance = mass.empty() ? 100 * eps * largest + summed : 8 * sqrt(terms[k]) * eps * mass[k];
            const bool fine = numbers ? fabs(g[k] - w[k]) <= tolerance
                                      : abs(now[(size_t)i][k] - want[(size_t)i][k]) <= (is(i, "out") ? 1 : 0);
            if (!fine && !bad++) at = k;
        }
        DG_CHECKF(!bad, "%s: %zu of %zu %s wrong, at %zu %.9g instead of %.9g", name, bad, count, list[i].name, at,
                  numbers ? g[at] : 0.0, numbers ? w[at] : 0.0);
    }

  public:
    dg_op op;

    explicit any_op(const dg_op &shape) : op(shape)
    {
        list = dg_operands(op.kind, &operands);
        now.resize((size_t)operands);
        parameters();
        for (int i = 0; i < operands; i++) {
            if (list[i].role == DG_SCRATCH) continue;
            size_t count;
            dg_type type;
            dg_ref_operand(&op, i, &count, &type);
            fill(i, count, type);
        }
        for (int i = 0; i < operands; i++)
            if (list[i].role != DG_SCRATCH) *dg_ref_pointer(&op, i) = now[(size_t)i].data();
        if (op.kind == DG_OP_gather)
            op.u.gather.perm = (const int32_t *)(const void *)now[(size_t)index_of("perm")].data();
        avoid_kinks();
        before = now;
        reference();
        want = now;
    }
    any_op(const any_op &) = delete;
    any_op &operator=(const any_op &) = delete;

    /* The op on b as tune says, and compared. */
    void run(dg_backend *b, const dg_tune *tune)
    {
        char name[240];
        const char *precision = dg_precision_name(b->real, tune->math);
        const int n = snprintf(name, sizeof name, "%s ", precision);
        dg_tune_text(name + n, sizeof name - (size_t)n, &op, tune);
        for (size_t i = 0; i < now.size(); i++) std::copy(before[i].begin(), before[i].end(), now[i].begin());
        snprintf(op.name, sizeof op.name, "%s", dg_op_kind_name(op.kind));
        dg_case_as(tune, false);
        const char *wrong = dg_case_run(b, &op);
        dg_case_as(nullptr, false);
        if (!DG_CHECKF(!wrong, "%s: %s", name, wrong)) exit(dg_test_report()); /* the device is lost, perhaps */
        for (int i = 0; i < operands; i++)
            if (list[i].role & DG_OUT) compare(i, b->real == DG_F32, name);
    }
};

/* Devices before sm_80 have no mma of bf16 and tf32, those before sm_75 of nothing. */
static inline bool any_math(dg_math math)
{
    dg_gpu gpu = dg_case_gpu;
    gpu.math = math;
    return !dg_variant_refuses_math(&gpu);
}

/* The GPU with this type and precision. */
static inline dg_backend *any_backend(dg_type real, dg_math math)
{
    dg_backend *b;
    dg_cuda_options o = {};
    o.real = real;
    o.math = math;
    if (!dg_cuda_open(&o, &b)) return b;
    DG_CHECKF(false, "%s", dg_message());
    exit(dg_test_report());
}

#endif
