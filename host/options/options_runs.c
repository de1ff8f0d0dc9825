/* Finds the directory of a new run or of a resumed run, and the newest checkpoint of a run. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file_io.h"
#include "core/base/shell.h"
#include "host/data/dirs.h"
#include "host/net/model.h"
#include "host/options/option_table.h"

enum { PATH_SIZE = 4096 };

/* Join the names of several folders: "cats+dogs". Returns false for one folder. */
static bool several(const char *data, char *out, size_t size)
{
    char real[PATH_MAX];
    dg_dirs d;
    dg_dirs_split(data, &d);
    *out = 0;
    for (int i = 0; i < d.n && d.n > 1; i++) {
        const size_t at = strlen(out);
        snprintf(out + at, size - at, "%s%s", i ? "+" : "",
                 dg_last_component(realpath(d.dir[i], real) ? real : d.dir[i]));
    }
    return d.n > 1;
}

/* Default of --out: "samples/cats-dcgan64" for the dataset /home/me/cats/ and models/dcgan64.cfg. A preset that
 * replaces batch norm does not change the name, so that --resume finds the run. */
static void default_out(const dg_options *o, char *out, size_t size)
{
    char real[PATH_MAX]; /* not malloc'd: a failed allocation would change the run's name */
    char joined[256];
    const char *model = dg_last_component(o->model ? o->model : dg_option_find("model")->preset);
    const char *data = several(o->data, joined, sizeof joined)
                           ? joined
                           : dg_last_component(realpath(o->data, real) ? real : o->data);
    size_t n = o->replace_norm ? dg_model_plain_length(model, DG_NORM_SPECTRAL) : strlen(model);
    if (n > 4 && !strncmp(model + n - 4, ".cfg", 4)) n -= 4;
    const size_t length = strlen(data), zip = length > 4 && !strcmp(data + length - 4, ".zip") ? 4 : 0;
    snprintf(out, size, "samples/%.*s-%.*s", length ? (int)(length < 255 ? length - zip : 255) : 4,
             length ? data : "data", (int)n, model);
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 || errno != ENOENT;
}

/* Errors, such as a too long name, are ignored, because mkdir reports them later. */
static bool is_taken(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* Get the first free name among samples/x, samples/x-2, ... With `last`, get the last name that is taken, or "". */
static void numbered(const char *base, bool last, char *out, size_t size)
{
    char next[PATH_SIZE];
    snprintf(out, size, "%s", last ? "" : base);
    snprintf(next, sizeof next, "%s", base);
    for (int i = 2; is_taken(next); i++) {
        if (last) snprintf(out, size, "%s", next);
        snprintf(next, sizeof next, "%.4080s-%d", base, i);
        if (!last) snprintf(out, size, "%s", next);
    }
}

dg_err dg_path_set(char **to, const char *path)
{
    char *copy = strdup(path);
    if (!copy) return dg_fail(DG_DEVICE, "out of memory");
    free(*to);
    *to = copy;
    return DG_OK;
}

bool dg_same_place(const char *a, const char *b)
{
    char x[PATH_MAX], y[PATH_MAX];
    return !strcmp(a, b) || (realpath(a, x) && realpath(b, y) && !strcmp(x, y));
}

/* Resolve --resume CHECKPOINT, which may be a run directory. Sets o->out unless --out is given. */
static dg_err settle_checkpoint(dg_options *o, char *home, size_t size)
{
    struct stat st;
    if (stat(o->resume_from, &st)) return dg_fail(DG_IO, "--resume %s: %s", o->resume_from, strerror(errno));
    snprintf(home, size, "%s", o->resume_from);
    if (S_ISDIR(st.st_mode)) {
        free(o->resume_from);
        o->resume_from = NULL;
        return dg_path_set(&o->out, home);
    }
    char *slash = strrchr(home, '/');
    if (slash) slash[slash == home] = 0;
    else snprintf(home, size, ".");
    if (!o->out) return dg_path_set(&o->out, home);
    if (!dg_same_place(home, o->out))
        return dg_fail(DG_USAGE, "--resume %s: continues the run in %s; leave out --out %s", o->resume_from, home,
                       o->out);
    return DG_OK;
}

dg_err dg_options_run_config(dg_options *o, char *path, size_t size)
{
    char home[PATH_SIZE] = "";
    if (o->resume_from) {
        dg_err e = settle_checkpoint(o, home, sizeof home);
        if (e) return e;
    } else if (!o->out && o->data) {
        char base[PATH_SIZE], found[PATH_SIZE];
        default_out(o, base, sizeof base);
        numbered(base, true, found, sizeof found);
        if (!*found)
            return dg_fail(DG_USAGE, "--resume: there is no run directory %s; name the run directory with --out DIR",
                           base);
        dg_err e = dg_path_set(&o->out, found);
        if (e) return e;
    } else if (!o->out)
        return dg_fail(DG_USAGE, "--resume: missing --out DIR (the run): %s --resume --out DIR", dg_program());
    if (!*home) snprintf(home, sizeof home, "%s", o->out);
    if ((size_t)snprintf(path, size, "%s/config.ini", home) >= size)
        return dg_fail(DG_USAGE, "--resume: path too long");
    char quoted[DG_SHELL_ROOM], checkpoint[PATH_SIZE + 32];
    dg_shell_path(quoted, sizeof quoted, home);
    snprintf(checkpoint, sizeof checkpoint, "%s/checkpoint.safetensors", home);
    if (!exists(path) && exists(checkpoint))
        return dg_fail(DG_USAGE,
                       DG_MSG("config-gone", "--resume: %s has a checkpoint but no config.ini; write a config.ini with "
                                             "a line [run], a line data = DIR, and the "
                                             "config lines that %s info %s/checkpoint.safetensors prints"),
                       home, dg_program(), quoted);
    if (!exists(path))
        return dg_fail(
            DG_USAGE,
            DG_MSG(
                "no-run-to-resume",
                "--resume: %s is not a run directory (it has no config.ini); to start a run: %s --data DIR --out %s"),
            home, dg_program(), quoted);
    return DG_OK;
}

static void kept_epochs(const char *run, char *out, size_t size)
{
    struct dirent **entry = NULL;
    const int n = scandir(run, &entry, NULL, alphasort);
    *out = 0;
    for (int i = 0; i < n; i++) {
        static const char begin[] = "checkpoint-";
        const char *number = entry[i]->d_name + sizeof begin - 1;
        char *end = NULL;
        const bool ours = !strncmp(entry[i]->d_name, begin, sizeof begin - 1) && *number >= '0' && *number <= '9';
        const unsigned long epoch = ours ? strtoul(number, &end, 10) : 0;
        if (ours && !strcmp(end, ".safetensors"))
            snprintf(out + strlen(out), size - strlen(out), "%s%lu", *out ? ", " : "", epoch);
        free(entry[i]);
    }
    free(entry);
}

dg_err dg_options_from_epoch(dg_options *o)
{
    char path[PATH_SIZE + 64], kept[400];
    if (o->resume_from)
        return dg_fail(DG_USAGE,
                       DG_MSG("epoch-or-checkpoint", "--from-epoch %d and --resume %s: give one or the other"),
                       o->from_epoch, o->resume_from);
    snprintf(path, sizeof path, "%s/checkpoint-%04d.safetensors", o->out, o->from_epoch);
    if (exists(path)) return dg_path_set(&o->resume_from, path);
    kept_epochs(o->out, kept, sizeof kept);
    return dg_fail(
        DG_USAGE,
        DG_MSG("epoch-not-kept",
               "--from-epoch %d: %s has no checkpoint of that epoch (kept: %s); --keep N keeps more checkpoints"),
        o->from_epoch, o->out, *kept ? kept : "the newest only");
}

dg_err dg_options_new_run(dg_options *o)
{
    char base[PATH_SIZE], out[PATH_SIZE];
    default_out(o, base, sizeof base);
    numbered(base, false, out, sizeof out);
    return dg_path_set(&o->out, out);
}

bool dg_options_older_run(const dg_options *o, char *out, size_t size)
{
    char base[PATH_SIZE], next[PATH_SIZE];
    if (o->resume || !o->out || dg_option_given(o, "out")) return false;
    default_out(o, base, sizeof base);
    snprintf(out, size, "%s", base);
    for (int i = 2; is_taken(out); i++) {
        snprintf(next, sizeof next, "%.4080s-%d", base, i);
        if (!strcmp(next, o->out)) return true;
        snprintf(out, size, "%s", next);
    }
    return false;
}

dg_err dg_options_next_run(const char *run, char **out)
{
    char base[PATH_SIZE], next[PATH_SIZE];
    size_t n = (size_t)snprintf(base, sizeof base, "%.4080s", run);
    while (n > 1 && base[n - 1] == '/') base[--n] = 0;
    numbered(base, false, next, sizeof next);
    return dg_path_set(out, next);
}

dg_err dg_options_settle_run(char **given, bool or_images)
{
    char path[PATH_SIZE];
    if (!dg_is_folder(*given)) return DG_OK;
    const size_t n = strlen(*given);
    const char *slash = (*given)[n - 1] == '/' ? "" : "/";
    if (snprintf(path, sizeof path, "%s%sconfig.ini", *given, slash) >= (int)sizeof path)
        return dg_fail(DG_USAGE, "%s: path too long", *given);
    const bool run = exists(path);
    snprintf(path, sizeof path, "%s%scheckpoint.safetensors", *given, slash);
    if (exists(path)) return dg_path_set(given, path);
    if (or_images && !run) return DG_OK;
    return dg_fail(
        DG_IO,
        run ? DG_MSG("no-checkpoint-yet",
                     "%s: this run has no checkpoint.safetensors yet; dcgan writes this file after the first epoch")
            : DG_MSG("not-a-run", "%s: is not a run directory (it has no checkpoint.safetensors)"),
        *given);
}
