#include "host/run/log.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file_io.h"
#include "core/base/grow.h"
#include "core/base/clock.h"
#include "host/figure/images.h"
#include "host/files/appender.h"
#include "host/files/json.h"
#include "host/files/tfevents.h"

enum { CSV, JSONL, FILES };
static const char *const file_name[FILES] = {"log.csv", "log.jsonl"};

/* Buffered log lines are written at the end of an epoch, after half a second, or when they exceed FLUSH_BYTES. */
enum { FLUSH_BYTES = 1 << 15 };

struct dg_log {
    const dg_recipe *recipe;
    dg_appender file[FILES];
    int judged; /* columns of sample metrics in log.csv */
    dg_log_row *row;
    long rows;
    int room;
    double flushed;
    dg_tfevents *events;
    double joules; /* of the newest row before this session, or 0 */
    char energy_of[DG_LOG_ENERGY_OF];
};

static dg_err add_row(dg_log *l, const dg_log_row *row)
{
    dg_log_row *grown = dg_grow(l->row, l->rows, &l->room, sizeof *grown);
    if (!grown) return dg_fail(DG_DEVICE, "out of memory for %ld rows of the log", l->rows + 1);
    l->row = grown;
    l->row[l->rows++] = *row;
    return DG_OK;
}

dg_err dg_log_flush(dg_log *l)
{
    l->flushed = dg_clock();
    dg_err e = dg_append_flush(&l->file[CSV]), f = dg_append_flush(&l->file[JSONL]);
    const dg_err events = l->events ? dg_tfevents_flush(l->events) : DG_OK;
    return e ? e : f ? f : events;
}

static dg_err sync_file(const dg_appender *f)
{
    if (f->fd < 0 || fsync(f->fd) == 0) return DG_OK;
    return dg_fail(DG_IO, "%s: cannot sync to disk: %s", f->path, strerror(errno));
}

dg_err dg_log_sync(const dg_log *l)
{
    const dg_err e = sync_file(&l->file[CSV]), f = sync_file(&l->file[JSONL]);
    return e ? e : f;
}

static dg_err keep_csv(dg_log *l, const char *line, uint64_t resume_step, bool *keep)
{
    dg_log_row row;
    const dg_log_row *last = l->rows ? &l->row[l->rows - 1] : NULL;
    *keep = dg_log_parse(line, l->recipe, &row) && row.step <= resume_step && dg_log_follows(last, &row);
    return *keep ? add_row(l, &row) : DG_OK;
}

static void take_energy(dg_log *l, const cJSON *row)
{
    const double joules = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(row, "joules"));
    const char *of = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "energy_of"));
    l->joules = of && joules > 0 && joules < 1e18 ? joules : 0;
    snprintf(l->energy_of, sizeof l->energy_of, "%s", of ? of : "");
}

static dg_err keep_json(dg_log *l, const char *line, uint64_t resume_step, bool *keep)
{
    const unsigned long refused = dg_json_refused();
    cJSON *o = cJSON_Parse(line);
    const cJSON *step = cJSON_GetObjectItemCaseSensitive(o, "step");
    *keep = cJSON_IsObject(o) && (!cJSON_IsNumber(step) || step->valuedouble <= (double)resume_step);
    if (*keep && cJSON_IsNumber(step)) take_energy(l, o);
    cJSON_Delete(o);
    return dg_json_refused() != refused ? dg_fail(DG_DEVICE, "out of memory for a line of the log") : DG_OK;
}

static dg_err begin_file(const dg_rundir *r, const dg_log *l, int which)
{
    char header[DG_LOG_LINE];
    const dg_directory at = dg_rundir_at(r);
    const size_t bytes = which == CSV ? (size_t)dg_log_header(header, l->recipe) : 0;
    return dg_write_atomic_in(&at, l->file[which].path, &(dg_chunk){header, bytes}, 1);
}

static dg_err trim(const dg_rundir *r, dg_log *l, int which, uint64_t resume_step)
{
    dg_appender *f = &l->file[which];
    const dg_directory place = dg_rundir_at(r);
    void *data = NULL;
    size_t bytes = 0;
    const size_t limit = DG_LOG_BYTES;
    const bool there = dg_rundir_has(r, "%s", file_name[which]);
    if (!there && errno != ENOENT) /* the log may exist and must not be replaced */
        return dg_fail(errno == ENOMEM ? DG_DEVICE : DG_IO, "%s: cannot check whether the file exists: %s", f->path,
                       strerror(errno));
    dg_err e = there ? dg_read_text(r->fd, f->path, true, limit, &data, &bytes) : DG_FAILED;
    if (e == DG_FAILED) dg_warn("earlier rows are missing: %s does not exist; starting a new file", f->path);
    if (e == DG_FAILED || (e == DG_OK && bytes == 0)) {
        free(data);
        return begin_file(r, l, which);
    }
    if (e) return e;
    char *text = data, *end = text + strlen(text), *to = text, *at = text;
    char wanted[DG_LOG_LINE];
    const int judged = which == CSV ? dg_log_judged(text, l->recipe) : 0;
    const size_t header = which == CSV && judged >= 0 ? (size_t)dg_log_header_judged(wanted, l->recipe, judged) : 0;
    if (which == CSV) l->judged = judged;
    if (judged < 0) {
        e = dg_fail(DG_IO, "%s:1: not a dcgan log (unexpected header); move the file away to continue", f->path);
    } else {
        to = at = text + header;
    }
    while (at < end && !e) {
        char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline) break;
        bool keep;
        *newline = 0;
        if (which == CSV) e = keep_csv(l, at, resume_step, &keep);
        else e = keep_json(l, at, resume_step, &keep);
        *newline = '\n';
        size_t n = (size_t)(newline + 1 - at);
        if (!e && keep) memmove(to, at, n), to += n;
        at = newline + 1;
    }
    size_t kept = (size_t)(to - text);
    if (!e && kept != bytes) e = dg_write_atomic_in(&place, f->path, &(dg_chunk){text, kept}, 1);
    free(data);
    return e;
}

static dg_err open_file(const dg_rundir *r, dg_appender *f, const char *name)
{
    f->fd = openat(r->fd, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    return f->fd < 0 ? dg_fail(DG_IO, "%s: cannot open: %s", f->path, strerror(errno)) : DG_OK;
}

dg_err dg_log_open(const dg_rundir *r, const dg_recipe *recipe, uint64_t resume_step, dg_log **out)
{
    *out = NULL;
    dg_log *l = calloc(1, sizeof *l);
    if (!l) return dg_fail(DG_DEVICE, "%s: out of memory", r->path);
    dg_err e = DG_OK;
    l->recipe = recipe;
    for (int i = 0; i < FILES; i++) l->file[i].fd = -1;
    for (int i = 0; i < FILES && !e; i++) {
        dg_appender *f = &l->file[i];
        dg_rundir_file(r, f->path, "%s", file_name[i]);
        e = resume_step ? trim(r, l, i, resume_step) : begin_file(r, l, i);
        if (e) break;
        e = open_file(r, f, file_name[i]);
    }
    if (!e && resume_step && (l->rows == 0 || l->row[l->rows - 1].step != resume_step))
        dg_warn("the curves will have a gap: %s ends before step %ju of the checkpoint", l->file[CSV].path,
                (uintmax_t)resume_step);
    l->flushed = dg_clock();
    if (e) (void)dg_log_close(l);
    else *out = l;
    return e;
}

static dg_err add_event(dg_log *l, const dg_log_row *row)
{
    enum { MOST = DG_METRICS_MAX + 1 + DG_LOGGED };
    const char *tag[MOST];
    double value[MOST];
    int n = 0;
    for (int i = 0; i < row->judged; i++) {
        if (isnan(row->measure[i])) continue;
        tag[n] = dg_logged[i].name;
        value[n++] = row->measure[i];
    }
    for (int i = 0; i < l->recipe->metrics; i++) {
        if (!l->recipe->metric[i].name) continue;
        tag[n] = l->recipe->metric[i].name;
        value[n++] = dg_metric_value(&l->recipe->metric[i], row->value);
    }
    tag[n] = "img_s";
    value[n++] = row->images_per_second;
    return dg_tfevents_scalars(l->events, row->step, tag, value, n);
}

dg_err dg_log_events(dg_log *l, const dg_rundir *r, uint64_t resume_step)
{
    static const char name[] = "events.out.tfevents.run";
    char path[4096];
    const dg_directory at = dg_rundir_at(r);
    const bool there = dg_rundir_has(r, "%s", name);
    dg_err e = dg_tfevents_open(&at, dg_rundir_file(r, path, "%s", name), resume_step, &l->events);
    for (long i = 0; i < l->rows && !there && !e; i++) e = add_event(l, &l->row[i]);
    return e;
}

dg_err dg_log_image(const dg_log *l, uint64_t step, const dg_image *im)
{
    void *png;
    size_t bytes;
    if (!l->events) return DG_OK;
    dg_err e = dg_png_encode(im, NULL, 0, &png, &bytes);
    if (e) return e;
    e = dg_tfevents_image(l->events, step, "samples", im->W, im->H, im->C, png, bytes);
    free(png);
    return e;
}

uint64_t dg_log_end_of(const dg_log *l, uint64_t epoch)
{
    long n = l->rows;
    while (n > 0 && l->row[n - 1].epoch > epoch) n--;
    return n > 0 ? l->row[n - 1].step : 0;
}

static char *widened(const dg_log *l, int columns, const char *text, size_t bytes, size_t *out_bytes)
{
    const size_t more = (size_t)(columns - l->judged);
    const char *line = memchr(text, '\n', bytes), *end = text + bytes;
    char *out = malloc(DG_LOG_LINE + bytes * (1 + more)), *to = out;
    if (out) to += dg_log_header_judged(to, l->recipe, columns);
    for (line = line ? line + 1 : end; out && line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        const size_t n = stop ? (size_t)(stop - line) : (size_t)(end - line);
        to = (char *)memcpy(to, line, n) + n;
        to = (char *)memset(to, ',', more) + more;
        *to++ = '\n';
        line += n + 1;
    }
    *out_bytes = out ? (size_t)(to - out) : 0;
    return out;
}

dg_err dg_log_judge(dg_log *l, const dg_rundir *r, int columns)
{
    dg_appender *f = &l->file[CSV];
    const dg_directory at = dg_rundir_at(r);
    void *text = NULL;
    size_t bytes, wide_bytes = 0;
    if (l->judged >= columns) return DG_OK;
    dg_err e = dg_read_text(r->fd, f->path, true, DG_LOG_BYTES, &text, &bytes);
    char *wide = e ? NULL : widened(l, columns, text, strlen(text), &wide_bytes);
    if (!e)
        e = wide ? dg_write_atomic_in(&at, f->path, &(dg_chunk){wide, wide_bytes}, 1)
                 : dg_fail(DG_DEVICE, "%s: out of memory", f->path);
    free(wide);
    free(text);
    if (e) return e;
    close(f->fd);
    l->judged = columns;
    return open_file(r, f, file_name[CSV]);
}

static dg_log_row fitted(const dg_log *l, const dg_log_row *row)
{
    dg_log_row out = *row;
    out.judged = l->judged;
    for (int i = 0; i < DG_LOGGED && !row->judged; i++) out.measure[i] = NAN;
    return out;
}

dg_err dg_log_step(dg_log *l, const dg_log_row *given)
{
    char line[DG_LOG_LINE];
    const dg_log_row fit = fitted(l, given), *row = &fit;
    dg_log_row kept;
    int n = dg_log_csv(line, l->recipe, row);
    dg_err e = dg_append(&l->file[CSV], line, (size_t)n);
    /* Store the rounded values of the log, so that a resumed run has equal means and curves. */
    line[n - 1] = 0;
    (void)dg_log_parse(line, l->recipe, &kept);
    if (!e) e = add_row(l, &kept);
    n = dg_log_json(line, l->recipe, row, "step");
    if (!e) e = dg_append(&l->file[JSONL], line, (size_t)n);
    if (!e && l->events) e = add_event(l, row);
    if (e) return e;
    return dg_clock() - l->flushed > 0.5 || l->file[JSONL].buffer.bytes > FLUSH_BYTES ? dg_log_flush(l) : DG_OK;
}

dg_err dg_log_epoch(dg_log *l, const dg_log_row *means)
{
    char line[DG_LOG_LINE];
    const dg_log_row row = fitted(l, means);
    int n = dg_log_json(line, l->recipe, &row, "epoch");
    dg_err e = dg_append(&l->file[JSONL], line, (size_t)n);
    return e ? e : dg_log_flush(l);
}

const dg_log_row *dg_log_rows(const dg_log *l, long *n)
{
    *n = l->rows;
    return l->row;
}

double dg_log_joules(const dg_log *l, const char *energy_of)
{
    if (!l->rows) return 0;
    return l->joules > 0 && !strcmp(l->energy_of, energy_of) ? l->joules : -1;
}

dg_err dg_log_close(dg_log *l)
{
    if (!l) return DG_OK;
    dg_err e = DG_OK;
    for (int i = 0; i < FILES; i++) {
        dg_appender *f = &l->file[i];
        dg_err one = f->fd >= 0 ? dg_append_flush(f) : DG_OK;
        if (!one) one = sync_file(f);
        if (!e) e = one;
        if (f->fd >= 0) close(f->fd);
        free(f->buffer.text);
    }
    const dg_err events = dg_tfevents_close(l->events);
    free(l->row);
    free(l);
    return e ? e : events;
}
