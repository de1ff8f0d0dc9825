/* Progress on stderr. A terminal shows one line, redrawn at most 10 times per second. A file or pipe gets one line per
 * epoch, and at most one line per 10 s within an epoch. */
#pragma once

#include <stdbool.h>
#include "host/net/recipe.h"

typedef struct dg_progress dg_progress;
dg_progress *dg_progress_open(bool quiet);
void dg_progress_close(dg_progress *p);

/* Set the recipe whose metrics are shown; call before dg_progress_step and dg_progress_epoch. */
void dg_progress_recipe(dg_progress *p, const dg_recipe *r);
/* `epoch` and `step` start at 1. The ETA is computed from `images_done` and `images_all`, which count images of this
 * session. */
void dg_progress_step(dg_progress *p, int epoch, int epochs, long step, long steps_per_epoch, const dg_metrics *m,
                      long images_done, long images_all, int batch);
void dg_progress_epoch(dg_progress *p, int epoch, int epochs, const dg_metrics *mean, double seconds,
                       double images_per_second);
void dg_progress_count(dg_progress *p, const char *what, long done, long total);
/* Callback for dg_dataset_options.progress; `progress` is a dg_progress. */
void dg_progress_reading(void *progress, long done, long total);
/* Show a text on a terminal until the next progress line. */
void dg_progress_wait(dg_progress *p, const char *what);
void dg_progress_show(dg_progress *p, const char *text);
bool dg_progress_terminal(const dg_progress *p);
void dg_progress_note(dg_progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
