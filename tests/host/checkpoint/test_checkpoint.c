/* Tests that a run resumes from its checkpoint bit for bit, and that unsuitable checkpoints are refused. */
#include "host/checkpoint/checkpoint.h"
#include "checkpoint_files.h"
#include "host/checkpoint/checkpoint_layout.h"
#include "host/checkpoint/difference.h"
#include "tempdir.h"
#include "test.h"

#include "core/base/file_io.h"

static void test_resume(dg_type real)
{
    static machine a, b;
    dg_checkpoint_info info;
    open_file f;
    const char *path = temp_path("resume.safetensors"), *other = temp_path("other.safetensors");
    if (!machine_up(&a, &tiny, real, true) || !machine_up(&b, &tiny, real, true)) return;
    machine_steps(&a, 0, 5);
    info = machine_info(&a, 5);
    char config[] = "[run]\ndata = /caf\xe9/\xef\x9e\x80\xef\x9f\xbf/\xf0\x9f\x90\xb1/\xff\n";
    info.config = config;
    info.seed = UINT64_MAX;
    info.data_fingerprint = UINT64_MAX - 1;
    info.data_count = 3;
    info.images = 12345;
    dg_provenance_here(a.b, UINT64_MAX, &info.by);
    info.by.since = 4;
    DG_CHECK(machine_save(&a, &info, path) == DG_OK && machine_save(&a, &info, other) == DG_OK);
    DG_CHECK(same_file(path, other));

    DG_WORKS(one_open(path, &f));
    const dg_checkpoint_info got = f.info;
    const dg_st *st = f.st;
    DG_CHECK(got.step == 5 && got.epoch == 1 && got.batch == 2 && got.seed == UINT64_MAX && got.data_count == 3);
    DG_CHECK(got.images == 12345);
    DG_CHECKF(!memcmp(&got.by, &info.by, sizeof got.by) && !strncmp(got.by.device, "CPU, ", 5) &&
                  !strchr(got.by.device + 5, ' ') && !strchr(got.by.compiler, ';'),
              "%s, %s, %s", got.by.version, got.by.compiler, got.by.device);
    DG_CHECK(got.data_fingerprint == UINT64_MAX - 1 && !strcmp(got.precision, real == DG_F64 ? "fp64" : "fp32"));
    DG_CHECKF(!strcmp(got.config, config), "config came back as %s", got.config);
    DG_CHECK(!strcmp(f.model.text, tiny_text(&tiny)) && dg_same_size(f.model.size, dg_square(tiny.size)));
    DG_CHECK(dg_checkpoint_load(st, path, &b.g) == DG_OK);
    DG_CHECKF(machines_equal(&a, &b), "a checkpoint changes bits (%s)", got.precision);

    const dg_st_tensor *t = dg_st_find(st, "G.main.0.weight");
    DG_CHECK(t && t->type == real && t->rank == 4 && t->dim[2] == 4 && t->dim[3] == 4);
    DG_CHECK(t && t->dim[0] == tiny.latent && t->dim[1] == 2 * tiny.ngf);
    t = dg_st_find(st, "G.main.1.num_batches_tracked");
    DG_CHECK(t && t->type == DG_I64 && t->rank == 0 && *(const int64_t *)t->data == 5);
    t = dg_st_find(st, "D.main.3.num_batches_tracked");
    DG_CHECK(t && *(const int64_t *)t->data == 15);
    t = dg_st_find(st, "adam.v.D.main.3.bias");
    DG_CHECK(t && t->type == real && t->rank == 1 && t->dim[0] == 2 * tiny.ndf);
    DG_CHECK(!dg_st_find(st, "adam.m.G.main.1.running_mean") && dg_st_find(st, "G.main.1.running_mean"));
    t = dg_st_find(st, "D.main.3.running_var");
    double variance = t ? real == DG_F64 ? *(const double *)t->data : (double)*(const float *)t->data : 1;
    /* the running variance started at 1 and was updated 15 times with momentum 0.1 */
    DG_CHECK(variance > 0 && variance < 0.9);
    one_close(&f);

    machine_steps(&a, 5, 9);
    machine_steps(&b, 5, 9);
    DG_CHECK(machines_equal(&a, &b));
    machine_down(&a);
    machine_down(&b);
}

static void refuse(const edit *e, const char *why, dg_job *into)
{
    const char *path = temp_path("edited.safetensors");
    open_file f;
    if (!edit_file(temp_path("good.safetensors"), path, e)) return;
    const dg_err code = one_open(path, &f);
    DG_CHECKF(code != DG_OK && !f.st && !f.info.config && strstr(dg_message(), path) && strstr(dg_message(), why),
              "expected \"%s\", got (%d) %s", why, (int)code, code ? dg_message() : "accepted");
    one_close(&f);
    dg_st *st;
    if (!into || e->key || dg_st_read(path, 0, &st)) return;
    DG_CHECKF(dg_checkpoint_load(st, path, into) != DG_OK && strstr(dg_message(), why), "load: expected %s", why);
    dg_st_free(st);
}

static void test_place(void)
{
    static const struct {
        const char *config;
        uint64_t step, epoch, batch, count;
        bool good;
    } cases[] = {
        {"batch = 4\ndrop-last = no\n", 5, 1, 2, 11, true},
        {"batch = 4\ndrop-last = no\n", 6, 1, 3, 11, false},
        {"batch = 4\ndrop-last = yes\n", 5, 2, 1, 11, true},
        {"batch = 4\ndrop-last = yes\n", 6, 2, 2, 11, false},
        {"batch = 4\ndrop-last = no\n", 5, 1, 2, 12, true},
        {"batch = 4\ndrop-last = no\n", 6, 1, 3, 12, false},
        {"seed = 1\nbatch = 4\n", 6, 1, 3, 11, false},
        {"", 6, 1, 3, 11, true},
        {"batch = 4\n", 6, 1, 3, 0, true},    /* an imported checkpoint does not store the number of images */
        {"batch = 4\n", 700, 1, 2, 11, true}, /* an earlier run may have had another dataset or batch size */
        {"batch = 4\n", 2, 1, 2, 11, false},
    };
    static machine a;
    if (!machine_up(&a, &tiny, DG_F32, true)) return;
    const char *path = temp_path("place.safetensors");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char config[64];
        snprintf(config, sizeof config, "%s", cases[i].config);
        const dg_checkpoint_info info = {.step = cases[i].step,
                                         .epoch = cases[i].epoch,
                                         .batch = cases[i].batch,
                                         .data_count = cases[i].count,
                                         .precision = "fp32",
                                         .config = config};
        open_file f;
        DG_CHECK(machine_save(&a, &info, path) == DG_OK);
        const dg_err e = one_open(path, &f);
        DG_CHECKF(e == (cases[i].good ? DG_OK : DG_IO), "case %zu: %d, %s", i, (int)e, e ? dg_message() : "");
        one_close(&f);
    }
    machine_down(&a);
}

static void test_refusals(void)
{
    static machine a;
    if (!machine_up(&a, &tiny, DG_F32, true)) return;
    dg_checkpoint_info info = machine_info(&a, 0);
    info.images = 5;
    dg_provenance_here(a.b, 0, &info.by);
    DG_CHECK(machine_save(&a, &info, temp_path("good.safetensors")) == DG_OK);
    edit none = {0};
    DG_CHECK(edit_file(temp_path("good.safetensors"), temp_path("edited.safetensors"), &none));
    DG_CHECK(same_file(temp_path("good.safetensors"), temp_path("edited.safetensors")));

    static const struct {
        edit e;
        const char *why;
    } cases[] = {
        {{.tensor = "G.main.0.weight", .value = NAN, .at = 17}, "value 17 is nan"},
        {{.tensor = "D.main.0.weight", .value = -INFINITY}, "value 0 is -inf"},
        {{.tensor = "G.main.1.running_var", .value = -1e-6}, "cannot be negative"},
        {{.tensor = "adam.v.G.main.1.weight", .value = -1e-30}, "cannot be negative"},
        {{.tensor = "adam.m.G.main.1.weight", .value = NAN}, "is nan"},
        {{.tensor = "G.main.1.num_batches_tracked", .value = -1}, "cannot be negative"},
        {{.tensor = "G.main.4.bias", .drop = true}, "no tensor G.main.4.bias"},
        {{.tensor = "adam.m.D.main.0.weight", .drop = true}, "no tensor adam.m.D.main.0.weight"},
        {{.tensor = "adam.v.G.main.0.weight", .drop = true}, "no tensor adam.v.G.main.0.weight"},
        {{.tensor = "D.main.3.num_batches_tracked", .drop = true}, "no tensor D.main.3.num_batches_tracked"},
        {{.tensor = "G.main.4.bias", .rename = "G.main.4.baas"}, "G.main.4.baas"},
        {{.tensor = "G.main.4.bias", .rename = "main.4.bias"}, "no layer for tensor main.4.bias"},
        {{.tensor = "adam.m.G.main.1.bias", .rename = "adam.m.G.main.1.running_mean"}, "no layer for tensor"},
        {{.tensor = "G.main.1.bias", .flat = true}, "has shape (1, "},
        {{.tensor = "G.main.1.bias", .scalar = true}, "has shape ()"},
        {{.tensor = "G.main.1.bias", .type = DG_I32}, "type I32; the type must be F32"},
        {{.tensor = "D.main.3.num_batches_tracked", .type = DG_F64}, "type F64; the type must be I64"},
        {{.key = "format", .text = "dcgan-checkpoint-2"}, "newer"},
        {{.key = "format", .text = "dcgan-oracle-1"}, "dcgan replay"},
        {{.key = "format", .text = "elephant"}, "elephant"},
        /* a generator file has no optimizer moments */
        {{.key = "format", .text = "dcgan-generator-1"}, "no layer for tensor"},
        {{.key = "precision", .text = "fp64"}, "the type must be F64"},
        {{.key = "precision", .text = "fp8"}, "fp8"},
        {{.key = "precision"}, "missing"},
        {{.key = "model"}, "has no model"},
        {{.key = "model", .text = "[model]\nname = x\n"}, "edited"},
        {{.key = "unchanged-since", .text = "-1"}, "unchanged-since = -1"},
        {{.key = "step"}, "step = (missing)"},
        {{.key = "step", .text = "-1"}, "step = -1"},
        {{.key = "epoch", .text = "99999999999999999999"}, "epoch = 9999"},
        {{.key = "step", .text = "9007199254740993"}, "step 9007199254740993, epoch 0"},
        {{.key = "epoch", .text = "2147483648"}, "epoch 2147483648"},
        {{.key = "data-count", .text = "2147483648"}, "data-count 2147483648"},
        {{.key = "step", .text = "1"}, "tensor G.main.1.num_batches_tracked is 0"},
        {{.key = "epoch", .text = "1"}, "step 0 "},
        {{.key = "batch-in-epoch", .text = "1"}, "step 0 "},
        {{.tensor = "D.main.3.num_batches_tracked", .value = 2}, "D.main.3.num_batches_tracked is 2"},
        {{.key = "batch-in-epoch", .text = "1.5"}, "batch-in-epoch = 1.5"},
        {{.key = "images-shown", .text = "9007199254740993"}, "images-shown = 9007199254740993"},
        {{.key = "images-shown", .text = "-1"}, "images-shown = -1"},
        {{.key = "seed", .text = " 1"}, "seed =  1"},
        {{.key = "data-count", .text = ""}, "data-count = "},
        {{.key = "data-fingerprint", .text = "0x1"}, "data-fingerprint = 0x1"},
        {{.unchecked = true}, "without checksums"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuse(&cases[i].e, cases[i].why, cases[i].e.tensor ? &a.g : NULL);

    stock wide = tiny, tall = tiny;
    wide.ngf++;
    tall.size *= 2;
    const struct {
        const stock *of;
        dg_type real;
        bool train;
        dg_err code;
        const char *why;
    } other[] = {{&wide, DG_F32, true, DG_IO, "has shape (6, 10, 4, 4)"},
                 {&tall, DG_F32, true, DG_IO, ""},
                 {&tiny, DG_F64, true, DG_USAGE, "precision fp32"},
                 {&tiny, DG_F64, false, DG_OK, ""}};
    static machine b;
    open_file f;
    const char *path = temp_path("good.safetensors");
    DG_CHECK(one_open(path, &f) == DG_OK);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        if (!machine_up(&b, other[i].of, other[i].real, other[i].train)) continue;
        DG_CHECKF(dg_checkpoint_load(f.st, path, &b.g) == other[i].code && strstr(dg_message(), other[i].why),
                  "job %zu: %s", i, dg_message());
        machine_down(&b);
    }
    one_close(&f);
    DG_CHECK(one_open(temp_path("none"), &f) == DG_IO && !f.st);
    machine_down(&a);
}

/* All of a is compared with one changed copy of it. */
static void test_difference(void)
{
    static machine a;
    if (!machine_up(&a, &tiny, DG_F32, true)) return;
    const char *path = temp_path("good.safetensors"), *other = temp_path("edited.safetensors");
    machine_keep(&a, 3, path);
    machine_down(&a);
    static const struct {
        edit e;
        const char *name, *key;
        size_t values, of;
        double least; /* bound of the largest difference */
    } cases[] = {
        {{0}, "", "", 0, 0, 0},
        {{.tensor = "adam.m.G.main.0.weight", .value = 7, .at = 5}, "adam.m.G.main.0.weight", "", 1, 960, 6.5},
        {{.tensor = "G.main.0.weight", .value = NAN}, "G.main.0.weight", "", 1, 960, 1e300},
        {{.tensor = "G.main.1.num_batches_tracked", .value = 9}, "G.main.1.num_batches_tracked", "", 1, 1, 6},
        {{.tensor = "G.main.0.weight", .drop = true}, "G.main.0.weight", "", 0, 0, 0},
        {{.tensor = "G.main.0.weight", .flat = true}, "G.main.0.weight", "", 0, 0, 0},
        {{.tensor = "G.main.0.weight", .rename = "x"}, "G.main.0.weight", "", 0, 0, 0},
        {{.key = "seed", .text = "8"}, "", "seed", 0, 0, 0},
        {{.key = "seed"}, "", "seed", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dg_st *x = NULL, *y = NULL;
        dg_difference d, back;
        if (!edit_file(path, other, &cases[i].e) || dg_st_read(path, 0, &x) || dg_st_read(other, 0, &y)) continue;
        dg_checkpoint_difference(x, y, &d);
        dg_checkpoint_difference(y, x, &back);
        DG_CHECKF(!strcmp(d.name, cases[i].name) && !strcmp(d.key, cases[i].key) && d.values == cases[i].values &&
                      d.of == cases[i].of && d.largest >= cases[i].least && d.tensors == dg_st_count(x),
                  "case %zu: %s, %s, %zu of %zu, %g", i, d.name, d.key, d.values, d.of, d.largest);
        DG_CHECKF((d.others > 0) == (back.others > 0) && (d.others > 0) == !!*d.name && !strcmp(back.key, d.key),
                  "case %zu: the other way round %s, %s", i, back.name, back.key);
        dg_st_free(x);
        dg_st_free(y);
    }
}

static void test_provenance(void)
{
    dg_provenance a, b;
    const char *x, *y;
    dg_backend gpu = {.name = "cuda:3, NVIDIA X 9, sm_90"}, cpu = {.name = "cpu, 12 threads, avx2", .threads = 12},
               odd = {.name = "plain"};
    dg_provenance_here(&cpu, 0, &a);
    DG_CHECK(!strcmp(a.device, "CPU, avx2") && !dg_provenance_differs(&a, &a, &x, &y));
    dg_provenance_here(&odd, 0, &b);
    DG_CHECK(!strcmp(b.device, "plain") && !strcmp(dg_provenance_differs(&a, &b, &x, &y), "device") && x == a.device &&
             y == b.device);
    dg_provenance_here(&gpu, 5, &b);
    a = b;
    DG_CHECKF(!strcmp(b.device, "NVIDIA X 9, sm_90"), "%s", b.device);
    a.since = 3;
    DG_CHECK(!dg_provenance_differs(&a, &b, &x, &y));
    a.kernels = 6;
    DG_CHECK(!strcmp(dg_provenance_differs(&a, &b, &x, &y), "kernels") && !*x && !*y);
    a.compiler[0] = '?';
    DG_CHECK(!strcmp(dg_provenance_differs(&a, &b, &x, &y), "compiler") && *x == '?');
    a.version[0] = '?';
    DG_CHECK(!strcmp(dg_provenance_differs(&a, &b, &x, &y), "version"));
}

int main(void)
{
    temp_make("checkpoint");
    test_difference();
    test_provenance();
    test_resume(DG_F32);
    test_resume(DG_F64);
    test_place();
    test_refusals();
    temp_remove(temp_dir);
    return dg_test_report();
}
