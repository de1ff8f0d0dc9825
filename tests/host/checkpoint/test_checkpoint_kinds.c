/* Tests that checkpoints are restored bit for bit: classifiers, standardised and whitened input, all optimizers, and
 * running averages. If a file does not match the job, the error names the difference. */
#include "failing.h"

#include "checkpoint_files.h"
#include "host/checkpoint/checkpoint_layout.h"

#define CLASSIFIER(input)                                                                                             \
    "[model]\nname = c\nsize = 8\nchannels = 3\nclasses = 3\n" input "[C.1]\nfilters = 4\nkernel = 3\nnorm = batch\n" \
    "bias = no\nact = relu\n[C.2]\nop = dense\nfilters = 3\n"
#define CONDITIONAL                                                                                               \
    "[model]\nname = g\nsize = 8\nlatent = 4\nclasses = 3\n[G.1]\nop = conv_transpose\nfilters = 3\nkernel = 8\n" \
    "pad = 0\nact = tanh\n[D.1]\nfilters = 1\nkernel = 8\npad = 0\n"
static char names[] = "cat\ndog\nc\xe9sar\n";
static const char *const good = "kinds.safetensors";

static bool up(machine *x, const char *text, const dg_job_options *o)
{
    static uint64_t seed = 1;
    memset(x, 0, sizeof *x);
    return DG_WORKS(dg_model_parse(text, "kinds", &x->m)) &&
           machine_begin(x, &(dg_cpu_options){.threads = 1, .real = DG_F32}, o, NULL, seed++);
}

static dg_job_options options(dg_optimizer k)
{
    dg_job_options o = machine_training(MACHINE_BATCH, 3, 0, MACHINE_ROWS);
    o.flip = false;
    o.optimizer = k;
    o.beta1 = o.rho = 0.9;
    o.momentum = k == DG_SGD ? 0.9 : 0;
    o.accumulator = 0.1;
    return o;
}

static bool save(machine *x, char *classes, const char *name)
{
    dg_checkpoint_info info = machine_info(x, 0);
    info.classes = classes;
    return DG_WORKS(machine_save(x, &info, temp_path(name)));
}

static void refuse(const edit *e, const char *why)
{
    open_file f;
    if (!edit_file(temp_path(good), temp_path("edited.safetensors"), e)) return;
    const dg_err code = one_open(temp_path("edited.safetensors"), &f);
    DG_CHECKF(code == DG_IO && !f.st && !f.info.classes && strstr(dg_message(), why), "expected \"%s\", got (%d) %s",
              why, (int)code, code ? dg_message() : "accepted");
    one_close(&f);
}

/* Loads a checkpoint into a job, as --resume does. Expects an error that contains `why`, or no error if `why` is
 * NULL. */
static void load(const char *name, machine *into, const char *why)
{
    open_file f;
    if (!DG_WORKS(one_open(temp_path(name), &f))) return;
    const dg_err e = dg_checkpoint_load(f.st, temp_path(name), &into->g);
    DG_CHECKF(why ? e == DG_USAGE && strstr(dg_message(), why) : !e, "load: (%d) %s", (int)e, e ? dg_message() : "");
    one_close(&f);
}

#if DG_FAILING
static machine *into;

static void nothing(void) {}

static dg_err read_and_write(void)
{
    const char *path = temp_path(good);
    open_file f;
    dg_snapshot *s = NULL;
    dg_err e = one_open(path, &f);
    if (!e) e = dg_checkpoint_load(f.st, path, &into->g);
    if (!e) e = dg_snapshot_take(&into->g, &f.info, &s);
    if (!e) e = dg_snapshot_write(s, NULL, temp_path("again.safetensors"));
    one_close(&f);
    return e;
}

/* Weights of a single network, which dg_export writes and a job reads as initial weights. */
static const char *const alone = "alone.safetensors";
static dg_err export_it(void) { return dg_export(temp_path(good), NULL, false, temp_path(alone)); }

static dg_err take_weights(void)
{
    const char *path = temp_path(alone);
    open_file f;
    char *text = NULL;
    unsigned nets = 0;
    dg_err e = one_open(path, &f);
    dg_st_free(f.st);
    f.st = NULL;
    if (!e) e = dg_weights_model(path, &text);
    if (!e) e = dg_weights_open(path, &f.model, &f.st);
    if (!e) e = dg_weights_put(f.st, path, &into->g, &nets);
    one_close(&f);
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
        load(good, &b, k == DG_SGD ? "was trained with optimizer sgd" : "was trained with optimizer");
        machine_down(&a);
        machine_down(&b);
    }
    refuse(&(edit){.key = "optimizer", .text = "rmsprop"}, "optimizer = rmsprop");
    o = options(DG_ADAM);
    dg_st *st = NULL;
    if (up(&a, CLASSIFIER(""), &o) && !dg_st_read(temp_path("edited.safetensors"), 0, &st))
        DG_REFUSED(dg_checkpoint_load(st, "edited", &a.g), DG_IO, "rmsprop");
    dg_st_free(st);
    machine_down(&a);
    refuse(&(edit){.tensor = "adadelta.v.C.main.0.weight", .drop = true}, "has no tensor adadelta.v.C.main.0.weight");

    /* A checkpoint of plain SGD has no moments, so it cannot be resumed with momentum. */
    o = options(DG_SGD);
    if (!up(&b, CLASSIFIER(""), &o)) return;
    o.momentum = 0;
    if (!up(&a, CLASSIFIER(""), &o) || !save(&a, names, good)) return;
    load(good, &a, NULL);
    load(good, &b, "no tensor sgd.m.C.main.0.weight");
    machine_down(&a);
    machine_down(&b);
}

static void test_classes(void)
{
    static machine a;
    open_file f;
    dg_job_options o = options(DG_ADAM);
    for (int c = 0; c < 3; c++) o.input.mean[c] = 0.1 * (c + 1), o.input.std[c] = 1.0 / (c + 3);
    if (!up(&a, CLASSIFIER("input = standard\n"), &o) || !save(&a, names, good)) return;
    DG_WORKS(one_open(temp_path(good), &f));
    DG_CHECKF(f.info.classes && !strcmp(f.info.classes, names), "classes came back as %s", f.info.classes);
    DG_CHECK(!memcmp(f.info.input.mean, o.input.mean, sizeof o.input.mean) &&
             !memcmp(f.info.input.std, o.input.std, sizeof o.input.std));
    one_close(&f);
    refuse(&(edit){.tensor = "adam.v.C.main.0.weight", .rename = "ema.C.main.0.weight"}, "no layer for tensor");
    refuse(&(edit){.tensor = "C.main.4.weight", .turned = true},
           "(256, 3); model c needs (3, 256): transpose the tensor");
    refuse(&(edit){.key = "classes", .text = "cat\ndog\n"}, "names 2 classes");
    refuse(&(edit){.key = "classes"}, "names 0 classes");
    refuse(&(edit){.key = "input"}, "input = (missing)");
    refuse(&(edit){.key = "input", .text = "0.1 1 0.1 1 0.1"}, "input = 0.1 1");
    refuse(&(edit){.key = "input", .text = "0.1 1 0.1 1 nan 1"}, "input = ");
    refuse(&(edit){.key = "input", .text = "0.1 1 0.1 0 0.1 1"}, "input = ");
    each_fails(&a);
    machine_down(&a);
}

static void test_whitening(void)
{
    static machine a;
    dg_st *st = NULL;
    open_file f;
    dg_job_options o = options(DG_ADAM);
    unsigned long long r = 7;
    dg_whitening *w = o.input.whitening = dg_whitening_new(dg_square(8), 3);
    if (!DG_CHECK(w != NULL)) return;
    const size_t n = (size_t)w->values;
    for (size_t i = 0; i < n * n; i++) w->weight[i] = (double)(float)dg_test_random(&r);
    for (size_t i = 0; i < n; i++) w->bias[i] = (double)(float)dg_test_random(&r);
    if (!up(&a, CLASSIFIER("input = zca\n"), &o) || !save(&a, names, good)) return;
    DG_WORKS(one_open(temp_path(good), &f));
    const dg_whitening *v = f.info.input.whitening;
    DG_CHECK(v && v->values == w->values && !memcmp(v->weight, w->weight, n * n * sizeof *w->weight) &&
             !memcmp(v->bias, w->bias, n * sizeof *w->bias));
    one_close(&f);
    refuse(&(edit){.tensor = "C.input.bias", .drop = true}, "C.input.bias");
    refuse(&(edit){.tensor = "C.input.weight", .value = INFINITY, .at = 5}, "value 5 is inf");
    const edit two_types = {.tensor = "C.input.bias", .type = DG_F64, .bare = true};
    dg_whitening *none = NULL;
    DG_CHECK(edit_file(temp_path(good), temp_path("edited.safetensors"), &two_types) &&
             !dg_weights_open(temp_path("edited.safetensors"), &a.m, &st));
    DG_CHECK(dg_ck_read_whitening(st, &a.m, &none) == DG_IO && !none && strstr(dg_message(), "C.input."));
    dg_st_free(st);
    each_fails(&a);
    machine_down(&a);
    dg_whitening_free(w);
}

/* Compares running averages of weights bit for bit, except norm statistics, which are recomputed when needed. */
static bool averages_equal(machine *a, machine *b)
{
    int compared = 0, same = 0;
    for (int i = 0; i < a->g.tensors; i++) {
        const dg_job_tensor *t = &a->g.tensor[i], *u = &b->g.tensor[i];
        if (t->average < 0 || strstr(t->name, ".running_")) continue;
        const size_t bytes = dg_count(a->g.arena.row[t->row].shape) * sizeof(float);
        float *x = malloc(bytes), *y = malloc(bytes);
        same += dg_job_read(&a->g, t, t->average, DG_F32, x) == DG_OK &&
                dg_job_read(&b->g, u, u->average, DG_F32, y) == DG_OK && !memcmp(x, y, bytes);
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
    machine_keep(&a, 1, temp_path(good));
    load(good, &b, NULL);
    DG_CHECK(machines_equal(&a, &b) && averages_equal(&a, &b) && !averages_equal(&a, &c));
    load(good, &plain, NULL);
    load("plain.safetensors", &b, "no ema");
    refuse(&(edit){.tensor = "ema.G.main.0.weight", .drop = true}, "has no tensor ema.G.main.0.weight");
    refuse(&(edit){.tensor = "ema.G.main.0.weight", .rename = "ema.D.main.0.weight"}, "no layer for tensor");
    each_fails(&a);
    machine_down(&a);
    machine_down(&b);
    machine_down(&c);
    machine_down(&plain);
}

static void test_class_images(void)
{
    static machine a;
    open_file f;
    const dg_job_options o = machine_training(MACHINE_BATCH, 3, 4, MACHINE_ROWS);
    const int images[] = {4, 0, 7};
    if (!up(&a, CONDITIONAL, &o) || !DG_WORKS(dg_job_set_classes(&a.g, images)) || !save(&a, names, good)) return;
    DG_WORKS(one_open(temp_path(good), &f));
    DG_CHECK(f.info.class_images && !memcmp(f.info.class_images, images, sizeof images));
    one_close(&f);
    refuse(&(edit){.key = "class-images", .text = "4 0"}, "of 3 classes");
    refuse(&(edit){.key = "class-images", .text = "4 -1 7"}, "of 3 classes");
    refuse(&(edit){.key = "class-images", .text = "4 0 9223372036854775807"}, "of 3 classes");
    refuse(&(edit){.key = "class-images", .text = "4 0 2147483647"}, "of 3 classes");
    refuse(&(edit){.key = "class-images", .text = "4 0 7 1"}, "more numbers than classes");
    refuse(&(edit){.key = "class-images", .text = "0 0 0"}, "all classes are empty");
    machine_down(&a);
}

DG_TESTS_IN("kinds", test_optimizers, test_classes, test_class_images, test_whitening, test_averages)
