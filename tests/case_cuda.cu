/* Runs test cases (dg_case_run) on the CUDA backends. A program that links this file instead of reference_cpu.c
 * compares the CUDA ops with the reference. */
#include "tests/case_cuda.h"
#include "tests/all_ops.h"
#include "tests/devtest.h"
#include "kernels/cuda/cublas.cuh"

const dg_gpu dg_case_gpu = dev_gpu(227 << 10, DG_MATH_FP32);

static const struct way {
    dg_type real;
    bool direct; /* uses variant direct instead of the backend's choice */
    int block;   /* max block size; 0 selects the backend's block size */
    bool offset; /* operands start one value after a 16-byte boundary */
} ways[] = {{DG_F32, false, 0, false},
            {DG_F32, true, 32, true},
            {DG_F32, false, 1024, false},
            {DG_F64, false, 64, false},
            {DG_F64, true, 0, true}};
enum { WAYS = sizeof ways / sizeof *ways };

static way now;
static const dg_tune *forced;

void dg_case_as(const dg_tune *tune, bool offset)
{
    forced = tune;
    now.offset = offset;
}

/* Sets the simulator's order of blocks and threads. Every order must give the same results. */
static void set_order(int threads)
{
#ifdef CUSIM
    static const sim::options given = sim::opt;
    sim::opt.order = threads == 1   ? sim::FORWARD
                     : threads == 3 ? sim::REVERSE
                     : threads == 7 ? sim::RANDOM
                                    : given.order;
    sim::opt.seed = given.seed + (unsigned)threads;
#else
    (void)threads;
#endif
}

/* ThreadSanitizer finds a race in any order of threads, so it needs only one configuration. AddressSanitizer finds a
 * wrong address in any order and block size, so it needs three ways. */
#if defined(__SANITIZE_THREAD__)
enum { ORDERS = 2, SMALL_WAYS = 1, MOST_WAYS = 1 };
#elif defined(__SANITIZE_ADDRESS__)
enum { ORDERS = 2, SMALL_WAYS = 2, MOST_WAYS = 3 };
#else
enum { ORDERS = 7, SMALL_WAYS = 2, MOST_WAYS = WAYS };
#endif

/* With few ways, the last one replaces the others that are left out. */
bool dg_case_open(int i, int threads, dg_backend **b)
{
    const int count = dev_small() ? SMALL_WAYS : MOST_WAYS;
    if (threads > ORDERS || i < 0 || i >= count) return false;
    now = ways[i && i == count - 1 ? WAYS - 1 : i];
    set_order(threads);
    dg_cuda_options o = {};
    o.real = now.real;
    if (!dg_cuda_open(&o, b)) return true;
    DG_CHECKF(false, "%s", dg_message());
    exit(dg_test_report());
}

int dg_case_slowness(void)
{
#ifdef CUSIM
    return dev_small() ? 2 : 1;
#else
    return dev_small() ? 2 : 0;
#endif
}

const char *dg_case_choose(dg_backend *b, dg_op *op)
{
    dg_gpu gpu = dg_case_gpu;
    gpu.math = b->math;
    const char *why = b->refuses(b, op);
    if (why) return why;
    if (forced) {
        op->tune = *forced;
        why = dg_variant_check(op, &op->tune, b->real, &gpu);
        return why || op->tune.variant != &dg_conv_variant_cublas ? why : dg_cublas_open();
    }
    dg_tune chosen = op->tune;
    if (now.direct) {
        chosen = dg_tune();
        chosen.variant = dg_op_info_of(op->kind)->variants[0];
    }
    for (int block = now.block; block >= 32; block /= 2) {
        dg_tune t = chosen;
        t.block = block;
        if (dg_variant_check(op, &t, b->real, &dg_case_gpu)) continue;
        op->tune = t;
        return nullptr;
    }
    op->tune = chosen;
    return dg_variant_check(op, &op->tune, b->real, &dg_case_gpu);
}

/* The simulator itself detects writes outside of an allocation, so guard bytes are unnecessary. */
#ifdef CUSIM
const size_t dg_case_guard = 0;
#else
const size_t dg_case_guard = 256;
#endif

void *dg_case_memory(dg_backend *b, size_t bytes)
{
    void *p;
    DG_CHECKF(!b->alloc(b, bytes, &p), "%s", dg_message());
    return p;
}

void dg_case_release(dg_backend *b, void *p) { b->release(b, p); }

bool dg_case_offset() { return now.offset; }

const char *dg_case_note(const void *result, size_t bytes)
{
    if (result) dev_bits(result, bytes);
#ifdef CUSIM
    if (!result && *sim::error()) return sim::error();
#endif
    return nullptr;
}
