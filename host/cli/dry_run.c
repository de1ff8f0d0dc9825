#include "host/cli/dry_run.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/base/plural.h"
#include "core/base/shell.h"
#include "host/cli/say.h"
#include "host/measure/batch_time.h"
#include "host/run/length.h"

enum { LOG_BYTES = 250, TEXT = 400 }; /* LOG_BYTES: estimated bytes per step in log.csv and log.jsonl */

static void print_images(const dg_options *o, const dg_job *job, const dg_dataset *d)
{
    static const char *const fit[] = {"cut", "padded", "stretched"};
    const int tests = d->count - d->train + d->aside, size = job->model.size;
    char aside[64] = "", skipped[64] = "";
    if (tests) snprintf(aside, sizeof aside, " (the training part; %d for testing)", tests);
    if (d->skips) snprintf(skipped, sizeof skipped, ", %d file%s skipped", d->skips, dg_s(d->skips));
    dg_say("images     %d%s from %s, %s to %d x %d in %s%s", d->train, aside, o->data, fit[o->fit], size, size,
           dg_channels_name(job->model.channels), skipped);
}

static void print_network(const dg_job *job)
{
    char text[TEXT] = "";
    for (int net = 0; net < job->recipe->nets; net++) {
        size_t n = 0;
        for (int i = 0; i < job->tensors; i++)
            if (job->tensor[i].net == net && job->tensor[i].grad >= 0) n += dg_job_tensor_count(&job->tensor[i]);
        const size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s %.*f million", net ? ", " : "", job->recipe->net[net].name,
                 n < 99500 ? 3 : 1, (double)n / 1e6);
    }
    dg_say("network    %s, weights: %s", job->model.name, text);
}

static void print_steps(const dg_options *o, int images)
{
    const int rest = o->drop_last ? 0 : images % o->batch;
    const long steps = dg_steps_of_run(o, images);
    char last[64] = "", first[64] = "";
    if (rest) snprintf(last, sizeof last, ", the last step with %d image%s", rest, dg_s(rest));
    if (steps < (long)o->epochs * dg_steps_of_epoch(o, images))
        snprintf(first, sizeof first, ", limited to %ld by --steps", steps);
    const int each = dg_steps_of_epoch(o, images);
    dg_say("batch      %d image%s, %d step%s per epoch%s", o->batch, dg_s(o->batch), each, dg_s(each), last);
    dg_say("steps      %ld in %d epoch%s%s", (long)o->epochs * each, o->epochs, dg_s(o->epochs), first);
}

static dg_err print_time(const dg_options *o, const dg_job *job, const dg_dataset *d)
{
    char text[40];
    dg_batch_row row;
    dg_batch_bench b = {.o = o, .model = &job->model, .backend = job->backend, .data = d};
    const dg_err e = dg_batch_time(&b, o->batch, 2, &row);
    const double ms = row.median;
    if (!e)
        dg_say("time       about %s: %.3g %s per step (measured now), not counting tests and file output",
               dg_duration(1e-3 * ms * (double)dg_steps_of_run(o, d->train), text, sizeof text),
               ms < 999.5 ? ms : 1e-3 * ms, ms < 999.5 ? "ms" : "s");
    return e;
}

static double checkpoint_bytes(const dg_job *job)
{
    double bytes = 0;
    for (int i = 0; i < job->tensors; i++) {
        const dg_job_tensor *t = &job->tensor[i];
        bytes += (double)dg_job_tensor_count(t) * (1 + (t->moment1 >= 0) + (t->moment2 >= 0));
    }
    return bytes * (double)dg_type_bytes(job->backend->real);
}

/* Write the free disk space at path, or at its nearest existing parent directory, as text; "" if unknown. */
static void free_text(const char *path, char *out, size_t size)
{
    char at[4096];
    struct statvfs s;
    snprintf(at, sizeof at, "%s", path);
    *out = 0;
    for (bool found = false; !found;) {
        char *slash = strrchr(at, '/');
        found = statvfs(at, &s) == 0;
        if (found) snprintf(out, size, "; %.1f GB free", (double)s.f_bavail * (double)s.f_frsize / 1e9);
        else if (slash && slash > at) *slash = 0;
        else if (at[0] != '/' && strcmp(at, ".") != 0) snprintf(at, sizeof at, ".");
        else break;
    }
}

static void print_disk(const dg_options *o, const dg_job *job, const dg_dataset *d)
{
    const dg_model *m = &job->model;
    const double checkpoint = checkpoint_bytes(job), checkpoints = 2 + o->keep + (d->train < d->count);
    const int n = job->recipe->sample && o->sample_every ? (o->epochs + o->sample_every - 1) / o->sample_every : 0;
    const double grid = (double)o->grid_rows * o->grid_cols * m->size * m->size * m->channels;
    const double log = LOG_BYTES * (double)dg_steps_of_run(o, d->train);
    char unused[64], grids[64] = "";
    free_text(o->out, unused, sizeof unused);
    if (n) snprintf(grids, sizeof grids, ", %d sample grid%s of %.1f MB at most", n, dg_s(n), grid / 1e6);
    dg_say("disk       up to %.0f MB: checkpoints of %.1f MB, %d kept%s%s",
           (checkpoint * checkpoints + grid * n + log) / 1e6 + 1, checkpoint / 1e6, 1 + o->keep, grids, unused);
}

dg_err dg_dry_run_print(const dg_options *o, const dg_job *job, const dg_dataset *data, double memory)
{
    const dg_backend *b = job->backend;
    print_images(o, job, data);
    print_network(job);
    dg_say("device     %s, %s", b->name, dg_precision_name(b->real, b->math));
    print_steps(o, data->train);
    const dg_err e = print_time(o, job, data);
    if (e) return e;
    dg_say("memory     %.0f MB%s", memory / 1e6, b->threads ? "" : " on host and device");
    print_disk(o, job, data);
    dg_say("results    %s", o->out);
    dg_say("next       run without --dry-run; --dry-run=ops lists all ops and their memory");
    return DG_OK;
}
