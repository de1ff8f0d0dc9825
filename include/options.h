/* Every option of every command, once: the table in host/options.c gives getopt_long, --help, config.ini, the
 * man page's table and the shell completion. */
#ifndef DG_OPTIONS_H
#define DG_OPTIONS_H

#include <stdbool.h>
#include "dataset.h"
#include "err.h"

typedef enum {
    DG_CMD_TRAIN, DG_CMD_GENERATE, DG_CMD_INTERPOLATE, DG_CMD_DATA, DG_CMD_PLAN, DG_CMD_REPLAY, DG_CMD_BENCH,
    DG_CMD_INFO, DG_CMD_EXPORT, DG_CMD_IMPORT, DG_CMDS
} dg_command;

/* All values, resolved: built-in < --config file < DCGAN_* environment < command line. Text is owned here. */
typedef struct {
    dg_command command;
    char **operand;        /* what is left after the options: FILE, MODEL */
    int operands;

    /* training */
    char *data, *model, *out, *config;
    int epochs, batch;
    double lr, lr_d, lr_g; /* lr_d and lr_g: 0 = lr */
    double beta1, beta2, eps;
    uint64_t seed;
    bool flip, drop_last, resume, dry_run, quiet;
    int sample_every, checkpoint_every, keep;  /* epochs; 0 = never; keep: older checkpoints kept */
    int grid_rows, grid_cols;                  /* --grid RxC */
    long steps;            /* --steps: stop after so many in all, 0 = by epochs */
    bool no_curves;

    /* pictures */
    dg_fit fit;
    dg_alpha alpha;
    bool exif, strict;
    char *cache;           /* --cache FILE */
    int limit;

    /* machine */
    char *device;          /* auto, cpu, cuda[:N] */
    bool fp64;             /* --precision fp32|fp64 */
    int threads;

    /* other commands */
    int count;             /* -n, --count */
    uint64_t seed_first, seed_last; /* --seeds A-B */
    bool seeds_given;
    int steps_between;     /* interpolate: frames between two pictures */
    double tol;            /* replay */
    bool json;
    bool synthesize;       /* data */
    int size;              /* data: side; 0: the model's */
    int channels;
    int repeats;           /* bench */
    char *sheet;           /* data: contact sheet */

    char *resolved;        /* the text of config.ini: every training value, version, command line */
} dg_options;

/* Parse argv (with the command word, if any, as argv[1]). On --help and --version prints and sets *done.
 * DG_USAGE with "did you mean" where that helps. */
dg_err dg_options_parse(int argc, char **argv, dg_options *out, bool *done);
/* Read a config.ini text as --config does: values not given on the command line. Used by resume. */
dg_err dg_options_free(dg_options *o);

extern const char *const dg_version; /* "dcgan 0.1.0 (commit)" */

#endif
