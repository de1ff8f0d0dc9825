/* A run directory: samples/<run>/ or --out DIR. Locked while a run uses it; never deleted, never overwritten
 * without --resume. Holds config.ini, log.csv, log.jsonl, reals.png, epoch-NNNN.png, curves.png, skipped.txt,
 * checkpoint.safetensors (newest) and checkpoint-NNNN.safetensors (older ones kept, by epoch; history.h).
 *
 * A run holds its directory open, and all that it reads and writes there goes through that descriptor: where the
 * directory is moved, or removed and made anew, nothing of the run gets into what bears its name then. */
#ifndef DG_RUNDIR_H
#define DG_RUNDIR_H

#include <stdbool.h>
#include "core/base/file_io.h"
#include "core/base/err.h"

typedef struct {
    char path[4096];
    int fd;   /* the directory, -1: not open */
    int lock; /* descriptor that holds the lock, -1: none */
    int made; /* how many directories of the path dg_rundir_open had to make */
} dg_rundir;

/* Open for a new run (resume = false): made if missing; DG_USAGE if it already holds a run (config.ini or a
 * checkpoint), with the two commands that would work, or images or a log that have lost theirs; what a start that
 * was cut off left there is removed. DG_LOCKED, naming host and process, if another run uses it. */
dg_err dg_rundir_open(const char *path, bool resume, dg_rundir *out);
void dg_rundir_close(dg_rundir *r);
/* The same for a new run that did not begin: what was written for it goes away, with the directories that were made
 * for it, unless something else is in them. The list of skipped images stays. */
void dg_rundir_abandon(dg_rundir *r);
/* DG_IO when the path no longer leads to this directory, with the place where it is now if that is known. *removed: it
 * is nowhere, or its lock is gone, so that it may be another run's: nothing more is to be written there. */
dg_err dg_rundir_check(const dg_rundir *r, bool *removed);
/* A log with rows, images or curves: what is never written over by a new run. */
bool dg_rundir_has_results(const dg_rundir *r);
/* For what writes files there. */
dg_directory dg_rundir_at(const dg_rundir *r);
/* Is a file of this name in it? */
bool dg_rundir_has(const dg_rundir *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* path of a file in it: "DIR/name"; out holds 4096 bytes. Returns out. */
char *dg_rundir_file(const dg_rundir *r, char *out, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
