#include "host/files/json.h"
#include "host/cli/info/info_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file_io.h"
#include "host/rundir/log_text.h"
#include "host/rundir/rundir.h"
#include "host/options/option_table.h"

static void add_row(cJSON *to, const dg_recipe *recipe, const dg_log_row *r)
{
    dg_info_whole(to, "epoch", r->epoch);
    dg_info_whole(to, "step", r->step);
    for (int i = 0; i < recipe->metrics; i++) {
        const dg_metric *m = &recipe->metric[i];
        if (m->name && m->terms == 1) cJSON_AddNumberToObject(to, m->name, r->value[m->term[0]]);
    }
    cJSON_AddNumberToObject(to, "seconds", r->seconds);
}

static double member(const cJSON *o, const char *key)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(n) ? n->valuedouble : -1;
}

dg_err dg_info_log(const char *path, cJSON *to)
{
    void *data;
    size_t bytes;
    dg_err e = dg_read_text(-1, path, false, DG_LOG_BYTES, &data, &bytes);
    if (e) return e;
    const char *text = data;
    if (strlen(text) != bytes) {
        e = dg_fail(DG_IO, DG_MSG("log-zero-byte", "%s: corrupt (NUL byte at offset %zu)"), path, strlen(text));
        free(data);
        return e;
    }
    size_t header;
    const dg_recipe *recipe = dg_log_recipe(text, &header);
    const bool csv = recipe != NULL;
    unsigned long long rows = 0, bad = 0, epochs = 0;
    dg_log_row last = {0}, row;
    cJSON *final = NULL;
    for (char *at = (char *)data + (csv ? header : 0), *end; (end = strchr(at, '\n')); at = end + 1) {
        *end = 0;
        if (csv) {
            if (dg_log_parse(at, recipe, &row) && dg_log_follows(rows ? &last : NULL, &row)) last = row, rows++;
            else bad++;
            continue;
        }
        cJSON *o = cJSON_Parse(at);
        const char *kind = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, "kind"));
        if (kind && !strcmp(kind, "step") && member(o, "step") > 0) {
            cJSON_Delete(final);
            final = o;
            o = NULL;
            rows++;
        } else if (kind && !strcmp(kind, "epoch")) {
            epochs++;
        } else {
            bad += kind == NULL;
        }
        cJSON_Delete(o);
    }
    free(data);
    dg_info_text(to, "kind", "log of a run");
    dg_info_whole(to, "steps", rows);
    if (!csv) dg_info_whole(to, "epochs finished", epochs);
    if (bad) dg_info_whole(to, "damaged lines", bad);
    if (csv && rows) add_row(cJSON_AddObjectToObject(to, "last"), recipe, &last);
    if (final) {
        cJSON_DeleteItemFromObjectCaseSensitive(final, "kind");
        dg_json_put(to, "last", final);
    }
    return DG_OK;
}

static dg_err add_in_use(const char *path, cJSON *to)
{
    bool yes;
    const int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return dg_fail(DG_IO, "%s: cannot open the directory: %s", path, strerror(errno));
    const dg_err e = dg_rundir_in_use(dir, path, &yes);
    close(dir);
    if (!e) cJSON_AddBoolToObject(to, "in use", yes);
    return e;
}

static dg_err add_config(const char *path, cJSON *to)
{
    dg_options o = {0};
    dg_err e = dg_config_read(path, &o);
    dg_options_free(&o);
    if (!e) dg_info_text(to, "checked", "readable");
    return e;
}

static dg_err add_jsonl(const char *path, cJSON *to)
{
    cJSON *all = cJSON_CreateObject();
    dg_err e = dg_info_log(path, all);
    if (!e) dg_info_text(to, "checked", "readable");
    cJSON_Delete(all);
    return e;
}

typedef struct {
    const char *path;
    cJSON *to;
    unsigned grids, checkpoints;
    bool ours;
    dg_err error;
    char message[1024];
} run;

static void note(run *r, cJSON *place, const char *key, dg_err e)
{
    if (!e) return;
    cJSON_AddStringToObject(place, key, dg_message());
    if (r->error) return;
    r->error = e;
    snprintf(r->message, sizeof r->message, "%s", dg_message());
}

static dg_err count_files(run *r)
{
    DIR *d = opendir(r->path);
    if (!d)
        return dg_fail(errno == ENOMEM ? DG_DEVICE : DG_IO, "%s: cannot read the directory: %s", r->path,
                       strerror(errno));
    errno = 0;
    for (struct dirent *e; (e = readdir(d)); errno = 0) {
        r->grids += fnmatch("epoch-*.png", e->d_name, 0) == 0;
        r->checkpoints += fnmatch("checkpoint*.safetensors", e->d_name, 0) == 0;
        r->ours |= !strcmp(e->d_name, "log.csv") || !strcmp(e->d_name, "config.ini") || !strcmp(e->d_name, "run.lock");
    }
    const int error = errno;
    closedir(d);
    if (error) return dg_fail(DG_IO, "%s: cannot read the whole directory: %s", r->path, strerror(error));
    return r->ours || r->checkpoints
               ? DG_OK
               : dg_fail(DG_DATA, DG_MSG("info-not-a-run", "%s: is not a run directory"), r->path);
}

static void add_file(run *r, const char *name, const char *key, dg_err (*add)(const char *path, cJSON *to))
{
    char file[4200];
    struct stat s;
    snprintf(file, sizeof file, "%.4096s/%s", r->path, name);
    if (lstat(file, &s) && errno == ENOENT) return;
    cJSON *place = cJSON_AddObjectToObject(r->to, key);
    note(r, place, "error", add(file, place));
}

dg_err dg_info_directory(const char *path, cJSON *to)
{
    run r = {.path = path, .to = to};
    const dg_err listed = count_files(&r);
    if (listed && !r.ours && !r.checkpoints) return listed;
    dg_info_text(to, "kind", DG_INFO_RUN);
    note(&r, to, "error", listed);
    note(&r, to, "in use", add_in_use(path, to));
    dg_info_whole(to, "grids of samples", r.grids);
    dg_info_whole(to, "checkpoints", r.checkpoints);
    add_file(&r, "checkpoint.safetensors", "newest checkpoint", dg_info_safetensors);
    add_file(&r, "log.csv", "log", dg_info_log);
    add_file(&r, "log.jsonl", "log.jsonl", add_jsonl);
    add_file(&r, "config.ini", "config.ini", add_config);
    return r.error ? dg_fail(r.error, "%s", r.message) : DG_OK;
}
