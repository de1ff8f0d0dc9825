/* Converts the options of a command to options for reading images. */
#include "host/cli/commands.h"
#include "host/net/recipe.h"
#include "host/options/option_table.h"
#include "host/run/stop.h"
#include "host/train/classes.h"
#include "host/trainer/progress.h"

dg_err dg_prepare_as_trained(dg_options *o, const char *config)
{
    dg_options then = {.command = DG_CMD_TRAIN, .fit = o->fit, .alpha = o->alpha, .exif = o->exif};
    then.filter = o->filter;
    const dg_err e = dg_config_parse(config, "the checkpoint's config", &then);
    if (!dg_option_given(o, "fit")) o->fit = then.fit;
    if (!dg_option_given(o, "resize")) o->filter = then.filter;
    if (!dg_option_given(o, "alpha")) o->alpha = then.alpha;
    if (!dg_option_given(o, "orient")) o->exif = then.exif;
    dg_options_free(&then);
    return e;
}

dg_dataset_options dg_all_images(const dg_options *o, const char *dir, dg_size size, int channels)
{
    return (dg_dataset_options){.dir = dir,
                                .size = size,
                                .channels = channels,
                                .fit = o->fit,
                                .resize = (dg_resize)o->filter,
                                .decode = {.alpha = o->alpha, .exif = o->exif},
                                .threads = o->threads,
                                .strict = o->strict,
                                .skip_unreadable = o->skip_unreadable,
                                .least = 1,
                                .limit = o->limit};
}

dg_err dg_training_images(const dg_options *o, dg_model *model, int least, dg_dataset *out)
{
    dg_dataset_options d = dg_all_images(o, o->data, model->size, model->channels);
    d.least = least;
    d.labelled = dg_recipe_find(model)->labels;
    d.hash_labels = dg_needs_labels(o, model);
    d.test = o->test;
    d.seed = o->seed;
    d.cache = o->dry_run ? NULL : o->cache;
    d.progress = dg_progress_reading;
    d.context = dg_progress_open(o->quiet || o->dry_run);
    d.stop = &dg_stop_signal;
    dg_err e = dg_dataset_load(&d, out);
    if (!e && d.hash_labels) e = dg_follow_classes(o, out, !o->resume || o->conditional, model);
    if (e) dg_dataset_free(out);
    dg_progress_close(d.context);
    return e;
}
