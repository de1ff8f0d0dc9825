/* A run directory: samples/<run>/ or --out DIR. A run locks its directory; only --resume overwrites files of a run.
 * Contents: config.ini, log.csv, log.jsonl, reals.png, epoch-NNNN.png, report.html, skipped.txt, checkpoint.safetensors
 * (newest) and checkpoint-NNNN.safetensors (of epoch NNNN; history.h). All accesses use the open directory descriptor,
 * so that a run never writes to a directory that replaced its own. */
#pragma once

#include <stdbool.h>
#include "core/base/file_io.h"
#include "core/base/err.h"

typedef struct {
    char path[4096];
    int fd;
    int lock; /* descriptor that holds the lock, -1: none */
    int made; /* number of directories created by dg_rundir_open */
} dg_rundir;

/* Open a run directory and lock it. A new run (resume = false) creates a missing directory, and removes files of an
 * interrupted start. Returns DG_USAGE if the directory of a new run has results, config.ini or a checkpoint. Returns
 * DG_LOCKED if another run uses the directory. */
dg_err dg_rundir_open(const char *path, bool resume, dg_rundir *out);
/* Open a run directory for reading, without changes to it. Until dg_rundir_close, no run can use the directory. Returns
 * DG_LOCKED if a run uses the directory. A directory without run.lock is not locked. */
dg_err dg_rundir_hold(const char *path, dg_rundir *out);
/* Set *yes if a run uses the open directory `dir`. Returns DG_IO if run.lock cannot be tested. */
dg_err dg_rundir_in_use(int dir, const char *path, bool *yes);
void dg_rundir_close(dg_rundir *r);
/* Close the directory of a run that failed to start. Removes the run's files, except skipped.txt, and the empty
 * directories that the run created. */
void dg_rundir_abandon(dg_rundir *r);
/* Returns DG_IO if the path no longer leads to the run directory. Set *removed if the directory or its lock file was
 * removed. Write nothing to a removed directory, because another run may own it. */
dg_err dg_rundir_check(const dg_rundir *r, bool *removed);
/* True if the directory has results (images, curves or a log with rows), which a new run never overwrites. */
bool dg_rundir_has_results(const dg_rundir *r);
dg_directory dg_rundir_at(const dg_rundir *r);
bool dg_rundir_has(const dg_rundir *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Write "DIR/name" to out (4096 bytes). Returns out. */
char *dg_rundir_file(const dg_rundir *r, char *out, const char *format, ...) __attribute__((format(printf, 3, 4)));
