/* Runs commands on a device whose calls fail, once or permanently. The exit code must be 5, with the device's
 * message. A resumed run must give the same bytes as an uninterrupted run. The device is the CPU backend under the
 * name of the first GPU. */
#include <fcntl.h>
#include <limits.h>

#include "include/dcgan.h"
#include "child.h"
#include "run_command.h"

enum { CALLS = 4000 };
static struct {
    dg_backend is;           /* the CPU backend's functions */
    long calls, first, last; /* number of calls; calls `first` to `last` fail */
    const char *call[CALLS];
    size_t room; /* bytes of device memory, or 0 for no limit */
    bool asked, opened;
} device;

static dg_err answer(const char *call)
{
    const long n = ++device.calls;
    if (n < CALLS) device.call[n] = call;
    return n >= device.first && n <= device.last ? dg_fail(DG_DEVICE, "%s: the device is lost", call) : DG_OK;
}

#define CALL(name, declared, given)          \
    static dg_err lost_##name declared       \
    {                                        \
        const dg_err e = answer(#name);      \
        return e ? e : device.is.name given; \
    }
CALL(put, (dg_backend * b, void *to, const void *host, size_t bytes), (b, to, host, bytes))
CALL(get, (dg_backend * b, void *host, const void *from, size_t bytes), (b, host, from, bytes))
CALL(start_put, (dg_backend * b, dg_stream s, void *to, const void *host, size_t bytes), (b, s, to, host, bytes))
CALL(start_get, (dg_backend * b, dg_stream s, void *host, const void *from, size_t bytes), (b, s, host, from, bytes))
CALL(record, (dg_backend * b, dg_stream s, int event), (b, s, event))
CALL(wait, (dg_backend * b, dg_stream s, int event), (b, s, event))
CALL(run, (dg_backend * b, struct dg_plan *p), (b, p))
CALL(run_op, (dg_backend * b, const dg_op *op, double *ms), (b, op, ms))
CALL(sync, (dg_backend * b), (b))
CALL(time_plan, (dg_backend * b, struct dg_plan *p, double *ms), (b, p, ms))
CALL(time_op, (dg_backend * b, const dg_op *op, int n, double *ms), (b, op, n, ms))

static dg_err lost_memory(dg_backend *b, size_t *unused, size_t *total)
{
    dg_err e = answer("memory");
    if (!e) e = device.is.memory(b, unused, total);
    if (!e && device.room) *unused = *total = device.room;
    return e;
}

static dg_err lost_alloc(dg_backend *b, size_t bytes, void **memory)
{
    const dg_err e = answer("alloc");
    if (e) *memory = NULL;
    return e ? e : device.is.alloc(b, bytes, memory);
}

/* Reports an event as pending at every other query. */
static dg_err lost_query(dg_backend *b, int event, bool wait, bool *yes)
{
    const dg_err e = answer("query");
    if (e) return e;
    if (!wait && (device.asked = !device.asked)) return *yes = false, DG_OK;
    return device.is.query(b, event, wait, yes);
}

/* The CPU backend recognises itself by its `run`, so `run` is restored during the measurement. */
static dg_err lost_measure(dg_backend *b, struct dg_machine *m, int rounds)
{
    dg_err e = answer("measure");
    if (e) return e;
    b->run = device.is.run;
    e = device.is.measure(b, m, rounds);
    b->run = lost_run;
    return e;
}

/* Offers two kernel variants for an op: the current one and the first one, which accepts every shape. */
static int its_choices(dg_backend *b, const dg_op *op, dg_tune *out, int room)
{
    (void)b;
    if (room < 2) return 0;
    out[0] = op->tune;
    out[1] = (dg_tune){.variant = dg_op_info_of(op->kind)->variants[0], .block = 256, .split = 1};
    return 2;
}

/* Weak, because a linked CUDA backend also defines dg_cuda_open. */
__attribute__((weak)) dg_err dg_cuda_open(const dg_cuda_options *o, dg_backend **out)
{
    *out = NULL;
    dg_err e = answer("open");
    if (!e) e = dg_cpu_open(&(dg_cpu_options){.threads = 1, .real = o->real}, out);
    if (e) return e;
    dg_backend *b = *out;
    device.is = *b;
    device.opened = true;
    snprintf(b->name, sizeof b->name, "cuda:%d, a device of this test", o->device);
    b->queues = true;
    b->memory = lost_memory;
    b->alloc = b->alloc_host = lost_alloc;
    b->put = lost_put;
    b->get = lost_get;
    b->start_put = lost_start_put;
    b->start_get = lost_start_get;
    b->record = lost_record;
    b->wait = lost_wait;
    b->query = lost_query;
    b->run = lost_run;
    b->run_op = lost_run_op;
    b->sync = lost_sync;
    b->time_plan = lost_time_plan;
    b->time_op = lost_time_op;
    b->measure = lost_measure;
    b->choices = its_choices;
    return DG_OK;
}

__attribute__((weak)) int dg_cuda_devices(dg_cuda_device *out, int room, const char **why)
{
    *why = "";
    if (room > 0) out[0] = (dg_cuda_device){.name = "a device of this test", .multiprocessors = 1, .usable = true};
    return room > 0;
}

static int null;

static int dcgan(const char *line)
{
    device.calls = 0;
    output_to(null);
    const int code = run_command(line);
    output_to(standard_out);
    return code;
}

typedef struct {
    const char *line, *before; /* before: command that prepares each run of `line` */
    const char *result;        /* file whose bytes must not depend on interruptions, or NULL */
    int stride;                /* only every stride-th call of slow commands fails; 0 means that every call fails */
    bool for_good;             /* only permanent failures, because `tune` skips a variant that fails once */
    bool tight;                /* the device has the minimum memory for the command */
} row;

static const row rows[] = {
    {.line = "--data cats --model tiny.cfg --batch 4 --epochs 2 --checkpoint-every 1 --seed 5 --grid 1x2 --out out",
     .result = "out/checkpoint.safetensors"},
    {.line = "--resume --out out --epochs 2 --eval-every 1 --no-report",
     .before = "--data many --model tiny.cfg --batch 8 --epochs 1 --out out",
     .stride = 70},
    {.line = "verify out",
     .before = "--data cats --model tiny.cfg --batch 4 --epochs 2 --checkpoint-every 1 --sample-every 0 --no-report "
               "--out out",
     .stride = 5},
    {.line = "--data shapes --test 0.25 --model dropout.cfg --batch 5 --epochs 1 --seed 1 --out out",
     .result = "out/checkpoint.safetensors"},
    {.line = "--data cats --model tiny.cfg --batch 2 --epochs 1 --sample-every 0 --no-report --out out",
     .result = "out/checkpoint.safetensors",
     .tight = true},
    {.line = "generate run --count 3 --out out"},
    {.line = "interpolate run --seeds 1-2 --frames 2 --out out"},
    {.line = "interpolate run --direction 1-2 --frames 1 --out out"},
    {.line = "find run cats --count 1 --starts 2 --steps 2 --out out"},
    {.line = "classify net shapes"},
    {.line = "eval run --data many", .stride = 12},
    {.line = "replay oracle --steps 1"},
    {.line = "check tiny.cfg --batch 3", .stride = 30},
    {.line = "check penalty.cfg --batch 2 -q"},
    {.line = "check dropout.cfg --batch 2"},
    {.line = "bench tiny.cfg --batch 4 --repeats 1", .stride = 80},
    {.line = "profile tiny.cfg --batch 4 --repeats 1", .stride = 80},
    {.line = "tune tiny.cfg --batch 2 --repeats 3 --out out", .stride = 50, .for_good = true},
    {.line = "batch tiny.cfg --data cats --max-batch 4 --min-batch 4 --seconds 0.01", .stride = 10},
};

static bool there(const char *path) { return access(path, F_OK) == 0; }

/* Resumes the interrupted run and checks the bytes of c->result. */
static void goes_on(const row *c, const char *want, size_t bytes)
{
    size_t n = 0;
    const int code = dcgan(there("out/config.ini") ? c->before ? c->line : "--resume --out out" : c->line);
    DG_CHECKF(code == 0, "resumed: exit code %d: %s", code, dg_message());
    char *got = temp_slurp(c->result, &n);
    DG_CHECKF(got && n == bytes && !memcmp(got, want, n), "resumed: another %s", c->result);
    free(got);
}

static void prepare(const row *c)
{
    device.first = LONG_MAX;
    temp_remove("out");
    DG_CHECKF(!c->before || dcgan(c->before) == 0, "%s: %s", c->before, dg_message());
}

/* Returns the number of earlier calls that have the same name as call k, the same predecessor and the same successor.
 * Of calls with equal names and neighbours, the first fails once and the second permanently. */
static int like(const char *const *call, long k)
{
    int n = 0;
    for (long i = 1; i < k; i++) n += call[i - 1] == call[k - 1] && call[i] == call[k] && call[i + 1] == call[k + 1];
    return n;
}

/* Reduces the device memory to the minimum for this command, so that only a part of the dataset fits into it. */
static void tighten(const char *line)
{
    size_t less = 0, enough = (size_t)1 << 26;
    while (enough - less > 64) {
        device.room = less + (enough - less) / 2;
        temp_remove("out");
        if (dcgan(line)) less = device.room;
        else enough = device.room;
    }
    device.room = enough;
}

static void try(const row *c)
{
    static const char *call[CALLS];
    size_t bytes = 0;
    device.room = 0;
    prepare(c);
    if (c->tight) tighten(c->line);
    prepare(c);
    const int plain = dcgan(c->line);
    const long calls = device.calls;
    memcpy(call, device.call, sizeof call);
    if (calls + 1 < CALLS) call[calls + 1] = NULL;
    if (!DG_CHECKF(plain == 0 && calls > 9, "%s: exit code %d, %ld calls: %s", c->line, plain, calls, dg_message()))
        return;
    char *want = c->result ? temp_slurp(c->result, &bytes) : NULL;
    DG_CHECK(!c->result || want);
    for (long k = 1; k <= calls && k + 1 < CALLS; k += c->stride ? c->stride : 1) {
        const int wrong = dg_test_failed_;
        const bool for_good = c->for_good || like(call, k) == 1;
        if (like(call, k) > 1 && !c->stride) continue;
        prepare(c);
        device.first = k;
        device.last = for_good ? LONG_MAX - 1 : k;
        const int code = dcgan(c->line);
        device.first = LONG_MAX;
        const bool came = device.calls >= k; /* the number of calls varies in commands that measure time */
        DG_CHECKF(came ? code == DG_DEVICE && strstr(dg_message(), "the device is lost") : code == 0,
                  "exit code %d: %s", code, code ? dg_message() : "");
        DG_CHECKF(temp_count("out", "tmp") == 0, "something temporary is left");
        if (want) goes_on(c, want, bytes);
        if (dg_test_failed_ > wrong)
            printf("    %s: call %ld of %ld, %s%s\n", c->line, k, calls, call[k], for_good ? "+" : "");
    }
    device.room = 0;
    free(want);
}

static dcgan_error learn(void)
{
    static uint8_t pixels[11 * 16 * 16 * 3];
    const dcgan_device on = {.device = "cuda"};
    const dcgan_images p = {.pixels = pixels, .count = 11, .size = 16, .channels = 3};
    dcgan_training t = dcgan_training_defaults();
    dcgan_backend *b = NULL;
    dcgan_job *job = NULL;
    t.model = "tiny.cfg";
    t.batch = 4;
    device.calls = 0;
    dcgan_error e = dcgan_open(&on, &b);
    if (!e) e = dcgan_train(b, &t, &p, &job);
    for (int i = 0; i < 4 && !e; i++) e = dcgan_step(job, 1);
    if (!e) e = dcgan_save(job, "library.safetensors");
    if (!e) e = dcgan_sample(job, 1, 2, pixels);
    dcgan_free(job);
    dcgan_close(b);
    return e;
}

static void library(void)
{
    device.first = LONG_MAX;
    if (!DG_CHECKF(learn() == DCGAN_OK, "%s", dcgan_message())) return;
    for (long k = 1, calls = device.calls; k <= calls; k++) {
        device.first = device.last = k;
        const dcgan_error e = learn();
        DG_CHECKF(e == DCGAN_DEVICE && strstr(dcgan_message(), "the device is lost"), "library, call %ld of %ld: %d %s",
                  k, calls, (int)e, e ? dcgan_message() : "");
    }
    device.first = LONG_MAX;
}

static void ends(void)
{
    static const struct {
        const char *line;
        dg_err code;
        const char *says;
    } cases[] = {
        {"--data cats --model tiny.cfg --batch 3 --epochs 40 --optimizer sgd --lr 10 --lr-d 9 --out out", DG_NUMBERS,
         "the last checkpoint"},
        {"--data cats --model tiny.cfg --batch 4 --epochs 3 --sample-every 2 --out out", DG_OK, ""},
        {"--data many --model tiny.cfg --batch 16 --epochs 3 --eval-every 2 --out out", DG_OK, ""},
        /* with a low learning rate, no later test improves on the first */
        {"--data shapes --test 0.25 --model dropout.cfg --batch 5 --epochs 3 --lr 1e-9 --sample-every 0 --out out",
         DG_OK, ""},
        /* a launch runs several steps, but the last launch must end at step 23 */
        {"--data cats --model tiny.cfg --batch 1 --epochs 3 --steps 23 --out out", DG_OK, ""},
        /* there are more sample grids than --preview can show */
        {"--data cats --model tiny.cfg --batch 4 --epochs 4 --preview=blocks --out out", DG_OK, ""},
        /* identical images have a diversity of 0 */
        {"--data alike --model tiny.cfg --batch 4 --epochs 1 --out out", DG_OK, ""},
    };
    mkdir("alike", 0777);
    for (int i = 0; i < 4; i++) DG_CHECK(link("cats/cat-00000.png", temp_text("alike/%d.png", i)) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        temp_remove("out");
        const int code = dcgan(cases[i].line);
        DG_CHECKF(code == (int)cases[i].code && (!code || strstr(dg_message(), cases[i].says)), "%s: %d %s",
                  cases[i].line, code, code ? dg_message() : "");
    }
}

int main(void)
{
    if (DG_SANITIZED) {
        dg_test_skip("hundreds of runs are for a build without sanitizers");
        return dg_test_report();
    }
    static const char *const made[] = {
        "--data cats --model tiny.cfg --batch 4 --epochs 1 --out run",
        "--data shapes --test 0.25 --model dropout.cfg --batch 4 --epochs 1 --out net",
        NULL,
    };
    device.first = LONG_MAX;
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (!enter_directory("lost-device", "cuda")) return 1;
    dup2(null, 2);
    make_inputs(dcgan, made);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && device.opened; i++) try(&rows[i]);
    if (device.opened) library();
    if (device.opened) ends();
    if (!device.opened) dg_test_skip("this build has a CUDA backend that nothing can stand in for");
    return leave_directory();
}
