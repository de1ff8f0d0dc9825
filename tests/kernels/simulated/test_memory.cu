/* Tests a network that does not fit into GPU memory. Before any allocation, the error states the required memory, the
 * free memory and the largest batch size that fits. That batch size fits, and one image more does not. If the network
 * does not fit, the command train leaves no files. */
#include "tests/all_ops.h"
#include "tests/devtest.h"
extern "C" {
#include "tests/command_line.h"
#include "tests/machine.h"
#include "tests/tempdir.h"
#include "host/cli/commands.h"
#include "host/measure/batch_time.h"
#include "host/trainer/fit.h"
}

static dg_model model;
static const dg_job_options training = machine_training(4096, 0, 4, 10000);

static dg_err fit(dg_backend *b, int batch, double most, bool use)
{
    dg_job job;
    dg_job_options o = training;
    o.batch = batch;
    o.last_batch = o.rows % batch;
    const dg_err e = dg_build_to_fit(&job, &model, &o, b, most);
    if (e) return e;
    /* allocates the dataset (or two windows of it) and its permutation too */
    void *data = nullptr, *perm = nullptr;
    const size_t image = dg_size_values(model.size, model.channels);
    if (use)
        DG_CHECKF(!b->alloc(b, (size_t)(job.o.window ? 2 * job.o.window : job.o.rows) * image, &data) &&
                      !b->alloc(b, (size_t)job.o.rows * 4, &perm) &&
                      !dg_job_alloc(&job, (uint8_t *)data, (int32_t *)perm),
                  "batch %d: %s", batch, dg_message());
    dg_job_free(&job);
    b->release(b, data);
    b->release(b, perm);
    return DG_OK;
}

static int named_batch(void)
{
    int batch = 0;
    const char *at = strstr(dg_message(), "the largest batch that fits is ");
    if (at) sscanf(at, "the largest batch that fits is %d", &batch);
    return batch;
}

static double number_before(const char *words)
{
    const char *at = strstr(dg_message(), words);
    if (!at) return -1;
    while (at > dg_message() && (at[-1] == '.' || (at[-1] >= '0' && at[-1] <= '9'))) at--;
    return atof(at);
}

static void one_size(size_t memory, double most)
{
    sim::device.memory = memory;
    dg_backend *b;
    dg_cuda_options o = {};
    if (!DG_CHECKF(!dg_cuda_open(&o, &b), "%s", dg_message())) return;
    const size_t before = sim::live_allocations();
    size_t unused = 0, total = 0;
    DG_CHECK(!b->memory(b, &unused, &total) && total == memory);
    DG_CHECK(fit(b, training.batch, most, false) == DG_DEVICE);
    const double needed = number_before(" MB (network"), have = number_before(" of ");
    DG_CHECKF(strstr(dg_message(), "batch 4096: does not fit on cuda:0, Simulated GPU 0") &&
                  needed > (most > 0 ? most : (double)unused / 1e6) && fabs(have - (double)unused / 1e6) < 0.06 &&
                  !strstr(dg_message(), "device-memory") == !most,
              "%s", dg_message());
    const int batch = named_batch();
    DG_CHECKF(batch > 100 && batch < 4096, "%s", dg_message());
    DG_CHECKF(fit(b, batch, most, true) == DG_OK, "named, but does not fit: %s", dg_message());
    DG_CHECK(fit(b, batch + 1, most, false) == DG_DEVICE);
    DG_CHECKF(named_batch() == batch, "%d, then %d", batch, named_batch());
    DG_CHECK(sim::live_allocations() == before);
    b->close(b);
}

static void others_hold_most()
{
    sim::device.memory = (size_t)64 << 20;
    void *ballast;
    DG_CHECK(cudaMalloc(&ballast, 63 << 20) == cudaSuccess);
    dg_backend *b;
    dg_cuda_options o = {};
    if (!DG_CHECKF(!dg_cuda_open(&o, &b), "%s", dg_message())) return;
    DG_CHECK(fit(b, 8, 0, false) == DG_DEVICE);
    DG_CHECKF(strstr(dg_message(), " 1.0 of 67.1 MB free (4.2 MB reserved for the driver); ") &&
                  strstr(dg_message(), "no batch size fits"),
              "%s", dg_message());
    b->close(b);
    (void)cudaFree(ballast);
}

/* Checks that the memory used while timing a batch size is within 1% of the table of `dcgan batch`. */
static double takes_what_is_planned(double most)
{
    static uint8_t pixels[100 * 16 * 16 * 3];
    static dg_batch_bench bench;
    static dg_batch_trial trial;
    char why[160];
    dg_options o = {};
    dg_dataset data = {};
    dg_backend *b;
    dg_cuda_options device = {};
    sim::device.memory = (size_t)512 << 20;
    if (!DG_CHECKF(!dg_cuda_open(&device, &b), "%s", dg_message())) return 0;
    data.count = data.train = 100;
    data.size = dg_square(16);
    data.channels = 3;
    data.pixels = pixels;
    o.grid_rows = o.grid_cols = 2;
    o.job.beta1 = 0.5;
    o.job.beta2 = 0.999;
    o.job.eps = 1e-8;
    o.device_memory = most;
    bench = {};
    bench.o = &o;
    bench.model = &model;
    bench.backend = b;
    bench.data = &data;
    size_t before = 0, with = 0, total;
    DG_CHECK(!dg_room_of(b, most, &bench.room) && !b->memory(b, &before, &total));
    DG_CHECKF(!dg_batch_open(&trial, &bench, 32, why) && !*why, "%s", dg_message());
    DG_CHECK(!b->memory(b, &with, &total) && !trial.job.o.window == !most);
    const double planned = (double)dg_fit_bytes(&trial.job), taken = (double)(before - with);
    DG_CHECKF(fabs(taken - planned) <= 0.01 * planned, "%.0f bytes taken, %.0f planned", taken, planned);
    dg_batch_close(&trial);
    DG_CHECK(!b->memory(b, &with, &total) && with == before);
    b->close(b);
    return planned;
}

static int dcgan(const char *words)
{
    dg_options o;
    int code = (int)parse_line(words, &o);
    if (!code) code = o.command == DG_CMD_DATA ? dg_cmd_data(&o) : dg_cmd_train(&o);
    dg_options_free(&o);
    return code;
}

static void train_command(const char *model_text)
{
    char words[2000], path[600];
    struct stat st;
    temp_make("memory");
    sim::device.memory = (size_t)1 << 20;
    snprintf(path, sizeof path, "%s/tiny.cfg", temp_dir);
    FILE *f = fopen(path, "w");
    if (!f || fputs(model_text, f) < 0 || fclose(f)) exit(1);
    snprintf(words, sizeof words, "data --synthesize %s/cats --count 40 --size 16 -q", temp_dir);
    DG_CHECKF(dcgan(words) == 0, "%s", dg_message());
    snprintf(words, sizeof words, "train --data %s/cats --model %s --device cuda --batch 40 --epochs 1 --out %s/run -q",
             temp_dir, path, temp_dir);
    DG_CHECKF(dcgan(words) == DG_DEVICE, "%s", dg_message());
    DG_CHECKF(strstr(dg_message(), "batch 40: does not fit on cuda:0") && named_batch() > 4, "%s", dg_message());
    snprintf(path, sizeof path, "%s/run", temp_dir);
    DG_CHECK(stat(path, &st) != 0);
    temp_remove(temp_dir);
}

int main()
{
    static char text[DG_MODEL_TEXT_MAX];
    if (dg_model_stock(text, "tiny", dg_square(16), 3, 12, 8, 8) || dg_model_parse(text, "tiny", &model)) return 1;
    one_size((size_t)64 << 20, 0);
    one_size((size_t)90 << 20, 0);
    one_size((size_t)512 << 20, 40);
    others_hold_most();
    const double whole = takes_what_is_planned(0);
    if (!dev_small()) { /* skipped with ThreadSanitizer, which does not support OpenMP */
        DG_CHECK(takes_what_is_planned(1e-6 * (whole - 10000)) < whole);
        train_command(text);
    }
    DG_CHECK(sim::live_handles() == 0 && sim::live_allocations() == 0);
    return dg_test_report();
}
