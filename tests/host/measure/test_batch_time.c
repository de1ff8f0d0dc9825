/* Tests measurements of batch sizes on the CPU. Measurements must allocate exactly the planned memory and release
 * it. */
#include "host/measure/batch_time.h"

#include "host/options/option_table.h"
#include "reference.h"
#include "test.h"

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

static dg_batch_table s;

static dg_err find(dg_backend *b, dg_batch_rule rule, int from, int to, double device_memory)
{
    options.min_batch = from;
    options.max_batch = to;
    options.device_memory = device_memory;
    bench = (dg_batch_bench){.o = &options, .model = &model, .backend = b, .data = &data, .stop = &stop};
    most = 0;
    return dg_batch_find(&bench, rule, &s);
}

static size_t check_size(dg_backend *b, int batch, double device_memory)
{
    const dg_batch_row *row = s.row;
    options.seconds = 0.05;
    DG_CHECKF(find(b, DG_RULE_SWEEP, batch, batch, device_memory) == DG_OK && s.rows == 1, "%s", dg_message());
    DG_CHECKF((size_t)row->memory == most && now == 0, "batch %d: %.0f planned, %zu taken, %zu left", batch,
              row->memory, most, now);
    DG_CHECK(row->batch == batch && row->setup > 0 && bench.room.have > 0);
    DG_CHECKF(row->ms > 0 && row->ms <= row->median, "%g %g", row->ms, row->median);
    DG_CHECKF(row->busy > 0 && row->busy <= 100 && row->of_peak > 0, "%g %g", row->busy, row->of_peak);
    options.seconds = 0;
    return (size_t)row->memory;
}

/* Returns the bytes of device memory that a run with this batch size needs. */
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

/* The device memory of `mb` MB suffices for batch size 8, but not for 12. The search must not build a job of batch
 * size 12. */
static void check_search(dg_backend *b, double mb)
{
    options.min_steps = 1;
    DG_CHECKF(find(b, DG_RULE_SEARCH, 8, 65536, mb) == DG_OK, "%s", dg_message());
    DG_CHECKF((double)most <= mb * 1e6 && !failures && !now, "%zu bytes of %g MB", most, mb);
    DG_CHECK(s.rows == 1 && s.batch == 8);
    DG_CHECKF(strstr(s.why, "8: the fastest; batch size 12 does not fit: the run needs ") &&
                  strstr(s.why, "(--device-memory)"),
              "%s", s.why);
    for (int rule = 0; rule <= DG_RULE_SWEEP; rule++) /* rule energy needs a counter */
        DG_CHECK(rule == DG_RULE_ENERGY || (find(b, (dg_batch_rule)rule, 40, 65536, mb) == DG_DEVICE &&
                                            strstr(dg_message(), "largest batch that fits")));
    stop = 1;
    DG_CHECK(find(b, DG_RULE_SEARCH, 8, 65536, mb) == DG_FAILED && now == 0 && !s.rows);
    stop = 0;
}

static void check_rounds(dg_backend *b)
{
    options.steps = 11;
    DG_CHECKF(find(b, DG_RULE_USAGE, 20, 65536, 0) == DG_OK, "%s", dg_message());
    for (int i = 0; i < s.rows; i++) DG_CHECK(s.row[i].ms > 0 && s.row[i].busy > 0 && s.row[i].busy <= 100);
    DG_CHECKF(s.rows > 5 && s.batch && strstr(s.why, "usage: batch size "), "%s", s.why);
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
    data.pixels = calloc(61, dg_size_values(model.size, model.channels));
    right_alloc = b->alloc;
    right_release = b->release;
    b->alloc = counted_alloc;
    b->release = counted_release;
    (void)check_size(b, 8, 0); /* seven full batches and a short one */
    (void)check_size(b, 61, 0);
    const size_t whole = check_size(b, 7, 0);
    const size_t all = needs(b, 7, (size_t)-1);
    /* only a part of the dataset fits into device memory */
    DG_CHECK(check_size(b, 7, 1e-6 * ((double)all - 10000)) < whole - 10000);
    options.drop_last = true;
    (void)check_size(b, 8, 0);
    options.drop_last = false;
    check_search(b, 1e-6 * ((double)needs(b, 8, 1) + 1000));
    check_rounds(b);
    b->alloc = right_alloc;
    b->release = right_release;
    b->close(b);
    free(data.pixels);
    dg_options_free(&options);
    return dg_test_report();
}
