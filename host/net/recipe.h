/* A recipe defines the networks, the ops of a training step, and a table of the step's metrics. The log, progress,
 * curves, replay and checkpoints read the recipe's tables. */
#pragma once

#include "host/net/model.h"

typedef struct dg_job dg_job;
typedef struct dg_job_options dg_job_options;

typedef struct {
    char letter;
    const char *name;
    int passes; /* number of updates of the network's running statistics per step */
} dg_recipe_net;

typedef enum { DG_METRIC_LOSS, DG_METRIC_PROBABILITY } dg_metric_kind;
/* Value of a metric for an epoch: mean over steps, value of the last step, or result of the test after the epoch. */
typedef enum { DG_OVER_MEAN, DG_OVER_LAST, DG_OVER_TEST } dg_metric_over;
typedef enum { DG_NEVER_BAD, DG_NOT_FINITE, DG_NOT_ZERO } dg_metric_bad;

typedef struct {
    const char *name; /* column of the log, or NULL if the metric is only checked */
    int terms;        /* number of values in the sum; sums are displayed, not logged */
    int term[2];
    dg_metric_kind kind;
    dg_metric_over over;
    const char *label, *brief; /* label on a wide and on a narrow progress line; "/": print /VALUE after the previous
                                  value. label NULL: hidden; brief NULL: like `label` */
    int plot;                  /* plot in report.html: index into dg_recipe.plot */
    const char *legend;
    const char *title; /* title of the metric's plot in a comparison of runs, or NULL */
    dg_metric_bad bad; /* the run ends if the metric meets this condition */
    const char *what;  /* the word WHAT in errors: "WHAT is NaN", "3 WHAT" */
} dg_metric;

typedef struct {
    const char *title; /* the quantity after a comma */
    double y_max;      /* the y axis is 0..y_max; y_max 0: fitted to the data */
} dg_recipe_plot;

typedef struct dg_recipe dg_recipe;
struct dg_recipe {
    const char *name;
    int nets, metrics, plots;
    dg_recipe_net net[DG_NETS_MAX];
    bool labels;  /* true if images have labels; a test then runs after each epoch */
    int exported; /* index of the network that `export` writes and that generates samples */
    const dg_metric *metric;
    const dg_recipe_plot *plot;
    const dg_recipe *penalised;     /* recipe with metrics of gradient penalties, or NULL */
    const dg_recipe *base;          /* for a recipe with penalties, the recipe without them; else NULL */
    const char *const (*preset)[2]; /* option defaults that differ from a GAN's, terminated by NULL; or NULL */
    /* Returns DG_USAGE if the recipe cannot train this model with options o. o NULL: check only the model. */
    dg_err (*check)(const dg_model *m, const dg_job_options *o);
    void (*build)(dg_job *job);
    /* Draw the inputs of sample number `image` for plan "sample". The member is NULL if the recipe has no samples. */
    void (*sample)(float *in, int values, uint64_t seed, uint64_t image);
};

/* Returns the recipe without metrics of gradient penalties. Runs with equal base recipes can be compared. */
static inline const dg_recipe *dg_recipe_base(const dg_recipe *r) { return r->base ? r->base : r; }

double dg_metric_value(const dg_metric *m, const double value[DG_METRICS_MAX]);

/* Check a step's metrics. Returns NULL for valid metrics, otherwise the error text in `out`. */
const char *dg_recipe_bad(const dg_recipe *r, const dg_metrics *m, char *out, size_t size);

typedef struct {
    dg_metrics sum; /* sums over steps, or values of the last step for metrics without a mean */
    int steps;
} dg_epoch_metrics;
void dg_epoch_add(dg_epoch_metrics *e, const dg_recipe *r, const double value[DG_METRICS_MAX]);
dg_metrics dg_epoch_result(const dg_epoch_metrics *e, const dg_recipe *r);

const dg_recipe *dg_recipe_at(int i);
/* Returns NULL if no recipe has the model's networks. */
const dg_recipe *dg_recipe_find(const dg_model *m);

/* Like dg_recipe_find, but returns DG_USAGE if no recipe has the model's networks or the recipe refuses the model. */
dg_err dg_recipe_for(const dg_model *m, const dg_recipe **out);
