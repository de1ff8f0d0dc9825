/* Runs any op at any shape with a given tuning, and compares its results with the reference. */
#pragma once

#include "tests/case_cuda.h"
#include "tests/all_ops.h"
#include "tests/devtest.h"
extern "C" {
#include "core/plan/precision.h"
}

class any_op {
    dg_op op, want;

  public:
    explicit any_op(const dg_op &shape) : op(shape), want() { dg_any_make(&op, &want); }
    any_op(const any_op &) = delete;
    any_op &operator=(const any_op &) = delete;
    ~any_op() { dg_case_free(); }

    void run(dg_backend *b, const dg_tune *tune)
    {
        char name[240];
        const dg_op got = dg_any_own(&op);
        const int n = snprintf(name, sizeof name, "%s ", dg_precision_name(b->real, tune->math));
        dg_tune_text(name + n, sizeof name - (size_t)n, &op, tune);
        dg_case_as(tune, false);
        const char *wrong = dg_case_run(b, &got);
        dg_case_as(nullptr, false);
        if (!DG_CHECKF(!wrong, "%s: %s", name, wrong))
            exit(dg_test_report()); /* the test ends, because the GPU may be unusable */
        DG_CHECKF(dg_any_right(b, &got, &want, name), "%s: wrong results", name);
    }
};

static inline bool any_math(dg_math math)
{
    dg_gpu gpu = dg_case_gpu;
    gpu.math = math;
    return !dg_variant_refuses_math(&gpu);
}

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
