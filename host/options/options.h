/* Every option of every command, once: the table in host/options/options_table.c gives getopt_long, --help, config.ini,
 * the environment variables, the man page's table and the shell completion. */
#ifndef DG_OPTIONS_H
#define DG_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "host/data/dataset.h"
#include "core/base/err.h"
#include "core/base/build_info.h"
#include "core/plan/precision.h"
#include "host/net/job.h"

typedef enum {
    DG_CMD_TRAIN,
    DG_CMD_GENERATE,
    DG_CMD_INTERPOLATE,
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
    DG_CMD_CURVES,
    DG_CMD_REPORT,
    DG_CMD_DOCTOR,
    DG_CMDS
} dg_command;

enum { DG_SCHEDULE_MAX = 16 };
enum { DG_DRY_RUN = 1, DG_DRY_RUN_OPS };
enum { DG_OPTIONS_MOST = 128 };

/* All values, resolved: built-in < [train] of the model < config file (--config, or the run's own with --resume) <
 * --preset < DCGAN_* environment < command line. Text is owned here. */
typedef struct {
    dg_command command;
    char **operand; /* what is left after the options: FILE, MODEL */
    int operands;   /* their number is checked: see dg_commands */

    /* training */
    char *data;  /* also the operand of `data` */
    char *model; /* also the operand of `plan`, `batch`, `check`, `bench` and `profile`; import, eval: NULL when not
                    given */
    char *out;   /* a run gets samples/<data>-<model>[-N] when none is given; also operand 2 of
                    `export` and `import` */
    char *config;
    char *init;            /* --init CHECKPOINT: where the weights begin; NULL: drawn */
    int epochs, batch;     /* 0: auto, which a run settles (host/run/length.h, --batch by a search) */
    double lr, lr_d, lr_g; /* lr_d and lr_g: 0 = lr */
    double beta1, beta2, eps;
    int optimizer; /* dg_optimizer */
    double momentum, rho, decay, accumulator, smoothing;
    bool nesterov;
    int start; /* dg_start */
    double start_sigma, start_bias;
    int preset; /* place in the choices of its row; settled, its values stand in the others */
    int loss;   /* dg_loss */
    double ema;
    char *augment;     /* --augment LIST */
    char *aug_preview; /* data: FILE, NULL: none */
    int augmented;     /* the same as bits: DG_AUGMENT_... */
    bool model_says;   /* some of these came from the model or a config file: config.ini has them all then */
    char *schedule;    /* --schedule; parsed: from epoch change[i] on, rates are multiplied by factor[i] */
    int changes, change[DG_SCHEDULE_MAX];
    double factor[DG_SCHEDULE_MAX];
    uint64_t seed;
    bool flip, drop_last, resume, quiet;
    int dry_run;                              /* DG_DRY_RUN_...; 0: train */
    bool other_images;                        /* --resume goes on where the images have changed */
    int from_epoch;                           /* --from-epoch: resume from this one's checkpoint; 0: none */
    char *resume_from;                        /* --resume CHECKPOINT; NULL: the newest in out */
    int sample_every, checkpoint_every, keep; /* epochs; 0 = never, sample_every -1 = auto; keep: older checkpoints */
    char *checkpoints;                        /* --checkpoint-every as it was given */
    bool checkpoint_auto;     /* auto: epochs are left out where the disk does not keep up; checkpoint_every is 1 */
    int grid_rows, grid_cols; /* --grid RxC */
    long steps;               /* --steps: stop after so many in all, 0 = by epochs */
    bool no_curves, no_report, tensorboard;
    int preview;    /* place in the choices of its row */
    int eval_every; /* epochs; 0: never */
    bool stop_on_collapse;

    /* images */
    dg_fit fit;
    int filter; /* --resize: dg_resize */
    dg_alpha alpha;
    bool exif, strict, skip_unreadable;
    char *cache; /* --cache FILE */
    int limit;
    char *test; /* --test DIR or a share, NULL: as the data has it */

    /* machine */
    char *device;  /* auto, cpu, cuda[:N] */
    int precision; /* --precision: place in dg_precisions (precision.h) */
    int conv;      /* --conv: place in the choices of its row */
    int threads;
    char *tuning;         /* --tuning FILE, NULL: none */
    char *fuse;           /* --fuse LIST */
    unsigned fused;       /* the same as bits: DG_FUSE_... (fused.h) */
    bool no_graph;        /* CUDA: op by op instead of a captured graph */
    bool list_devices;    /* nothing else is done then */
    double device_memory; /* MB of it that a run uses at most; 0: all */

    /* other commands */
    int count; /* -n, --count: generate, data --synthesize, eval: images; eval: 0, as many as there are */
    uint64_t seed_first, seed_last; /* --seeds A-B; generate without it: 0 to count - 1 */
    bool seeds_given;
    int steps_between; /* interpolate --frames: frames from one image to the next */
    int walks;         /* interpolate */
    int scale;         /* times that images to look at are enlarged; 0: to about 800 pixels */
    char *gif;         /* report --gif FILE, NULL: none */
    double tol;        /* replay */
    bool json;
    bool force;       /* replace what dcgan did not make; eval: judge a mixture */
    bool synthesize;  /* data */
    int classes;      /* data --synthesize: of shapes; 0: cats */
    int size;         /* side; 0: the model's. But for data they name the model */
    int channels;     /* 0: the model's */
    int norm_d;       /* place in the choices of its row; settled, it is a part of the model's name */
    int repeats;      /* bench, profile, tune */
    double seconds;   /* tune: time for trying, 0: as long as it takes; batch: of a search, of a size; 0: its own */
    bool merge;       /* tune: the operands are tuning files */
    char *predict;    /* profile: name of a GPU, NULL: measure */
    char *arch;       /* plan: for this GPU or architecture, NULL: --device */
    bool largest;     /* plan --fit */
    bool onnx;        /* export */
    char *write_z;    /* generate: FILE, NULL: do not */
    char *network;    /* export: NULL: the one that generates or classifies */
    int from, most;   /* batch: sizes */
    double within;    /* percent */
    int least_steps;  /* of an epoch */
    int rule;         /* 0: none, else 1 + dg_batch_rule_kind */
    char *sweep;      /* "10-500:10", NULL: none */
    char *sheet;      /* data, classify: contact sheet */
    int top;          /* classify: classes told of each image */
    char *classifier; /* eval: checkpoint of one, NULL: none */
    bool two_sample;  /* eval */

    bool given[DG_OPTIONS_MOST]; /* by row of the table: somebody asked for this value, the model's file included */
    /* --resume: "lr 0.0002 -> 0.5, flip no -> yes", what is not as the run's config.ini has it; NULL: nothing */
    char *changed;
    char *resolved; /* train: the text of config.ini: every training value, version, command line */
    int argc;
    char **argv; /* as dg_options_parse was given it, which must outlive this */
} dg_options;

/* Of the network with this letter in this epoch, counted from 0: --lr or the one of its own, as --schedule changes it.
 */
double dg_learning_rate(const dg_options *o, char net, uint64_t epoch);

/* What they say of a job that trains: all but its batches, samples and rows. */
dg_job_options dg_options_job(const dg_options *o);

/* The same as a model alone says it: its [train] over what the program has built in. */
dg_err dg_options_model_job(const dg_model *m, dg_job_options *out);

/* And of a run with this batch, of so many images to train on and so many to test with. */
dg_job_options dg_options_run(const dg_options *o, int batch, int images, int tests);

/* The precision that is asked for; *else_fp32: it was not, so that fp32 takes its place where the device lacks it. */
const dg_precision *dg_options_precision(const dg_options *o, bool *else_fp32);

/* Parse argv (with the command word, if any, as argv[1]). --help, --version and the like are carried out here
 * and set *done; without any argument a short help goes to stderr and DG_USAGE is returned, *done set. DG_USAGE
 * with "did you mean" where that helps. *out is to be freed after errors too. */
dg_err dg_options_parse(int argc, char **argv, dg_options *out, bool *done);
void dg_options_free(dg_options *o);

/* A copy of `resolved`, malloc'd, with another value of this key. NULL: out of memory. */
char *dg_config_settled(const char *text, const char *key, const char *value);

/* The lines of `resolved` whose options decide what is trained (DG_OPT_RESULT), malloc'd: not where, how often and how
 * fast, so that the same training gives the same bytes. NULL: out of memory. */
char *dg_config_results(const char *text);

#endif
