/* Tests export of generators to PyTorch, and import. All values are preserved, and files of other programs are never
 * overwritten. */
#include "host/checkpoint/checkpoint.h"
#include "host/cli/commands.h"
#include "host/net/gan.h"
#include "host/checkpoint/checkpoint_files.h"
#include "tempdir.h"
#include "test.h"

static char checkpoint[600], exported[600];

static dg_err import_of(const char *weights, const char *model, const char *out)
{
    const dg_recipe *r;
    return dg_import(weights, model, out, &r);
}

/* Generates images from a generator file. Returns malloc'd pixel values before rounding, or NULL with a message. */
static double *draw(const char *path, dg_type real)
{
    static machine x;
    open_file f;
    double *out = NULL;
    stock s = tiny;
    if (one_open(path, &f) == DG_OK) s.ndf = f.model.net[DG_D].layer[0].filters;
    if (f.st && machine_up(&x, &s, real, false)) {
        const size_t n = (size_t)(3 * tiny.size * tiny.size * tiny.channels);
        float z[3 * 6];
        for (int i = 0; i < 3; i++) dg_gan_z(z + (ptrdiff_t)i * tiny.latent, tiny.latent, 77, (uint64_t)i);
        out = calloc(n, sizeof *out);
        if (dg_checkpoint_load(f.st, path, &x.g) || dg_job_generate(&x.g, z, 3, NULL, out)) free(out), out = NULL;
        machine_down(&x);
    }
    one_close(&f);
    return out;
}

static bool same_images(const char *a, const char *b, dg_type real, double tolerance)
{
    double *x = draw(a, real), *y = x ? draw(b, real) : NULL, most = 0, spread = 0;
    for (int i = 0; x && y && i < 3 * tiny.size * tiny.size * tiny.channels; i++) {
        most = fmax(most, fabs(x[i] - y[i]));
        spread = fmax(spread, fabs(x[i] - x[0]));
    }
    bool same = x && y && spread > 0 && most <= tolerance * spread;
    if (!same) printf("  images of %s and %s differ by %g (%s)\n", a, b, most, dg_message());
    free(x);
    free(y);
    return same;
}

/* All weights are finite, but sums overflow, so no image can be generated. */
static void test_not_a_number(void)
{
    static machine a;
    if (!machine_up(&a, &tiny, DG_F32, true)) return;
    dg_checkpoint_info info = machine_info(&a, 0);
    DG_CHECK(machine_save(&a, &info, temp_path("whole.safetensors")) == DG_OK);
    machine_down(&a);
    char broken[4096], *operand[] = {broken, NULL}, device[] = "cpu", out[4096];
    snprintf(broken, sizeof broken, "%s", temp_path("broken.safetensors"));
    snprintf(out, sizeof out, "%s", temp_path("images"));
    const edit first = {.tensor = "G.main.1.weight", .value = 3e38},
               second = {.tensor = "G.main.4.weight", .value = 3e38};
    dg_options o = {.command = DG_CMD_GENERATE,
                    .operand = operand,
                    .operands = 1,
                    .device = device,
                    .count = 16,
                    .seed_last = 15,
                    .truncation = 1,
                    .out = out,
                    .quiet = true,
                    .threads = 1};
    DG_CHECK(edit_file(temp_path("whole.safetensors"), temp_path("half.safetensors"), &first) &&
             edit_file(temp_path("half.safetensors"), broken, &second));
    DG_CHECKF(dg_cmd_generate(&o) == DG_NUMBERS && strstr(dg_message(), "model tiny") && strstr(dg_message(), "seed "),
              "%s", dg_message());
    o.seed_first = 1;
    o.seed_last = 5;
    o.steps_between = 3;
    o.walks = 1;
    DG_REFUSED(dg_cmd_interpolate(&o), DG_NUMBERS, "frame ");
    DG_CHECK(access(temp_path("images/walk.gif"), F_OK) && access(temp_path("images/grid.png"), F_OK));
}

static void test_export(void)
{
    static machine a;
    snprintf(checkpoint, sizeof checkpoint, "%s", temp_path("checkpoint.safetensors"));
    snprintf(exported, sizeof exported, "%s", temp_path("exported.safetensors"));
    if (!machine_up(&a, &tiny, DG_F32, true)) return;
    machine_steps(&a, 0, 4);
    machine_keep(&a, 4, checkpoint);
    machine_down(&a);
    DG_WORKS(dg_export(checkpoint, NULL, false, exported));
    DG_CHECK(dg_export(checkpoint, NULL, false, temp_path("again.safetensors")) == DG_OK);
    DG_CHECK(same_file(exported, temp_path("again.safetensors")));

    dg_st *from, *to;
    DG_CHECK(dg_st_read(checkpoint, DG_ST_CHECKED, &from) == DG_OK &&
             dg_st_read(exported, DG_ST_CHECKED, &to) == DG_OK);
    /* names in the state_dict of PyTorch's DCGAN example */
    static const char *const name[] = {"main.0.weight",       "main.1.weight",      "main.1.bias",
                                       "main.1.running_mean", "main.1.running_var", "main.1.num_batches_tracked",
                                       "main.3.weight",       "main.4.weight",      "main.4.bias",
                                       "main.4.running_mean", "main.4.running_var", "main.4.num_batches_tracked",
                                       "main.6.weight"};
    const int names = (int)(sizeof name / sizeof name[0]);
    DG_CHECK(dg_st_count(to) == names);
    for (int i = 0; i < names; i++) {
        const dg_st_tensor *f = dg_st_find(from, temp_text("G.%s", name[i])), *t = dg_st_find(to, name[i]);
        DG_CHECKF(f && t && t->type == f->type && t->rank == f->rank && !memcmp(t->data, f->data, f->bytes), "%s",
                  name[i]);
    }
    const char *step = dg_st_get(to, "step"), *format = dg_st_get(to, "format"), *text = dg_st_get(to, "model");
    DG_CHECK(step && !strcmp(step, "4") && format && !strcmp(format, "dcgan-generator-1"));
    DG_CHECK(text && !strcmp(text, tiny_text(&tiny)) && !dg_st_get(to, "config"));
    dg_st_free(from);
    dg_st_free(to);
    DG_CHECK(same_images(checkpoint, exported, DG_F32, 0));
}

static void test_fp64(void)
{
    static machine a;
    const char *path = temp_path("wide.safetensors"), *out = temp_path("narrow.safetensors");
    if (!machine_up(&a, &tiny, DG_F64, true)) return;
    machine_steps(&a, 0, 2);
    machine_keep(&a, 2, path);
    machine_down(&a);
    DG_CHECK(dg_export(path, NULL, false, out) == DG_OK && same_images(path, out, DG_F64, 1e-4));
    const edit large = {.tensor = "G.main.0.weight", .value = 1e39, .at = 5};
    DG_CHECK(edit_file(path, temp_path("large.safetensors"), &large));
    DG_CHECK(dg_export(temp_path("large.safetensors"), NULL, false, temp_path("never.safetensors")) == DG_FAILED);
    DG_CHECK(strstr(dg_message(), "value 5 is too large") && access(temp_path("never.safetensors"), F_OK) != 0);
    const edit bare = {.bare = true};
    open_file f;
    DG_CHECK(edit_file(path, temp_path("torch64.safetensors"), &bare));
    DG_CHECK(import_of(temp_path("torch64.safetensors"), NULL, temp_path("in64.safetensors")) == DG_OK);
    DG_CHECK(one_open(temp_path("in64.safetensors"), &f) == DG_OK && !strcmp(f.info.precision, "fp64"));
    one_close(&f);
    DG_CHECK(same_images(path, temp_path("in64.safetensors"), DG_F64, 0));
}

/* Imports files as PyTorch saves them, with netG alone or with both networks. */
static void test_import(void)
{
    const edit bare = {.bare = true};
    const char *alone = temp_path("alone.safetensors"), *both = temp_path("both.safetensors");
    char in[600];
    DG_CHECK(edit_file(exported, alone, &bare) && edit_file(checkpoint, both, &bare));
    for (int i = 0; i < 3; i++) {
        static const char *const name[] = {"in0.safetensors", "in1.safetensors", "in2.safetensors"};
        snprintf(in, sizeof in, "%s", temp_path(name[i]));
        const char *from = i == 0 ? alone : i == 1 ? both : exported;
        DG_WORKS(import_of(from, NULL, in));
        DG_CHECK(same_images(from, in, DG_F32, 0) && same_images(checkpoint, in, DG_F32, 0));
        dg_st *was;
        open_file f;
        DG_WORKS(one_open(in, &f));
        const dg_st *st = f.st;
        DG_CHECK(f.info.step == 0 && f.info.epoch == 0 && !strcmp(f.info.precision, "fp32") &&
                 dg_same_size(f.model.size, dg_square(tiny.size)));
        DG_CHECK(f.model.latent == tiny.latent && f.model.net[DG_D].layer[0].filters == (i == 0 ? tiny.ngf : tiny.ndf));
        DG_CHECK(dg_st_read(checkpoint, 0, &was) == DG_OK);
        const dg_st_tensor *d = dg_st_find(st, "D.main.2.weight"), *old = dg_st_find(was, "D.main.2.weight");
        DG_CHECK(d && (d->bytes == old->bytes && !memcmp(d->data, old->data, d->bytes)) == (i == 1));
        const dg_st_tensor *m = dg_st_find(st, "adam.m.G.main.0.weight");
        double sum = 0;
        for (size_t k = 0; m && k < m->bytes / 4; k++) sum += fabs((double)((const float *)m->data)[k]);
        DG_CHECK(m && sum == 0);
        dg_st_free(was);
        static machine x;
        const stock s = {tiny.size, tiny.channels, tiny.latent, tiny.ngf, f.model.net[DG_D].layer[0].filters};
        if (machine_up(&x, &s, DG_F32, true)) {
            DG_WORKS(dg_checkpoint_load(st, in, &x.g));
            machine_steps(&x, 0, 1);
            machine_down(&x);
        }
        one_close(&f);
    }
    temp_put(temp_path("tiny.cfg"), tiny_text(&tiny), strlen(tiny_text(&tiny)));
    DG_CHECK(import_of(alone, temp_path("tiny.cfg"), temp_path("in0.safetensors")) == DG_OK);
    DG_CHECK(same_images(checkpoint, temp_path("in0.safetensors"), DG_F32, 0));
}

static void test_refusals(void)
{
    const char *bad = temp_path("bad.safetensors"), *out = temp_path("out.safetensors");
    static const struct {
        edit e;
        const char *why;
    } cases[] = {
        {{.bare = true, .tensor = "main.3.weight", .drop = true}, "a generator of PyTorch's DCGAN example"},
        {{.bare = true, .tensor = "main.4.weight", .drop = true}, "no tensor G.main.4.weight"},
        {{.bare = true, .tensor = "main.4.bias", .rename = "main.3.bias"}, "no layer for tensor main.3.bias"},
        {{.bare = true, .tensor = "main.6.weight", .rename = "main.6.bias"}, "a generator of PyTorch's DCGAN example"},
        {{.bare = true, .tensor = "main.1.running_var", .value = -1}, "cannot be negative"},
        {{.bare = true, .tensor = "main.0.weight", .value = NAN}, "is nan"},
        {{.bare = true, .tensor = "main.0.weight", .type = DG_I32}, "the type must be F32 or F64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (!edit_file(exported, bad, &cases[i].e)) continue;
        DG_CHECKF(import_of(bad, NULL, out) == DG_IO && strstr(dg_message(), cases[i].why),
                  "case %zu: expected %s, got %s", i, cases[i].why, dg_message());
    }
    const edit uncounted = {.bare = true,
                            .tensor = "main.1.num_batches_tracked",
                            .drop = true}; /* missing in files of PyTorch before 0.4.1 */
    DG_CHECK(edit_file(exported, bad, &uncounted) && import_of(bad, NULL, temp_path("old.safetensors")) == DG_OK);
    DG_REFUSED(import_of(exported, "dcgan64", out), DG_IO, "model dcgan64 needs");
    DG_CHECK(import_of(exported, "no-such-model", out) == DG_USAGE);
    DG_REFUSED(import_of(checkpoint, NULL, out), DG_USAGE, "checkpoint already");
    DG_REFUSED(import_of(temp_path("nothing"), NULL, out), DG_IO, "No such file");
    temp_put(bad, "PK\003\004archive/data.pkl", 20);
    DG_CHECK(import_of(bad, NULL, out) == DG_IO && strstr(dg_message(), "torch.save") &&
             strstr(dg_message(), "save_file"));
    DG_CHECK(access(out, F_OK) != 0);

    static machine x;
    dg_st *st;
    if (machine_up(&x, &tiny, DG_F32, true)) {
        DG_CHECK(dg_st_read(exported, 0, &st) == DG_OK);
        DG_REFUSED(dg_checkpoint_load(st, exported, &x.g), DG_IO, "dcgan import");
        dg_st_free(st);
        machine_down(&x);
    }

    char kept[600];
    snprintf(kept, sizeof kept, "%s", temp_path("kept.safetensors"));
    const edit none = {0};
    DG_CHECK(edit_file(checkpoint, kept, &none));
    DG_REFUSED(dg_export(checkpoint, NULL, false, checkpoint), DG_USAGE, "a checkpoint of a run, not");
    DG_CHECK(import_of(exported, NULL, checkpoint) == DG_USAGE && import_of(exported, NULL, exported) == DG_USAGE);
    DG_CHECK(same_file(kept, checkpoint));
    temp_put(temp_path("cat.png"), "cat", 3);
    DG_CHECK(dg_export(checkpoint, NULL, false, temp_path("cat.png")) == DG_USAGE &&
             import_of(exported, NULL, temp_path("cat.png")) == DG_USAGE);
    DG_CHECK(dg_export(checkpoint, NULL, false, exported) == DG_OK);
    DG_CHECK(import_of(exported, NULL, temp_path("in1.safetensors")) == DG_OK);
    DG_CHECK(dg_export(checkpoint, NULL, false, temp_path("no/such/dir")) == DG_IO);
}

/* Writes the exported generator with values of type dtype. Each tensor name begins with `prefix`. Tensor `twin` is
 * stored twice, with and without the prefix. */
static bool write_foreign(const char *path, const char *prefix, const char *dtype, const char *twin)
{
    dg_st *st;
    if (!DG_CHECK(dg_st_read(exported, 0, &st) == DG_OK)) return false;
    static char file[1 << 20], header[1 << 15];
    size_t at = 0, n = 8;
    char *to = header + sprintf(header, "{\"__metadata__\":{\"format\":\"pt\"}");
    const size_t bytes = strcmp(dtype, "F32") ? 2 : 4;
    for (int i = 0; i < dg_st_count(st); i++) {
        const dg_st_tensor *t = dg_st_at(st, i);
        if (t->type != DG_F32) continue;
        for (int k = 0; k < 1 + !strcmp(t->name, twin); k++) {
            to += sprintf(to, ",\"%s%s\":{\"dtype\":\"%s\",\"shape\":[", k ? "" : prefix, t->name, dtype);
            for (int d = 0; d < t->rank; d++) to += sprintf(to, "%s%jd", d ? "," : "", (intmax_t)t->dim[d]);
            const size_t size = t->bytes / 4 * bytes;
            to += sprintf(to, "],\"data_offsets\":[%zu,%zu]}", at, at + size);
            at += size;
        }
    }
    to += sprintf(to, "}");
    const size_t h = (size_t)(to - header);
    for (int i = 0; i < 8; i++) file[i] = (char)(h >> 8 * i);
    memcpy(file + n, header, h);
    n += h;
    for (int i = 0; i < dg_st_count(st); i++) {
        const dg_st_tensor *t = dg_st_at(st, i);
        for (size_t k = 0; t->type == DG_F32 && k < t->bytes / 4 * (size_t)(1 + !strcmp(t->name, twin));
             k++, n += bytes) {
            const uint16_t bits = (uint16_t)(k * 2654435761u >> 7 &
                                             0x3bff); /* finite and positive, as F16 and as BF16 */
            const float wide = (float)(k % 100 + 1);
            if (bytes == 2) memcpy(file + n, &bits, 2);
            else memcpy(file + n, &wide, 4);
        }
    }
    dg_st_free(st);
    temp_put(path, file, n);
    return true;
}

static void test_foreign(void)
{
    static const char *const prefix[] = {
        "",       "module.",           "_orig_mod.",     "netG.", "module.netG._orig_mod.",
        "model.", "generator.module.", "net.generator.", "gen.",  "state_dict.model."};
    const char *in = temp_path("foreign.safetensors"), *out = temp_path("foreign-in.safetensors");
    for (size_t i = 0; i < 3 * sizeof prefix / sizeof *prefix; i++) {
        const char *dtype = i % 3 == 0 ? "F32" : i % 3 == 1 ? "F16" : "BF16";
        dg_st *st, *from;
        unlink(out);
        if (!write_foreign(in, prefix[i / 3], dtype, "")) continue;
        if (!DG_CHECKF(import_of(in, NULL, out) == DG_OK, "%s %s: %s", prefix[i / 3], dtype, dg_message())) continue;
        DG_CHECK(dg_st_read(out, 0, &st) == DG_OK && dg_st_read(in, 0, &from) == DG_OK);
        const dg_st_tensor *a = dg_st_find(st, "G.main.0.weight"), *b = dg_st_find(from, "main.0.weight");
        if (!b) b = dg_st_find(from, "G.main.0.weight");
        if (DG_CHECK(a && b && a->bytes == b->bytes)) DG_CHECK(!memcmp(a->data, b->data, a->bytes));
        for (size_t k = 0; b && i % 3 && k < b->bytes / 4; k++) {
            const uint32_t bits = (uint32_t)(k * 2654435761u >> 7 & 0x3bff);
            const double want = i % 3 == 2   ? 0
                                : bits >> 10 ? ldexp((double)(bits % 1024 + 1024), (int)(bits >> 10) - 25)
                                             : ldexp((double)bits, -24);
            const uint32_t wide = bits << 16;
            const bool same = i % 3 == 2 ? !memcmp(&wide, (const float *)b->data + k, 4)
                                         : (double)((const float *)b->data)[k] == want;
            if (!same) DG_CHECKF(same, "%s, value %zu of bits %x", dtype, k, bits);
        }
        dg_st_free(st);
        dg_st_free(from);
    }
    unlink(out);
    DG_CHECK(write_foreign(in, "module.", "F32", "main.0.weight") && import_of(in, NULL, out) == DG_IO &&
             strstr(dg_message(), "both stand for G.main.0.weight of model"));
}

DG_TESTS_IN("export", test_export, test_not_a_number, test_fp64, test_import, test_refusals, test_foreign)
