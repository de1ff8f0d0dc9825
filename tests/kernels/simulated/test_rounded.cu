/* Tests that optimizer steps and host writes also update the rounded weights of fused convolutions. */
#include "tests/all_ops.h"
#include "tests/devtest.h"
#include "kernels/dev/mma.cuh"
extern "C" {
#include "core/plan/fusions.h"
#include "kernels/fused/fused.h"
#include "core/plan/precision.h"
#include "host/measure/trial.h"
}

#include <string>

static const char *const MODEL = "[model]\nname = rounded\nsize = 16\nlatent = 16\n"
                                 "[G]\nop = conv_transpose\nkernel = 4\nstride = 2\nnorm = batch\nact = relu\n"
                                 "[G.1]\nfilters = 32\nstride = 1\npad = 0\n[G.2]\nfilters = 16\n"
                                 "[G.3]\nfilters = 3\nnorm = none\nact = tanh\n"
                                 "[D]\nkernel = 4\nstride = 2\nact = leaky\n[D.1]\nfilters = 16\n"
                                 "[D.2]\nfilters = 32\nnorm = batch\n"
                                 "[D.3]\nfilters = 1\nstride = 1\npad = 0\nact = none\n";

template <class T> static std::vector<T> get(const dg_job *job, const void *from, size_t n)
{
    std::vector<T> v(n);
    DG_CHECKF(job->backend->get(job->backend, v.data(), from, n * sizeof(T)) == DG_OK, "%s", dg_message());
    return v;
}

/* Rounds four weights and returns their bytes in the layout of the rounded copies. */
static std::string rounded(dg_math math, const float *w)
{
    float eight[8] = {};
    for (int e = 0; e < 4; e++) eight[e] = w[e];
    const uint4 u = math == DG_MATH_FP16 ? dg_mma_fp16::round(eight) : dg_mma_bf16::round(eight);
    return std::string((const char *)&u, 8);
}

static int networks;

static void compare(const dg_job *job, const char *when)
{
    const dg_plan *p = &job->plan[DG_PLAN_TRAIN];
    for (int net = 0; net < 2; net++) {
        const dg_rounded r = dg_rounded_of(p, net);
        if (!DG_CHECKF(r.to && r.n > 0, "%s: network %d has no rounded weights", when, net)) continue;
        const std::vector<float> w = get<float>(job, r.from, (size_t)r.n);
        const size_t bytes = 2;
        const std::vector<char> have = get<char>(job, r.to, (size_t)r.n * bytes);
        size_t wrong = 0, moved = 0;
        for (size_t i = 0; i < w.size(); i += 4) {
            wrong += rounded(r.math, &w[i]) != std::string(&have[i * bytes], 4 * bytes);
            moved += w[i] != 0;
        }
        DG_CHECKF(!wrong && moved, "%s: %zu of %zu weights of network %d are not rounded", when, 4 * wrong, w.size(),
                  net);
        networks++;
    }
}

static void trains(dg_math math, unsigned fuse, const char *optimizer)
{
    dg_backend *b;
    dg_cuda_options o = {};
    o.real = DG_F32;
    o.math = math;
    o.fuse = fuse;
    static dg_model model;
    const std::string text = std::string(MODEL) + "[train]\noptimizer = " + optimizer + "\n";
    if (!DG_CHECKF(!dg_cuda_open(&o, &b) && !dg_model_parse(text.c_str(), "rounded", &model), "%s", dg_message()))
        return;
    dg_trial t;
    double ms;
    char when[100];
    snprintf(when, sizeof when, "%s, %s, fuse %x", dg_precision_name(DG_F32, math), optimizer, fuse);
    if (DG_CHECKF(!dg_trial_open(&t, &model, dev_small() ? 2 : 16, b) && !dg_trial_steps(&t, dev_small() ? 1 : 2, &ms),
                  "%s: %s", when, dg_message())) {
        compare(&t.job, when);
        /* the host writes new weights before an op updates weights */
        DG_CHECKF(!dg_job_init(&t.job, 7) && !b->run_launch(b, &t.job.plan[DG_PLAN_TRAIN], 0), "%s: %s", when,
                  dg_message());
        compare(&t.job, when);
    }
    dg_trial_close(&t);
    b->close(b);
}

int main()
{
    trains(DG_MATH_BF16, DG_FUSE_ALL, "sgd");
    if (!dev_small()) { /* the first run launches all kernels, which is enough for ThreadSanitizer */
        trains(DG_MATH_BF16, DG_FUSE_ALL, "adam");
        trains(DG_MATH_BF16, DG_FUSE_ALL & ~(unsigned)DG_FUSE_update, "adam");
        for (const char *optimizer : {"adagrad", "adadelta"}) trains(DG_MATH_BF16, DG_FUSE_ALL, optimizer);
    }
    DG_CHECKF(networks == (dev_small() ? 4 : 20), "%d networks compared", networks);
    return dg_test_report();
}
