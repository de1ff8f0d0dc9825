#include "host/run/length.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "host/net/shards.h"
#include "host/options/option_table.h"

int dg_images_of_epoch(const dg_options *o, int images)
{
    return dg_used_images(images, o->batch, dg_shards_of(&o->job), o->drop_last);
}

int dg_steps_of_epoch(const dg_options *o, int images)
{
    return (dg_images_of_epoch(o, images) + o->batch - 1) / o->batch;
}

long dg_steps_of_run(const dg_options *o, int images)
{
    const long all = (long)o->epochs * dg_steps_of_epoch(o, images);
    return o->steps > 0 && o->steps < all ? o->steps : all;
}

bool dg_run_is_finished(const dg_options *o, uint64_t epoch, uint64_t step)
{
    return (o->epochs > 0 && epoch >= (uint64_t)o->epochs) || (o->steps > 0 && step >= (uint64_t)o->steps);
}

int dg_least_images(const dg_options *o)
{
    return !o->batch ? o->min_batch : dg_option_given(o, "batch") ? o->batch : DG_LEAST_IMAGES;
}

void dg_settle_batch(dg_options *o, int images)
{
    if (o->batch <= images || dg_option_given(o, "batch")) return;
    for (o->batch = 1; o->batch <= images / 2;) o->batch *= 2;
}

static long epochs_with(long steps, int of_epoch) { return (steps + of_epoch - 1) / of_epoch; }

int dg_auto_steps_least(int images) { return images < DG_AUTO_IMAGES ? DG_AUTO_STEPS_FEW : DG_AUTO_STEPS_LEAST; }

static long auto_epochs(long steps, int images, int of_epoch)
{
    long n = DG_AUTO_EPOCHS;
    const long least = epochs_with(dg_auto_steps_least(images), of_epoch),
               most = epochs_with(DG_AUTO_STEPS_MOST, of_epoch);
    if (n < least) n = least;
    if (n > most) n = most;
    return steps > 0 && n < epochs_with(steps, of_epoch) ? epochs_with(steps, of_epoch) : n;
}

/* Returns a share of the images that a run will show, at most 2e9. */
static double images_of_run(const dg_options *o, int images, double share)
{
    const int of_epoch = dg_steps_of_epoch(o, images);
    const double used = dg_images_of_epoch(o, images);
    const double shown = (double)dg_steps_of_run(o, images) * used / (of_epoch > 0 ? of_epoch : 1);
    return fmin(2e9, share * shown + 0.5);
}

enum { FEW_PER_CLASS = 500 };

void dg_settle_classes(dg_options *o, int images, int classes)
{
    if (o->class_fade < 0) o->class_fade = images / classes < FEW_PER_CLASS ? (int)images_of_run(o, images, 0.3) : 0;
    const dg_option *grid = dg_option_find("grid");
    char chosen[32];
    dg_option_get(o, grid, chosen, sizeof chosen);
    if (o->resume || dg_option_given(o, "grid") || strcmp(chosen, grid->preset) != 0) return;
    o->grid_rows = classes < DG_CLASS_ROWS ? classes : DG_CLASS_ROWS;
}

int dg_grid_class(const dg_options *o, int classes, int row)
{
    return classes <= o->grid_rows ? row % classes : (int)((int64_t)row * classes / o->grid_rows);
}

void dg_settle_length(dg_options *o, int images)
{
    const int of_epoch = dg_steps_of_epoch(o, images);
    if (!o->epochs) {
        const long n = auto_epochs(o->steps, images, of_epoch > 0 ? of_epoch : 1);
        o->epochs = n < 1000000 ? (int)n : 1000000;
    }
    const int most = (int)fmax(1, images_of_run(o, images, 0.8));
    if (o->cosine && !o->schedule_length) o->schedule_length = most;
    if (o->job.ema_half_life < 0) o->job.ema_half_life = 0.025 * (o->cosine ? o->schedule_length : most);
    if (o->sample_every < 0) o->sample_every = (o->epochs + DG_AUTO_GRIDS - 1) / DG_AUTO_GRIDS;
}

char *dg_duration(double seconds, char *out, size_t size)
{
    if (seconds < 99.5) snprintf(out, size, "%.0f second%s", seconds, seconds >= 0.5 && seconds < 1.5 ? "" : "s");
    else if (seconds < 99.5 * 60) snprintf(out, size, "%.0f minutes", seconds / 60);
    else if (seconds < 47.95 * 3600) snprintf(out, size, "%.1f hours", seconds / 3600);
    else snprintf(out, size, "%.1f days", seconds / 86400);
    return out;
}
