/* Helpers for tests of checkpoints and export: a small training job, and checkpoint files with one change. */
#pragma once

#include "host/checkpoint/checkpoint.h"
#include "machine.h"
#include "tempdir.h"

typedef struct {
    int size, channels, latent, ngf, ndf;
} stock;
static const stock tiny = {.size = 16, .channels = 3, .latent = 6, .ngf = 5, .ndf = 3};

enum { MACHINE_ROWS = 11, MACHINE_BATCH = 4 };

__attribute__((unused)) static const char *tiny_text(const stock *s)
{
    static char text[DG_MODEL_TEXT_MAX];
    DG_CHECK(dg_model_stock(text, "tiny", dg_square(s->size), s->channels, s->latent, s->ngf, s->ndf) == DG_OK);
    return text;
}

/* Builds a job and its backend. Each call uses another seed for initial weights. */
__attribute__((unused)) static bool machine_up(machine *x, const stock *s, dg_type real, bool train)
{
    static uint64_t seed = 1;
    dg_job_options o = machine_training(MACHINE_BATCH, 3, 4, MACHINE_ROWS);
    o.train = train;
    uint8_t pixels[MACHINE_ROWS * 32 * 32 * 3];
    memset(x, 0, sizeof *x);
    machine_pixels(pixels, sizeof pixels);
    return DG_CHECKF(s->size <= 32 && !dg_model_parse(tiny_text(s), "tiny", &x->m), "%s", dg_message()) &&
           machine_begin(x, &(dg_cpu_options){.threads = 1, .real = real}, &o, pixels, seed++);
}

/* Runs training steps from..to-1. Epochs have batches of 4, 4 and 3 images. */
__attribute__((unused)) static void machine_steps(machine *x, int from, int to)
{
    for (int i = from; i < to; i++) {
        int in_epoch = i % 3;
        dg_step_state s = {.seed = 9, .step = (uint64_t)i, .cursor = MACHINE_BATCH * in_epoch, .lr = {2e-4, 2e-4}};
        DG_CHECK(dg_job_put_state(&x->g, &s) == DG_OK &&
                 dg_job_step(&x->g, in_epoch == 2 ? 3 : MACHINE_BATCH) == DG_OK);
    }
}

__attribute__((unused)) static dg_checkpoint_info machine_info(const machine *x, uint64_t step)
{
    dg_checkpoint_info info = {.step = step, .epoch = step / 3, .batch = step % 3, .seed = 9};
    snprintf(info.precision, sizeof info.precision, x->b->real == DG_F64 ? "fp64" : "fp32");
    return info;
}

__attribute__((unused)) static dg_err machine_save(machine *x, const dg_checkpoint_info *info, const char *path)
{
    dg_snapshot *s = NULL;
    dg_err e = dg_snapshot_take(&x->g, info, &s);
    return e ? e : dg_snapshot_write(s, NULL, path);
}

__attribute__((unused)) static void machine_keep(machine *x, uint64_t step, const char *path)
{
    const dg_checkpoint_info info = machine_info(x, step);
    DG_WORKS(machine_save(x, &info, path));
}

/* A checkpoint file. one_close frees it, even if one_open failed. */
typedef struct {
    dg_st *st;
    dg_model model;
    dg_checkpoint_info info;
} open_file;

__attribute__((unused)) static dg_err one_open(const char *path, open_file *f)
{
    memset(f, 0, sizeof *f);
    return dg_checkpoint_open(path, &f->st, &f->model, &f->info);
}

__attribute__((unused)) static void one_close(open_file *f)
{
    dg_st_free(f->st);
    dg_checkpoint_info_free(&f->info);
}

__attribute__((unused)) static bool machines_equal(machine *a, machine *b)
{
    bool same = a->g.tensors == b->g.tensors;
    for (int i = 0; i < a->g.tensors && same; i++) {
        const dg_job_tensor *t = &a->g.tensor[i], *u = &b->g.tensor[i];
        const int rows[2][3] = {{t->row, t->moment1, t->moment2}, {u->row, u->moment1, u->moment2}};
        size_t bytes = dg_count(a->g.arena.row[t->row].shape) * dg_type_bytes(a->b->real);
        char *x = malloc(bytes), *y = malloc(bytes);
        for (int k = 0; k < 3 && same; k++) {
            if (rows[0][k] < 0) continue;
            same = dg_job_read(&a->g, t, rows[0][k], a->b->real, x) == DG_OK &&
                   dg_job_read(&b->g, u, rows[1][k], b->b->real, y) == DG_OK && !memcmp(x, y, bytes);
            if (!same) printf("  %s, part %d differs\n", t->name, k);
        }
        free(x);
        free(y);
    }
    return same;
}

/* One change to a checkpoint file, of a tensor or of a metadata value. */
typedef struct {
    const char *tensor, *rename;
    double value; /* new value of the element at index `at`, or 0 for no change */
    size_t at;
    bool drop, flat, scalar; /* flat: adds a first dimension of 1. scalar: keeps only the first value. */
    bool turned;             /* exchanges the first two dimensions */
    dg_type type;            /* replaces the tensor by zeros of this type, unless it is DG_F32 */
    const char *key, *text;  /* key and new text of a metadata value; a NULL text removes the key */
    bool unchecked;
    bool bare; /* removes what files of PyTorch lack: metadata, moments and checksums */
} edit;

__attribute__((unused)) static bool edit_file(const char *from, const char *to, const edit *e)
{
    dg_st *st;
    static const char zeros[1 << 16];
    if (dg_st_read(from, 0, &st)) {
        DG_CHECKF(false, "%s", dg_message());
        return false;
    }
    dg_st_tensor *t = calloc((size_t)dg_st_count(st), sizeof *t);
    dg_st_meta *m = calloc((size_t)dg_st_meta_count(st) + 1, sizeof *m);
    int n = 0, k = 0;
    bool found = !e->tensor && !e->key;
    for (int i = 0; i < dg_st_count(st); i++) {
        t[n] = *dg_st_at(st, i);
        if (e->bare && !strncmp(t[n].name, "adam.", 5)) continue;
        if (e->tensor && !strcmp(t[n].name, e->tensor)) {
            found = true;
            if (e->drop) continue;
            if (e->rename) snprintf(t[n].name, sizeof t[n].name, "%s", e->rename);
            if (e->flat) memmove(t[n].dim + 1, t[n].dim, 7 * sizeof *t[n].dim), t[n].dim[0] = 1, t[n].rank++;
            if (e->turned) t[n].dim[0] = t[n].dim[1], t[n].dim[1] = dg_st_at(st, i)->dim[0];
            if (e->scalar) t[n].rank = 0, t[n].bytes = dg_type_bytes(t[n].type);
            if (e->type != DG_F32) {
                t[n].bytes = t[n].bytes / dg_type_bytes(t[n].type) * dg_type_bytes(e->type);
                t[n].type = e->type;
                t[n].data = zeros;
            }
            if (e->value != 0) {
                void *data;
                memcpy(&data, &t[n].data, sizeof data);
                if (t[n].type == DG_I64) ((int64_t *)data)[e->at] = (int64_t)e->value;
                else if (t[n].type == DG_F32) ((float *)data)[e->at] = (float)e->value;
                else ((double *)data)[e->at] = e->value;
            }
        }
        n++;
    }
    for (int i = 0; i < dg_st_meta_count(st) && !e->bare; i++) {
        m[k] = dg_st_meta_at(st, i);
        if (!strncmp(m[k].key, "crc32", 5)) continue;
        if (e->key && !strcmp(m[k].key, e->key)) {
            found = true;
            if (!e->text) continue;
            m[k].value = e->text;
        }
        k++;
    }
    dg_err code = dg_st_write(to, t, n, m, k, !e->unchecked && !e->bare);
    DG_CHECKF(found && code == DG_OK, "editing %s: %s", e->tensor ? e->tensor : e->key,
              code ? dg_message() : "not there");
    free(t);
    free(m);
    dg_st_free(st);
    return found && code == DG_OK;
}
