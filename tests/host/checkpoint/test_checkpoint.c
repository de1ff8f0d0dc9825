/* Checkpoints resume bit for bit, and what is not exactly a checkpoint of this model is refused with its name. */
#include "host/checkpoint/checkpoint.h"
#include "checkpoint_files.h"
#include "host/checkpoint/checkpoint_layout.h"
#include "kill_at_random.h"
#include "tempdir.h"
#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "core/base/file_io.h"

/* ---- Round trip. ---- */

static void test_resume(dg_type real)
{
    static machine a, b;
    dg_st *st;
    dg_model model;
    dg_checkpoint_info info, got;
    const char *path = temp_path("resume.safetensors"), *other = temp_path("other.safetensors");
    if (!machine_up(&a, &tiny, real, true) || !machine_up(&b, &tiny, real, true)) return;
    machine_steps(&a, 0, 5);
    info = machine_info(&a, 5);
    char config[] = "[run]\ndata = /caf\xe9/\xef\x9e\x80\xef\x9f\xbf/\xf0\x9f\x90\xb1/\xff\n";
    info.config = config;
    info.seed = UINT64_MAX;
    info.data_fingerprint = UINT64_MAX - 1;
    info.data_count = 3;
    DG_CHECK(machine_save(&a, &info, path) == DG_OK && machine_save(&a, &info, other) == DG_OK);
    DG_CHECK(same_file(path, other));

    DG_CHECKF(dg_checkpoint_open(path, &st, &model, &got) == DG_OK, "%s", dg_message());
    DG_CHECK(got.step == 5 && got.epoch == 1 && got.batch == 2 && got.seed == UINT64_MAX && got.data_count == 3);
    DG_CHECK(got.data_fingerprint == UINT64_MAX - 1 && !strcmp(got.precision, real == DG_F64 ? "fp64" : "fp32"));
    DG_CHECKF(!strcmp(got.config, config), "config came back as %s", got.config);
    DG_CHECK(!strcmp(model.text, tiny_text(&tiny)) && model.size == tiny.size);
    DG_CHECK(dg_checkpoint_load(st, path, &b.g) == DG_OK);
    DG_CHECKF(machines_equal(&a, &b), "a checkpoint changes bits (%s)", got.precision);

    /* PyTorch's shapes, types and counts. */
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
    DG_CHECK(variance > 0 && variance < 0.9); /* 15 updates with momentum 0.1 away from 1 */
    dg_st_free(st);
    dg_checkpoint_info_free(&got);

    /* Going on gives the same bits as never having stopped. */
    machine_steps(&a, 5, 9);
    machine_steps(&b, 5, 9);
    DG_CHECK(machines_equal(&a, &b));
    machine_down(&a);
    machine_down(&b);
}

/* ---- Refusals. ---- */

static void refuse(const edit *e, const char *why, dg_job *into)
{
    const char *path = temp_path("edited.safetensors");
    dg_st *st = NULL;
    dg_model model;
    dg_checkpoint_info info = {0};
    if (!edit_file(temp_path("good.safetensors"), path, e)) return;
    dg_err code = dg_checkpoint_open(path, &st, &model, &info);
    DG_CHECKF(code != DG_OK && !st && !info.config && strstr(dg_message(), path) && strstr(dg_message(), why),
              "expected \"%s\", got (%d) %s", why, (int)code, code ? dg_message() : "accepted");
    dg_st_free(st);
    dg_checkpoint_info_free(&info);
    /* The same values past dg_checkpoint_open, as for a caller that has read the file itself. */
    if (!into || e->key || dg_st_read(path, 0, &st)) return;
    DG_CHECKF(dg_checkpoint_load(st, path, into) != DG_OK && strstr(dg_message(), why), "load: expected %s", why);
    dg_st_free(st);
}

/* How many steps an epoch has follows from the images and the run's settings. */
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
        {"batch = 4\n", 6, 1, 3, 0, true},    /* imported: no images */
        {"batch = 4\n", 700, 1, 2, 11, true}, /* earlier with other images or another batch size */
        {"batch = 4\n", 2, 1, 2, 11, false},
    };
    static machine a;
    if (!machine_up(&a, &tiny, DG_F32, true)) return;
    const char *path = temp_path("place.safetensors");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char config[64];
        snprintf(config, sizeof config, "%s", cases[i].config);
        dg_checkpoint_info got, info = {.step = cases[i].step,
                                        .epoch = cases[i].epoch,
                                        .batch = cases[i].batch,
                                        .data_count = cases[i].count,
                                        .precision = "fp32",
                                        .config = config};
        dg_st *st = NULL;
        dg_model model;
        DG_CHECK(machine_save(&a, &info, path) == DG_OK);
        const dg_err e = dg_checkpoint_open(path, &st, &model, &got);
        DG_CHECKF(e == (cases[i].good ? DG_OK : DG_IO), "case %zu: %d, %s", i, (int)e, e ? dg_message() : "");
        dg_checkpoint_info_free(&got);
        dg_st_free(st);
    }
    machine_down(&a);
}

static void test_refusals(void)
{
    static machine a;
    if (!machine_up(&a, &tiny, DG_F32, true)) return;
    dg_checkpoint_info info = machine_info(&a, 0);
    DG_CHECK(machine_save(&a, &info, temp_path("good.safetensors")) == DG_OK);
    edit none = {0};
    DG_CHECK(edit_file(temp_path("good.safetensors"), temp_path("edited.safetensors"), &none));
    DG_CHECK(same_file(temp_path("good.safetensors"), temp_path("edited.safetensors"))); /* the tool is right */

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
        {{.tensor = "G.main.4.bias", .rename = "G.main.4.baas"}, "G.main.4.baas belongs to no layer"},
        {{.tensor = "G.main.4.bias", .rename = "main.4.bias"}, "main.4.bias belongs to no layer"},
        {{.tensor = "adam.m.G.main.1.bias", .rename = "adam.m.G.main.1.running_mean"}, "belongs to no layer"},
        {{.tensor = "G.main.1.bias", .flat = true}, "has shape (1, "},
        {{.tensor = "G.main.1.bias", .scalar = true}, "has shape ()"},
        {{.tensor = "G.main.1.bias", .type = DG_I32}, "is I32; it should be F32"},
        {{.tensor = "D.main.3.num_batches_tracked", .type = DG_F64}, "is F64; it should be I64"},
        {{.key = "format", .text = "dcgan-checkpoint-2"}, "newer"},
        {{.key = "format", .text = "dcgan-oracle-1"}, "dcgan replay"},
        {{.key = "format", .text = "elephant"}, "elephant"},
        {{.key = "format", .text = "dcgan-generator-1"}, "belongs to no layer"}, /* has moments */
        {{.key = "precision", .text = "fp64"}, "it should be F64"},
        {{.key = "precision", .text = "fp8"}, "fp8"},
        {{.key = "precision"}, "missing"},
        {{.key = "model"}, "has no model"},
        {{.key = "model", .text = "[model]\nname = x\n"}, "edited"},
        {{.key = "step"}, "its step is missing"},
        {{.key = "step", .text = "-1"}, "its step is -1"},
        {{.key = "epoch", .text = "99999999999999999999"}, "its epoch is 9999"},
        {{.key = "step", .text = "9007199254740993"}, "its step is 9007199254740993, its epoch 0"},
        {{.key = "epoch", .text = "2147483648"}, "its epoch 2147483648"},
        {{.key = "data-count", .text = "2147483648"}, "its data-count 2147483648"},
        {{.key = "step", .text = "1"}, "tensor G.main.1.num_batches_tracked is 0; with its step 1 it should be 1"},
        {{.key = "epoch", .text = "1"}, "its step is 0, too few for its epoch 1 and its batch-in-epoch 0"},
        {{.key = "batch-in-epoch", .text = "1"}, "its step is 0, too few for its epoch 0 and its batch-in-epoch 1"},
        {{.tensor = "D.main.3.num_batches_tracked", .value = 2}, "D.main.3.num_batches_tracked is 2; with its step 0"},
        {{.key = "batch-in-epoch", .text = "1.5"}, "batch-in-epoch is 1.5"},
        {{.key = "seed", .text = " 1"}, "its seed is  1"},
        {{.key = "data-count", .text = ""}, "data-count is"},
        {{.key = "data-fingerprint", .text = "0x1"}, "data-fingerprint is 0x1"},
        {{.unchecked = true}, "without checksums"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuse(&cases[i].e, cases[i].why, cases[i].e.tensor ? &a.g : NULL);

    /* Another model, another precision, no moments. */
    static machine b;
    dg_st *st;
    dg_model model;
    const char *path = temp_path("good.safetensors");
    DG_CHECK(dg_checkpoint_open(path, &st, &model, &info) == DG_OK);
    dg_checkpoint_info_free(&info);
    stock wide = tiny, tall = tiny;
    wide.ngf++;
    tall.size *= 2;
    if (machine_up(&b, &wide, DG_F32, true)) {
        DG_CHECK(dg_checkpoint_load(st, path, &b.g) == DG_IO &&
                 strstr(dg_message(), "has shape (6, 10, 4, 4); model tiny needs (6, 12, 4, 4)"));
        machine_down(&b);
    }
    if (machine_up(&b, &tall, DG_F32, true)) {
        DG_CHECK(dg_checkpoint_load(st, path, &b.g) == DG_IO);
        machine_down(&b);
    }
    if (machine_up(&b, &tiny, DG_F64, true)) {
        DG_CHECK(dg_checkpoint_load(st, path, &b.g) == DG_USAGE && strstr(dg_message(), "precision fp32"));
        machine_down(&b);
    }
    if (machine_up(&b, &tiny, DG_F64, false)) { /* a generator takes either precision */
        DG_CHECK(dg_checkpoint_load(st, path, &b.g) == DG_OK);
        machine_down(&b);
    }
    dg_st_free(st);
    DG_CHECK(dg_checkpoint_open(temp_path("none"), &st, &model, &info) == DG_IO && !st);
    machine_down(&a);
}

/* Every truncation and every single-bit flip of a checkpoint of the smallest model. */
static void test_every_damage(void)
{
    static machine a;
    const stock least = {.size = 16, .channels = 1, .latent = 1, .ngf = 1, .ndf = 1};
    if (!machine_up(&a, &least, DG_F32, true)) return;
    machine_steps(&a, 0, 1);
    dg_checkpoint_info info = machine_info(&a, 1);
    DG_CHECK(machine_save(&a, &info, temp_path("least.safetensors")) == DG_OK);
    machine_down(&a);
    size_t n;
    unsigned char *file = (unsigned char *)temp_slurp(temp_path("least.safetensors"), &n);
    dg_st *st;
    long accepted = 0;
    DG_CHECK(dg_st_parse(file, n, "least", DG_ST_CHECKED, &st) == DG_OK);
    dg_st_free(st);
    for (size_t k = 0; k < n; k++)
        if (dg_st_parse(file, k, "least", 0, &st) == DG_OK) accepted++, dg_st_free(st);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        file[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (dg_st_parse(file, n, "least", 0, &st) == DG_OK) accepted++, dg_st_free(st);
        file[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    DG_CHECKF(accepted == 0, "%ld of %zu truncations and %zu flips accepted", accepted, n, 8 * n);
    free(file);
}

/* ---- Killed while it writes one checkpoint after another. ---- */

static void save_for_ever(void *machine_of)
{
    machine *a = machine_of;
    for (uint64_t step = 0;; step++) {
        dg_checkpoint_info info = machine_info(a, step);
        if (machine_save(a, &info, temp_path("killed.safetensors"))) return;
    }
}
static void test_killed(void)
{
    static machine a;
    if (!machine_up(&a, &tiny, DG_F32, true)) return;
    unsigned long long seed = 3;
    const double longest = time_of_files(save_for_ever, &a, temp_path("killed.safetensors"));
    sweep(temp_dir); /* that kill is not counted */
    int kills = 0, whole = 0, torn = 0, left = 0, kept = 0;
    uint64_t least = 0;
    /* Under Valgrind it computes for most of the time, and a kill seldom comes while it writes. */
    for (; kills < 30 || (kills < 300 && left <= 3); kills++) {
        kill_at_random(save_for_ever, &a, longest, &seed);
        left += temp_count(temp_dir, ".dcgan-tmp");
        sweep(temp_dir);
        kept += temp_count(temp_dir, ".dcgan-tmp");
        dg_st *st;
        dg_model model;
        dg_checkpoint_info info;
        if (dg_checkpoint_open(temp_path("killed.safetensors"), &st, &model, &info)) {
            printf("  %s\n", dg_message());
            torn++;
            continue;
        }
        whole++;
        if (info.step > least) least = info.step;
        dg_st_free(st);
        dg_checkpoint_info_free(&info);
    }
    DG_CHECKF(torn == 0 && kept == 0, "%d torn checkpoints, %d temporary files after the sweep", torn, kept);
    DG_CHECKF(whole == kills && left > 3 && least > 0, "%d kills: %d checkpoints, %d temporaries: they hit nothing",
              kills, whole, left);
    machine_down(&a);
}

int main(void)
{
    temp_make("checkpoint");
    test_resume(DG_F32);
    test_resume(DG_F64);
    test_place();
    test_refusals();
    test_every_damage();
    test_killed();
    temp_remove(temp_dir);
    return dg_test_report();
}
