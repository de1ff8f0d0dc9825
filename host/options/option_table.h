/* The option table itself, for the files that serve it: parsing, help, config.ini. */
#ifndef DG_OPTION_TABLE_H
#define DG_OPTION_TABLE_H

#include <stdio.h>
#include "host/options/options.h"

typedef enum {
    DG_OPT_FLAG,   /* bool; --flip, --flip=no */
    DG_OPT_INT,    /* int in min..max */
    DG_OPT_AUTO,   /* the same, or "auto", which is min - 1 */
    DG_OPT_LONG,   /* long in min..max */
    DG_OPT_U64,    /* uint64_t */
    DG_OPT_REAL,   /* double in min..max */
    DG_OPT_TEXT,   /* char *, not empty */
    DG_OPT_CHOICE, /* int or enum: place in choices */
    DG_OPT_EITHER, /* bool: second of two choices */
    DG_OPT_GRID,   /* RxC: two ints one after the other */
    DG_OPT_SEEDS,  /* A-B or A: two uint64_t one after the other; sets seeds_given */
    DG_OPT_RESUME  /* resume and resume_from; the value may be left out */
} dg_option_kind;

enum {
    DG_OPT_SAVED = 1,     /* a value of the run: stands in config.ini */
    DG_OPT_ARGV_ONLY = 2, /* not taken from the environment or a config file */
    DG_OPT_ABOVE_MIN = 4, /* min itself is not allowed */
    DG_OPT_BELOW_MAX = 8,
    DG_OPT_FIXED = 16,   /* a run keeps it for ever: cannot change with --resume */
    DG_OPT_MODEL = 32,   /* a model file may give it in its section [train] */
    DG_OPT_OUTPUT = 256, /* a path that something is written to */
    DG_OPT_FINE = 128,   /* a finer point: --help-all tells it, --help its name */
    DG_OPT_RESULT = 512, /* it decides what is trained: stands in checkpoints */
    DG_OPT_IF_SET = 64 /* config.ini leaves it out with its preset, as before there was such an option, unless the model
                          says something of training */
};

typedef struct {
    const char *name; /* also the key in config.ini; DCGAN_NAME in the environment */
    char letter;      /* 0: none */
    const char *arg;  /* NULL: it may stand without a value, for "yes" */
    dg_option_kind kind;
    size_t offset; /* in dg_options */
    double min, max;
    const char *preset;  /* the built-in value as text, NULL: nothing is set */
    const char *choices; /* "crop|pad|stretch" */
    const char *group;   /* heading in the help */
    unsigned commands;   /* 1 << DG_CMD_... */
    unsigned flags;
    const char *help;
} dg_option;

enum { DG_EXAMPLES = 5 };
typedef struct {
    const char *name;
    const char *operands;             /* "RUN|CHECKPOINT", "" */
    int least, most;                  /* number of operands */
    const char *summary;              /* one line */
    const char *example[DG_EXAMPLES]; /* "dcgan plan dcgan64 :: every op of this network" */
} dg_command_info;

extern const dg_option dg_option_table[]; /* ends with name NULL */
extern const dg_command_info dg_commands[DG_CMDS];

const dg_option *dg_option_find(const char *name);
/* The built-in value for a command; NULL: nothing is set. The model of import and eval is what the weights say. */
const char *dg_option_preset(const dg_option *t, dg_command command);
/* The nearest option of this command, or the nearest command: NULL when nothing is near. */
const char *dg_option_nearest(const char *name, dg_command command);
const char *dg_command_nearest(const char *name);
/* Why dcgan has no option of this name, which other trainers have; NULL: not known. */
const char *dg_option_absent(const char *name);
/* *best becomes name if it is spelled more like want than the best so far, which has *least mistakes. */
void dg_name_nearer(const char *name, const char *want, const char **best, int *least);

/* host/options/options_paths.c: true if the value names a file, a folder, a run or a model. */
bool dg_option_is_path(const dg_option *t);
/* Repeated slashes become one; the last one goes if path is a folder, or will be one. */
void dg_path_trim(char *path, bool folder);
/* Fails with code if path does not exist and a slip of the keyboard or the shell explains it: the message, after
 * where, says what was meant. An output may be missing; only ~ and addresses are refused. */
dg_err dg_path_check(dg_err code, const char *path, const char *where, bool input);

/* host/options/options_given.c: mistakes in what was given that no single value shows. */
dg_err dg_options_twice(const dg_option *t, const char *value, const char *before);
void dg_options_unknown_variables(void);
/* DCGAN_NAME of an option in out (64 bytes). Returns out. */
char *dg_option_variable(const dg_option *t, char out[64]);

/* Set from text. where stands in front of the message: "--epochs 0", "run/config.ini:7: epochs = 0". DG_USAGE. */
dg_err dg_option_set(dg_options *o, const dg_option *t, const char *value, const char *where);
/* The same, and remember that somebody asked for it. */
dg_err dg_option_give(dg_options *o, const dg_option *t, const char *value, const char *where);
bool dg_option_given(const dg_options *o, const char *name);
/* The value as text that dg_option_set takes back; "" for text that is not set. */
void dg_option_get(const dg_options *o, const dg_option *t, char *out, size_t size);
/* "1 to 1000000", "crop, pad or stretch", "" where anything goes. */
void dg_option_range(const dg_option *t, char *out, size_t size);

/* host/options/options_runs.c: with --resume, settle out and resume_from and give the path of the run's config.ini. */
dg_err dg_options_run_config(dg_options *o, char *path, size_t size);
/* --from-epoch: out is settled; resume_from becomes that checkpoint. */
dg_err dg_options_from_epoch(dg_options *o);
/* out of a new run: samples/DATA-MODEL, numbered. */
dg_err dg_options_new_run(dg_options *o);
/* The run that has the name before that of a new one, out; false: the name was free, or somebody gave it. */
bool dg_options_older_run(const dg_options *o, char *out, size_t size);
/* The next such number of a run: a directory beside it that does not exist. *out is malloc'd. */
dg_err dg_options_run_beside(const char *run, char **out);
/* A run directory stands for its newest checkpoint; another folder is a mistake, or one of images. */
dg_err dg_options_settle_run(char **given, bool or_images);
/* What else names a model is settled: --init, which without --model means the one that its weights were trained as,
 * --size and --channels, --norm-d. */
dg_err dg_options_name_model(dg_options *o);
dg_err dg_path_set(char **to, const char *path); /* *to, which is freed, becomes a copy */

/* host/options/options_finish.c: when all values are in, settle those that follow from others. */
dg_err dg_options_finish(dg_options *o);
/* host/options/options_job.c: settle --schedule, and refuse values of an optimiser that is another one. */
dg_err dg_options_training(dg_options *o);
/* --augment alone. */
dg_err dg_options_augment(dg_options *o);
/* Of another optimiser than the model's, numbers that only the model gave are none. */
void dg_options_drop(dg_options *o, const dg_options *model);
/* Set what the model that o names, or operand of a command, says in [train], before which comes what its recipe
 * presets. A model that cannot be read says nothing here. */
dg_err dg_options_model(dg_options *o, const char *name);
/* host/options/options_preset.c: what the preset that o->preset names says. */
dg_err dg_options_take_preset(dg_options *o);
/* The values that the program has built in. */
dg_err dg_options_presets(dg_options *o);
/* What dg_options_free does, but for the operands. */
void dg_options_free_values(dg_options *o);
bool dg_same_place(const char *a, const char *b); /* the same text, or paths to the same file */

/* config.ini: host/options/config.c reads it, host/options/config_write.c writes it. */
enum { DG_CONFIG_VALUE = 4096 }; /* room for a value with its final NUL: a path that the system opens */
dg_err dg_config_read(const char *path, dg_options *o);
dg_err dg_config_parse(const char *text, const char *where, dg_options *o);
/* The text of config.ini, malloc'd: every saved option, version, command line. NULL: no memory. */
char *dg_config_text(const dg_options *o, int argc, char **argv);

/* Help (host/options/help.c); all: with the finer points. */
void dg_help_short(FILE *to);
void dg_help_full(FILE *to, bool all);
void dg_help_command(FILE *to, dg_command c, bool all);
void dg_help_man(FILE *to);                           /* roff: commands and options, for man/dcgan.1.in */
bool dg_help_completion(FILE *to, const char *shell); /* bash, zsh or fish; false: another (completion.c) */

#endif
