/* The CPU backend: runs the ops of a plan in order. */
#include "core/plan/backend.h"
#include "kernels/cpu/cpu.h"
#include "core/plan/plan.h"
#include "core/base/clock.h"
#include "core/base/limits.h"
#include "core/base/team.h"
#include "core/tune/conv_tiles.h"
#include "kernels/ops/ops.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct {
    dg_backend base;
    const dg_cpu_table *table;
    const dg_variant *conv;
} cpu;

/* Ops flush denormals to zero, because some cores compute hundreds of times slower with denormals. Late in training,
 * gradients and Adam's second moments are denormal. */
#if defined(__x86_64__)
#include <xmmintrin.h>
typedef unsigned fp_mode;
static fp_mode fp_get(void) { return _mm_getcsr(); }
static void fp_set(fp_mode m) { _mm_setcsr(m); }
enum { PLAIN = 0x1f80, FLUSH = 0x8040 }; /* default mode; FTZ and DAZ */
#elif defined(__aarch64__)
typedef uint64_t fp_mode;
static fp_mode fp_get(void)
{
    fp_mode m;
    __asm__ volatile("mrs %0, fpcr" : "=r"(m));
    return m;
}
static void fp_set(fp_mode m) { __asm__ volatile("msr fpcr, %0" : : "r"(m)); }
enum { PLAIN = 0, FLUSH = 1 << 24 }; /* default mode; FZ */
#else
typedef unsigned fp_mode;
static fp_mode fp_get(void) { return 0; }
static void fp_set(fp_mode m) { (void)m; }
enum { PLAIN = 0, FLUSH = 0 };
#endif

/* Returns the caller's floating-point mode, which leave() restores. Every thread sets its own mode, because GNU's
 * OpenMP runtime does not copy the mode to worker threads. */
static fp_mode enter(const cpu *c)
{
    fp_mode before = fp_get();
    omp_set_num_threads(c->base.threads);
    fp_set(PLAIN | FLUSH);
#pragma omp parallel
    fp_set(PLAIN | FLUSH);
    return before;
}

static void leave(fp_mode before) { fp_set(before); }

enum { PIECE = 1 << 20, HUGE_PAGE = 2 << 20 };

enum { RESERVE = 12 << 20 };

/* Without a limit, other programs' memory counts as free, because they may release it. */
static dg_err cpu_memory(dg_backend *b, size_t *free_bytes, size_t *total)
{
    dg_memory_limit l;
    (void)b;
    dg_memory_limit_read(&l);
    const size_t reserve = l.addresses ? 2 * RESERVE : RESERVE;
    *free_bytes = l.left > reserve ? l.left - reserve : 0;
    *total = l.all;
    return DG_OK;
}

static dg_err cpu_alloc(dg_backend *b, size_t bytes, void **mem)
{
    *mem = NULL;
    dg_memory_limit l;
    dg_memory_limit_read(&l);
    /* malloc does not detect a lack of memory, because Linux overcommits memory. */
    size_t align = bytes >= 2 * HUGE_PAGE ? HUGE_PAGE : 256, size = bytes ? bytes : 1;
    void *p = NULL;
    if (size <= SIZE_MAX - align && bytes <= l.left) p = aligned_alloc(align, (size + align - 1) / align * align);
    if (!p)
        return dg_fail(DG_DEVICE,
                       "out of memory: %.1f MB needed at once, %s has %.1f MB, %.1f MB left; "
                       "use a smaller {batch} or a smaller model",
                       (double)bytes / 1e6, l.name, (double)l.all / 1e6, (double)l.left / 1e6);
#ifdef MADV_HUGEPAGE
    if (align == HUGE_PAGE) (void)madvise(p, bytes, MADV_HUGEPAGE);
#endif
    /* All threads write to the new memory in parallel, so that its pages are spread over the NUMA nodes. */
    int64_t pieces = (int64_t)((bytes + PIECE - 1) / PIECE);
#pragma omp parallel for schedule(static) num_threads(b->threads)
    for (int64_t i = 0; i < pieces; i++) {
        size_t at = (size_t)i * PIECE;
        memset((char *)p + at, 0, bytes - at < PIECE ? bytes - at : PIECE);
    }
    *mem = p;
    return DG_OK;
}

static void cpu_release(dg_backend *b, void *mem)
{
    (void)b;
    free(mem);
}

static dg_err cpu_copy(dg_backend *b, void *dst, const void *src, size_t bytes)
{
    (void)b;
    if (bytes) memcpy(dst, src, bytes);
    return DG_OK;
}

static dg_err cpu_start_copy(dg_backend *b, dg_stream stream, void *dst, const void *src, size_t bytes)
{
    (void)stream;
    return cpu_copy(b, dst, src, bytes);
}

static dg_err cpu_event(dg_backend *b, dg_stream stream, int event)
{
    (void)b, (void)stream, (void)event;
    return DG_OK;
}

static dg_err cpu_query(dg_backend *b, int event, bool wait, bool *yes)
{
    (void)b, (void)event, (void)wait;
    *yes = true;
    return DG_OK;
}

static const char *cpu_refuses(dg_backend *b, dg_op *op)
{
    const cpu *c = (cpu *)b;
    op->tune = (dg_tune){.variant = dg_op_info_of(op->kind)->variants[0], .why = "default"};
    if (dg_is_conv(op->kind)) c->table->choose_conv(op, c->conv);
    return NULL;
}

static size_t cpu_scratch(dg_backend *b, const dg_op *op) { return ((cpu *)b)->table->scratch[op->kind](op); }

static void dispatch(const dg_cpu_table *t, const dg_op *op)
{
    switch (op->kind) {
#define X(kind, member, cpu) \
    case DG_OP_##kind: t->kind(&op->u.member, &op->tune); break;
        DG_OPS(X)
#undef X
    case DG_OP_KINDS: break;
    }
}

static dg_err cpu_run(dg_backend *b, struct dg_plan *p)
{
    const cpu *c = (cpu *)b;
    fp_mode before = enter(c);
    for (int i = 0; i < p->ops; i++) dispatch(c->table, &p->op[i]);
    leave(before);
    return DG_OK;
}

static dg_err cpu_run_op(dg_backend *b, const dg_op *op, double *ms)
{
    const cpu *c = (cpu *)b;
    fp_mode before = enter(c);
    double start = dg_clock();
    dispatch(c->table, op);
    if (ms) *ms = 1e3 * (dg_clock() - start);
    leave(before);
    return DG_OK;
}

static dg_err cpu_time_plan(dg_backend *b, struct dg_plan *p, double *ms)
{
    for (int i = 0; i < p->ops; i++) (void)cpu_run_op(b, &p->op[i], &ms[i]);
    return DG_OK;
}

static dg_err cpu_time_op(dg_backend *b, const dg_op *op, int n, double *ms)
{
    for (int i = 0; i < n; i++) (void)cpu_run_op(b, op, &ms[i]);
    return DG_OK;
}

static dg_err cpu_sync(dg_backend *b)
{
    (void)b;
    return DG_OK;
}

static dg_err cpu_measure(dg_backend *b, struct dg_machine *m, int rounds)
{
    return dg_cpu_measure(b, ((const cpu *)b)->table, m, rounds);
}

static void cpu_close(dg_backend *b) { free(b); }

const dg_cpu_table *dg_cpu_table_of(const dg_backend *b) { return b->run == cpu_run ? ((const cpu *)b)->table : NULL; }

/* The instruction sets of this build, from the slowest to the fastest. */
#define DECLARE(isa) extern const dg_cpu_table dg_cpu_kernels_##isa##_f32, dg_cpu_kernels_##isa##_f64;
#define ENTRY(isa)                                                                    \
    {                                                                                 \
#isa, has_##isa, { &dg_cpu_kernels_##isa##_f32, &dg_cpu_kernels_##isa##_f64 } \
    }
DECLARE(base)
static int has_base(void) { return 1; }
#if defined DG_HAVE_avx2 || defined DG_HAVE_avx512
DECLARE(avx2)
static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}
#endif
#ifdef DG_HAVE_avx512
DECLARE(avx512)
static int has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

typedef struct {
    const char *name;
    int (*has)(void);
    const dg_cpu_table *table[2];
} isa;

static const isa isas[] = {
    ENTRY(base),
#ifdef DG_HAVE_avx2
    ENTRY(avx2),
#endif
#ifdef DG_HAVE_avx512
    ENTRY(avx512),
#endif
};

static dg_err choose_isa(const char *want, const isa **out)
{
    if (!want) want = getenv("DCGAN_ISA");
    char list[64] = "";
    *out = NULL;
    int known = 0;
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
        if (want && *want && strcmp(want, isas[i].name) == 0) known = 1;
        if (!isas[i].has()) continue;
        size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", isas[i].name);
        if (!want || !*want || strcmp(want, isas[i].name) == 0) *out = &isas[i];
    }
    if (*out) return DG_OK;
    return dg_fail(DG_USAGE, DG_MSG("unknown-isa", "DCGAN_ISA=%s: %s; available: %s"), want,
                   known ? "this CPU lacks this instruction set" : "unknown instruction set", list);
}

dg_err dg_cpu_open(const dg_cpu_options *o, dg_backend **out)
{
    *out = NULL;
    dg_ops_use(dg_op_table);
    if (o->threads < 0 || o->threads > 1024)
        return dg_fail(DG_USAGE, "{threads} %d: must be 1 to 1024, or 0 for every core", o->threads);
    if (o->real != DG_F32 && o->real != DG_F64) return dg_fail(DG_USAGE, "the CPU computes in fp32 or fp64 only");
    const isa *set;
    int threads = o->threads ? o->threads : dg_default_threads();
    if (threads > omp_get_thread_limit()) threads = omp_get_thread_limit();
    dg_err e = choose_isa(o->isa, &set);
    if (!e && o->threads) e = dg_team_check(threads);
    else if (!e) threads = dg_team_fit(threads);
    if (e) return e;
    cpu *c = calloc(1, sizeof *c);
    if (!c) return dg_fail(DG_DEVICE, "out of memory for the CPU backend");
    c->table = set->table[o->real == DG_F64];
    c->conv = o->conv;
    c->base = (dg_backend){
        .real = o->real,
        .threads = threads,
        .memory = cpu_memory,
        .alloc = cpu_alloc,
        .release = cpu_release,
        .put = cpu_copy,
        .get = cpu_copy,
        .alloc_host = cpu_alloc,
        .release_host = cpu_release,
        .start_put = cpu_start_copy,
        .start_get = cpu_start_copy,
        .record = cpu_event,
        .wait = cpu_event,
        .query = cpu_query,
        .refuses = cpu_refuses,
        .scratch = cpu_scratch,
        .run = cpu_run,
        .run_op = cpu_run_op,
        .sync = cpu_sync,
        .close = cpu_close,
        .time_plan = cpu_time_plan,
        .time_op = cpu_time_op,
        .measure = cpu_measure,
    };
    snprintf(c->base.name, sizeof c->base.name, "cpu, %d thread%s, %s", c->base.threads,
             c->base.threads == 1 ? "" : "s", set->name);
    *out = &c->base;
    return DG_OK;
}
