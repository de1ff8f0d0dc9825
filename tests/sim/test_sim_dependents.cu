/* Tests that dependent launches start before the previous launch has ended. Tests the reports of accesses that are too
 * early. test_dependents.cu has correct kernels. */
#include "reported.h"

/* ---- Early starts ---- */

static __global__ void waits(int *count)
{
    grid_dependency_wait();
    if (threadIdx.x == 0) atomicAdd(count, 1);
}

static __global__ void waits_never(float *o) { o += 0; }

/* Returns the number of launches, among four, that may start early. */
static int overlapping()
{
    static int n;
    n = 0;
    sim::watch = [](const sim::launch_view &v) {
        n += v.overlapping;
        return true;
    };
    dev_buffer<int> count(std::vector<int>{0});
    KLAUNCH(waits, 3, 32, 0, 0, count.p);
    for (int i = 0; i < 3; i++) KLAUNCH_AFTER(waits, 3, 32, 0, 0, count.p);
    DG_CHECK(dev_ok("four launches") && count.get()[0] == 12);
    sim::watch = nullptr;
    return n;
}

static void where_they_do()
{
    DG_CHECK(overlapping() == 3);
    dev_programmatic = false;
    DG_CHECK(overlapping() == 0);
    dev_programmatic = true;
    sim::device.major = 8;
    dev_overlaps[0] = 0; /* clears the cached result of the device query */
    DG_CHECK(overlapping() == 0 && dev_overlaps[0] == -1);
    sim::device.major = 9;
    dev_overlaps[0] = 0;
    DG_CHECK(overlapping() == 3);
    dev_overlaps[0] = 0;
    /* after a failed device query the launch does not start early, and the next launch queries again */
    sim::fail_call(2, cudaErrorInvalidDevice);
    KLAUNCH_AFTER(waits_never, 1, 32, 0, 0, (float *)nullptr);
    DG_CHECK(dev_ok("not asked") && dev_overlaps[0] == 0);
}

/* ---- Accesses before the wait ---- */

static __global__ void waits_in_part(float *o)
{
    if (blockIdx.x == 20 && threadIdx.x == 5) return;
    grid_dependency_wait();
    if (blockIdx.x == 0) o[threadIdx.x] = 1;
}
static __global__ void lets_go() { HERE(0), grid_dependents_launch(), grid_dependency_wait(); }
static __global__ void copies(const float *from)
{
    SHARED(float, to, [4]);
    HERE(0), cp_async16(to, from, true);
    cp_async_commit();
    cp_async_wait<0>();
    grid_dependency_wait();
}
static __global__ void loads_nothing(const float *p, long at)
{
    (void)(HERE(0), grid_early_load(p + at));
    grid_dependency_wait();
}
template <int WHAT> static __global__ void touches(float *p, unsigned *u)
{
    if (WHAT == 0) *(volatile float *)p = 1;
    if (WHAT == 1) (void)*(volatile float *)p;
    if (WHAT == 2) atomicAdd(u, 1u);
    grid_dependency_wait();
    if (WHAT == 3) grid_dependents_launch();
}

static void what_is_not(float *o)
{
    REPORTED("exits without grid_dependency_wait", 0, KLAUNCH_AFTER(waits_never, 2, 32, 0, 0, o));
    REPORTED("exits without grid_dependency_wait", 0, KLAUNCH_AFTER(waits_in_part, 30, 32, 0, 0, o));
    REPORTED("grid_dependents_launch before grid_dependency_wait", line_of[0], KLAUNCH_AFTER(lets_go, 1, 32, 0, 0));
    REPORTED("not device memory", line_of[0], KLAUNCH_AFTER(loads_nothing, 1, 1, 0, 0, o, 1024L));
#ifndef __SANITIZE_THREAD__ /* ThreadSanitizer reports these accesses only as races with writes */
    REPORTED("is read before grid_dependency_wait", line_of[0], KLAUNCH_AFTER(copies, 1, 1, 0, 0, o));
#ifndef __SANITIZE_ADDRESS__
    for (unsigned blocks : {1u, 100u}) {
        REPORTED("bytes of device memory before grid_dependency_wait", 0,
                 KLAUNCH_AFTER((touches<0>), blocks, 32, 0, 0, o, (unsigned *)o));
        REPORTED("bytes of device memory before grid_dependency_wait", 0,
                 KLAUNCH_AFTER((touches<1>), blocks, 32, 0, 0, o, (unsigned *)o));
        REPORTED("bytes of device memory before grid_dependency_wait", 0,
                 KLAUNCH_AFTER((touches<2>), blocks, 32, 0, 0, o, (unsigned *)o));
    }
#endif
#endif
    KLAUNCH_AFTER((touches<3>), 3, 32, 0, 0, o, (unsigned *)o);
    DG_CHECK(dev_ok("memory is there again"));
    /* the kernels of the previous checks, in launches that cannot start early */
    KLAUNCH(waits_never, 2, 32, 0, 0, o);
    KLAUNCH(lets_go, 1, 32, 0, 0);
    KLAUNCH(copies, 1, 1, 0, 0, o);
    KLAUNCH((touches<0>), 1, 1, 0, 0, o, (unsigned *)o);
    DG_CHECK(dev_ok("plain launches"));
    dev_programmatic = false;
    KLAUNCH_AFTER(waits_never, 2, 32, 0, 0, o);
    KLAUNCH_AFTER((touches<0>), 1, 1, 0, 0, o, (unsigned *)o);
    dev_programmatic = true;
    DG_CHECK(dev_ok("switched off"));
}

int main()
{
    sim::opt.quiet = true;
    float *o = nullptr;
    DG_CHECK(cudaMalloc(&o, 4096) == cudaSuccess && cudaMemset(o, 0, 4096) == cudaSuccess);
    where_they_do();
    what_is_not(o);
    DG_CHECK(cudaFree(o) == cudaSuccess);
    return dg_test_report();
}
