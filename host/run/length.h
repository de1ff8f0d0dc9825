/* The length of a run (--epochs auto, --sample-every auto), and durations as text. */
#pragma once

#include "host/options/options.h"

/* --epochs auto means DG_AUTO_EPOCHS epochs, but at least dg_auto_steps_least and at most about DG_AUTO_STEPS_MOST
 * steps, because a GAN's result depends on the number of steps (docs/results/2026-11-28-recipes.md). With fewer than
 * DG_AUTO_IMAGES images, D overfits earlier. */
enum {
    DG_LEAST_IMAGES = 2,
    DG_AUTO_EPOCHS = 25,
    DG_AUTO_IMAGES = 1000,
    DG_AUTO_STEPS_FEW = 4000,
    DG_AUTO_STEPS_LEAST = 8000,
    DG_AUTO_STEPS_MOST = 40000,
    DG_AUTO_GRIDS = 300
};

/* Returns the minimum of steps of --epochs auto for a number of training images. */
int dg_auto_steps_least(int images);
int dg_images_of_epoch(const dg_options *o, int images);
/* o->batch must be set. */
int dg_steps_of_epoch(const dg_options *o, int images);
/* Returns the steps of all epochs, limited by --steps. */
long dg_steps_of_run(const dg_options *o, int images);

bool dg_run_is_finished(const dg_options *o, uint64_t epoch, uint64_t step);

/* Returns the min number of training images: --batch if given, --min-batch for --batch auto, otherwise
 * DG_LEAST_IMAGES. */
int dg_least_images(const dg_options *o);

/* Reduce a default batch size to the largest power of two <= images. */
void dg_settle_batch(dg_options *o, int images);

/* Replace auto in epochs, sample_every, schedule_length and job.ema_half_life. With --steps, set enough epochs for this
 * number of steps. An auto schedule ends after 80% of the images of the run, and an auto half-life is 2.5% of that. */
void dg_settle_length(dg_options *o, int images);

/* Replace auto in class_fade of a conditional run. A grid of default size gets one row per class, at most
 * DG_CLASS_ROWS, unless the user or the resumed run chose this size. */
enum { DG_CLASS_ROWS = 16 };
void dg_settle_classes(dg_options *o, int images, int classes);

/* Returns the class of a row of a conditional run's grids. If there are more classes than rows, classes are left out.
 */
int dg_grid_class(const dg_options *o, int classes, int row);

/* Write a duration as "45 seconds", "8 minutes", "3.5 hours" or "12 days"; returns out. */
char *dg_duration(double seconds, char *out, size_t size);
