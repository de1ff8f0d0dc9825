/* Generators and classifiers out to PyTorch and back in. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/plan/backend.h"
#include "host/net/classifier.h"
#include "host/net/recipes.h"
#include "host/cli/say.h"
#include "host/files/checkpoint_internal.h"
#include "host/cli/commands.h"
#include "host/options/option_table.h"
#include "core/base/shell.h"

/* Of an exported network or an imported checkpoint, which trains by this recipe? *e: what stands in the way of knowing.
 */
static bool is_such(const dg_st *st, const char *path, const dg_recipe *r, bool exported, dg_err *e)
{
    const char *format = dg_st_get(st, "format"), *step = dg_st_get(st, "step");
    if (!format || strcmp(format, exported ? DG_GENERATOR_FORMAT : DG_CHECKPOINT_FORMAT)) return false;
    if (!exported && (!step || strcmp(step, "0"))) return false;
    dg_model *m = malloc(sizeof *m);
    *e = m ? dg_ck_derive(st, path, m) : dg_fail(DG_DEVICE, "%s: out of memory", path);
    const bool same = !*e && dg_recipe_find(m) == r;
    free(m);
    return same;
}

/* What stands at `out` now may be replaced only by a file of the same kind: a slip of the hand must not cost a
 * trained checkpoint. */
static dg_err may_replace(const char *out, const dg_recipe *r, bool exported)
{
    struct stat s;
    if (lstat(out, &s)) return DG_OK; /* nothing there, or the writing will say what is wrong */
    dg_st *st = NULL;
    dg_err e = dg_st_open(out, DG_ST_CHECKED, &st);
    const bool same = !e && is_such(st, out, r, exported, &e);
    if (same) e = dg_st_load(st);
    dg_st_free(st);
    if (e == DG_DEVICE) return e; /* no memory says nothing of the file */
    if (same && !e) return DG_OK;
    return dg_fail(DG_USAGE, "%s: is already there and is not %s of a %s; give another name", out,
                   exported ? "an exported network" : "an imported checkpoint", r->name);
}

/* The values as F32, which the caller frees, also after an error. */
static dg_err narrow(const dg_st_tensor *t, const char *path, void **values)
{
    size_t n = t->bytes / dg_type_bytes(t->type);
    float *out = *values = malloc(n * sizeof *out);
    if (!out) return dg_fail(DG_DEVICE, "%s: out of memory for tensor %s", path, t->name);
    for (size_t i = 0; i < n; i++) {
        out[i] = t->type == DG_F32 ? ((const float *)t->data)[i] : (float)((const double *)t->data)[i];
        if (!isfinite(out[i]))
            return dg_fail(DG_FAILED, "%s: tensor %s: value %zu is too large for fp32", path, t->name, i);
    }
    return DG_OK;
}

/* The network's tensors under PyTorch's names. Floats are converted into memory that `owned` keeps. */
static dg_err collect(const dg_st *st, const char *path, const dg_ck_tensor *layout, int n, dg_st_tensor *out,
                      void **owned, int *count)
{
    for (int i = 0; i < n; i++) {
        if (!*layout[i].alone) continue;
        const dg_st_tensor *t = dg_ck_find(st, &layout[i]);
        static const int64_t never;
        dg_st_tensor *o = &out[*count];
        *o = (dg_st_tensor){.type = DG_I64, .rank = layout[i].rank, .bytes = 8, .data = t ? t->data : &never};
        snprintf(o->name, sizeof o->name, "%s", layout[i].alone);
        memcpy(o->dim, layout[i].dim, sizeof layout[i].dim);
        if (layout[i].kind != DG_PARAMETER_COUNT) {
            dg_err e = narrow(t, path, &owned[*count]);
            if (e) return e;
            o->data = owned[*count];
            o->type = DG_F32;
            o->bytes = t->bytes / dg_type_bytes(t->type) * sizeof(float);
        }
        ++*count;
    }
    return DG_OK;
}

dg_err dg_export(const char *checkpoint, const char *out)
{
    dg_st *st = NULL;
    dg_checkpoint_info info = {0};
    dg_model *model = malloc(sizeof *model);
    dg_ck_tensor *layout = malloc(DG_CK_MOST * sizeof *layout);
    dg_st_tensor *tensor = calloc(DG_CK_MOST, sizeof *tensor);
    void **owned = calloc(DG_CK_MOST, sizeof *owned);
    char *text = NULL, *classes = NULL, number[3][24], input[200] = "";
    int count = 0;
    dg_err e = model && layout && tensor && owned ? DG_OK : dg_fail(DG_DEVICE, "%s: out of memory", checkpoint);
    if (!e) e = dg_checkpoint_open(checkpoint, &st, model, &info);
    if (!e) e = may_replace(out, dg_recipe_find(model), true);
    if (!e) e = collect(st, checkpoint, layout, dg_ck_layout(model, layout), tensor, owned, &count);
    if (!e && !(text = dg_text_to_utf8(model->text))) e = dg_fail(DG_DEVICE, "%s: out of memory", checkpoint);
    if (!e && info.classes && !(classes = dg_text_to_utf8(info.classes)))
        e = dg_fail(DG_DEVICE, "%s: out of memory", checkpoint);
    if (!e && info.input.std[0] > 0) dg_ck_input_text(input, sizeof input, model->channels, &info.input);
    if (!e) {
        const uint64_t value[] = {info.step, info.epoch, info.seed};
        for (int i = 0; i < 3; i++) snprintf(number[i], sizeof number[i], "%ju", (uintmax_t)value[i]);
        dg_st_meta meta[8] = {{"format", DG_GENERATOR_FORMAT},
                              {"version", dg_version},
                              {"step", number[0]},
                              {"epoch", number[1]},
                              {"seed", number[2]},
                              {"model", text}};
        int n = 6;
        if (classes) meta[n++] = (dg_st_meta){"classes", classes};
        if (*input) meta[n++] = (dg_st_meta){"input", input};
        e = dg_st_write(out, tensor, count, meta, n, true);
    }
    for (int i = 0; owned && i < DG_CK_MOST; i++) free(owned[i]);
    free(text);
    free(classes);
    free(owned);
    free(tensor);
    free(layout);
    free(model);
    dg_checkpoint_info_free(&info);
    dg_st_free(st);
    return e;
}

/* The classes that PyTorch's weights do not name are called 0, 1, 2 ... */
static dg_err names_of(const dg_st *st, const char *weights, const dg_model *m, char **out)
{
    const char *classes = dg_st_get(st, "classes");
    const int count = dg_classifier_classes(m);
    char *to = *out = classes ? dg_text_from_utf8(classes) : malloc((size_t)count * 8 + 1);
    if (!to) return dg_fail(DG_DEVICE, "%s: out of memory", weights);
    for (int i = 0; !classes && i < count; i++) to += snprintf(to, 9, "%d\n", i);
    return dg_ck_check_names(weights, m, *out);
}

/* What the pictures were less and divided by; of PyTorch's weights for three channels, which do not say it, ImageNet's
 * numbers, as for all of torchvision's. */
static dg_err input_of(const dg_st *st, const char *weights, const dg_model *m, dg_input_data *out)
{
    static const double imagenet[2][3] = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
    if (m->input != DG_INPUT_STANDARD || dg_st_get(st, "input") || m->channels != 3)
        return dg_ck_read_input(st, weights, m, out);
    memcpy(out->mean, imagenet[0], sizeof imagenet[0]);
    memcpy(out->std, imagenet[1], sizeof imagenet[1]);
    dg_warn("%s: does not say how pictures were standardised; taken are the mean and standard deviation of ImageNet. "
            "Others: metadata input = \"mean std\" of each channel, as save_file(..., metadata={\"input\": ...}) "
            "writes them",
            weights);
    return DG_OK;
}

/* What st lacks, the discriminator for one, is freshly drawn. */
static dg_err write_import(const dg_st *st, const char *weights, const dg_model *model, const char *out)
{
    bool wide = true;
    for (int i = 0; i < dg_st_count(st); i++) wide &= dg_st_at(st, i)->type != DG_F32;
    dg_backend *b = NULL;
    dg_job job = {0};
    dg_snapshot *snapshot = NULL;
    void *data = NULL, *perm = NULL; /* a training job wants pictures, though it takes no step here */
    dg_checkpoint_info info = {.seed = 1};
    snprintf(info.precision, sizeof info.precision, wide ? "fp64" : "fp32");
    dg_job_options o;
    const dg_recipe *r = dg_recipe_find(model);
    dg_err e = dg_options_model_job(model, &o);
    o.batch = o.rows = 2;
    o.samples = 1;
    if (!e) e = dg_cpu_open(&(dg_cpu_options){.threads = 0, .real = wide ? DG_F64 : DG_F32}, &b);
    if (!e) e = input_of(st, weights, model, &o.input);
    if (!e) e = dg_context(dg_ck_read_whitening(st, model, &info.input.whitening), "%s", weights);
    o.input.whitening = info.input.whitening;
    if (!e && r->labels) e = names_of(st, weights, model, &info.classes);
    if (!e) e = dg_job_build(&job, model, &o, b);
    if (!e) e = b->alloc(b, (size_t)o.rows * dg_job_record_bytes(&job), &data);
    if (!e) e = b->alloc(b, (size_t)o.rows * sizeof(int32_t), &perm);
    if (!e) e = dg_job_alloc(&job, data, perm);
    if (!e) e = dg_job_init(&job, info.seed);
    if (!e) e = dg_ck_put(st, weights, &job, false);
    if (!e) e = dg_snapshot_take(&job, &info, &snapshot);
    if (!e) e = dg_snapshot_write(snapshot, NULL, out);
    dg_job_free(&job);
    if (data) b->release(b, data);
    if (perm) b->release(b, perm);
    if (b) b->close(b);
    dg_checkpoint_info_free(&info);
    return e;
}

dg_err dg_import(const char *weights, const char *model, const char *out, const dg_recipe **recipe)
{
    dg_st *st = NULL;
    dg_model *m = malloc(sizeof *m);
    if (!m) return dg_fail(DG_DEVICE, "%s: out of memory", weights);
    dg_err e = dg_st_open(weights, 0, &st);
    const char *format = e ? NULL : dg_st_get(st, "format");
    if (!e && format && !strcmp(format, DG_CHECKPOINT_FORMAT))
        e = dg_fail(DG_USAGE, "%s: is a checkpoint already; generate, resume and export take it as it is", weights);
    if (!e) e = model ? dg_model_read(model, m) : dg_ck_derive(st, weights, m);
    if (!e) e = dg_recipe_for(m, recipe);
    if (!e) e = dg_ck_load(st, weights, m, false, DG_F32);
    if (!e) e = may_replace(out, *recipe, false);
    if (!e) e = write_import(st, weights, m, out);
    dg_st_free(st);
    free(m);
    return e;
}

int dg_cmd_export(const dg_options *o)
{
    dg_err e = dg_export(o->operand[0], o->out);
    char name[DG_SHELL_ROOM];
    if (!e && !o->quiet) {
        dg_say("%s", o->out);
        dg_say("in Python: net.load_state_dict(safetensors.torch.load_file(%s))",
               dg_python_quote(name, sizeof name, o->out));
    }
    return (int)e;
}

int dg_cmd_import(const dg_options *o)
{
    const dg_recipe *r = NULL;
    dg_err e = dg_import(o->operand[0], o->model, o->out, &r);
    char name[DG_SHELL_ROOM];
    if (!e && !o->quiet) {
        dg_say("%s", o->out);
        dg_shell_path(name, sizeof name, o->out);
        if (r->sample) dg_say("pictures: %s generate %s --count 16", dg_program(), name);
        if (r->labels) dg_say("classify: %s classify %s PICTURES", dg_program(), name);
    }
    return (int)e;
}
