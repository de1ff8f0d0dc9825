/* `dcgan doctor`: detects training problems in a run's log and sample grids (host/doctor). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file_io.h"
#include "core/base/plural.h"
#include "host/cli/commands.h"
#include "host/doctor/diversity.h"
#include "host/files/json.h"
#include "host/run/length.h"
#include "host/options/option_table.h"

typedef struct {
    char path[4096];
    void *text;
    dg_log_row *row;
    long rows;
    dg_grid_seen *grid;
    int grids;
    dg_doctor doctor;
    dg_loss loss;
    bool finished; /* true if the run trained for all epochs of its config.ini */
} job;

static dg_err parse(job *j)
{
    size_t header;
    long bad;
    const dg_recipe *r = dg_log_recipe(j->text, &header);
    if (!r) return dg_fail(DG_USAGE, DG_MSG("doctor-not-a-log", "%s:1: not a dcgan log (unexpected header)"), j->path);
    if (!dg_doctor_knows(r))
        return dg_fail(DG_USAGE, DG_MSG("not-gan-log", "%s: log of a %s; the doctor supports GANs only"), j->path,
                       r->name);
    if (!(j->row = dg_log_rows_in(j->text, header, r, &j->rows, &bad)))
        return dg_fail(DG_DEVICE, "%s: out of memory", j->path);
    if (bad) return dg_fail(DG_USAGE, "%s:%ld: not a row of a dcgan log, or out of order", j->path, bad);
    return j->rows ? DG_OK : dg_fail(DG_USAGE, "%s: the log has no training steps yet", j->path);
}

static dg_err read_config(job *j, const char *run)
{
    char path[4096];
    struct stat st;
    dg_options o = {.command = DG_CMD_TRAIN};
    if (snprintf(path, sizeof path, "%s/config.ini", run) >= (int)sizeof path) return DG_OK;
    const bool there = lstat(path, &st) == 0;
    if (!there && errno == ENOENT) return DG_OK;
    const dg_err e = there ? dg_config_read(path, &o) : dg_fail(DG_IO, "%s: %s", path, strerror(errno));
    const dg_log_row *last = &j->row[j->rows - 1];
    if (!e) j->loss = o.job.loss;
    if (!e) j->finished = !o.init && dg_run_is_finished(&o, last->epoch, last->step);
    if (e && e != DG_DEVICE) dg_warn("the doctor assumes --loss bce and an unfinished run: %s", dg_message());
    dg_options_free(&o);
    return e == DG_DEVICE ? e : DG_OK;
}

static dg_err open_run(job *j, const char *operand)
{
    const bool directory = dg_is_folder(operand);
    size_t bytes;
    if (snprintf(j->path, sizeof j->path, "%s%s", operand, directory ? "/log.csv" : "") >= (int)sizeof j->path)
        return dg_fail(DG_IO, "path: too long (%zu bytes)", strlen(operand));
    dg_err e = dg_read_text(-1, j->path, false, DG_LOG_BYTES, &j->text, &bytes);
    if (!e) e = parse(j);
    if (!e && directory) e = read_config(j, operand);
    return e || !directory ? e : dg_grids_seen(operand, &j->grid, &j->grids);
}

static void print_text(const job *j, const char *run)
{
    const dg_log_row *last = &j->row[j->rows - 1];
    char text[300], end[64];
    dg_say("%s: %ju step%s in %ju epoch%s, %d sample grid%s", run, (uintmax_t)last->step, dg_s((int64_t)last->step),
           (uintmax_t)last->epoch, dg_s((int64_t)last->epoch), j->grids, dg_s(j->grids));
    for (int i = 0; i < j->doctor.findings; i++) {
        const dg_finding *f = &j->doctor.finding[i];
        dg_finding begun = *f;
        begun.end_step = 0;
        snprintf(end, sizeof end, " to epoch %ju", (uintmax_t)f->end_epoch);
        dg_say("%s", "");
        dg_say("%s, from epoch %ju (step %ju)%s: %s", f->rule->name, (uintmax_t)f->epoch, (uintmax_t)f->step,
               f->end_step ? end : "", dg_finding_text(&begun, text, sizeof text));
        dg_say("    %s", f->rule->advice);
    }
    if (!j->doctor.findings) dg_say("no findings");
}

static void print_json(const job *j, const char *run)
{
    const dg_log_row *last = &j->row[j->rows - 1];
    char text[300];
    printf("{\"run\": ");
    dg_json_text(stdout, run);
    printf(", \"steps\": %ju, \"epochs\": %ju, \"grids\": %d,\n \"findings\": [", (uintmax_t)last->step,
           (uintmax_t)last->epoch, j->grids);
    for (int i = 0; i < j->doctor.findings; i++) {
        const dg_finding *f = &j->doctor.finding[i];
        dg_finding begun = *f;
        begun.end_step = 0;
        printf("%s\n  {\"name\": \"%s\", \"epoch\": %ju, \"step\": %ju, \"times\": %d, ", i ? "," : "", f->rule->name,
               (uintmax_t)f->epoch, (uintmax_t)f->step, f->repeats > 1 ? f->repeats : 1);
        if (f->end_step)
            printf("\"end_epoch\": %ju, \"end_step\": %ju, ", (uintmax_t)f->end_epoch, (uintmax_t)f->end_step);
        if (isfinite(f->worst)) printf("\"worst\": %.9g", f->worst);
        else printf("\"worst\": null");
        dg_finding_text(&begun, text, sizeof text);
        printf(", \"message\": ");
        dg_json_text(stdout, text);
        printf(", \"says\": "); /* key before 0.1.0 */
        dg_json_text(stdout, text);
        printf(", \"advice\": ");
        dg_json_text(stdout, f->rule->advice);
        printf("}");
    }
    printf("]}\n");
}

int dg_cmd_doctor(const dg_options *o)
{
    job *j = calloc(1, sizeof *j);
    if (!j) return (int)dg_fail(DG_DEVICE, "out of memory");
    const dg_err e = open_run(j, o->operand[0]);
    if (!e) dg_doctor_examine(&j->doctor, j->loss, j->finished, j->row, j->rows, j->grid, j->grids);
    if (!e) o->json ? print_json(j, o->operand[0]) : print_text(j, o->operand[0]);
    free(j->text);
    free(j->row);
    free(j->grid);
    free(j);
    return (int)e;
}
