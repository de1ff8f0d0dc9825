/* Batch sizes timed on the CPU. Memory use is that of the plan, sizes that do not fit are not tried, and all memory is
 * released. The rules are also applied to invented curves. */
#include "host/measure/batch_time.h"

#include "host/options/option_table.h"
#include "reference.h"
#include "test.h"

/* A backend that counts its allocations. */
static struct {
    void *at;
    size_t bytes;
} block[64];
static size_t now, most;
static int failures;
static dg_err (*right_alloc)(dg_backend *, size_t, void **);
static void (*right_release)(dg_backend *, void *);

static dg_err counted_alloc(dg_backend *b, size_t bytes, void **mem)
{
    const dg_err e = right_alloc(b, bytes, mem);
    failures += e != DG_OK;
    for (int i = 0; i < 64 && !e; i++) {
        if (block[i].at) continue;
        block[i].at = *mem;
        block[i].bytes = bytes;
        now += bytes;
        if (now > most) most = now;
        return e;
    }
    return e;
}

static void counted_release(dg_backend *b, void *mem)
{
    for (int i = 0; i < 64; i++) {
        if (!mem || block[i].at != mem) continue;
        block[i].at = NULL;
        now -= block[i].bytes;
    }
    right_release(b, mem);
}

static dg_options options;
static dg_model model;
static dg_dataset data;
static volatile sig_atomic_t stop;
static dg_batch_bench bench;

static void begin(dg_backend *b, double device_memory)
{
    options.device_memory = device_memory;
    bench = (dg_batch_bench){.o = &options, .model = &model, .backend = b, .data = &data, .stop = &stop};
    most = 0;
}

static size_t check_size(dg_backend *b, int batch, double device_memory)
{
    dg_batch_row row;
    begin(b, device_memory);
    DG_CHECKF(dg_batch_time(&bench, batch, 0.05, &row) == DG_OK, "%s", dg_message());
    DG_CHECKF((size_t)row.memory == most && now == 0, "batch %d: %.0f planned, %zu taken, %zu left", batch, row.memory,
              most, now);
    DG_CHECK(row.batch == batch && row.setup > 0 && bench.room.have > 0);
    DG_CHECKF(row.ms > 0 && row.ms <= row.median && row.low <= row.median && row.median <= row.high, "%g %g %g %g",
              row.ms, row.low, row.median, row.high);
    DG_CHECKF(row.busy > 0 && row.busy <= 100 && row.of_peak > 0 && isnan(row.nvml), "%g %g", row.busy, row.of_peak);
    return (size_t)row.memory;
}

/* Returns the device memory of a run with this batch size, including the whole dataset or two windows of it. */
static size_t needs(dg_backend *b, int batch, size_t have)
{
    static dg_job job;
    size_t needed = 0;
    const dg_room room = {.have = have};
    const dg_job_options o = dg_options_run(&options, batch, data.train, 0);
    DG_CHECK(dg_build_if_fits(&job, &model, &o, b, &room, &needed) == DG_OK);
    if (needed <= have) dg_job_free(&job);
    return needed;
}

/* Memory suffices for a batch size of 8 but not for 12, so size 12 is never built on the device. */
static void check_search(dg_backend *b, double mb)
{
    static dg_batch_table s;
    dg_batch_limits l = dg_batch_limits_of(&options, data.train);
    l.least_steps = 1;
    begin(b, mb);
    DG_CHECKF(dg_batch_find(&bench, DG_RULE_SEARCH, &l, &s) == DG_OK, "%s", dg_message());
    DG_CHECKF((double)most <= mb * 1e6 && !failures && !now, "%zu bytes of %g MB", most, mb);
    DG_CHECK(s.rows == 1 && s.batch == 8 && s.refused >= 10 && s.refused <= 12);
    DG_CHECKF(strstr(s.why, "8: the fastest size that fits; batch size 12 does not fit") &&
                  strstr(s.why, "(--device-memory)"),
              "%s", s.why);
    l.from = 40;
    DG_CHECK(dg_batch_find(&bench, DG_RULE_SEARCH, &l, &s) == DG_DEVICE &&
             strstr(dg_message(), "largest batch that fits"));
    l.from = 8;
    stop = 1;
    DG_CHECK(dg_batch_find(&bench, DG_RULE_SEARCH, &l, &s) == DG_FAILED && now == 0 && !s.rows);
    stop = 0;
}

static dg_batch_row curve[50];

static void check_sweep(void)
{
    dg_sweep_range r;
    DG_CHECK(dg_sweep_parse("10-500:10", &r) && r.first == 10 && r.last == 500 && r.step == 10);
    DG_CHECK(dg_sweep_parse("8-512", &r) && r.step == 0);
    static const char *const wrong[] = {"",      "8",    "8-",    "8-7",    "0-4",     "1-65537", "1-9:",
                                        "1-9:0", "-1-9", "1-9:x", "1-9:1x", "1 - 9:2", "1--9",    "1-9:-1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        DG_CHECKF(!dg_sweep_parse(wrong[i], &r), "'%s'", wrong[i]);

    /* usage is full from batch size 55 on, as in the paper; between the sizes of the sweep, usage is interpolated */
    dg_sweep s = {.row = curve, .rows = 50};
    for (int i = 0; i < 50; i++) {
        const int b = 10 * (i + 1);
        curve[i] = (dg_batch_row){
            .batch = b, .ms = 20 + 0.1 * b, .median = 22, .low = 19, .high = 23, .memory = 7, .of_peak = NAN};
        curve[i].nvml = b > 50 ? 100 : 98 - 0.2 * (50 - b);
        curve[i].busy = 100;
    }
    static dg_batch_table t;
    dg_batch_limits l = {32, 65536, 50000, false, 0.03, 32, 20, 1};
    dg_sweep_choose(&s, DG_RULE_USAGE, &l, &t);
    DG_CHECKF(t.batch == 54 && t.looks == 11, "%s", t.why);
    dg_sweep_choose(&s, DG_RULE_EPOCH_TIME, &l, &t);
    DG_CHECK(!strcmp(t.ended, "stopped"));
    DG_NEAR(t.look[1].ms, 23.4, 1e-9);
    l.from = 8;
    l.images = 1000000;
    dg_sweep_choose(&s, DG_RULE_SEARCH, &l, &t);
    DG_CHECKF(t.batch >= 288 && t.batch <= 480, "%s", t.why);
    l.from = 32;
    s.rows = 5; /* the sweep has only five rows, so the rule cannot continue after them */
    dg_sweep_choose(&s, DG_RULE_EPOCH_TIME, &l, &t);
    DG_CHECKF(t.batch == 46 && strstr(t.why, "52, does not fit"), "%s", t.why);
    s.rows = 1;
    l.from = 8;
    dg_sweep_choose(&s, DG_RULE_SEARCH, &l, &t);
    DG_CHECKF(t.batch == 10, "%s", t.why);
}

int main(void)
{
    dg_backend *b;
    char *argv[] = {"dcgan", "batch", "tests/tiny.cfg", "--data=x", NULL};
    bool done;
    DG_CHECKF(dg_options_parse(4, argv, &options, &done) == DG_OK, "%s", dg_message());
    DG_CHECK(dg_model_read("tests/tiny.cfg", &model) == DG_OK);
    DG_CHECK(dg_case_open(0, 2, &b));
    data = (dg_dataset){.count = 61, .train = 61, .size = model.size, .channels = model.channels};
    data.pixels = calloc(61, (size_t)model.size * (size_t)model.size * (size_t)model.channels);
    right_alloc = b->alloc;
    right_release = b->release;
    b->alloc = counted_alloc;
    b->release = counted_release;
    (void)check_size(b, 8, 0); /* an epoch has 7 full batches and a short one */
    (void)check_size(b, 61, 0);
    const size_t whole = check_size(b, 7, 0);
    const size_t all = needs(b, 7, (size_t)-1);
    DG_CHECK(check_size(b, 7, 1e-6 * ((double)all - 10000)) < whole - 10000); /* uses two windows */
    options.drop_last = true;
    (void)check_size(b, 8, 0);
    options.drop_last = false;
    check_search(b, 1e-6 * ((double)needs(b, 8, 1) + 1000));
    check_sweep();
    b->alloc = right_alloc;
    b->release = right_release;
    b->close(b);
    free(data.pixels);
    dg_options_free(&options);
    return dg_test_report();
}
