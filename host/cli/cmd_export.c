/* `dcgan export` and `dcgan import`: convert weights to and from PyTorch, and to ONNX. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/backend.h"
#include "host/net/classifier.h"
#include "host/net/recipe.h"
#include "host/checkpoint/checkpoint_layout.h"
#include "host/export/export.h"
#include "host/files/replace.h"
#include "host/inception/weights.h"
#include "host/cli/commands.h"
#include "host/cli/outputs.h"
#include "host/options/option_table.h"
#include "core/base/shell.h"

/* The caller frees *values, even after an error. */
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

typedef struct {
    dg_st *st;
    dg_model *model;
    dg_checkpoint_info info;
    int net;
    dg_ck_tensor *layout;
    dg_st_tensor *tensor;
    void **owned;
    int count;
    char *text, *classes, *class_images, number[3][24], input[200];
    dg_st_meta meta[9];
    int metas;
} network;

static dg_err no_memory(const char *path) { return dg_fail(DG_DEVICE, "%s: out of memory", path); }

static dg_err collect(network *w, const char *path)
{
    const int n = dg_ck_layout(w->model, w->layout);
    for (int i = 0; i < n; i++) {
        const dg_ck_tensor *want = &w->layout[i];
        if (want->net != w->net) continue;
        const dg_st_tensor *t = dg_ck_find_shown(w->st, want);
        static const int64_t never;
        dg_st_tensor *o = &w->tensor[w->count];
        if (!t && want->kind != DG_PARAMETER_COUNT)
            return dg_fail(DG_USAGE, DG_MSG("no-such-network", "%s: has no network %s; export it from a checkpoint"),
                           path, w->model->net[w->net].name);
        *o = (dg_st_tensor){.type = DG_I64, .rank = want->rank, .bytes = 8, .data = t ? t->data : &never};
        snprintf(o->name, sizeof o->name, "%s",
                 *want->alone ? want->alone : want->name + strlen(w->model->net[w->net].name) + 1);
        memcpy(o->dim, want->dim, sizeof want->dim);
        if (t && want->kind != DG_PARAMETER_COUNT) {
            const dg_err e = narrow(t, path, &w->owned[w->count]);
            if (e) return e;
            o->data = w->owned[w->count];
            o->type = DG_F32;
            o->bytes = t->bytes / dg_type_bytes(t->type) * sizeof(float);
        }
        w->count++;
    }
    return DG_OK;
}

/* ONNX has no spectral norm, so replace weight_orig by weight = weight_orig / sigma. */
static dg_err divide(network *w, const char *path)
{
    for (int i = 0; i + 2 < w->count; i++) {
        dg_st_tensor *t = &w->tensor[i];
        char *last = strrchr(t->name, '.');
        if (!last || strcmp(last, ".weight_orig")) continue;
        float *W = w->owned[i];
        const float *u = w->owned[i + 1], *v = w->owned[i + 2];
        const size_t n = t->bytes / sizeof *W, cols = n / (size_t)t->dim[0];
        double sigma = 0;
        for (size_t k = 0; k < n; k++) sigma += (double)u[k / cols] * (double)W[k] * (double)v[k % cols];
        for (size_t k = 0; k < n; k++) {
            W[k] = (float)((double)W[k] / sigma);
            if (!isfinite(W[k]))
                return dg_fail(DG_FAILED, "%s: tensor %s: value %zu is not finite after division by sigma = %g", path,
                               t->name, k, sigma);
        }
        memcpy(last, ".weight", sizeof ".weight");
    }
    return DG_OK;
}

static dg_err describe(network *w, const char *path, const char *format)
{
    if (!(w->text = dg_text_to_utf8(w->model->text))) return no_memory(path);
    if (w->info.classes && !(w->classes = dg_text_to_utf8(w->info.classes))) return no_memory(path);
    if (w->info.class_images && !(w->class_images = dg_ck_class_text(w->info.class_images, w->model->classes)))
        return no_memory(path);
    if (w->info.input.std[0] > 0) dg_ck_input_text(w->input, sizeof w->input, w->model->channels, &w->info.input);
    const uint64_t value[] = {w->info.step, w->info.epoch, w->info.seed};
    for (int i = 0; i < 3; i++) snprintf(w->number[i], sizeof w->number[i], "%ju", (uintmax_t)value[i]);
    const dg_st_meta all[] = {
        {"format", format},
        {"version", dg_version},
        {"step", w->number[0]},
        {"epoch", w->number[1]},
        {"seed", w->number[2]},
        {"model", w->text},
        {"classes", w->classes},
        {"class-images", w->class_images},
        {"input", w->input},
        {"network", format && !strcmp(format, DG_NETWORK_FORMAT) ? w->model->net[w->net].name : NULL}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].value && *all[i].value) w->meta[w->metas++] = all[i];
    return DG_OK;
}

static dg_err choose_net(network *w, const char *path, const char *name)
{
    const dg_recipe *r = dg_recipe_find(w->model);
    w->net = r->exported;
    if (!name) return DG_OK;
    char all[80] = "";
    for (int i = 0; i < w->model->nets; i++) {
        if (!strcmp(w->model->net[i].name, name)) {
            w->net = i;
            return DG_OK;
        }
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? " or " : "", w->model->net[i].name);
    }
    return dg_fail(DG_USAGE, DG_MSG("network-choice", "{network} %s: not a network of %s; its networks are %s"), name,
                   path, all);
}

dg_err dg_export(const char *checkpoint, const char *name, bool onnx, const char *out)
{
    network w = {.model = malloc(sizeof *w.model),
                 .layout = malloc(DG_CK_MOST * sizeof *w.layout),
                 .tensor = calloc(DG_CK_MOST, sizeof *w.tensor),
                 .owned = calloc(DG_CK_MOST, sizeof *w.owned)};
    dg_err e = w.model && w.layout && w.tensor && w.owned ? DG_OK : no_memory(checkpoint);
    if (!e) e = dg_checkpoint_open(checkpoint, &w.st, w.model, &w.info);
    if (!e) e = choose_net(&w, checkpoint, name);
    const dg_recipe *r = e ? NULL : dg_recipe_find(w.model);
    const char *format = e || onnx              ? NULL
                         : w.net != r->exported ? DG_NETWORK_FORMAT
                         : r->labels            ? DG_CLASSIFIER_FORMAT
                                                : DG_GENERATOR_FORMAT;
    if (!e)
        e = dg_may_replace(out, onnx                   ? DG_MADE_ONNX
                                : w.net != r->exported ? DG_MADE_NETWORK
                                : r->labels            ? DG_MADE_CLASSIFIER
                                                       : DG_MADE_GENERATOR);
    if (!e) e = collect(&w, checkpoint);
    if (!e && onnx) e = divide(&w, checkpoint);
    if (!e) e = describe(&w, checkpoint, format);
    if (!e && onnx) e = dg_onnx_network(out, w.model, w.net, &w.info.input, w.tensor, w.meta, w.metas);
    if (!e && !onnx) e = dg_st_write(out, w.tensor, w.count, w.meta, w.metas, true);
    for (int i = 0; w.owned && i < DG_CK_MOST; i++) free(w.owned[i]);
    free(w.text);
    free(w.classes);
    free(w.class_images);
    free(w.owned);
    free(w.tensor);
    free(w.layout);
    free(w.model);
    dg_checkpoint_info_free(&w.info);
    dg_st_free(w.st);
    return e;
}

/* Classes without names are named 0, 1, 2 ... */
static dg_err classes_of(const dg_st *st, const char *weights, const dg_model *m, dg_checkpoint_info *info)
{
    const int count = m->classes ? m->classes : dg_classifier_classes(m);
    const dg_err e = dg_ck_read_classes(st, weights, m, false, info);
    if (e || info->classes) return e;
    info->classes = dg_ck_numbered_names(count);
    return info->classes ? DG_OK : dg_fail(DG_DEVICE, "%s: out of memory", weights);
}

static dg_err input_of(const dg_st *st, const char *weights, const dg_model *m, dg_input_data *out)
{
    static const double imagenet[2][3] = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
    if (m->input != DG_INPUT_STANDARD || dg_st_get(st, "input") || m->channels != 3)
        return dg_ck_read_input(st, weights, m, out);
    memcpy(out->mean, imagenet[0], sizeof imagenet[0]);
    memcpy(out->std, imagenet[1], sizeof imagenet[1]);
    dg_warn(DG_MSG("imagenet-statistics",
                   "ImageNet's mean and standard deviation are used, because %s has no metadata \"input\"; to set "
                   "others, write \"mean std\" of each channel: save_file(..., metadata={\"input\": ...})"),
            weights);
    return DG_OK;
}

/* Tensors that st lacks, such as the discriminator's, get random initial values. */
static dg_err write_import(const dg_st *st, const char *weights, const dg_model *model, const char *out)
{
    bool wide = true;
    for (int i = 0; i < dg_st_count(st); i++) wide &= dg_st_at(st, i)->type != DG_F32;
    dg_backend *b = NULL;
    dg_job job = {0};
    dg_snapshot *snapshot = NULL;
    void *data = NULL, *perm = NULL; /* unused dataset buffers, which a training job requires */
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
    if (!e && (r->labels || model->classes)) e = classes_of(st, weights, model, &info);
    if (!e) e = dg_job_build(&job, model, &o, b);
    if (!e && info.class_images) e = dg_job_set_classes(&job, info.class_images);
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
        e = dg_fail(DG_USAGE, "%s: is a dcgan checkpoint already; generate, --resume and export accept it", weights);
    if (!e) e = model ? dg_model_read(model, m) : dg_ck_derive(st, weights, m);
    if (!e) e = dg_recipe_for(m, recipe);
    if (!e) e = dg_ck_load(st, weights, m, false, DG_F32);
    if (!e) e = dg_may_replace(out, (*recipe)->labels ? DG_MADE_IMPORT_CLASSIFIER : DG_MADE_IMPORT);
    if (!e) e = write_import(st, weights, m, out);
    dg_st_free(st);
    free(m);
    return e;
}

static void say_use(const dg_options *o, const dg_weight_error *error)
{
    char name[DG_SHELL_ROOM];
    dg_say("%s", dg_output_name(o->out));
    if (error->samples)
        dg_say("samples differ by %.2g grey levels on average and by %.0f at most, measured on %d samples", error->mean,
               error->most, error->samples);
    if (dg_to_stdout(o->out)) return;
    if (o->html) {
        dg_say("open it in a browser; it needs no network");
        return;
    }
    if (o->c) {
        dg_shell_path(name, sizeof name, o->out);
        dg_say("compile: cc -O2 %s -lm -o generator && ./generator 7 > seed-7.ppm", name);
        return;
    }
    dg_python_quote(name, sizeof name, o->out);
    if (o->onnx) dg_say("in Python: onnxruntime.InferenceSession(%s)", name);
    else dg_say("in Python: net.load_state_dict(safetensors.torch.load_file(%s))", name);
}

/* Write G in a form that needs no other program. */
static dg_err export_generator(const dg_options *o, dg_weight_error *error)
{
    dg_exported x = {0};
    const dg_weight_type type = o->weights ? (dg_weight_type)(o->weights - 1)
                                : o->html  ? DG_WEIGHTS_FP16
                                           : DG_WEIGHTS_FP32;
    dg_err e = dg_may_replace(o->out, o->html ? DG_MADE_HTML : DG_MADE_C);
    if (!e) e = dg_exported_open(o->operand[0], o->threads, type, &x);
    if (!e) e = o->html ? dg_export_html(&x, o->out) : dg_export_c(&x, o->out);
    *error = x.error;
    dg_exported_close(&x);
    return e;
}

int dg_cmd_export(const dg_options *o)
{
    dg_weight_error error = {0};
    const dg_err e = o->c || o->html ? export_generator(o, &error)
                                     : dg_export(o->operand[0], o->network, o->onnx != NULL, o->out);
    if (!e && !o->quiet) say_use(o, &error);
    return (int)e;
}

int dg_cmd_import(const dg_options *o)
{
    const dg_recipe *r = NULL;
    bool inception = false;
    dg_err e = o->model ? DG_OK : dg_inception_convert(o->operand[0], o->out, &inception);
    if (!e && !inception) e = dg_import(o->operand[0], o->model, o->out, &r);
    char name[DG_SHELL_ROOM];
    if (!e && !o->quiet) {
        dg_say("%s", dg_output_name(o->out));
        if (dg_to_stdout(o->out)) return DG_OK;
        dg_shell_path(name, sizeof name, o->out);
        if (inception) dg_say("evaluate: %s eval RUN --data DIR --inception %s", dg_program(), name);
        if (r && r->sample) dg_say("images:   %s generate %s --count 16", dg_program(), name);
        if (r && r->labels) dg_say("classify: %s classify %s IMAGES", dg_program(), name);
    }
    return (int)e;
}
