/* Tests a run on an asynchronous device with its own memory. The CPU backend simulates this device. */
#include "failing.h"

#include "core/base/clock.h"
#include "host/checkpoint/checkpoint_files.h"
#include "host/trainer/fit.h"
#include "host/trainer/ring_reader.h"

static machine a;

static struct {
    size_t unused, total;
    bool here, lost; /* whether the requested data has arrived, and whether the device is lost */
} device;

static dg_err answer(void) { return device.lost ? dg_fail(DG_DEVICE, "the device is lost") : DG_OK; }

static dg_err memory(dg_backend *b, size_t *unused, size_t *total)
{
    (void)b;
    *unused = device.unused;
    *total = device.total;
    return answer();
}

static dg_err record(dg_backend *b, dg_stream s, int event)
{
    (void)b, (void)s, (void)event;
    return answer();
}

static dg_err query(dg_backend *b, int event, bool wait, bool *yes)
{
    (void)b, (void)event;
    *yes = wait || device.here;
    return answer();
}

static void room(void)
{
    static const double MB = 1 << 20;
    static const struct {
        size_t unused, total; /* free and total device memory in MiB */
        double most;
        bool gpu;
        double others, have; /* expected memory in MiB for the driver (others) and for the run (have) */
    } cases[] = {
        {1000, 2048, 0, true, 128, 872},    /* a sixteenth of the total memory is reserved for the driver */
        {1000, 1 << 16, 0, true, 256, 744}, /* the reserve for the driver has a maximum */
        {100, 1 << 16, 0, true, 256, 0},        {1000, 2048, 0, false, 0, 1000},
        {1000, 2048, 1e6, false, 0, 1000},      {1000, 2048, 512, true, 128, 488.28125}, /* 512 MB are 488.28 MiB */
        {1000, 2048, 512, false, 0, 488.28125},
    };
    const int threads = a.b->threads;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dg_room r;
        device.unused = cases[i].unused << 20;
        device.total = cases[i].total << 20;
        a.b->threads = cases[i].gpu ? 0 : 1;
        const dg_err e = dg_room_of(a.b, cases[i].most, &r);
        DG_CHECKF(!e && (double)r.others == cases[i].others * MB && (double)r.have == cases[i].have * MB,
                  "case %zu: %zu and %zu bytes", i, r.others, r.have);
    }
    a.b->threads = threads;
}

static dg_job_options wanted;
static dg_job job;
static double most;

static dg_err build(void) { return dg_build_to_fit(&job, &a.m, &wanted, a.b, most); }

/* Builds the job with free memory that decreases from the full requirement to 0. */
static void built(void)
{
    device.unused = device.total = (size_t)1 << 40;
    if (!DG_CHECKF(build() == DG_OK && !job.o.window, "%s", dg_message())) return;
    const size_t whole = dg_fit_bytes(&job);
    static const char fits[] = "the largest batch that fits is ";
    int windows = 0, refusals = 0, batch = 0;
    dg_job_free(&job);
    for (size_t unused = whole; unused; unused -= unused / 16 + 1) {
        device.unused = unused;
        const dg_err e = build();
        if (!e) {
            DG_CHECKF(dg_fit_bytes(&job) <= unused && job.o.window % wanted.batch == 0 && !refusals,
                      "%zu bytes in %zu, windows of %d", dg_fit_bytes(&job), unused, job.o.window);
            windows += job.o.window > 0;
            dg_job_free(&job);
            continue;
        }
        const char *largest = strstr(dg_message(), fits);
        const int now = largest ? (int)strtol(largest + strlen(fits), NULL, 10) : 0;
        DG_CHECKF(e == DG_DEVICE && strstr(dg_message(), "batch 16: does not fit") &&
                      (now || strstr(dg_message(), "no batch size fits")),
                  "%d %s", (int)e, dg_message());
        DG_CHECKF(now < wanted.batch && (now <= batch || !refusals), "%d after %d", now, batch);
        batch = now;
        refusals++;
    }
    DG_CHECKF(windows > 0 && refusals > 10 && batch == 0, "%d with windows, %d refused", windows, refusals);
    most = 0.1;
    device.unused = device.total;
    DG_REFUSED(build(), DG_DEVICE, "0.1 ");
    most = 0;
    device.unused = 1000;
    const int threads = a.b->threads;
    a.b->threads = 0;
    DG_REFUSED(build(), DG_DEVICE, "for the driver");
    a.b->threads = threads;
    device.lost = true;
    DG_REFUSED(build(), DG_DEVICE, "is lost");
    device.lost = false;
}

#if DG_FAILING
static void nothing(void) {}
static void is_refused(dg_err e) { DG_CHECKF(e == DG_DEVICE && *dg_message(), "%d", (int)e); }

static void without_memory(void)
{
    device.unused = 2000;
    DG_CHECK(each_call("a job that does not fit", nothing, build, is_refused) > 20);
}
#else
static void without_memory(void) {}
#endif

static dg_ring_reader r;
static uint64_t from;
static dg_metrics *row;
static int n;

static bool take(bool wait) { return dg_ring_reader_take(&r, wait, &from, &row, &n) == DG_OK; }
static bool ask(uint64_t step, bool at_once) { return dg_ring_reader_ask(&r, step, at_once) == DG_OK; }

static void later(void)
{
    if (!DG_CHECK(dg_ring_reader_open(&r, &a.g, 0) == DG_OK)) return;
    DG_CHECK(take(true) && n == 0);
    DG_CHECK(ask(0, true) && r.on_the_way == 0);
    machine_steps(&a, 0, 3);
    DG_CHECK(ask(1, false) && r.on_the_way == 1 && take(false) && n == 0);
    DG_CHECK(ask(3, false) && r.on_the_way == 2 && ask(4, true) && r.on_the_way == 2 && r.next == 3);
    DG_CHECK(take(false) && from == 0 && n == 1);
    DG_CHECK(take(false) && n == 0);
    DG_CHECK(take(true) && from == 1 && n == 2 && isfinite(row[0].value[0]) && isfinite(row[1].value[0]));
    device.lost = true;
    DG_CHECK(!ask(4, true) && r.on_the_way == 0 && r.next == 3);
    device.lost = false;
    DG_CHECK(ask(4, true));
    device.lost = true;
    DG_CHECK(!take(true) && n == 0);
    device.lost = false;
    DG_CHECK(take(true) && n == 1);
    /* a request has at most DG_REQUEST_ROWS rows of metrics */
    DG_CHECK(ask(4 + DG_REQUEST_ROWS + 7, true) && take(true) && n == DG_REQUEST_ROWS);
    dg_ring_reader_close(&r);
}

/* The shorter a step, the more steps share a request of metrics. */
static void intervals(void)
{
    static const struct {
        double seconds; /* intended seconds per request of metrics, for steps of just over 1 s */
        int interval;
    } cases[] = {{1000, DG_REQUEST_ROWS}, {10, 9}, {0.5, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!DG_CHECK(dg_ring_reader_open(&r, &a.g, 0) == DG_OK)) return;
        r.seconds = cases[i].seconds;
        r.last_came = dg_clock() - 1;
        DG_CHECKF(ask(1, false) && take(true) && n == 1 && r.interval == cases[i].interval, "case %zu: %d", i,
                  r.interval);
        DG_CHECK(ask(1 + (uint64_t)r.interval - 1, false) && r.on_the_way == 0);
        DG_CHECK(ask(1 + (uint64_t)r.interval, false) && r.on_the_way == 1);
        dg_ring_reader_close(&r);
    }
    DG_CHECK(dg_steps_ahead(a.b, 0) == 1 && dg_steps_ahead(a.b, 1) == 1 && dg_steps_ahead(a.b, 0.009) == 5);
    DG_CHECK(dg_steps_ahead(a.b, 1e-6) == DG_REQUEST_ROWS);
    a.b->queues = false;
    DG_CHECK(dg_steps_ahead(a.b, 1e-6) == 1);
    a.b->queues = true;
}

int main(void)
{
    temp_make("queued");
    wanted = machine_training(16, 7, 4, 999);
    if (machine_up(&a, &tiny, DG_F32, true)) {
        a.b->memory = memory;
        a.b->record = record;
        a.b->query = query;
        a.b->queues = true;
        room();
        built();
        without_memory();
        later();
        intervals();
    }
    machine_down(&a);
    temp_remove(temp_dir);
    return dg_test_report();
}
