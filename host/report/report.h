/* report.html shows a run in one file without network access. The page depends only on the run's files and has no date,
 * so that repeated reports are equal. */
#pragma once

#include "core/base/file_io.h"
#include "host/data/images.h"
#include "host/doctor/doctor.h"
#include "host/options/options.h"
#include "host/report/grids.h"
#include "host/rundir/log_text.h"

typedef struct {
    char version[128], device[256], precision[16];
    double memory;
    int images, tests;
} dg_report_session;

typedef struct {
    const char *path;
    int dir;
    char name[256];
    const dg_recipe *recipe; /* recipe of the log, or NULL without a log */
    dg_log_row *row;
    long n;
    double *place; /* position of each log row on the epoch axis, (n) */
    dg_options then;
    bool configured;
    dg_report_session session;
    double joules; /* of the run; 0: not counted */
    char energy_of[DG_LOG_ENERGY_OF];
    dg_report_grids grids;
    dg_grid_seen *seen;
    int seens;
    dg_doctor *doctor; /* NULL without the log of a GAN */
    bool live;         /* the run is training, so the page reloads itself */
} dg_report_run;

/* Read a run directory, except r->grids, or a log file without a directory (dir < 0). Grids in r->seen are not read
 * again. Returns DG_DATA if the directory is not a run. Free r also after errors. */
dg_err dg_report_read(dg_report_run *r, int dir, const char *path);
void dg_report_free(dg_report_run *r);

dg_err dg_report_write(const dg_report_run *r, const dg_directory *dir, const char *path);
enum { DG_REPORT_RUNS = 7 };
dg_err dg_report_compare(const dg_report_run *r, int runs, const char *path);

/* Write a GIF of a run's grids by epoch, cropped to the upper left cells. Returns DG_DATA if there are no grids. */
dg_err dg_report_gif(const dg_report_run *r, const char *path, int scale, int *frames);

dg_err dg_report_session_write(const dg_report_session *s, const dg_directory *dir, const char *path);

/* Write nearest.png: the samples of an epoch's grid above their nearest training images, of at most 65,536 images in
 * memory or 4,096 images in a file. Writes no file if the grid's samples have another size than the training images. */
dg_err dg_nearest_write(const dg_directory *dir, const char *path, uint64_t epoch, const dg_images *images,
                        dg_size size, int channels);
