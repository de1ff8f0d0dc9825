/* The option table, and internal functions for parsing, help and config.ini. */
#pragma once

#include <stdio.h>
#include "host/options/options.h"

typedef enum {
    DG_OPT_FLAG,
    DG_OPT_INT,
    DG_OPT_AUTO, /* int; value "auto" is stored as min - 1 */
    DG_OPT_LONG,
    DG_OPT_U64,
    DG_OPT_REAL,
    DG_OPT_AUTO_REAL, /* real from 0 on; value "auto" is stored as -1 */
    DG_OPT_TEXT,      /* char *, not empty */
    DG_OPT_CHOICE,    /* int or enum: index of the word in choices */
    DG_OPT_EITHER,    /* bool: true is the second of two choices */
    DG_OPT_GRID,      /* RxC: two consecutive ints */
    DG_OPT_SIZE,      /* dg_size: N or WxH */
    DG_OPT_SEEDS,     /* two consecutive uint64_t from A-B or A */
    DG_OPT_RESUME     /* sets resume and resume_from; the value is optional */
} dg_option_kind;

enum {
    DG_OPT_SAVED = 1,     /* config.ini stores this option */
    DG_OPT_ARGV_ONLY = 2, /* not read from the environment or a config file */
    DG_OPT_ABOVE_MIN = 4,
    DG_OPT_BELOW_MAX = 8,
    DG_OPT_FIXED = 16,   /* the value cannot change with --resume */
    DG_OPT_MODEL = 32,   /* a model file may set this option in its section [train] */
    DG_OPT_IF_SET = 64,  /* config.ini omits the option at its default, unless the model has a section [train] */
    DG_OPT_COMMON = 128, /* the short help shows the option */
    DG_OPT_OUTPUT = 256,
    DG_OPT_RESULT = 512 /* checkpoints store the option, because it changes the training */
};

typedef struct {
    const char *name; /* option name, key in config.ini, environment variable DCGAN_NAME */
    char letter;
    const char *arg; /* name of the argument, or NULL if it is optional and "yes" by default */
    dg_option_kind kind;
    size_t offset;
    double min, max;
    const char *preset; /* default as text; NULL: no default */
    const char *choices;
    const char *group;
    unsigned commands;
    unsigned flags;
    const char *help; /* noun phrase of at most 80 characters with choices and default */
    const char *text;
} dg_option;

enum { DG_NORM_D_MODEL, DG_NORM_D_SPECTRAL, DG_NORM_D_NONE }; /* the choices of --norm-d */

enum { DG_EXAMPLES = 5 };
typedef struct {
    const char *name;
    const char *operands; /* such as "RUN|CHECKPOINT" */
    int min, max;
    const char *help;
    const char *text;                 /* one to three sentences */
    const char *example[DG_EXAMPLES]; /* such as "dcgan plan dcgan64 :: every op of this network" */
} dg_command_info;

extern const dg_option dg_option_table[]; /* ends with name NULL */
extern const dg_command_info dg_commands[DG_CMDS];

/* Find an option by its present or old name. Returns NULL if unknown. */
const dg_option *dg_option_find(const char *name);
/* Returns an option's old name, which command line, environment and config.ini also accept. NULL: no old name. */
const char *dg_option_alias(const dg_option *t);
/* Returns NULL without a default, such as the model of import and eval. */
const char *dg_option_preset(const dg_option *t, dg_command command);
/* Returns the name of the command's option that is most similar to `name`, or NULL. */
const char *dg_option_nearest(const char *name, dg_command command);
const char *dg_command_nearest(const char *name);
/* Returns why dcgan lacks an option of other GAN trainers, or NULL for an unknown option. */
const char *dg_option_absent(const char *name);
/* If the distance between name and typed is below *nearest, store name in *best and the distance in *nearest. */
void dg_name_nearer(const char *name, const char *typed, const char **best, int *nearest);

bool dg_option_is_path(const dg_option *t);
/* Merge repeated slashes of path; remove its final slash if `folder` is set. */
void dg_path_trim(char *path, bool folder);
/* Returns `code` if an input path does not exist and looks mistyped or wrongly quoted. For output paths, only an
 * unexpanded ~ and URLs are errors. The message begins with `where` and suggests a path. */
dg_err dg_path_check(dg_err code, const char *path, const char *where, bool input);
/* The same for each folder of a value of the option data. */
dg_err dg_path_check_dirs(const char *value);
/* Add a folder to the option data, which is given several times. */
dg_err dg_option_add_dir(dg_options *o, const dg_option *t, const char *dir, const char *where);

/* Fail if an option was given earlier with another value. `before` is the earlier value, or NULL. */
dg_err dg_options_twice(const dg_option *t, const char *value, const char *before);
void dg_options_unknown_variables(void);
/* Write the environment variable of an option, DCGAN_NAME, to out. Returns out. */
char *dg_option_variable(const char *name, char out[64]);

/* The error message begins with `where`: "--epochs 0", "run/config.ini:7: epochs = 0". */
dg_err dg_option_set(dg_options *o, const dg_option *t, const char *value, const char *where);
/* Like dg_option_set; also mark the option as given. */
dg_err dg_option_give(dg_options *o, const dg_option *t, const char *value, const char *where);
/* Write an option's value as text that dg_option_set accepts; "" for a text option that is not set. */
void dg_option_get(const dg_options *o, const dg_option *t, char *out, size_t size);
/* Write an option's valid values, such as "1 to 1000000" or "crop, pad or stretch"; "" without limits. */
void dg_option_range(const dg_option *t, char *out, size_t size);

/* With --resume, set o->out and o->resume_from. `path` receives the path of the run's config.ini. */
dg_err dg_options_run_config(dg_options *o, char *path, size_t size);
/* With --from-epoch, set o->resume_from to the run's checkpoint of this epoch. */
dg_err dg_options_from_epoch(dg_options *o);
/* Set o->out of a new run to samples/DATA-MODEL, with a number if this directory exists. */
dg_err dg_options_new_run(dg_options *o);
/* Find the previous run of a new run, such as RUN-2 for RUN-3. Returns false for the first run or with --out. */
bool dg_options_older_run(const dg_options *o, char *out, size_t size);
/* Get the directory name RUN-N with the next free number, such as RUN-2. *out is malloc'd. */
dg_err dg_options_next_run(const char *run, char **out);
/* Replace the path of a run directory by its newest checkpoint. With `or_images`, directories that are not runs are
 * accepted, too. */
dg_err dg_options_settle_run(char **given, bool or_images);
/* Set o->model from --init (if --model is not given), from --size and --channels, or from --norm-d. */
dg_err dg_options_name_model(dg_options *o);
/* True if --model `name` is a file, not a built-in model. */
bool dg_options_model_is_file(const char *name);
dg_err dg_path_set(char **to, const char *path); /* frees *to */

dg_err dg_options_finish(dg_options *o);
/* Parse --schedule, and refuse options of another optimizer. */
dg_err dg_options_training(dg_options *o);
dg_err dg_options_augment(dg_options *o);
/* Reset the options that `before` (model, config file or preset) set for an optimizer, schedule or augmentation that a
 * source of higher precedence replaced. */
void dg_options_drop(dg_options *o, const dg_options *before);
/* Apply the preset that --preset auto chooses, the option defaults of model `name`'s recipe, and its section [train].
 * Set o->preset and o->replace_norm. Ignores an unreadable model. user: the options of environment and command line. */
dg_err dg_options_model(dg_options *o, const dg_options *user, const char *name);
/* Returns user->preset, or the preset that --preset auto means for model m. It stays auto for classifiers. */
int dg_options_choose_preset(const dg_options *user, const dg_model *m);
/* True if a preset replaces batch norm in D of model m, which was read from `name`. */
bool dg_options_replaces_norm(int preset, const char *name, const dg_model *m);
/* Set the values of a preset, and --norm-d if o->replace_norm is set. */
dg_err dg_options_take_preset(dg_options *o, int preset);
/* Let --model name the same network as in the command that started `run`, if a preset replaced batch norm. */
void dg_options_resume_preset(dg_options *o, const dg_options *run);
dg_err dg_options_presets(dg_options *o);
/* Free all members except the operands. */
void dg_options_free_values(dg_options *o);
bool dg_same_place(const char *a, const char *b); /* true for equal texts or two paths to one file */

enum { DG_CONFIG_VALUE = 4096 };
dg_err dg_config_read(const char *path, dg_options *o);
dg_err dg_config_parse(const char *text, const char *where, dg_options *o);
/* Returns the text of config.ini (malloc'd): saved options, version, command line. NULL: out of memory. */
char *dg_config_text(const dg_options *o, int argc, char **argv);

typedef enum { DG_HELP_TEXT, DG_HELP_MAN, DG_HELP_MARKDOWN } dg_help_format;
/* Write an option's short help, choices and default for the command: at most 80 characters. */
void dg_help_option(const dg_option *t, dg_command c, char *out, size_t size);
void dg_help_bare(FILE *to);
void dg_help_short(FILE *to);
void dg_help_command(FILE *to, dg_command c, bool all);
void dg_help_reference(FILE *to, dg_help_format format);
/* Returns false for shells other than bash, zsh and fish. */
bool dg_help_completion(FILE *to, const char *shell);
