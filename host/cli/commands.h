/* The commands, one file each in host/. Each returns the exit code of the program. */
#ifndef DG_COMMANDS_H
#define DG_COMMANDS_H

#include "core/plan/backend.h"
#include "host/options/options.h"
#include "host/cli/say.h"
#include "host/infer/open.h"

/* Open the backend that the options ask for. */
dg_err dg_open_backend(const dg_options *o, dg_backend **out);

dg_device dg_options_device(const dg_options *o);

/* Where the results of a checkpoint go: --out, else `name` beside it; made if missing. */
dg_err dg_results_directory(const dg_options *o, const char *name, char *out, size_t size);

/* Images are prepared as they were for training, of which config is the config.ini, unless the options ask for
 * another way. */
dg_err dg_prepare_as_trained(dg_options *o, const char *config);

/* How all images of a folder are read, each as size x size x channels. */
dg_dataset_options dg_all_images(const dg_options *o, const char *dir, int size, int channels);

/* --aug-preview: the first of these images as they are and, below, as D sees them in some steps. */
dg_err dg_aug_preview(const dg_options *o, const dg_dataset_options *images);

int dg_cmd_list_devices(const dg_options *o); /* --list-devices */
int dg_cmd_train(const dg_options *o);
int dg_cmd_generate(const dg_options *o);
int dg_cmd_interpolate(const dg_options *o);
int dg_cmd_data(const dg_options *o);
int dg_cmd_classify(const dg_options *o);
int dg_cmd_eval(const dg_options *o);
int dg_cmd_plan(const dg_options *o);
int dg_cmd_batch(const dg_options *o);
int dg_cmd_replay(const dg_options *o);
int dg_cmd_check(const dg_options *o);
int dg_cmd_bench(const dg_options *o);
int dg_cmd_profile(const dg_options *o);
int dg_cmd_tune(const dg_options *o);
int dg_cmd_info(const dg_options *o);
int dg_cmd_export(const dg_options *o);
int dg_cmd_import(const dg_options *o);
int dg_cmd_curves(const dg_options *o);
int dg_cmd_report(const dg_options *o);
int dg_cmd_doctor(const dg_options *o);

#endif
