/* Copies the training state and writes it as a checkpoint. */
#include "host/checkpoint/checkpoint_layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/build_info.h"

struct dg_snapshot {
    dg_st_tensor *tensor;
    int tensors;
    char *memory;
    char *model, *config, *classes, *class_images;
    char input[200];
    char number[7][24]; /* decimal text of step, epoch, batch, seed, data_count, data_fingerprint, images */
    char precision[8];
    dg_provenance by;
    dg_optimizer optimizer;
};

static void snapshot_free(dg_snapshot *s)
{
    if (!s) return;
    free(s->tensor);
    free(s->memory);
    free(s->model);
    free(s->config);
    free(s->classes);
    free(s->class_images);
    free(s);
}

static size_t describe(dg_st_tensor *out, const char *prefix, const dg_job_tensor *t, dg_type type, char *at)
{
    snprintf(out->name, sizeof out->name, "%s%s", prefix, t->name);
    out->type = type;
    out->rank = dg_job_tensor_shape(t, out->dim);
    out->bytes = dg_job_tensor_count(t) * dg_type_bytes(type);
    out->data = at;
    return (out->bytes + 7) & ~(size_t)7;
}

/* PyTorch's norm layers increment num_batches_tracked in each forward pass of training. */
static size_t count_batches(dg_st_tensor *out, const dg_job_tensor *t, int passes, uint64_t step, char *at)
{
    const int stem = (int)(strrchr(t->name, '.') + 1 - t->name);
    snprintf(out->name, sizeof out->name, "%.*snum_batches_tracked", stem, t->name);
    out->type = DG_I64;
    out->rank = 0;
    out->bytes = 8;
    out->data = at;
    int64_t n = (int64_t)step * passes;
    memcpy(at, &n, 8);
    return 8;
}

static bool is_running_var(const dg_job_tensor *t) { return !strcmp(strrchr(t->name, '.'), ".running_var"); }

void dg_ck_input_text(char *out, size_t size, int channels, const dg_input_data *in)
{
    size_t n = 0;
    for (int c = 0; c < channels && n < size; c++)
        n += (size_t)snprintf(out + n, size - n, "%s%.17g %.17g", c ? " " : "", in->mean[c], in->std[c]);
}

static size_t add_value(dg_snapshot *s, const dg_ck_tensor *t, dg_type type, char *at)
{
    dg_st_tensor *out = &s->tensor[s->tensors++];
    *out = (dg_st_tensor){.type = type, .rank = t->rank, .bytes = dg_type_bytes(type), .data = at};
    snprintf(out->name, sizeof out->name, "%s", t->name);
    for (int i = 0; i < t->rank; i++) out->bytes *= (size_t)(out->dim[i] = t->dim[i]);
    return (out->bytes + 7) & ~(size_t)7;
}

static void add_whitening(dg_snapshot *s, const dg_job *job, char *at)
{
    const dg_whitening *w = job->o.input.whitening;
    const dg_type type = job->backend->real;
    dg_ck_tensor t[2];
    if (!w || !dg_ck_input(&job->model, t)) return;
    char *bias = at + add_value(s, &t[0], type, at);
    add_value(s, &t[1], type, bias);
    dg_whitening_to_file(w, type, at, bias);
}

char *dg_ck_class_text(const int *images, int classes)
{
    char *out = malloc((size_t)classes * 12), *to = out;
    for (int c = 0; out && c < classes; c++) to += snprintf(to, 12, "%s%d", c ? " " : "", images[c]);
    return out;
}

char *dg_ck_numbered_names(int classes)
{
    char *out = malloc((size_t)classes * 12), *to = out;
    for (int c = 0; out && c < classes; c++) to += snprintf(to, 12, "%d\n", c);
    return out;
}

size_t dg_snapshot_bytes(const dg_job *job)
{
    const size_t each = dg_type_bytes(job->backend->real);
    const size_t whitened = job->o.input.whitening ? (size_t)job->o.input.whitening->values : 0;
    size_t bytes = (whitened + 1) * whitened * each + 16;
    for (int i = 0; i < job->tensors; i++) {
        const dg_job_tensor *t = &job->tensor[i];
        const int copies = 1 + (t->moment1 >= 0) + (t->moment2 >= 0) + (t->average >= 0);
        bytes += (size_t)copies * (dg_job_tensor_count(t) * each + 8) + 8; /* 8 bytes of num_batches_tracked */
    }
    return bytes;
}

dg_err dg_snapshot_take(dg_job *job, const dg_checkpoint_info *info, dg_snapshot **out)
{
    const dg_type type = job->backend->real;
    const size_t bytes = dg_snapshot_bytes(job);
    const int most = 2 + 5 * job->tensors;
    dg_snapshot *s = calloc(1, sizeof *s);
    if (s) {
        s->tensor = calloc((size_t)most, sizeof *s->tensor);
        s->memory = calloc(1, bytes);
        s->model = dg_text_to_utf8(job->model.text);
        s->config = dg_text_to_utf8(info->config ? info->config : "");
        s->classes = info->classes ? dg_text_to_utf8(info->classes) : NULL;
    }
    if (s && job->class_images) s->class_images = dg_ck_class_text(job->class_images, job->model.classes);
    if (!s || !s->tensor || !s->memory || !s->model || !s->config || (info->classes && !s->classes) ||
        (job->class_images && !s->class_images)) {
        snapshot_free(s);
        return dg_fail(DG_DEVICE, "checkpoint: out of memory for %zu bytes", bytes);
    }
    char *at = s->memory;
    dg_err e = dg_job_settle(job);
    const dg_optimizer_info *k = &dg_optimizers[job->o.optimizer];
    const char *const prefix[] = {"", k->moment[0], k->moment[1], DG_CK_AVERAGE};
    for (int kind = 0; kind < 4; kind++) {
        for (int i = 0; i < job->tensors && !e; i++) {
            const dg_job_tensor *t = &job->tensor[i];
            const int row = (const int[]){t->row, t->moment1, t->moment2, t->average}[kind];
            if (row < 0) continue;
            at += describe(&s->tensor[s->tensors++], prefix[kind], t, type, at);
            e = dg_job_read(job, t, row, type, (void *)(uintptr_t)s->tensor[s->tensors - 1].data);
            if (kind == 0 && is_running_var(t))
                at += count_batches(&s->tensor[s->tensors++], t, job->recipe->net[t->net].passes, info->step, at);
        }
    }
    if (!e) add_whitening(s, job, at);
    const uint64_t number[] = {info->step,  info->epoch,      info->batch,
                               info->seed,  info->data_count, info->data_fingerprint,
                               info->images};
    for (int i = 0; i < 7; i++) snprintf(s->number[i], sizeof s->number[i], "%" PRIu64, number[i]);
    snprintf(s->precision, sizeof s->precision, "%s", info->precision);
    s->by = info->by;
    s->optimizer = job->o.optimizer;
    if (job->model.input == DG_INPUT_STANDARD)
        dg_ck_input_text(s->input, sizeof s->input, job->model.channels, &job->o.input);
    if (e) snapshot_free(s);
    else *out = s;
    return e;
}

dg_err dg_snapshot_write(dg_snapshot *s, const dg_directory *dir, const char *path)
{
    char text[2][24];
    dg_st_meta meta[16 + DG_PROVENANCE_META] = {
        {"format", DG_CHECKPOINT_FORMAT},
        {"version", dg_version},
        {"step", s->number[0]},
        {"epoch", s->number[1]},
        {"batch-in-epoch", s->number[2]},
        {"seed", s->number[3]},
        {"precision", s->precision},
        {"data-count", s->number[4]},
        {"data-fingerprint", s->number[5]},
        {"model", s->model},
        {"config", s->config},
    };
    int n = 11;
    if (strcmp(s->number[6], "0") != 0) meta[n++] = (dg_st_meta){"images-shown", s->number[6]};
    if (s->optimizer != DG_ADAM) meta[n++] = (dg_st_meta){"optimizer", dg_optimizers[s->optimizer].name};
    if (s->classes) meta[n++] = (dg_st_meta){"classes", s->classes};
    if (s->class_images) meta[n++] = (dg_st_meta){"class-images", s->class_images};
    if (*s->input) meta[n++] = (dg_st_meta){"input", s->input};
    n += dg_provenance_meta(&s->by, text, meta + n);
    dg_err e = dg_st_write_in(dir, path, s->tensor, s->tensors, meta, n, true);
    snapshot_free(s);
    return e;
}
