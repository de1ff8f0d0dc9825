/* Checkpoints of what is no GAN trained by Adam: classes, standardised and whitened input, the moments of other
 * optimisers, running averages; each comes back bit for bit, and what does not fit together is refused by name. */
#include "failing.h"

#include "checkpoint_files.h"
#include "host/checkpoint/checkpoint_layout.h"

#define CLASSIFIER(input)                                                                                             \
    "[model]\nname = c\nsize = 8\nchannels = 3\nclasses = 3\n" input "[C.1]\nfilters = 4\nkernel = 3\nnorm = batch\n" \
    "bias = no\nact = relu\n[C.2]\nop = dense\nfilters = 3\n"
static char names[] = "cat\ndog\nc\xe9sar\n";
static const char *const good = "kinds.safetensors";

static bool up(machine *x, const char *text, const dg_job_options *o)
{
    static uint64_t seed = 1;
    memset(x, 0, sizeof *x);
    return DG_CHECKF(!dg_model_parse(text, "kinds", &x->m), "%s", dg_message()) &&
           machine_begin(x, &(dg_cpu_options){.threads = 1, .real = DG_F32}, o, NULL, seed++);
}

static dg_job_options options(dg_optimizer k)
{
    return (dg_job_options){.batch = MACHINE_BATCH,
                            .last_batch = 3,
                            .rows = MACHINE_ROWS,
                            .train = true,
                            .optimizer = k,
                            .beta1 = 0.9,
                            .beta2 = 0.999,
                            .eps = 1e-8,
                            .momentum = k == DG_SGD ? 0.9 : 0,
                            .rho = 0.9,
                            .accumulator = 0.1};
}

static bool save(machine *x, char *classes, const char *name)
{
    dg_checkpoint_info info = machine_info(x, 0);
    info.classes = classes;
    return DG_CHECKF(machine_save(x, &info, temp_path(name)) == DG_OK, "%s", dg_message());
}

static void refuse(const edit *e, const char *why)
{
    const char *path = temp_path("edited.safetensors");
    dg_st *st = NULL;
    static dg_model model;
    dg_checkpoint_info info = {0};
    if (!edit_file(temp_path(good), path, e)) return;
    const dg_err code = dg_checkpoint_open(path, &st, &model, &info);
    DG_CHECKF(code == DG_IO && !st && !info.classes && strstr(dg_message(), why), "expected \"%s\", got (%d) %s", why,
              (int)code, code ? dg_message() : "accepted");
    dg_st_free(st);
    dg_checkpoint_info_free(&info);
}

/* Into a job that goes on: DG_OK, or why not. */
static void load(const char *name, machine *into, const char *why)
{
    dg_st *st = NULL;
    static dg_model model;
    dg_checkpoint_info info;
    if (!DG_CHECKF(dg_checkpoint_open(temp_path(name), &st, &model, &info) == DG_OK, "%s", dg_message())) return;
    const dg_err e = dg_checkpoint_load(st, temp_path(name), &into->g);
    DG_CHECKF(why ? e == DG_USAGE && strstr(dg_message(), why) : !e, "load: (%d) %s", (int)e, e ? dg_message() : "");
    dg_st_free(st);
    dg_checkpoint_info_free(&info);
}

#if DG_FAILING
static machine *into; /* whose job takes the file's values, and writes them again */

static void nothing(void) {}

static dg_err read_and_write(void)
{
    const char *path = temp_path(good);
    static dg_model model;
    dg_checkpoint_info info = {0};
    dg_snapshot *s = NULL;
    dg_st *st = NULL;
    dg_err e = dg_checkpoint_open(path, &st, &model, &info);
    if (!e) e = dg_checkpoint_load(st, path, &into->g);
    if (!e) e = dg_snapshot_take(&into->g, &info, &s);
    if (!e) e = dg_snapshot_write(s, NULL, temp_path("again.safetensors"));
    dg_st_free(st);
    dg_checkpoint_info_free(&info);
    return e;
}

/* The network alone; and as weights to begin with. */
static const char *const alone = "alone.safetensors";
static dg_err export_it(void) { return dg_export(temp_path(good), NULL, false, temp_path(alone)); }

static dg_err take_weights(void)
{
    const char *path = temp_path(alone);
    static dg_model model;
    dg_checkpoint_info info = {0};
    dg_st *st = NULL;
    char *text = NULL;
    unsigned nets = 0;
    dg_err e = dg_checkpoint_open(path, &st, &model, &info);
    dg_st_free(st);
    st = NULL;
    if (!e) e = dg_weights_model(path, &text);
    if (!e) e = dg_weights_open(path, &model, &st);
    if (!e) e = dg_weights_put(st, path, &into->g, &nets);
    dg_st_free(st);
    dg_checkpoint_info_free(&info);
    free(text);
    return e ? e : nets ? DG_OK : DG_FAILED;
}

static void are_taken(dg_err e)
{
    DG_CHECKF(!e || (e != DG_FAILED && *dg_message()), "%d without a message", (int)e);
    DG_CHECK(temp_count(temp_dir, "dcgan-tmp") == 0);
}

static void is_written(dg_err e)
{
    const bool there = access(temp_path("again.safetensors"), F_OK) == 0;
    DG_CHECKF(e ? *dg_message() != 0 : there, "%d without a message", (int)e);
    DG_CHECKF(!there || same_file(temp_path(good), temp_path("again.safetensors")), "another file was written");
    DG_CHECK(temp_count(temp_dir, "dcgan-tmp") == 0);
    unlink(temp_path("again.safetensors"));
}

/* The file of this machine, with each call of reading and writing it failing once. */
static void each_fails(machine *x)
{
    into = x;
    DG_CHECK(each_call("reading and writing", nothing, read_and_write, is_written) > 300);
    DG_CHECK(each_call("exporting", nothing, export_it, are_taken) > 100);
    DG_CHECK(!export_it() && each_call("weights alone", nothing, take_weights, are_taken) > 200);
}
#else
static void each_fails(machine *x) { (void)x; }
#endif

static void test_optimizers(void)
{
    static machine a, b;
    dg_job_options o;
    for (dg_optimizer k = DG_ADAM; k < DG_OPTIMIZERS; k++) {
        o = options(k);
        if (!up(&a, CLASSIFIER(""), &o) || !up(&b, CLASSIFIER(""), &o) || !save(&a, names, good)) return;
        load(good, &b, NULL);
        DG_CHECKF(machines_equal(&a, &b), "%s", dg_optimizers[k].name);
        machine_down(&b);
        o = options(k == DG_SGD ? DG_ADAM : DG_SGD);
        if (!up(&b, CLASSIFIER(""), &o)) return;
        load(good, &b, k == DG_SGD ? "was trained with optimizer sgd" : "and can only go on with it");
        machine_down(&a);
        machine_down(&b);
    }
    refuse(&(edit){.key = "optimizer", .text = "rmsprop"},
           "its optimizer is rmsprop, which this version does not know");
    o = options(DG_ADAM);
    dg_st *st = NULL;
    if (up(&a, CLASSIFIER(""), &o) && !dg_st_read(temp_path("edited.safetensors"), 0, &st))
        DG_CHECK(dg_checkpoint_load(st, "edited", &a.g) == DG_IO && strstr(dg_message(), "rmsprop"));
    dg_st_free(st);
    machine_down(&a);
    refuse(&(edit){.tensor = "adadelta.v.C.main.0.weight", .drop = true}, "has no tensor adadelta.v.C.main.0.weight");

    /* Plain SGD has no moments, and cannot go on with momentum. */
    o = options(DG_SGD);
    if (!up(&b, CLASSIFIER(""), &o)) return;
    o.momentum = 0;
    if (!up(&a, CLASSIFIER(""), &o) || !save(&a, names, good)) return;
    load(good, &a, NULL);
    load(good, &b, "there is no tensor sgd.m.C.main.0.weight: that run had no momentum");
    machine_down(&a);
    machine_down(&b);
}

static void test_classes(void)
{
    static machine a;
    dg_st *st = NULL;
    static dg_model model;
    dg_checkpoint_info got;
    dg_job_options o = options(DG_ADAM);
    for (int c = 0; c < 3; c++) o.input.mean[c] = 0.1 * (c + 1), o.input.std[c] = 1.0 / (c + 3);
    if (!up(&a, CLASSIFIER("input = standard\n"), &o) || !save(&a, names, good)) return;
    if (DG_CHECKF(dg_checkpoint_open(temp_path(good), &st, &model, &got) == DG_OK, "%s", dg_message())) {
        DG_CHECKF(got.classes && !strcmp(got.classes, names), "classes came back as %s", got.classes);
        DG_CHECK(!memcmp(got.input.mean, o.input.mean, sizeof got.input.mean) &&
                 !memcmp(got.input.std, o.input.std, sizeof got.input.std));
        dg_st_free(st);
        dg_checkpoint_info_free(&got);
    }
    refuse(&(edit){.tensor = "adam.v.C.main.0.weight", .rename = "ema.C.main.0.weight"}, "belongs to no layer");
    refuse(&(edit){.key = "classes", .text = "cat\ndog\n"}, "names 2 classes; model c tells 3 apart");
    refuse(&(edit){.key = "classes"}, "names 0 classes");
    refuse(&(edit){.key = "input"}, "its input is missing; mean and standard deviation of 3 channels are wanted");
    refuse(&(edit){.key = "input", .text = "0.1 1 0.1 1 0.1"}, "its input is 0.1 1");
    refuse(&(edit){.key = "input", .text = "0.1 1 0.1 1 nan 1"}, "its input is");
    refuse(&(edit){.key = "input", .text = "0.1 1 0.1 0 0.1 1"}, "its input is");
    each_fails(&a);
    machine_down(&a);
}

static void test_whitening(void)
{
    static machine a;
    dg_st *st = NULL;
    static dg_model model;
    dg_checkpoint_info got;
    dg_job_options o = options(DG_ADAM);
    unsigned long long r = 7;
    dg_whitening *w = o.input.whitening = dg_whitening_new(8, 3);
    if (!DG_CHECK(w != NULL)) return;
    const size_t n = (size_t)w->values;
    for (size_t i = 0; i < n * n; i++) w->weight[i] = (double)(float)dg_test_random(&r);
    for (size_t i = 0; i < n; i++) w->bias[i] = (double)(float)dg_test_random(&r);
    if (!up(&a, CLASSIFIER("input = zca\n"), &o) || !save(&a, names, good)) return;
    if (DG_CHECKF(dg_checkpoint_open(temp_path(good), &st, &model, &got) == DG_OK, "%s", dg_message())) {
        const dg_whitening *v = got.input.whitening;
        DG_CHECK(v && v->values == w->values && !memcmp(v->weight, w->weight, n * n * sizeof *w->weight) &&
                 !memcmp(v->bias, w->bias, n * sizeof *w->bias));
        dg_st_free(st);
        dg_checkpoint_info_free(&got);
    }
    refuse(&(edit){.tensor = "C.input.bias", .drop = true}, "C.input.bias");
    refuse(&(edit){.tensor = "C.input.weight", .value = INFINITY, .at = 5}, "value 5 is inf");
    const edit two_types = {.tensor = "C.input.bias", .type = DG_F64, .bare = true};
    dg_whitening *none = NULL;
    DG_CHECK(edit_file(temp_path(good), temp_path("edited.safetensors"), &two_types) &&
             !dg_weights_open(temp_path("edited.safetensors"), &a.m, &st));
    DG_CHECK(dg_ck_read_whitening(st, &a.m, &none) == DG_IO && !none && strstr(dg_message(), "are of two types"));
    dg_st_free(st);
    each_fails(&a);
    machine_down(&a);
    dg_whitening_free(w);
}

/* Of weights; their statistics are made anew when somebody asks for them. */
static bool averages_equal(machine *a, machine *b)
{
    int compared = 0, same = 0;
    for (int i = 0; i < a->g.tensors; i++) {
        const dg_job_tensor *t = &a->g.tensor[i], *u = &b->g.tensor[i];
        if (t->average < 0 || strstr(t->name, ".running_")) continue;
        float *x = malloc(dg_count(a->g.arena.row[t->row].shape) * sizeof *x);
        float *y = malloc(dg_count(a->g.arena.row[t->row].shape) * sizeof *y);
        same += dg_job_read(&a->g, t, t->average, DG_F32, x) == DG_OK &&
                dg_job_read(&b->g, u, u->average, DG_F32, y) == DG_OK &&
                !memcmp(x, y, dg_count(a->g.arena.row[t->row].shape) * sizeof *x);
        compared++;
        free(x);
        free(y);
    }
    return compared > 3 && same == compared;
}

static void test_averages(void)
{
    static machine a, b, c, plain;
    dg_job_options o = options(DG_ADAM), without = o;
    o.samples = without.samples = 4;
    o.ema = 0.99;
    char text[DG_MODEL_TEXT_MAX];
    snprintf(text, sizeof text, "%s", tiny_text(&tiny));
    if (!up(&a, text, &o) || !up(&b, text, &o) || !up(&c, text, &o) || !up(&plain, text, &without)) return;
    machine_steps(&a, 0, 1);
    if (!save(&plain, NULL, "plain.safetensors")) return;
    dg_checkpoint_info info = machine_info(&a, 1);
    DG_CHECK(machine_save(&a, &info, temp_path(good)) == DG_OK);
    load(good, &b, NULL);
    DG_CHECK(machines_equal(&a, &b) && averages_equal(&a, &b) && !averages_equal(&a, &c));
    load(good, &plain, NULL); /* what is not averaged any more leaves them */
    load("plain.safetensors", &b, "that run had no ema");
    refuse(&(edit){.tensor = "ema.G.main.0.weight", .drop = true}, "has no tensor ema.G.main.0.weight");
    refuse(&(edit){.tensor = "ema.G.main.0.weight", .rename = "ema.D.main.0.weight"}, "belongs to no layer");
    each_fails(&a);
    machine_down(&a);
    machine_down(&b);
    machine_down(&c);
    machine_down(&plain);
}

int main(void)
{
    if (access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0); /* where fsync costs nothing */
    temp_make("kinds");
    test_optimizers();
    test_classes();
    test_whitening();
    test_averages();
    temp_remove(temp_dir);
    return dg_test_report();
}
