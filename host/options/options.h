/* Options of all commands. The table in host/options/options_table.c also defines help, config.ini, environment
 * variables, man page, reference page and shell completion. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "host/data/dataset.h"
#include "core/base/err.h"
#include "core/base/build_info.h"
#include "core/plan/precision.h"
#include "host/net/job.h"

enum { DG_LARGEST_BATCH = 65536 };

typedef enum {
    DG_CMD_TRAIN,
    DG_CMD_GENERATE,
    DG_CMD_INTERPOLATE,
    DG_CMD_FIND,
    DG_CMD_CLASSIFY,
    DG_CMD_EVAL,
    DG_CMD_DATA,
    DG_CMD_PLAN,
    DG_CMD_BATCH,
    DG_CMD_REPLAY,
    DG_CMD_CHECK,
    DG_CMD_BENCH,
    DG_CMD_PROFILE,
    DG_CMD_TUNE,
    DG_CMD_INFO,
    DG_CMD_EXPORT,
    DG_CMD_IMPORT,
    DG_CMD_REPORT,
    DG_CMD_DOCTOR,
    DG_CMD_VERIFY,
    DG_CMDS
} dg_command;

enum { DG_SCHEDULE_MAX = 16 };
enum { DG_DRY_RUN = 1, DG_DRY_RUN_OPS };
enum { DG_OPTIONS_MAX = 160 };
enum { DG_PRESET_AUTO, DG_PRESET_NONE, DG_PRESET_SMALL, DG_PRESET_PAPER, DG_PRESET_STEADY, DG_PRESETS };

/* Precedence: default < [train] of the model < config file (--config, or the run's config.ini with --resume) < --preset
 * < environment < command line. Each member is described in the option table under its name. A choice is an index into
 * the option's choices. Unset text is NULL. */
typedef struct {
    dg_command command;
    char **operand;
    int operands;

    char *data;
    char *model; /* model by --model or operand MODEL, or NULL (import, eval) */
    char *out;
    char *config, *init;
    int epochs, batch;  /* a run replaces 0 (auto) by a value */
    dg_job_options job; /* members that have an option; dg_options_job sets the others. A run replaces ema_half_life
                           -1 (auto) by a value */
    double lr, lr_d, lr_g, lr_end;
    int preset;        /* a new run replaces DG_PRESET_AUTO for GANs */
    bool replace_norm; /* the preset replaces batch norm in D (--norm-d spectral) */
    char *augment, *aug_preview;
    bool model_says; /* the model or a config file sets options of [train], so config.ini stores them all */
    char *schedule;  /* either "cosine", or EPOCH:FACTOR pairs, which set change and factor */
    bool cosine;
    int schedule_length; /* in images; a run with `cosine` replaces 0 (auto) by a value */
    int changes, change[DG_SCHEDULE_MAX];
    double factor[DG_SCHEDULE_MAX];
    uint64_t seed;
    bool conditional, by_class;
    char *class_names; /* class names for samples, or NULL */
    int class_fade;    /* in images; a conditional run replaces -1 (auto) by a value */
    bool drop_last, resume, quiet, allow_data_change;
    int dry_run; /* 0: train */
    int from_epoch;
    char *resume_from;                        /* checkpoint to resume from, or NULL for the newest */
    int sample_every, checkpoint_every, keep; /* sample_every -1: auto */
    char *checkpoints;
    bool checkpoint_auto; /* --checkpoint-every auto (dg_checkpoint_too_soon); checkpoint_every is then 1 */
    int grid_rows, grid_cols;
    long steps;
    bool no_curves, no_report, tensorboard, stop_on_collapse;
    int preview, eval_every;

    dg_fit fit;
    int filter;
    dg_alpha alpha;
    bool exif, strict, skip_unreadable;
    int limit;
    char *cache, *test;

    char *device, *tuning, *fuse;
    unsigned fused;
    int precision, conv, threads;
    int tf32_line;          /* line of the removed value `precision = tf32` in config.ini or --config; 0: none */
    struct dg_group *group; /* processes that train together (host/cli/join.h), or NULL */
    int group_timeout;      /* in seconds */
    int bound;              /* processors of this host that a launcher gave to the group; 0: not restricted */
    bool no_graph, list_devices, alone;
    double image_memory;  /* MB, or 0 */
    double device_memory; /* MB */

    int count;                                /* number of images; for eval, 0 means all images */
    uint64_t seed_first, seed_last;           /* generate without --seeds: 0 to count - 1 */
    uint64_t direction_first, direction_last; /* from 1; 0: no --direction */
    char *read_z, *z, *held_out;
    double truncation, features;
    int starts;
    int steps_between;
    int walks, scale;
    char *gif, *raw;
    int raw_format; /* a dg_video_format */
    double tol;
    bool json, force, synthesize, merge, largest, two_sample, in_graph;
    dg_size size;
    int classes, channels, norm_d, repeats;
    double seconds, within; /* within: percent */
    char *onnx, *c, *html;  /* export: the file, or "yes" for the file of --out; NULL or "no": not this format */
    int weights;            /* export: 0 = auto, else 1 + a dg_weight_type (host/export/steps.h) */
    char *predict, *arch, *write_z, *network, *sweep, *sheet, *write, *classifier, *inception, *moments;
    int inception_resize, inception_count;
    int min_batch, max_batch, min_steps, top;
    int rule, sweep_step; /* rule is a dg_batch_rule; sweep_step is STEP of --sweep A-B:STEP, or 0 */

    bool given[DG_OPTIONS_MAX]; /* per option of the table: true if set by the user or the model file */
    char *changed;              /* changes by --resume: "lr 0.0002 -> 0.5, flip no -> yes"; NULL: none */
    char *resolved;             /* train: the text of config.ini */
    int argc;
    char **argv; /* the arguments of dg_options_parse must outlive this struct */
} dg_options;

bool dg_option_given(const dg_options *o, const char *name);
/* Returns the learning rate of network `net` ('G', 'D' or another letter) in `epoch`, counted from 0. */
double dg_learning_rate(const dg_options *o, char net, uint64_t epoch);

/* Returns the job options of a training job, except batch sizes, samples and rows. */
dg_job_options dg_options_job(const dg_options *o);

/* Get the job options of a model from default options and the model's section [train]. */
dg_err dg_options_model_job(const dg_model *m, dg_job_options *out);

dg_job_options dg_options_run(const dg_options *o, int batch, int images, int tests);

/* Returns the precision; auto is bf16. Set *else_fp32 for auto: devices without bf16 then use fp32. */
const dg_precision *dg_options_precision(const dg_options *o, bool *else_fp32);

/* Parse argv; argv[1] may be a command. For help and version, prints the text and sets *done. Without arguments, prints
 * a hint to stderr, sets *done and returns DG_USAGE. Free *out also after errors. */
dg_err dg_options_parse(int argc, char **argv, dg_options *out, bool *done);
void dg_options_free(dg_options *o);

/* Returns a copy (malloc'd) of a config.ini text with another value for this key, which is appended if it is missing.
 * NULL: out of memory. */
char *dg_config_settled(const char *text, const char *key, const char *value);

/* Returns a copy (malloc'd) of the DG_OPT_RESULT options in a config.ini text, to compare runs. NULL: out of memory. */
char *dg_config_results(const char *text);
