/* The state of a training run, and its loop. */
#ifndef DG_TRAIN_H
#define DG_TRAIN_H

#include "host/run/critic.h"
#include "host/trainer/evaluate.h"
#include "host/train/outputs.h"
#include "host/trainer/progress.h"
#include "host/trainer/ring_reader.h"
#include "host/trainer/steps.h"

typedef struct {
    const dg_options *o;
    dg_options found; /* options with auto values replaced (length.h); o then points to `found` */
    dg_options own;   /* options of a new run that replaces this run; resolved NULL: none */
    char *config;
    dg_backend *backend;
    dg_job job;
    dg_dataset data;
    dg_input_data input;
    uint8_t *records;     /* images with labels, if the recipe has labels; else NULL */
    dg_evaluation tested; /* evaluation of the newest epoch, if the dataset has test images */
    dg_critic critic;
    struct {
        uint64_t epoch; /* last epoch with sample metrics; 0: none */
        double measure[DG_LOGGED];
    } judged;
    dg_doctor doctor;
    const dg_doctor_rule *collapsed; /* rule of `dcgan doctor` that ended the run, or NULL */
    double best;                     /* best score so far (best.h) */
    dg_rundir dir;
    dg_log *log;
    dg_progress *progress;
    dg_loader feed;
    dg_ring_reader metrics;
    dg_outputs out;

    int batches;
    uint64_t first_step;
    dg_position given; /* epoch and step of the last step launched on the device */
    dg_position read;  /* epoch and step of the last step whose metrics were logged */
    dg_epoch_metrics epoch;
    double previewed;
    double epoch_began, started, seconds_before; /* clock when epoch and session began; seconds of earlier sessions */
    double timed_from; /* clock when the metrics of step timed_step were read; 0: not yet, -1: duration printed */
    uint64_t timed_step;
} dg_training;

/* Train until --epochs or --steps are done, a signal arrives, or a metric is not finite. */
dg_err dg_train_loop(dg_training *r);

/* Returns the number of steps that can be launched at once. */
int dg_steps_in_a_row(const dg_training *r);

#endif
