/* What a user sees while it runs, on stderr: one line redrawn at most 10 times a second on a terminal, one
 * plain line an epoch elsewhere (at most one each 10 s for long epochs), nothing with quiet. */
#ifndef DG_PROGRESS_H
#define DG_PROGRESS_H

#include <stdbool.h>
#include "host/net/recipe.h"

typedef struct dg_progress dg_progress;
dg_progress *dg_progress_open(bool quiet);
void dg_progress_close(dg_progress *p); /* ends the line; p may be NULL */

/* Training, of this recipe: its metrics are shown. Before the next two. */
void dg_progress_recipe(dg_progress *p, const dg_recipe *r);
/* epoch and step 1-based; images_done of images_all in this whole run (for the ETA). */
void dg_progress_step(dg_progress *p, int epoch, int epochs, long step, long steps_per_epoch, const dg_metrics *m,
                      long images_done, long images_all, int batch);
void dg_progress_epoch(dg_progress *p, int epoch, int epochs, const dg_metrics *mean, double seconds,
                       double images_per_second);
/* Any counted work: "reading images 1200/2944". */
void dg_progress_count(dg_progress *p, const char *what, long done, long total);
/* What is waited for, on a terminal at once, until the next line takes its place. */
void dg_progress_wait(dg_progress *p, const char *what);
/* Text of whole lines, a drawing, that goes to the terminal as it is. */
void dg_progress_show(dg_progress *p, const char *text);
/* Is there a terminal, for drawings that nobody asked to have elsewhere? */
bool dg_progress_terminal(const dg_progress *p);
/* A line of its own that does not disturb the bar. */
void dg_progress_note(dg_progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
