/* report.html: a run in one file that needs no network. It is a function of what is in the run's directory, so that
 * the one that training leaves and the one that is made later are the same bytes; there is no date in it. */
#ifndef DG_REPORT_H
#define DG_REPORT_H

#include "core/base/file_io.h"
#include "host/doctor/doctor.h"
#include "host/options/options.h"
#include "host/report/grids.h"
#include "host/rundir/log_text.h"

/* What is said of the training: what happened from which epoch to which, and what to try. */
typedef struct {
    char what[300], advice[400];
    uint64_t from, to; /* epochs; to 0: it goes on */
} dg_report_finding;

/* What session.json says of the newest session. */
typedef struct {
    char version[128], device[256], precision[16];
    double memory;     /* bytes on the device */
    int images, tests; /* for training, for testing */
} dg_report_session;

typedef struct {
    const char *path; /* as it was given */
    int dir;          /* open */
    char name[256];
    const dg_recipe *recipe; /* NULL: there is no log yet */
    dg_log_row *row;
    long n;
    double *place; /* (n) on the axis of epochs */
    dg_options then;
    bool configured; /* then is from config.ini */
    dg_report_session session;
    dg_report_grids grids;
    dg_grid_seen *seen; /* (seens) what the doctor sees of the grids */
    int seens;
    dg_report_finding *finding; /* malloc'd */
    int findings;
} dg_report_run;

/* The open directory becomes r, but for its grids. r->grids is kept, and to be brought up to date by itself; of grids
 * in r->seen the files are not opened. DG_DATA: it is no run. r is to be freed after errors, too. */
dg_err dg_report_read(dg_report_run *r, int dir, const char *path);
void dg_report_free(dg_report_run *r);

/* The page of one run, and a page that compares some, each written whole or not at all. */
dg_err dg_report_write(const dg_report_run *r, const dg_directory *dir, const char *path);
enum { DG_REPORT_RUNS = 7 };
dg_err dg_report_compare(const dg_report_run *r, int runs, const char *path);

/* A GIF of some of the grids in the directory, by epoch, each with its upper left images. DG_DATA: there is none. */
dg_err dg_report_gif(const dg_report_run *r, const char *path, int scale, int *frames);

/* Write session.json. */
dg_err dg_report_session_write(const dg_report_session *s, const dg_directory *dir, const char *path);

/* Write nearest.png for the grid of this epoch in the directory: its first images, each above the one of the n
 * images for training that is nearest to it. Without it where the grid is not one of such images. */
dg_err dg_nearest_write(const dg_directory *dir, const char *path, uint64_t epoch, const uint8_t *pixels, int n,
                        int size, int channels);

#endif
