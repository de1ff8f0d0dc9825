#include "host/train/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/shell.h"
#include "host/run/length.h"
#include "host/rundir/history.h"

dg_err dg_train_find(dg_training *r, char path[4096], dg_st **st, dg_model *model, dg_checkpoint_info *info)
{
    if (r->o->resume_from) snprintf(path, 4096, "%s", r->o->resume_from);
    else dg_rundir_file(&r->dir, path, "checkpoint.safetensors");
    if (!r->o->resume_from && !dg_rundir_has(&r->dir, "checkpoint.safetensors")) {
        char older[256], dir[DG_SHELL_ROOM];
        const dg_err e = dg_history_newest(&r->dir, UINT64_MAX, older);
        if (e) return e;
        if (*older)
            return dg_fail(DG_IO,
                           DG_MSG("only-older-checkpoints",
                                  "%s: checkpoint.safetensors is missing; resume from the newest older one:  "
                                  "%s --resume %s/%s"),
                           r->dir.path, dg_program(), dg_shell_path(dir, sizeof dir, r->dir.path), older);
        if (dg_rundir_has_results(&r->dir)) /* the run was killed early, or the file deleted */
            dg_warn("%s has no checkpoint: training starts from the beginning and replaces the log and images",
                    r->dir.path);
        else dg_progress_note(r->progress, "%s has no checkpoint yet: starting from the beginning", r->dir.path);
        return dg_model_read(r->o->model, model);
    }
    return dg_checkpoint_open(path, st, model, info);
}

static dg_err go_back(dg_training *r, const char *path)
{
    char moved[64] = "";
    bool removed;
    dg_err e = dg_rundir_check(&r->dir, &removed); /* the path must lead to the locked directory */
    if (!e) e = dg_history_go_back(&r->dir, path, r->read.epoch, moved);
    if (!e && *moved)
        dg_progress_note(r->progress,
                         DG_MSG("note-later-moved",
                                "files after epoch %ju were moved to %s/%s, which can also be resumed"),
                         (uintmax_t)r->read.epoch, r->dir.path, moved);
    return e;
}

dg_err dg_train_same_program(const dg_provenance *run, const dg_provenance *here)
{
    const char *then, *now, *what = dg_provenance_differs(run, here, &then, &now);
    if (!what) return DG_OK;
    const bool device = !strcmp(what, "device");
    if (!*then) return dg_fail(DG_DEVICE, "the run had other %s of its GPU than here; give its {tuning} file", what);
    return dg_fail(device ? DG_DEVICE : DG_USAGE,
                   DG_MSG("verify-elsewhere", "%s of the run: %s; here: %s; only the same program on the same kind of "
                                              "device repeats the bits of a run%s"),
                   what, then, now, device ? "; --device and DCGAN_ISA select the device and the instruction set" : "");
}

dg_err dg_train_compare(const dg_training *r, const dg_checkpoint_info *info, bool *others)
{
    const unsigned long long then = info->data_count; /* 0: an imported checkpoint */
    char skipped[4096];
    *others = then && (then != (uint64_t)r->data.train || info->data_fingerprint != r->data.fingerprint);
    if (!*others) return DG_OK;
    if (r->expected)
        return dg_fail(DG_DATA,
                       DG_MSG("verify-data",
                              "%s: not the dataset of the run (%llu images then, %d now); restore it, or "
                              "give its folder by {data}"),
                       r->o->data, then, r->data.train);
    if (r->o->allow_data_change) {
        *others = false;
        dg_warn(
            DG_MSG(
                "images-changed",
                "the run will differ from an uninterrupted one: its dataset has changed (%llu images before, %d now)"),
            then, r->data.train);
        return DG_OK;
    }
    if (!dg_dataset_unread(&r->data)) return DG_OK;
    return dg_fail(DG_DATA,
                   "%s: the dataset has changed (%llu images before, %d now) and has unreadable files (%d skipped, "
                   "listed in %s); restore them, or continue with --allow-data-change",
                   r->o->data, then, r->data.train, r->data.skips, dg_rundir_file(&r->dir, skipped, "skipped.txt"));
}

static dg_err compare_classes(const dg_training *r, const char *path, const dg_checkpoint_info *info)
{
    const dg_dataset *d = &r->data;
    int i;
    const char *other = dg_job_labelled(&r->job) ? dg_dataset_other_class(d, info->classes ? info->classes : "", &i)
                                                 : NULL;
    if (!other) return DG_OK;
    return dg_fail(DG_DATA,
                   DG_MSG("class-order",
                          "%s: class %d is %s, but in %s it is %.*s; resume with the classes of the run"),
                   r->o->data, i + 1, d->class_name[i], path, (int)strcspn(other, "\n"), other);
}

/* Set r->out.since, which depends on whether program, device, settings and data are those of the checkpoint. */
static dg_err find_since(dg_training *r, const dg_checkpoint_info *info)
{
    dg_provenance here;
    const char *x, *y;
    char *settings = dg_config_results(r->config);
    if (!settings) return dg_fail(DG_DEVICE, "out of memory");
    dg_provenance_here(r->backend, dg_job_kernels(&r->job), &here);
    const bool same = !dg_provenance_differs(&here, &info->by, &x, &y) && !strcmp(settings, info->config) &&
                      info->data_count == (uint64_t)r->data.train && info->data_fingerprint == r->data.fingerprint;
    free(settings);
    r->out.since = same ? info->by.since : info->step;
    return DG_OK;
}

dg_err dg_train_resume(dg_training *r, const dg_st *st, const char *path, const dg_checkpoint_info *info)
{
    dg_err e = dg_checkpoint_precision(info, path, r->backend);
    if (e) return e;
    if (info->seed != r->o->seed)
        return dg_fail(DG_USAGE, "%s: trained with --seed %llu; cannot resume with --seed %llu", path,
                       (unsigned long long)info->seed, (unsigned long long)r->o->seed);
    e = compare_classes(r, path, info);
    if (!e) e = dg_checkpoint_load(st, path, &r->job);
    if (!e) e = find_since(r, info);
    if (e) return e;
    r->first_step = info->step;
    const bool fits = info->batch < (uint64_t)r->batches;
    if (!fits)
        dg_warn("epoch %llu starts again at its first step: the checkpoint was saved after %llu steps of this epoch, "
                "but the "
                "epoch now has only %d steps",
                (unsigned long long)info->epoch + 1, (unsigned long long)info->batch, r->batches);
    dg_position at = {.step = info->step, .epoch = info->epoch, .batch = fits ? info->batch : 0};
    const int used = dg_images_of_epoch(r->o, r->data.train);
    if (info->images) at.more = (int64_t)info->images - dg_position_images(&at, used, r->o->batch);
    r->given = r->read = at;
    r->out.saved = (dg_position){.step = info->step, .epoch = info->epoch, .batch = info->batch};
    return r->expected ? DG_OK : go_back(r, path);
}
