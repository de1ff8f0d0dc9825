/* One run: its loop. */
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
    dg_options found; /* where o points once what was left to the run (length.h) has become numbers */
    dg_options own;   /* of another run that takes this one's place; resolved is NULL where none does */
    char *config;     /* text of config.ini: o->resolved, with what each auto has become */
    dg_backend *backend;
    dg_job job;
    dg_dataset data;
    dg_input_data input;  /* of the model */
    uint8_t *records;     /* of data, where the recipe wants labels */
    dg_evaluation tested; /* of the newest epoch, where there are images for that */
    dg_critic critic;     /* with --eval-every */
    struct {
        uint64_t epoch; /* the newest that was judged, 0: none */
        double measure[DG_LOGGED];
    } judged;
    dg_doctor doctor;
    const dg_doctor_rule *collapsed; /* --stop-on-collapse stops */
    double best;                     /* the best score of all epochs (best.h) */
    dg_rundir dir;
    dg_log *log;
    dg_progress *progress;
    dg_loader feed;
    dg_ring_reader metrics;
    dg_outputs out;

    int batches;                                 /* steps in an epoch */
    uint64_t first_step;                         /* of this session */
    dg_position given;                           /* to the device */
    dg_position read;                            /* their metrics are here, checked and logged */
    dg_epoch_metrics epoch;                      /* of the one under way */
    double previewed;                            /* clock: when a grid was drawn in the terminal */
    double epoch_began, started, seconds_before; /* clock; clock at the session's start; seconds of earlier sessions */
    double timed_from;                           /* clock when step timed_step was read, the first; 0: not yet, */
    uint64_t timed_step;                         /* -1: how long the run will take has been said */
} dg_training;

/* Train until the epochs (or --steps) are done, a signal comes, or numbers fail. */
dg_err dg_train_loop(dg_training *r);

/* How many steps can be given next without anything for the host to do between them. */
int dg_steps_in_a_row(const dg_training *r);

#endif
