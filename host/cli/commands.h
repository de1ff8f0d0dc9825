/* Declares the commands of dcgan. Each command returns the program's exit code. */
#pragma once

#include "core/plan/backend.h"
#include "host/checkpoint/checkpoint.h"
#include "host/options/options.h"
#include "host/infer/open.h"

dg_err dg_open_backend(const dg_options *o, dg_backend **out);

dg_device dg_options_device(const dg_options *o);

/* Create the output directory of a command. The default of --out is directory `name` next to the checkpoint. */
dg_err dg_results_directory(const dg_options *o, const char *name, char *out, size_t size);

/* Set --fit, --resize, --alpha and --orient from the text of config.ini. Values that the user gave stay unchanged. */
dg_err dg_prepare_as_trained(dg_options *o, const char *config);

dg_dataset_options dg_all_images(const dg_options *o, const char *dir, dg_size size, int channels);

/* Load the images of --data for training. Fewer than `least` images are an error. A built-in classifier gets one
 * output per class of the dataset. A dry run shows no progress and writes no cache. */
dg_err dg_training_images(const dg_options *o, dg_model *model, int least, dg_dataset *out);

dg_err dg_aug_preview(const dg_options *o, const dg_dataset_options *images);

typedef struct {
    const char *sheet, *write; /* file for a contact sheet, folder for the images, or NULL */
    bool json, quiet;          /* quiet: no progress */
} dg_data_outputs;

/* Print counts, sizes, skipped files, duplicates and advice. Returns the same error as training on the dataset.
 * `classifier` is the name of a model with `classes` classes, or NULL for a GAN. */
dg_err dg_data_report(const dg_dataset_options *o, const char *classifier, int classes, const dg_data_outputs *out);

/* Print a line of at most 32,767 bytes on stdout, with control characters escaped. */
void dg_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print later warnings as "dcgan: warning: ..." on stderr, and option names in messages as --NAME. */
void dg_speak_as_program(void);

/* Train with the options of a resumed run up to the state `expected`, in the directory o->out, and write only its last
 * checkpoint. Returns DG_DATA, DG_DEVICE or DG_USAGE if dataset, device or program are not those of `expected`. */
dg_err dg_train_again(const dg_options *o, const dg_checkpoint_info *expected);

int dg_cmd_list_devices(const dg_options *o);
int dg_cmd_train(const dg_options *o);
int dg_cmd_generate(const dg_options *o);
int dg_cmd_interpolate(const dg_options *o);
int dg_cmd_find(const dg_options *o);
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
int dg_cmd_report(const dg_options *o);
int dg_cmd_doctor(const dg_options *o);
int dg_cmd_verify(const dg_options *o);
