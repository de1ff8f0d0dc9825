/* Tests opening, memory and plans of the CPU backend, and the table of ops. */
#include "core/plan/plan.h"
#include "reference.h"
#include "test.h"

static dg_backend *opened(int threads, dg_type real)
{
    dg_backend *b = NULL;
    DG_CHECKF(dg_cpu_open(&(dg_cpu_options){.threads = threads, .real = real}, &b) == DG_OK, "%s", dg_message());
    if (!b) exit(dg_test_report());
    return b;
}

static void check_tables(void)
{
    DG_CHECK(strcmp(dg_op_kind_name(DG_OP_norm_act_dx), "norm_act_dx") == 0);
    DG_CHECK(strcmp(dg_op_kind_name(DG_OP_KINDS), "?") == 0);
    dg_op op = {.kind = DG_OP_conv_dw, .u.conv = {.N = 64, .Ho = 16, .Wo = 16, .Co = 64, .K = 4, .Ci = 32}};
    DG_CHECK(dg_op_flops(&op) == 2 * 536870912.0);
    dg_op adam = {.kind = DG_OP_adam, .u.adam = {.n = 10}}, step = {.kind = DG_OP_advance};
    DG_CHECK(dg_op_flops(&adam) > 0 && dg_op_flops(&step) == 0);
}

static void check_open(void)
{
    dg_backend *b = NULL;
    setenv("DCGAN_ISA", "pentium", 1);
    DG_CHECK(dg_cpu_open(&(dg_cpu_options){.real = DG_F32}, &b) == DG_USAGE && !b);
    DG_CHECKF(strstr(dg_message(), "pentium") && strstr(dg_message(), "base"), "%s", dg_message());
    setenv("DCGAN_ISA", "base", 1);
    b = opened(5, DG_F64);
    DG_CHECKF(strstr(b->name, "base") && strstr(b->name, "5 threads"), "%s", b->name);
    DG_CHECK(b->real == DG_F64 && b->threads == 5);
    b->close(b);
    unsetenv("DCGAN_ISA");
    DG_CHECK(dg_cpu_open(&(dg_cpu_options){.threads = -1}, &b) == DG_USAGE && !b);
    DG_CHECK(dg_cpu_open(&(dg_cpu_options){.threads = 5000}, &b) == DG_USAGE && !b);
    DG_CHECK(dg_cpu_open(&(dg_cpu_options){.real = DG_U8}, &b) == DG_USAGE && !b);
    setenv("OMP_NUM_THREADS", "3,2", 1);
    b = opened(0, DG_F32);
    DG_CHECKF(b->threads == 3, "%d threads", b->threads);
    b->close(b);
    setenv("OMP_NUM_THREADS", "many", 1);
    b = opened(0, DG_F32);
    DG_CHECKF(b->threads >= 1, "%d threads", b->threads);
    b->close(b);
    unsetenv("OMP_NUM_THREADS");
}

static void check_memory(dg_backend *b)
{
    static const size_t sizes[] = {0, 1, 255, 4097, (4 << 20) + 12345, 50 << 20};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        void *p = NULL;
        int dirty = 0;
        DG_CHECK(b->alloc(b, sizes[k], &p) == DG_OK);
        DG_CHECK(p && (uintptr_t)p % 256 == 0);
        for (size_t i = 0; i < sizes[k]; i++) dirty |= ((char *)p)[i];
        DG_CHECKF(!dirty, "%zu bytes are not zero", sizes[k]);
        if (sizes[k]) memset(p, 1, sizes[k]);
        b->release(b, p);
    }
    void *p = &p;
    static const size_t absurd[] = {(size_t)1 << 60, SIZE_MAX, SIZE_MAX - 100};
    for (int k = 0; k < 3; k++) {
        DG_CHECK(b->alloc(b, absurd[k], &p) == DG_DEVICE && !p);
        DG_CHECKF(strstr(dg_message(), "MB"), "%s", dg_message());
    }
    b->release(b, NULL);
    char text[8] = "abcdefg", back[8];
    DG_CHECK(b->alloc(b, 8, &p) == DG_OK && b->put(b, p, text, 8) == DG_OK && b->get(b, back, p, 8) == DG_OK);
    DG_CHECK(memcmp(text, back, 8) == 0 && b->put(b, p, NULL, 0) == DG_OK);
    b->release(b, p);
}

static void check_run(dg_backend *b)
{
    enum { N = 10 };
    dg_step_state state = {.seed = 4, .step = 10};
    float z[N], y[N], first[N];
    dg_op ops[3] = {{.name = "z", .kind = DG_OP_noise},
                    {.name = "y", .kind = DG_OP_act},
                    {.name = "advance", .kind = DG_OP_advance}};
    ops[0].u.noise = (dg_noise_args){.z = z, .state = &state, .n = N, .stream = 1};
    ops[1].u.act = (dg_act_args){.y = y, .x = z, .n = N, .act = DG_ACT_TANH};
    ops[2].u.advance = (dg_advance_args){.state = &state, .batch = 4};
    for (int i = 0; i < 3; i++) {
        DG_CHECK(b->refuses(b, &ops[i]) == NULL);
        DG_CHECK(ops[i].tune.variant == &dg_direct && strcmp(ops[i].tune.why, "default") == 0);
        DG_CHECK(b->scratch(b, &ops[i]) == 0);
    }
    dg_plan plan = {.op = ops, .ops = 3};
    DG_CHECK(b->run(b, &plan) == DG_OK && b->sync(b) == DG_OK);
    memcpy(first, y, sizeof y);
    for (int i = 0; i < N; i++) DG_NEAR(y[i], tanh((double)z[i]), 1e-6);
    DG_CHECK(state.step == 11 && state.cursor == 4);
    DG_CHECK(b->run(b, &plan) == DG_OK && state.step == 12 && memcmp(first, y, sizeof y) != 0);
    state.step = 10;
    double ms = -1;
    for (int i = 0; i < 3; i++) DG_CHECK(b->run_op(b, &ops[i], &ms) == DG_OK && ms >= 0 && ms < 10000);
    DG_CHECK(memcmp(first, y, sizeof y) == 0);
    dg_op norm = {.kind = DG_OP_norm_stats, .u.norm_stats = {.N = 2, .H = 3, .W = 3, .C = 7, .groups = 2}};
    DG_CHECK(b->scratch(b, &norm) >= 2 * 2 * 7 * sizeof(double));
}

/* Checks that every thread flushes denormal numbers to zero while it runs ops, and only then. */
static void check_denormals(dg_backend *b)
{
    enum { N = 100000 };
    static float x[N], y[N];
    volatile float tiny = 1e-40f;
    int nonzero = 0;
    for (int i = 0; i < N; i++) x[i] = 1e-39f;
    dg_op op = {.kind = DG_OP_act, .u.act = {.y = y, .x = x, .n = N, .act = DG_ACT_LEAKY, .slope = 0.5}};
    for (int i = 0; i < N; i++) x[i] = -x[i];
    DG_CHECK(b->run_op(b, &op, NULL) == DG_OK);
    for (int i = 0; i < N; i++) nonzero += y[i] != 0;
    DG_CHECKF(nonzero == 0, "%s: %d of %d denormals survive", b->name, nonzero, N);
    DG_CHECK(tiny * 0.5f != 0);
}

int main(void)
{
    check_tables();
    check_open();
    for (int threads = 1; threads <= 7; threads += 2) {
        dg_backend *b = opened(threads, DG_F32);
        check_memory(b);
        check_run(b);
        check_denormals(b);
        b->close(b);
    }
    return dg_test_report();
}
