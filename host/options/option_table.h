/* The option table, for the files that implement it: parsing, help, config.ini. */
#ifndef DG_OPTION_TABLE_H
#define DG_OPTION_TABLE_H

#include <stdio.h>
#include "host/options/options.h"

typedef enum {
    DG_OPT_FLAG,
    DG_OPT_INT,  /* int in min..max */
    DG_OPT_AUTO, /* int in min..max; "auto" is min - 1 */
    DG_OPT_LONG, /* long in min..max */
    DG_OPT_U64,
    DG_OPT_REAL,   /* double in min..max */
    DG_OPT_TEXT,   /* char *, not empty */
    DG_OPT_CHOICE, /* int or enum: index into choices */
    DG_OPT_EITHER, /* bool: true is the second of two choices */
    DG_OPT_GRID,   /* RxC: two consecutive ints */
    DG_OPT_SEEDS,  /* A-B or A: two consecutive uint64_t; sets seeds_given */
    DG_OPT_RESUME  /* sets resume and resume_from; the value is optional */
} dg_option_kind;

enum {
    DG_OPT_SAVED = 1,     /* config.ini stores this option */
    DG_OPT_ARGV_ONLY = 2, /* not read from the environment or a config file */
    DG_OPT_ABOVE_MIN = 4, /* the value must be greater than min */
    DG_OPT_BELOW_MAX = 8,
    DG_OPT_FIXED = 16,   /* cannot change with --resume */
    DG_OPT_MODEL = 32,   /* a model file may set this option in its section [train] */
    DG_OPT_IF_SET = 64,  /* config.ini omits the default, unless the model sets options of [train] */
    DG_OPT_COMMON = 128, /* in the short help */
    DG_OPT_OUTPUT = 256, /* the path of an output */
    DG_OPT_RESULT = 512  /* the option changes what is trained, so checkpoints store it */
};

typedef struct {
    const char *name; /* also the key in config.ini; DCGAN_NAME in the environment */
    char letter;      /* 0: none */
    const char *arg;  /* NULL: the argument is optional, and its default is "yes" */
    dg_option_kind kind;
    size_t offset;
    double min, max;
    const char *preset; /* the default as text; NULL: there is none */
    const char *choices;
    const char *group;
    unsigned commands;
    unsigned flags;
    const char *help; /* noun phrase; with its choices and default at most 80 characters */
    const char *text; /* one to three sentences, for the reference and man page */
} dg_option;

enum { DG_EXAMPLES = 5 };
typedef struct {
    const char *name;
    const char *operands; /* "RUN|CHECKPOINT", "" */
    int min, max;
    const char *help;
    const char *text;                 /* one to three sentences */
    const char *example[DG_EXAMPLES]; /* "dcgan plan dcgan64 :: every op of this network" */
} dg_command_info;

extern const dg_option dg_option_table[]; /* ends with name NULL */
extern const dg_command_info dg_commands[DG_CMDS];

/* Find an option by its name or old name. NULL: unknown. */
const dg_option *dg_option_find(const char *name);
/* The old name of an option, which the command line, the environment and config.ini also accept. NULL: none. */
const char *dg_option_alias(const dg_option *t);
/* The default for a command, NULL: not set. The model of import and eval follows from the weights. */
const char *dg_option_preset(const dg_option *t, dg_command command);
/* Returns the command's option, or the command, with the most similar name. NULL: none is similar. */
const char *dg_option_nearest(const char *name, dg_command command);
const char *dg_command_nearest(const char *name);
/* Returns why dcgan lacks this option of other trainers; NULL: not known. */
const char *dg_option_absent(const char *name);
/* If name is nearer to typed than *nearest, sets *best to name and *nearest to the distance. */
void dg_name_nearer(const char *name, const char *typed, const char **best, int *nearest);

/* host/options/options_paths.c: true if the value names a file, a folder, a run or a model. */
bool dg_option_is_path(const dg_option *t);
/* Merges repeated slashes; removes a final slash if path is, or will be, a folder. */
void dg_path_trim(char *path, bool folder);
/* Fail with `code` if path does not exist because of a typing or quoting mistake. The message begins with `where` and
 * suggests a path. Outputs may be missing: only ~ and addresses are refused. */
dg_err dg_path_check(dg_err code, const char *path, const char *where, bool input);

/* host/options/options_given.c: fails if an option was given before with another value (`before`, or NULL). */
dg_err dg_options_twice(const dg_option *t, const char *value, const char *before);
void dg_options_unknown_variables(void);
/* Write the environment variable of an option, DCGAN_NAME, to out. Returns out. */
char *dg_option_variable(const char *name, char out[64]);

/* Set an option from text. The error message begins with `where`: "--epochs 0", "run/config.ini:7: epochs = 0". */
dg_err dg_option_set(dg_options *o, const dg_option *t, const char *value, const char *where);
/* Like dg_option_set; also mark the option as given. */
dg_err dg_option_give(dg_options *o, const dg_option *t, const char *value, const char *where);
/* Get the value as text that dg_option_set accepts; "" for a text option that is not set. */
void dg_option_get(const dg_options *o, const dg_option *t, char *out, size_t size);
/* Returns the valid values: "1 to 1000000", "crop, pad or stretch"; "" without a limit. */
void dg_option_range(const dg_option *t, char *out, size_t size);

/* host/options/options_runs.c: with --resume, set o->out and o->resume_from. path: gets config.ini's path. */
dg_err dg_options_run_config(dg_options *o, char *path, size_t size);
/* With --from-epoch, set o->resume_from to the checkpoint of that epoch in o->out. */
dg_err dg_options_from_epoch(dg_options *o);
/* Set o->out of a new run to samples/DATA-MODEL, with a number if this name is taken. */
dg_err dg_options_new_run(dg_options *o);
/* Find the run whose number precedes that of the new run `out`. False: no such run, or --out was given. */
bool dg_options_older_run(const dg_options *o, char *out, size_t size);
/* Get the name of a run with the next free number, such as RUN-2. *out is malloc'd. */
dg_err dg_options_next_run(const char *run, char **out);
/* Replace a run directory by its newest checkpoint. Other folders are an error unless or_images is set. */
dg_err dg_options_settle_run(char **given, bool or_images);
/* Set the model from --init (without --model), from --size and --channels, or from --norm-d. */
dg_err dg_options_name_model(dg_options *o);
dg_err dg_path_set(char **to, const char *path); /* frees *to */

/* host/options/options_finish.c: check all values, and set values that depend on other options. */
dg_err dg_options_finish(dg_options *o);
/* host/options/options_job.c: parse --schedule, and refuse values of another optimizer. */
dg_err dg_options_training(dg_options *o);
dg_err dg_options_augment(dg_options *o);
/* If the user chose another optimizer, schedule or augmentation than the model, reset the options that the model sets
 * for it. */
void dg_options_drop(dg_options *o, const dg_options *model);
/* Apply the presets of model `name`'s recipe, then the model's section [train]. An unreadable model sets nothing. */
dg_err dg_options_model(dg_options *o, const char *name);
dg_err dg_options_take_preset(dg_options *o);
dg_err dg_options_presets(dg_options *o);
/* Free all members of the options except the operands. */
void dg_options_free_values(dg_options *o);
bool dg_same_place(const char *a, const char *b); /* true for equal texts, and for two paths to one file */

/* config.ini: host/options/config.c reads it, host/options/config_write.c writes it. */
enum { DG_CONFIG_VALUE = 4096 }; /* bytes of a value with its NUL */
dg_err dg_config_read(const char *path, dg_options *o);
dg_err dg_config_parse(const char *text, const char *where, dg_options *o);
/* The text of config.ini, malloc'd: every saved option, version, command line. NULL: out of memory. */
char *dg_config_text(const dg_options *o, int argc, char **argv);

typedef enum { DG_HELP_TEXT, DG_HELP_MAN, DG_HELP_MARKDOWN } dg_help_format;
/* Get an option's short help with its choices and the command's default: at most 80 characters. */
void dg_help_option(const dg_option *t, dg_command c, char *out, size_t size);
void dg_help_bare(FILE *to);  /* without arguments */
void dg_help_short(FILE *to); /* --help: at most 45 lines */
/* COMMAND --help; all: with the long texts. */
void dg_help_command(FILE *to, dg_command c, bool all);
/* Print all commands, options, examples, exit codes and variables: --help-all, man page or docs/reference.md. */
void dg_help_reference(FILE *to, dg_help_format format);
/* host/options/completion.c: print completions for bash, zsh or fish; false: another shell. */
bool dg_help_completion(FILE *to, const char *shell);

#endif
