/* Tests that the simulator reports every kind of misuse with its source line, and continues. */
#include "reported.h"

/* ---- barriers ---- */

static __global__ void early_exit(float *o)
{
    if (threadIdx.x == 3) return;
    HERE(0), __syncthreads();
    o[threadIdx.x] = 1;
}
static __global__ void two_barriers()
{
    if (threadIdx.x < 32) HERE(0), __syncthreads();
    else HERE(1), __syncthreads();
}
static __global__ void deadlock(float *o)
{
    if (threadIdx.x < 16) HERE(0), __syncthreads();
    else o[threadIdx.x] = (HERE(1), __shfl_xor_sync(0xffffffffu, 1.0f, 1));
}
static __global__ void lonely_grid_barrier() { HERE(0), GRID_SYNC(); }
static __global__ void nothing() {}

static void test_barriers(float *o)
{
    REPORTED("exit", line_of[0], KLAUNCH(early_exit, 2, 64, 0, 0, o));
    REPORTED("divergent __syncthreads", 0, KLAUNCH(two_barriers, 1, 64, 0, 0));
    REPORTED("deadlock: 32 wait, 0 have exited", 0, KLAUNCH(deadlock, 1, 32, 0, 0, o));
    REPORTED("not cooperative", line_of[0], KLAUNCH(lonely_grid_barrier, 2, 32, 0, 0));
    KLAUNCH_COOP(nothing, 6 * 32 + 1, 64, 0, 0);
    DG_CHECK(dev_take_fault().error == cudaErrorCooperativeLaunchTooLarge);
}

/* ---- warps ---- */

static __global__ void full_mask(float *o) { o[threadIdx.x] = (HERE(0), __shfl_xor_sync(0xffffffffu, 1.0f, 1)); }
static __global__ void not_in_mask() { HERE(0), __syncwarp(0xffff); }
static __global__ void exited_lane(float *o)
{
    if (threadIdx.x % 32 == 5) return;
    o[threadIdx.x] = (HERE(0), __shfl_down_sync(0xffffffffu, 1.0f, 1));
}
static __global__ void diverged_kinds(int *o)
{
    if (threadIdx.x % 2) HERE(0), __syncwarp();
    else HERE(1), o[threadIdx.x] = (int)__ballot_sync(0xffffffffu, 1);
}
static __global__ void overlapping_masks()
{
    if (threadIdx.x < 16) HERE(0), __syncwarp(0x0001ffff);
    else HERE(1), __syncwarp(0xffff0000);
}
static __global__ void odd_width(float *o) { o[threadIdx.x] = (HERE(0), __shfl_xor_sync(0xffffffffu, 1.0f, 1, 24)); }

static void test_warps(float *o)
{
    REPORTED("mask ffffffff names lanes that do not exist, the warp has 16", line_of[0],
             KLAUNCH(full_mask, 1, 48, 0, 0, o));
    REPORTED("is not in mask 0000ffff", line_of[0], KLAUNCH(not_in_mask, 1, 32, 0, 0));
    REPORTED("exit", 0, KLAUNCH(exited_lane, 1, 64, 0, 0, o));
    REPORTED("diverged warp", 0, KLAUNCH(diverged_kinds, 1, 32, 0, 0, (int *)o));
    REPORTED("mask 0001ffff", 0, KLAUNCH(overlapping_masks, 1, 32, 0, 0));
    REPORTED("shuffle width 24", line_of[0], KLAUNCH(odd_width, 1, 32, 0, 0, o));
}

/* ---- shared memory and copies into it ---- */

static __global__ void static_48k()
{
    SHARED(float, a, [12 * 1024 + 1]);
    a[threadIdx.x] = 1;
}
static __global__ void static_33k()
{
    SHARED(float, a, [33 * 256]);
    a[threadIdx.x] = 1;
}
static __global__ void no_dynamic()
{
    DYN_SHARED(float, a);
    a[threadIdx.x] = 1;
}
static __global__ void greedy_pool()
{
    dev_pool pool;
    pool.take<float>(32)[threadIdx.x] = 1;
    HERE(0), pool.take<float>(33);
}
static __global__ void two_minds()
{
    dev_pool pool;
    pool.take<float>(threadIdx.x == 7 ? 64 : 32);
}
static __global__ void pool_and_whole()
{
    dev_pool pool;
    pool.take<float>(32);
    HERE(0);
    DYN_SHARED(float, a);
    a[0] = 1;
}
static __global__ void skewed_rows(uint32_t *o)
{
    SHARED(uint16_t, s, [32][20]);
    uint32_t r[4];
    HERE(0), ldsm_x4(r, s[threadIdx.x]);
    o[threadIdx.x] = r[0];
}
static __global__ void global_rows(uint32_t *o)
{
    uint32_t r[4];
    HERE(0), ldsm_x4(r, o);
    o[threadIdx.x] = r[0];
}
static __global__ void copy(float *o, const float *x, int form)
{
    SHARED(float, s, [36]);
    int i = form == 5 ? 8 * 4 : threadIdx.x % 8 * 4;
    if (form == 0) HERE(0), cp_async16(s + i + 1, x, true);
    if (form == 1) HERE(0), cp_async16(s + i, x + 1, true);
    if (form == 2) HERE(0), cp_async16(o + i, x, true);
    if (form == 3) HERE(0), cp_async16(s + i, s + i, true);
    if (form == 4) cp_async16(s + i, x, true);
    if (form == 5) HERE(0), cp_async16(s + i, x + 60, true); /* the last 8 bytes are outside of x */
    if (form == 6)
        for (;;) HERE(0), cp_async16(s + i, x, true);
    if (form == 7)
        for (;;) HERE(0), cp_async_commit();
    if (form >= 4) cp_async_commit();
}

static void test_shared(float *o)
{
    REPORTED("with a 49156 bytes (limit 48 KB)", 0, KLAUNCH(static_48k, 1, 32, 0, 0));
    REPORTED("33792 bytes static and 200000 dynamic", 0, KLAUNCH(static_33k, 1, 32, 200000, 0));
    KLAUNCH(nothing, 1, 32, 227 * 1024 + 1, 0);
    DG_CHECK(dev_take_fault().error == cudaErrorInvalidValue);
    REPORTED("without dynamic shared memory", 0, KLAUNCH(no_dynamic, 1, 32, 0, 0));
    REPORTED("array 1 makes 272 bytes, more than the launch's 256", line_of[0], KLAUNCH(greedy_pool, 1, 32, 256, 0));
    REPORTED("dev_pool: array 0 has", 0, KLAUNCH(two_minds, 1, 32, 256, 0));
    REPORTED("they are the same memory", line_of[0] + 1, KLAUNCH(pool_and_whole, 1, 32, 128, 0));
    REPORTED("ldmatrix row: address", line_of[0], KLAUNCH(skewed_rows, 1, 32, 0, 0, (uint32_t *)o));
    REPORTED("is not shared memory", line_of[0], KLAUNCH(global_rows, 1, 32, 0, 0, (uint32_t *)o));
    dev_buffer<float> x(62);
    REPORTED("cp.async destination: address", line_of[0], KLAUNCH(copy, 1, 32, 0, 0, o, x.p, 0));
    REPORTED("cp.async source: address", line_of[0], KLAUNCH(copy, 1, 32, 0, 0, o, x.p, 1));
    REPORTED("is not shared memory", line_of[0], KLAUNCH(copy, 1, 32, 0, 0, o, x.p, 2));
    REPORTED("is not device memory", line_of[0], KLAUNCH(copy, 1, 32, 0, 0, o, x.p, 3));
    REPORTED("pending cp.async copies", 0, KLAUNCH(copy, 1, 32, 0, 0, o, x.p, 4));
    REPORTED("or not 16 bytes of it", line_of[0], KLAUNCH(copy, 1, 32, 0, 0, o, x.p, 5));
    REPORTED("more than 128 cp.async copies", line_of[0], KLAUNCH(copy, 1, 32, 0, 0, o, x.p, 6));
    REPORTED("more than 8 cp.async groups", line_of[0], KLAUNCH(copy, 1, 32, 0, 0, o, x.p, 7));
}

/* Errors at which sanitizers end the program are tested only without sanitizers. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static __global__ void overrun(int which, int by)
{
    SHARED(float, first, [5]);
    SHARED(float, second, [8]);
    DYN_SHARED(float, dynamic);
    dynamic[0] = first[0] = second[0] = 0;
    __syncthreads();
    float *a = which == 0 ? dynamic : which == 1 ? first : second;
    if (threadIdx.x == 40) *(volatile float *)(a + (which == 0 ? 10 : which == 1 ? 5 : 8) + by) = 1;
}
static __global__ void pool_overrun()
{
    dev_pool pool;
    char *a = pool.take<char>(24), *b = pool.take<char>(16);
    a[0] = b[0] = 0;
    if (threadIdx.x == 0) ((volatile char *)a)[32] = 1; /* an allocation of 24 bytes is rounded up to 32 bytes */
}
static __global__ void touch(volatile float *p, long i) { p[i] = 1; }
static __attribute__((noinline)) float endless(volatile float *p, int depth)
{
    volatile float local[1000];
    local[depth % 1000] = *p;
    return depth < 1000000 ? endless(local, depth + 1) + local[0] : 0;
}
static __global__ void no_stack(float *o) { *o = endless(o, 0); }

static void test_stray_accesses(float *o)
{
    REPORTED("red zone overwritten, 0 bytes after the end of dynamic", 0, KLAUNCH(overrun, 3, 64, 40, 0, 0, 0));
    REPORTED("red zone overwritten, 8 bytes after the end of first", 0, KLAUNCH(overrun, 3, 64, 40, 0, 1, 2));
    REPORTED("red zone overwritten, 60 bytes after the end of second", 0, KLAUNCH(overrun, 3, 64, 40, 0, 2, 15));
    REPORTED("red zone overwritten, 0 bytes after the end of dev_pool", 0, KLAUNCH(pool_overrun, 1, 32, 48, 0));
    dev_buffer<float> x(100);
    float *freed = nullptr;
    DG_CHECK(cudaMalloc(&freed, 400) == cudaSuccess && cudaFree(freed) == cudaSuccess);
    REPORTED("112 bytes past the end of an allocation of 400 bytes", 0, KLAUNCH(touch, 1, 1, 0, 0, x.p, 128L));
    REPORTED("4 bytes past the end of an allocation of 4096", 0, KLAUNCH(touch, 1, 1, 0, 0, o, 1025L));
    REPORTED("bytes before an allocation", 0, KLAUNCH(touch, 1, 1, 0, 0, x.p, -1000L));
    REPORTED("a null pointer", 0, KLAUNCH(touch, 1, 1, 0, 0, (float *)nullptr, 3L));
    REPORTED("of 400 bytes of device memory that were freed", 0, KLAUNCH(touch, 1, 1, 0, 0, o, (long)(freed - o)));
    REPORTED("stack is used up", 0, KLAUNCH(no_stack, 1, 1, 0, 0, o));
    float *tail = nullptr; /* cudaFree checks the padding up to the 256-byte alignment */
    DG_CHECK(cudaMalloc(&tail, 100) == cudaSuccess);
    KLAUNCH(touch, 1, 1, 0, 0, tail, 30L);
    REPORTED("written outside an allocation of 100 bytes, at byte 120", 0, cudaFree(tail));
}
#endif

/* ---- arguments, checks, and the text of reports ---- */

struct by_value {
    int n;
    const float *data;
};
static __global__ void pointer(float *o, const float *x) { o[0] = x[0]; }
static __global__ void in_struct(float *o, by_value v) { o[0] = (float)v.n; }
static __global__ void checked(int *o)
{
    HERE(0), DEV_CHECK(blockDim.x == 64);
    o[threadIdx.x] = 0;
}
static __global__ void trap(int *)
{
    if (blockIdx.x == 1 && blockIdx.y == 2 && threadIdx.x == 3 && threadIdx.z == 1) HERE(0), __trap();
}

static void test_text(float *o)
{
    float local = 1;
    static float constant = 1;
    float *freed = nullptr;
    DG_CHECK(cudaMalloc(&freed, 400) == cudaSuccess && cudaFree(freed) == cudaSuccess);
    REPORTED("neither device nor pinned memory", 0, KLAUNCH(pointer, 1, 1, 0, 0, o, &local));
    REPORTED("neither device nor pinned memory", 0, KLAUNCH(pointer, 1, 1, 0, 0, o, (float *)64));
    REPORTED("memory that was freed", 0, KLAUNCH(pointer, 1, 1, 0, 0, o, freed));
    REPORTED("memory that was freed", 0, KLAUNCH(in_struct, 1, 1, 0, 0, o, by_value{3, freed}));
    REPORTED("byte 8 of an argument is", 0, KLAUNCH(in_struct, 1, 1, 0, 0, o, by_value{3, &local}));
    REPORTED("byte 8 of an argument is", 0, KLAUNCH(in_struct, 1, 1, 0, 0, o, by_value{3, &constant}));
    KLAUNCH(in_struct, 1, 1, 0, 0, o, by_value{3, o + 5});
    DG_CHECK(dev_ok("a struct with a device pointer"));
    REPORTED("DEV_CHECK(blockDim.x == 64)", line_of[0], KLAUNCH(checked, 1, 32, 0, 0, (int *)o));
    dev_op = "G.1.norm_act";
    int line = __LINE__ + 1;
    KLAUNCH(trap, dim3(2, 3), dim3(4, 1, 2), 0, 0, (int *)o);
    dev_op = "";
    char want[300];
    (void)cudaDeviceSynchronize();
    snprintf(want, sizeof want,
             "sim: G.1.norm_act: trap launched at %s:%d: %s:%d: __trap() [block (1,2,0) thread (3,0,1)]", __FILE__,
             line, __FILE__, line_of[0].load());
    DG_CHECKF(!strcmp(sim::error(), want), "\"%s\", not \"%s\"", sim::error(), want);
    reported("trap", "__trap()", __FILE__, line_of[0]);
}

int main()
{
    sim::opt.quiet = true;
    float *o = nullptr;
    DG_CHECK(cudaMalloc(&o, 4096) == cudaSuccess);
    test_barriers(o);
    test_warps(o);
    test_shared(o);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    test_stray_accesses(o);
#endif
    test_text(o);
    DG_CHECK(cudaFree(o) == cudaSuccess);
    return dg_test_report();
}
