/* Reads a run directory. */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/doctor/diversity.h"
#include "host/figure/images.h"
#include "host/files/json.h"
#include "host/options/option_table.h"
#include "host/report/report.h"
#include "host/run/length.h"
#include "host/run/log_curves.h"

enum { CONFIG_LIMIT = 1 << 20 };

static bool has(int dir, const char *name) { return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0; }

static const char *file_of(const dg_report_run *r, char out[4400], const char *name)
{
    snprintf(out, 4400, "%s/%s", r->path, name);
    return out;
}

/* Read log.csv, skipping invalid rows and an incomplete last line, which a crash may leave. */
static dg_err read_log(dg_report_run *r)
{
    char path[4400];
    void *data;
    size_t bytes, header;
    snprintf(path, sizeof path, "%s%s", r->path, r->dir < 0 ? "" : "/log.csv");
    dg_err e = dg_read_text(r->dir, path, false, DG_LOG_BYTES, &data, &bytes);
    if (e) return e;
    long bad = 0;
    r->recipe = dg_log_recipe(data, &header);
    if (!r->recipe) e = dg_fail(DG_DATA, DG_MSG("report-not-a-log", "%s:1: not a dcgan log (unexpected header)"), path);
    if (!e) r->row = dg_log_rows_in(data, header, r->recipe, &r->n, &bad);
    if (r->row && bad)
        dg_warn("the curves lack line %ld of %s, which is invalid or out of order, and possibly later lines", bad,
                path);
    if (r->row) r->place = malloc((size_t)(r->n + 1) * sizeof *r->place);
    if (!e && !r->place) e = dg_fail(DG_DEVICE, "%s: out of memory for the rows of its log", path);
    if (!e) dg_curve_places(r->row, r->n, r->place);
    free(data);
    return e;
}

static dg_err read_config(dg_report_run *r)
{
    char path[4400];
    void *data;
    size_t bytes;
    dg_err e = dg_read_file_in(r->dir, file_of(r, path, "config.ini"), CONFIG_LIMIT, &data, &bytes);
    if (e) return e;
    r->then.command = DG_CMD_TRAIN;
    e = dg_options_presets(&r->then);
    if (!e) e = dg_config_parse(data, path, &r->then);
    r->configured = !e;
    free(data);
    return e;
}

static void take_text(const cJSON *o, const char *key, char *out, size_t size)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
    snprintf(out, size, "%s", text ? text : "");
}

static double take_number(const cJSON *o, const char *key)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(n) && n->valuedouble >= 0 && n->valuedouble < 1e15 ? n->valuedouble : 0;
}

static int take_whole(const cJSON *o, const char *key) { return (int)fmin(take_number(o, key), 2e9); }

static dg_err read_session(dg_report_run *r)
{
    char path[4400];
    void *data;
    size_t bytes;
    if (!has(r->dir, "session.json")) return DG_OK;
    const dg_err e = dg_read_file_in(r->dir, file_of(r, path, "session.json"), CONFIG_LIMIT, &data, &bytes);
    if (e && e != DG_DEVICE) dg_warn("the report lacks the values of session.json: %s", dg_message());
    if (e) return e == DG_DEVICE ? e : DG_OK;
    const unsigned long refused = dg_json_refused();
    cJSON *o = cJSON_Parse(data);
    dg_report_session *s = &r->session;
    take_text(o, "version", s->version, sizeof s->version);
    take_text(o, "device", s->device, sizeof s->device);
    take_text(o, "precision", s->precision, sizeof s->precision);
    s->memory = take_number(o, "memory");
    s->images = take_whole(o, "pictures");
    s->tests = take_whole(o, "tests");
    cJSON_Delete(o);
    free(data);
    return dg_json_refused() == refused ? DG_OK : dg_fail(DG_DEVICE, "%s: out of memory", path);
}

/* Take the energy from the last complete line of log.jsonl, which may have none. */
static dg_err read_energy(dg_report_run *r)
{
    char text[2 * DG_LOG_LINE];
    const int fd = openat(r->dir, "log.jsonl", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END), from = (off_t)sizeof text;
    ssize_t n = end > 0 ? pread(fd, text, sizeof text, end > from ? end - from : 0) : 0;
    if (fd >= 0) close(fd);
    while (n > 0 && text[n - 1] != '\n') n--;
    if (n <= 0) return DG_OK;
    text[n - 1] = 0;
    const unsigned long refused = dg_json_refused();
    const char *line = strrchr(text, '\n');
    cJSON *o = cJSON_Parse(line ? line + 1 : text);
    r->joules = take_number(o, "joules");
    take_text(o, "energy_of", r->energy_of, sizeof r->energy_of);
    cJSON_Delete(o);
    return dg_json_refused() == refused ? DG_OK : dg_fail(DG_DEVICE, "%s: out of memory", r->path);
}

dg_err dg_report_session_write(const dg_report_session *s, const dg_directory *dir, const char *path)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "version", s->version);
    cJSON_AddStringToObject(o, "device", s->device);
    cJSON_AddStringToObject(o, "precision", s->precision);
    cJSON_AddNumberToObject(o, "memory", s->memory);
    cJSON_AddNumberToObject(o, "pictures", s->images);
    cJSON_AddNumberToObject(o, "tests", s->tests);
    char *text = cJSON_Print(o);
    cJSON_Delete(o);
    if (!text) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    const dg_err e = dg_write_atomic_in(dir, path, (dg_chunk[]){{text, strlen(text)}, {"\n", 1}}, 2);
    cJSON_free(text);
    return e;
}

static dg_err examine(dg_report_run *r)
{
    if (!r->n || !dg_doctor_knows(r->recipe)) return DG_OK;
    r->doctor = calloc(1, sizeof *r->doctor);
    if (!r->doctor) return dg_fail(DG_DEVICE, "%s: out of memory", r->path);
    const dg_err e = dg_grids_seen(r->path, &r->seen, &r->seens);
    const dg_log_row *last = &r->row[r->n - 1];
    const dg_loss loss = r->configured ? r->then.job.loss : DG_LOSS_BCE;
    if (e) return e;
    if (r->configured && dg_run_is_finished(&r->then, last->epoch, last->step))
        dg_doctor_examine(r->doctor, loss, !r->then.init, r->row, r->n, r->seen, r->seens);
    else dg_doctor_replay(r->doctor, loss, r->row, r->n, r->seen, r->seens);
    return DG_OK;
}

static void name_run(dg_report_run *r)
{
    char real[PATH_MAX];
    const char *path = realpath(r->path, real) ? real : r->path, *slash = strrchr(path, '/');
    snprintf(r->name, sizeof r->name, "%.255s", slash && slash[1] ? slash + 1 : path);
}

dg_err dg_report_read(dg_report_run *r, int dir, const char *path)
{
    r->path = path;
    r->dir = dir;
    name_run(r);
    if (dir < 0) return read_log(r);
    if (!has(dir, "log.csv") && !has(dir, "config.ini"))
        return dg_fail(DG_DATA, DG_MSG("report-not-a-run", "%s: is not a run directory"), path);
    dg_err e = has(dir, "config.ini") ? read_config(r) : DG_OK;
    if (!e && has(dir, "log.csv")) e = read_log(r);
    if (!e) e = examine(r);
    if (!e) e = read_energy(r);
    return e ? e : read_session(r);
}

void dg_report_free(dg_report_run *r)
{
    dg_options_free(&r->then);
    dg_report_grids_free(&r->grids);
    free(r->row);
    free(r->place);
    free(r->seen);
    free(r->doctor);
    *r = (dg_report_run){0};
}
