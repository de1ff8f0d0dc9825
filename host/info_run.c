#include "info_parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "atomic.h"
#include "log_text.h"

static void add_row(cJSON *to, const dg_log_row *r)
{
    static const struct {
        const char *key;
        int metric;
    } shown[] = {{"loss_d_real", DG_LOSS_D_REAL}, {"loss_d_fake", DG_LOSS_D_FAKE}, {"loss_g", DG_LOSS_G},
                 {"d_x", DG_D_X}, {"d_gz1", DG_D_GZ1}, {"d_gz2", DG_D_GZ2}};
    dg_info_whole(to, "epoch", r->epoch);
    dg_info_whole(to, "step", r->step);
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        cJSON_AddNumberToObject(to, shown[i].key, r->value[shown[i].metric]); /* NaN becomes null */
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
    dg_err e = dg_read_file(path, (size_t)1 << 32, &data, &bytes);
    if (e) return e;
    const char *text = data;
    bool csv = !strncmp(text, dg_log_header, strlen(dg_log_header));
    unsigned long long rows = 0, bad = 0, epochs = 0;
    dg_log_row last = {0}, row;
    cJSON *final = NULL;
    for (char *at = (char *)data + (csv ? strlen(dg_log_header) : 0), *end; (end = strchr(at, '\n')); at = end + 1) {
        *end = 0;
        if (csv) {
            if (dg_log_parse(at, &row)) last = row, rows++;
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
    if (csv && rows) add_row(cJSON_AddObjectToObject(to, "last"), &last);
    if (final) {
        cJSON_DeleteItemFromObjectCaseSensitive(final, "kind");
        cJSON_AddItemToObject(to, "last", final);
    }
    return DG_OK;
}

/* Is a run at work in this directory? Asked without taking the lock. */
static bool in_use(const char *lock)
{
    int fd = open(lock, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return false;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool busy = fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    close(fd);
    return busy;
}

dg_err dg_info_directory(const char *path, cJSON *to)
{
    DIR *d = opendir(path);
    if (!d) return dg_fail(DG_IO, "%s: cannot read this directory", path);
    unsigned grids = 0, checkpoints = 0;
    bool ours = false;
    for (struct dirent *e; (e = readdir(d));) {
        grids += fnmatch("epoch-*.png", e->d_name, 0) == 0;
        checkpoints += fnmatch("checkpoint*.safetensors", e->d_name, 0) == 0;
        ours |= !strcmp(e->d_name, "log.csv") || !strcmp(e->d_name, "config.ini") || !strcmp(e->d_name, "run.lock");
    }
    closedir(d);
    if (!ours && !checkpoints) return dg_fail(DG_DATA, "%s: is a directory, but not of a run", path);
    char file[4200];
    snprintf(file, sizeof file, "%.4096s/run.lock", path);
    dg_info_text(to, "kind", "run");
    cJSON_AddBoolToObject(to, "in use", in_use(file));
    dg_info_whole(to, "grids of samples", grids);
    dg_info_whole(to, "checkpoints", checkpoints);
    dg_err e = DG_OK;
    snprintf(file, sizeof file, "%.4096s/checkpoint.safetensors", path);
    if (access(file, F_OK) == 0) e = dg_info_safetensors(file, cJSON_AddObjectToObject(to, "newest checkpoint"));
    snprintf(file, sizeof file, "%.4096s/log.csv", path);
    if (!e && access(file, F_OK) == 0) e = dg_info_log(file, cJSON_AddObjectToObject(to, "log"));
    return e;
}
