/* What is trained: a recipe is the nets that it needs, the ops of a step over them, and a table of the numbers that a
 * step leaves. The GAN is one (gan.h). Everything around it takes a job (job.h) and reads the tables: the log,
 * progress, curves, info, replay, checkpoints, bench and tune. */
#ifndef DG_RECIPE_H
#define DG_RECIPE_H

#include "host/net/model.h"

typedef struct dg_job dg_job;
typedef struct dg_job_options dg_job_options;

typedef struct {
    char letter;      /* of its sections in a model file: 'G' */
    const char *name; /* "generator" */
    int passes;       /* a step's forward passes in training mode: how often its running statistics are updated */
} dg_recipe_net;

typedef enum { DG_METRIC_LOSS, DG_METRIC_PROBABILITY } dg_metric_kind; /* progress prints 0.61 | .61 */
/* What an epoch's value is: the mean of its steps, the last step's, or, measured behind it, the only one: the rows of
 * other steps have NaN. */
typedef enum { DG_OVER_MEAN, DG_OVER_LAST, DG_OVER_TEST } dg_metric_over;
typedef enum { DG_NEVER_BAD, DG_NOT_FINITE, DG_NOT_ZERO } dg_metric_bad;

/* A number of a step. The ops write values (dg_metrics); a metric is one of them, or the sum of two. */
typedef struct {
    const char *name; /* column of the log; NULL: it is only judged */
    int terms;        /* 1, or 2: a sum, which is shown, but neither read back nor judged */
    int term[2];      /* indices into dg_metrics */
    dg_metric_kind kind;
    dg_metric_over over;
    const char *label, *brief; /* in a line of progress, and where that is short (NULL: the same); "/" follows the
                                  metric before it; NULL: not there. Losses stay the longest. */
    int plot;                  /* of curves.png: index into the recipe's plots */
    const char *legend;        /* in that plot; NULL: not drawn */
    const char *title;         /* of the plot in which `dcgan curves` compares runs; NULL: not compared */
    dg_metric_bad bad;         /* what ends a run */
    const char *what;          /* it is, as "WHAT is NaN" and "3 WHAT" */
} dg_metric;

typedef struct {
    const char *title, *y_label;
    double y_max; /* the axis goes from 0 to here; 0: as the data */
} dg_recipe_plot;

struct dg_recipe {
    const char *name;
    int nets, metrics, plots;
    dg_recipe_net net[DG_NETS_MAX]; /* in the order of the model's */
    bool labels;                    /* images have labels, and those that were set aside are tested after each epoch */
    int exported;                   /* the net that `export` writes, and that generates */
    const dg_metric *metric;        /* in the order of the log's columns */
    const dg_recipe_plot *plot;
    const char *const (*preset)[2]; /* options of training that are others than for a GAN, up to a NULL; NULL: none */
    /* DG_USAGE: what is wrong with this model, which has these nets, for these options; o NULL: for any. */
    dg_err (*check)(const dg_model *m, const dg_job_options *o);
    /* Append rows, tensors and plans to a job whose model, options and backend are set (job.h). */
    void (*build)(dg_job *job);
    /* `values` numbers that plan "sample" makes image number `image` of; NULL: there is nothing to draw. */
    void (*sample)(float *in, int values, uint64_t seed, uint64_t image);
};
typedef struct dg_recipe dg_recipe;

double dg_metric_value(const dg_metric *m, const double value[DG_METRICS_MAX]);

/* NULL when a step's numbers are good, else what is wrong: the text in out. */
const char *dg_recipe_bad(const dg_recipe *r, const dg_metrics *m, char *out, size_t size);

/* The values of an epoch's steps, and what the log says of the epoch. */
typedef struct {
    dg_metrics sum; /* of metrics over which only the last step counts: that one's */
    int steps;
} dg_epoch_metrics;
void dg_epoch_add(dg_epoch_metrics *e, const dg_recipe *r, const double value[DG_METRICS_MAX]);
dg_metrics dg_epoch_result(const dg_epoch_metrics *e, const dg_recipe *r);

#endif
