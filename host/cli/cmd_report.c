/* `dcgan report RUN`: rewrites a run's report.html. For several runs, writes a page that compares the runs. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/plural.h"
#include "host/cli/commands.h"
#include "host/cli/outputs.h"
#include "host/report/report.h"
#include "host/rundir/rundir.h"

/* Log files without a run directory need a page elsewhere. */
static dg_err read_run(dg_report_run *r, const dg_options *o, const char *path)
{
    const int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *r = (dg_report_run){.dir = -1};
    if (dir < 0 && (errno != ENOTDIR || !o->out))
        return dg_fail(DG_IO, DG_MSG("report-no-directory", "%s: cannot open the directory: %s"), path,
                       strerror(errno));
    dg_err e = dg_report_read(r, dir, path);
    if (!e && dir >= 0 && o->operands == 1 && !o->out) e = dg_rundir_in_use(dir, path, &r->live);
    if (e || dir < 0) return e;
    return o->operands == 1 ? dg_report_grids_renew(&r->grids, dir, path)
                            : dg_report_grids_newest(&r->grids, dir, path);
}

static dg_err write_page(const dg_options *o, const dg_report_run *r, char *path, size_t size)
{
    const size_t n = strlen(o->operand[0]);
    const char *slash = n && o->operand[0][n - 1] == '/' ? "" : "/";
    if (o->out) snprintf(path, size, "%s", o->out);
    else if ((size_t)snprintf(path, size, "%s%sreport.html", o->operand[0], slash) >= size)
        return dg_fail(DG_USAGE, "%s: path too long", o->operand[0]);
    return o->operands > 1 ? dg_report_compare(r, o->operands, path) : dg_report_write(r, NULL, path);
}

int dg_cmd_report(const dg_options *o)
{
    char path[4096];
    dg_report_run *r = calloc(DG_REPORT_RUNS, sizeof *r);
    dg_err e = r ? DG_OK : dg_fail(DG_DEVICE, "out of memory");
    int read = 0;
    while (read < o->operands && !e) {
        e = read_run(&r[read], o, o->operand[read]);
        read++;
    }
    if (!e) e = write_page(o, r, path, sizeof path);
    if (!e && !o->quiet) dg_say("%s: %d run%s", dg_output_name(path), o->operands, dg_s(o->operands));
    int frames = 0;
    if (!e && o->gif) e = dg_report_gif(&r[0], o->gif, o->scale, &frames);
    if (!e && o->gif && !o->quiet) dg_say("%s: %d grid%s", dg_output_name(o->gif), frames, dg_s(frames));
    for (int i = 0; i < read; i++) {
        if (r[i].dir >= 0) close(r[i].dir);
        dg_report_free(&r[i]);
    }
    free(r);
    return (int)e;
}
