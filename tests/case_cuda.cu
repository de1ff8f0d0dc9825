/* Runs the cases of tests/reference.h on the CUDA backend: linked instead of reference_cpu.c, so that
 * tests/kernels/ops/test_each_op.c checks the CUDA ops against the same numbers. */
#include "tests/case_cuda.h"
#include "tests/all_ops.h"
#include "tests/devtest.h"
#include "kernels/cuda/cublas.cuh"

const dg_gpu dg_case_gpu = dev_gpu(227 << 10, DG_MATH_FP32);

static const struct way {
    dg_type real;
    bool direct; /* true: variant direct; false: the variant that the backend chooses */
    int block;   /* max threads per block, for kernels whose block size can be chosen; 0: unchanged */
    bool offset; /* operands start one value after a multiple of 16 bytes */
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

/* In the simulator, `threads` selects the order of blocks and threads: forward, reverse, random, or the order of
 * environment variable SIM (`threads` is 2). Results must not depend on the order. */
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

/* ThreadSanitizer finds a race in any order of threads, and in any type of real; test_variants runs all variants. Other
 * builds compare the results of all orders. */
#ifdef __SANITIZE_THREAD__
static const int ORDERS = 2, SMALL_WAYS = 1;
#else
static const int ORDERS = 7, SMALL_WAYS = 2;
#endif

bool dg_case_open(int i, int threads, dg_backend **b)
{
    if (threads > ORDERS) return false;
    if (i < 0 || i >= (dev_small() ? SMALL_WAYS : WAYS)) return false;
    now = ways[dev_small() && i ? WAYS - 1 : i];
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

/* Chooses the variant and block size of this op. Returns nullptr, or the reason why the op cannot run. */
static const char *choose(dg_backend *b, dg_op *op)
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
    /* norms accept at most 512 threads; a few ops accept a single block size */
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

/* Number of guard bytes before and after an operand: 0 in the simulator, which guards each allocation. */
#ifdef CUSIM
static const size_t GUARD = 0;
#else
static const size_t GUARD = 256;
#endif
static const unsigned char FILL = 0xA5;

/* One operand: the caller's array in double and its copy on the device. */
struct twin {
    void *theirs = nullptr;
    size_t count = 0, bytes = 0, off = 0;
    bool real = false, input = false, output = false;
    void *block = nullptr;
    std::vector<unsigned char> image; /* bytes of the allocation before the op runs: guard, offset, operand, guard */
    unsigned char *mine() const { return (unsigned char *)block + off; }
};

static void must(dg_err e)
{
    if (!e) return;
    DG_CHECKF(false, "%s", dg_message());
    exit(dg_test_report());
}

/* The bytes between the guards start as NaN. */
static void make_room(dg_backend *b, twin *t, size_t bytes, size_t extra)
{
    t->bytes = bytes;
    t->off = GUARD + extra;
    t->image.assign(t->off + bytes + GUARD, FILL);
    if (bytes) memset(t->image.data() + t->off, 0xff, bytes);
    must(b->alloc(b, t->image.size(), &t->block));
}

static void fill(dg_backend *b, twin *t)
{
    unsigned char *to = t->image.data() + t->off;
    if (t->input && t->real && b->real == DG_F32) {
        const std::vector<float> narrow((double *)t->theirs, (double *)t->theirs + t->count);
        memcpy(to, narrow.data(), t->bytes);
    } else if (t->input && t->bytes) memcpy(to, t->theirs, t->bytes);
#ifdef CUSIM
    if (!t->input && !t->off) return; /* new device memory is NaN already */
#endif
    must(b->put(b, t->block, t->image.data(), t->image.size()));
}

static const char *load(dg_backend *b, const twin *t)
{
    if (!t->theirs && !GUARD) return nullptr;
    std::vector<unsigned char> all(t->image.size());
    if (b->get(b, all.data(), t->block, all.size())) return dg_message();
    const unsigned char *mine = all.data() + t->off, *end = mine + t->bytes;
    if (memcmp(all.data(), t->image.data(), t->off) != 0) return "wrote before an operand";
    if (memcmp(end, t->image.data() + t->off + t->bytes, GUARD) != 0) return "wrote after an operand";
    if (t->input && !t->output && all != t->image) return "changed an input";
    if (!t->output) return nullptr;
    dev_bits(mine, t->bytes);
    if (!t->real || b->real == DG_F64) memcpy(t->theirs, mine, t->bytes);
    else
        for (size_t i = 0; i < t->count; i++) {
            float f;
            memcpy(&f, mine + i * sizeof f, sizeof f);
            ((double *)t->theirs)[i] = (double)f;
        }
    return nullptr;
}

/* Copies each operand of `op` to the device and makes `op` point to the copies; two operands with one pointer share a
 * copy. An op whose pointer to counters is null uses `counters`. */
static std::vector<twin> place(dg_backend *b, dg_op *op, const dg_op *original, uint32_t *counters)
{
    int n;
    const dg_operand *list = dg_operands(op->kind, &n);
    std::vector<twin> twins;
    twins.reserve((size_t)n);
    for (int i = 0; i < n; i++) {
        void **pointer = dg_ref_pointer(op, i);
        twin *t = nullptr;
        if (list[i].role == DG_SCRATCH) {
            twins.push_back(twin());
            const size_t bytes = b->scratch(b, op);
            make_room(b, &twins.back(), bytes, 0);
            *pointer = bytes ? twins.back().mine() : nullptr;
            continue;
        }
        if (!*pointer && list[i].element == DG_COUNTERS) *pointer = counters;
        if (!*pointer) continue;
        for (twin &other : twins)
            if (other.theirs == *pointer) t = &other;
        if (!t) {
            twins.push_back(twin());
            t = &twins.back();
            dg_type type;
            t->theirs = *pointer;
            dg_ref_operand(original, i, &t->count, &type);
            t->real = type == DG_F64;
            const size_t element = dg_type_bytes(t->real ? b->real : type);
            make_room(b, t, t->count * element, t->real && now.offset ? element : 0);
        }
        t->input |= (list[i].role & DG_IN) != 0;
        t->output |= (list[i].role & DG_OUT) != 0;
        *pointer = t->mine();
    }
    for (twin &t : twins) fill(b, &t);
    return twins;
}

const char *dg_case_run(dg_backend *b, const dg_op *original)
{
    dg_op op = *original;
    const char *wrong = choose(b, &op);
    if (wrong) return wrong;
    uint32_t counters[DG_OP_COUNTERS] = {};
    std::vector<twin> twins = place(b, &op, original, counters);
    if (b->run_op(b, &op, nullptr)) wrong = dg_message();
    for (twin &t : twins) {
        if (!wrong) wrong = load(b, &t);
        b->release(b, t.block);
    }
    for (uint32_t left : counters)
        if (!wrong && left) wrong = "left a counter that is not 0";
#ifdef CUSIM
    if (!wrong && *sim::error()) wrong = sim::error(); /* freeing an allocation detects writes outside of it */
#endif
    return wrong;
}
