/* The state of a training run, and its loop. */
#pragma once

#include "host/measure/energy.h"
#include "host/run/critic.h"
#include "host/trainer/evaluate.h"
#include "host/train/outputs.h"
#include "host/trainer/progress.h"
#include "host/trainer/ring_reader.h"
#include "host/trainer/steps.h"

typedef struct {
    const dg_options *o;
    dg_options found;                   /* options with auto values replaced (settle.h); `o` then points here */
    const dg_checkpoint_info *expected; /* state that `dcgan verify` repeats, or NULL */
    dg_options own; /* options of the new run to start instead (dg_train_own); own.resolved NULL: none */
    char *config;
    dg_backend *backend;
    dg_job job;
    dg_dataset data;
    dg_input_data input;
    uint8_t *ready; /* whitened images with labels, or NULL */
    dg_evaluation tested;
    dg_critic critic;
    struct {
        uint64_t epoch; /* last epoch with sample metrics; 0: none */
        double measure[DG_LOGGED];
    } judged;
    dg_doctor doctor;
    const dg_doctor_rule *collapsed; /* rule of `dcgan doctor` that ended the run, or NULL */
    double best;
    dg_rundir dir;
    dg_log *log;
    dg_progress *progress;
    dg_loader feed;
    dg_ring_reader metrics;
    dg_outputs out;

    bool led;   /* the followers of a group have received a dg_lead */
    bool leads; /* the followers wait for a command */
    int batches;
    uint64_t first_step;
    dg_position given; /* position after the last launched step */
    dg_position read;  /* position after the last step with logged metrics */
    dg_epoch_metrics epoch;
    double previewed;
    double waited; /* seconds that steps waited for images before this epoch, or -1 after the note about it */
    double epoch_began, started,
        seconds_before; /* clock at the start of the epoch and of the session; seconds of earlier sessions */
    dg_energy *energy;  /* NULL: not counted */
    double joules_before;
    double timed_from; /* clock at step timed_step; 0: not started, -1: time printed */
    uint64_t timed_step;
} dg_training;

/* Train until the end of the run, a signal, or a non-finite metric. */
dg_err dg_train_loop(dg_training *r);

int dg_steps_in_a_row(const dg_training *r);
