/* `dcgan verify RUN`: repeats the training between two checkpoints of a run, and compares the results bit for bit. The
 * repeated training resumes a copy of config.ini in a temporary directory. The run is only read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file_io.h"
#include "core/base/plural.h"
#include "core/base/shell.h"
#include "host/checkpoint/difference.h"
#include "host/cli/commands.h"
#include "host/options/option_table.h"
#include "host/run/stop.h"
#include "host/rundir/history.h"
#include "host/train/resume.h"

static const char newest[] = "checkpoint.safetensors";

typedef struct {
    const dg_options *o;
    dg_rundir dir; /* locked for reading */
    char from[4096], to[4096];
    dg_checkpoint_info first, last; /* of the checkpoints `from` and `to` */
    dg_st *st;                      /* of `to` */
    dg_model model;
    char temporary[4096];
    dg_options again; /* of the repeated training */
    char *argument[DG_OPTIONS_MAX + 4];
    int arguments;
} verification;

/* The operand is the run, or one of its checkpoints. */
static dg_err open_run(verification *v)
{
    char run[4096];
    snprintf(run, sizeof run, "%s", v->o->operand[0]);
    if (!dg_is_folder(run)) {
        char *slash = strrchr(run, '/');
        snprintf(v->from, sizeof v->from, "%s", run);
        if (slash) slash[slash == run] = 0;
        else snprintf(run, sizeof run, ".");
        if (access(v->from, F_OK)) return dg_fail(DG_IO, "%s: %s", v->from, strerror(errno));
        if (!strcmp(dg_last_component(v->from), newest)) *v->from = 0;
    }
    char *found = strdup(run);
    dg_err e = found ? dg_options_settle_run(&found, false) : dg_fail(DG_DEVICE, "out of memory");
    free(found);
    return e ? e : dg_rundir_hold(run, &v->dir);
}

static dg_err open_newest(verification *v)
{
    dg_rundir_file(&v->dir, v->to, newest);
    const dg_err e = dg_checkpoint_open(v->to, &v->st, &v->model, &v->last);
    if (e || *v->last.by.device) return e;
    return dg_fail(DG_USAGE,
                   DG_MSG("verify-no-record", "%s: has no record of the device that computed it; only checkpoints that "
                                              "version 0.1.0 or newer saved during training can be verified"),
                   v->to);
}

static dg_err find_older(verification *v)
{
    char name[256];
    if (*v->from) return DG_OK;
    const dg_err e = dg_history_newest(&v->dir, v->last.epoch + (v->last.batch > 0), name);
    if (e) return e;
    if (*name) dg_rundir_file(&v->dir, v->from, "%s", name);
    if (*name) return DG_OK;
    return dg_fail(DG_USAGE,
                   DG_MSG("verify-nothing-kept",
                          "%s: has no checkpoint of an earlier epoch than %s, so no training can "
                          "be repeated; train with --keep 1 or more"),
                   v->dir.path, newest);
}

static dg_err open_older(verification *v)
{
    dg_st *st = NULL;
    dg_model *model = malloc(sizeof *model);
    if (!model) return dg_fail(DG_DEVICE, "out of memory for a model");
    dg_err e = find_older(v);
    if (!e) e = dg_checkpoint_open(v->from, &st, model, &v->first);
    dg_st_free(st);
    free(model);
    if (e || v->first.step < v->last.step) return e;
    return dg_fail(DG_USAGE, DG_MSG("verify-not-older", "%s: is of step %ju, not before step %ju of %s"), v->from,
                   (uintmax_t)v->first.step, (uintmax_t)v->last.step, newest);
}

/* Find the first line of a that differs from the same line of b. Returns false for equal texts. */
static bool other_line(const char *a, const char *b, char x[200], char y[200])
{
    while (*a || *b) {
        const int n = (int)strcspn(a, "\n"), m = (int)strcspn(b, "\n");
        snprintf(x, 200, "%.*s", n ? n : 7, n ? a : "nothing");
        snprintf(y, 200, "%.*s", m ? m : 7, m ? b : "nothing");
        if (n != m || strncmp(a, b, (size_t)n) != 0) return true;
        a += n + (a[n] != 0), b += m + (b[m] != 0);
    }
    return false;
}

/* Refuse a run that changed its program, device, settings or data after the older checkpoint. */
static dg_err check_unchanged(const verification *v)
{
    const dg_provenance *a = &v->first.by, *b = &v->last.by;
    char x[200] = "", y[200] = "", what[500] = "for some time in between";
    const char *then, *now, *name = dg_provenance_differs(a, b, &then, &now);
    if (v->first.step >= b->since) return DG_OK;
    if (name && *now) snprintf(what, sizeof what, "%s: %s, then %s", name, *then ? then : "not recorded", now);
    else if (other_line(v->first.config, v->last.config, x, y)) snprintf(what, sizeof what, "%s, then %s", x, y);
    else if (v->first.data_fingerprint != v->last.data_fingerprint) snprintf(what, sizeof what, "another dataset");
    return dg_fail(DG_USAGE,
                   DG_MSG("verify-changed-since", "%s: the run was resumed at step %ju with another program, device, "
                                                  "settings or data (%s), so the training after step %ju cannot be "
                                                  "repeated; give a checkpoint of step %ju or later"),
                   v->dir.path, (uintmax_t)b->since, what, (uintmax_t)v->first.step, (uintmax_t)b->since);
}

static dg_err make_temporary(verification *v)
{
    void *text;
    size_t bytes;
    char path[4200];
    dg_options probe = {.command = DG_CMD_TRAIN};
    const char *root = getenv("TMPDIR");
    dg_err e = dg_read_file_in(v->dir.fd, dg_rundir_file(&v->dir, path, "config.ini"), 1 << 20, &text, &bytes);
    if (e) return e;
    e = dg_config_read(path, &probe); /* errors then name the run's file */
    dg_options_free(&probe);
    snprintf(v->temporary, sizeof v->temporary, "%.4000s/dcgan-verify-XXXXXX", root && *root ? root : "/var/tmp");
    if (!e && !mkdtemp(v->temporary)) {
        *v->temporary = 0;
        e = dg_fail(DG_IO, DG_MSG("verify-no-temporary", "%s: cannot create a temporary directory: %s; set TMPDIR"),
                    root && *root ? root : "/var/tmp", strerror(errno));
    }
    snprintf(path, sizeof path, "%s/config.ini", v->temporary);
    if (!e) e = dg_write_atomic(path, &(dg_chunk){text, bytes}, 1);
    free(text);
    return e;
}

static void remove_listed(int dir)
{
    DIR *d = dg_list_directory(dir);
    for (struct dirent *f; d && (f = readdir(d));)
        if (strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0) unlinkat(dir, f->d_name, 0);
    if (d) closedir(d);
}

/* Files with a known name are removed without a list, which needs memory. */
static void remove_temporary(const verification *v)
{
    static const char *const known[] = {newest, "config.ini", "run.lock", "log.csv", "log.jsonl", "skipped.txt"};
    if (!*v->temporary) return;
    const int at = open(v->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) unlinkat(at, known[i], 0);
    int left = rmdir(v->temporary);
    if (left) {
        remove_listed(at);
        left = rmdir(v->temporary);
    }
    if (left) dg_warn("%s: this temporary directory was not removed: %s", v->temporary, strerror(errno));
    if (at >= 0) close(at);
}

static dg_err add_argument(verification *v, const char *name, const char *value)
{
    char text[DG_CONFIG_VALUE + 80];
    snprintf(text, sizeof text, "%s%s", name, value);
    v->argument[v->arguments] = strdup(text);
    return v->argument[v->arguments++] ? DG_OK : dg_fail(DG_DEVICE, "out of memory");
}

/* The options of `dcgan --resume --out TEMPORARY`, with those that the user gave to verify. */
static dg_err parse_again(verification *v)
{
    char name[80], value[DG_CONFIG_VALUE];
    bool done;
    dg_err e = add_argument(v, "", v->o->argv[0]);
    if (!e) e = add_argument(v, "--resume", "");
    if (!e) e = add_argument(v, "--out=", v->temporary);
    for (const dg_option *t = dg_option_table; t->name && !e; t++) {
        if (!dg_option_given(v->o, t->name) || !(t->commands >> DG_CMD_TRAIN & 1)) continue;
        dg_option_get(v->o, t, value, sizeof value);
        snprintf(name, sizeof name, "--%s=", t->name);
        e = add_argument(v, name, value);
    }
    return e ? e : dg_options_parse(v->arguments, v->argument, &v->again, &done);
}

/* Set the options that change only outputs: none is written but the last checkpoint, and --cache is not used. */
static dg_err settle_again(verification *v)
{
    dg_options *o = &v->again;
    const uint64_t epochs = v->last.epoch + (v->last.batch > 0);
    o->steps = (long)v->last.step;
    if ((uint64_t)o->epochs < epochs) o->epochs = (int)epochs;
    o->sample_every = o->checkpoint_every = o->keep = o->eval_every = o->preview = 0;
    o->checkpoint_auto = o->tensorboard = o->stop_on_collapse = false;
    o->no_report = true;
    free(o->cache);
    free(o->changed);
    o->cache = o->changed = NULL;
    return dg_path_set(&o->resume_from, v->from);
}

static dg_err check_settings(const verification *v)
{
    char x[200], y[200], *now = dg_config_results(v->again.resolved);
    if (!now) return dg_fail(DG_DEVICE, "out of memory");
    const bool other = other_line(v->last.config, now, x, y);
    free(now);
    if (!other) return DG_OK;
    return dg_fail(DG_USAGE,
                   DG_MSG("verify-settings",
                          "%s/config.ini: other settings than those of %s: %s there, %s now; restore "
                          "config.ini, and unset variables DCGAN_..."),
                   v->dir.path, newest, x, y);
}

static dg_err check_device(const verification *v)
{
    dg_backend *b;
    dg_provenance here;
    const dg_err e = dg_open_backend(&v->again, &b);
    if (e) return e;
    dg_provenance_here(b, v->last.by.kernels, &here); /* dg_train_again compares kernels */
    b->close(b);
    return dg_context(dg_train_same_program(&v->last.by, &here), "%s", v->dir.path);
}

static dg_err compare(const verification *v)
{
    char path[4200], more[80] = "";
    dg_difference d = {.tensors = 0};
    dg_st *again = NULL;
    snprintf(path, sizeof path, "%s/%s", v->temporary, newest);
    dg_err e = dg_st_read(path, DG_ST_CHECKED, &again);
    if (!e) dg_checkpoint_difference(v->st, again, &d);
    dg_st_free(again);
    if (e) return e;
    const char *older = dg_last_component(v->from);
    if (d.others > 1) snprintf(more, sizeof more, "; %d of %d tensors differ", d.others, d.tensors);
    if (d.others && d.values)
        return dg_fail(DG_FAILED,
                       DG_MSG("verify-differs", "%s: does not follow from %s: tensor %s differs in %zu of %zu values, "
                                                "by at most %.3g%s"),
                       v->to, older, d.name, d.values, d.of, d.largest, more);
    if (d.others)
        return dg_fail(DG_FAILED, "%s: does not follow from %s: tensor %s has another shape or is missing%s", v->to,
                       older, d.name, more);
    if (*d.key)
        return dg_fail(DG_FAILED,
                       DG_MSG("verify-metadata", "%s: does not follow from %s: equal tensors, but other metadata %s"),
                       v->to, older, d.key);
    dg_say("verified: %s follows from %s: %ju step%s repeated (%ju to %ju), %d equal tensors", v->to, older,
           (uintmax_t)(v->last.step - v->first.step), dg_s((int64_t)(v->last.step - v->first.step)),
           (uintmax_t)v->first.step + 1, (uintmax_t)v->last.step, d.tensors);
    return DG_OK;
}

static dg_err repeat(verification *v)
{
    char from[4096];
    dg_catch_signals();
    dg_err e = make_temporary(v);
    if (!e) e = parse_again(v);
    if (!e) e = settle_again(v);
    if (!e) e = check_settings(v);
    if (!e) e = check_device(v);
    if (!e && !v->o->quiet)
        fprintf(stderr, "repeating steps %ju to %ju from %s\n", (uintmax_t)v->first.step + 1, (uintmax_t)v->last.step,
                dg_printable(from, sizeof from, v->from));
    if (!e) e = dg_train_again(&v->again, &v->last);
    if (!e) e = compare(v);
    remove_temporary(v);
    return e;
}

int dg_cmd_verify(const dg_options *o)
{
    verification *v = calloc(1, sizeof *v);
    if (!v) return (int)dg_fail(DG_DEVICE, "out of memory");
    v->o = o;
    v->dir.fd = v->dir.lock = -1;
    dg_err e = open_run(v);
    if (!e) e = open_newest(v);
    if (!e) e = open_older(v);
    if (!e) e = check_unchanged(v);
    if (!e) e = repeat(v);
    dg_options_free(&v->again);
    for (int i = 0; i < v->arguments; i++) free(v->argument[i]);
    dg_st_free(v->st);
    dg_checkpoint_info_free(&v->first);
    dg_checkpoint_info_free(&v->last);
    dg_rundir_close(&v->dir);
    free(v);
    return (int)e;
}
