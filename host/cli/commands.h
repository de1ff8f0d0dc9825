/* The commands of dcgan; each function returns the program's exit code. */
#ifndef DG_COMMANDS_H
#define DG_COMMANDS_H

#include "core/plan/backend.h"
#include "host/options/options.h"
#include "host/infer/open.h"

dg_err dg_open_backend(const dg_options *o, dg_backend **out);

dg_device dg_options_device(const dg_options *o);

/* Create the output directory of a command: --out, or directory `name` next to the checkpoint. */
dg_err dg_results_directory(const dg_options *o, const char *name, char *out, size_t size);

/* Set the options --fit, --resize, --alpha and --orient, unless given by the user, from the text of config.ini. */
dg_err dg_prepare_as_trained(dg_options *o, const char *config);

/* Returns options for reading all images of dir as size x size x channels. */
dg_dataset_options dg_all_images(const dg_options *o, const char *dir, int size, int channels);

/* Load at least `least` images of --data for training. If the model is a built-in classifier, its number of outputs is
 * set to the dataset's number of classes. A dry run shows no progress and writes no cache. */
dg_err dg_training_images(const dg_options *o, dg_model *model, int least, dg_dataset *out);

/* Option --aug-preview: write a PNG with some images and, below each image, random augmentations of the image. */
dg_err dg_aug_preview(const dg_options *o, const dg_dataset_options *images);

/* Print counts, sizes, skipped files, duplicates and advice. Returns the error that training on the dataset would
 * return. sheet: path of the contact sheet. classifier: name of a model with `classes` classes, or NULL for a GAN. */
dg_err dg_data_report(const dg_dataset_options *o, const char *classifier, int classes, const char *sheet, bool json);

/* Print a line of at most 32,767 bytes on stdout, with control characters escaped. */
void dg_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From now on, print warnings as "dcgan: warning: ..." on stderr, and option names in messages as --NAME. */
void dg_speak_as_program(void);

int dg_cmd_list_devices(const dg_options *o);
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
