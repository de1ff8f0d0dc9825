/* Training by a group of processes. Rank 0 leads: it runs the training loop and sends a command before each launch of
 * steps. The others, the followers, run dg_follow. A command and its answers are one turn of the group. */
#pragma once

#include "core/group/group.h"
#include "host/data/loader.h"
#include "host/net/job.h"
#include "host/trainer/position.h"

/* The values with which a follower builds the leader's job, sent once. */
typedef struct {
    int code;           /* dg_err of the leader; if it is not DG_OK, the followers end with this code */
    char options[4096]; /* options that change results, as in config.ini (dg_config_results), cut to this length */
    char device[64];    /* instruction set or GPU architecture, and precision (dg_lead_device) */
    bool on_cpu;
    uint64_t plans; /* dg_job_plans */
    char model[DG_MODEL_TEXT_MAX];
    dg_job_options job; /* without pointers */
    int images, used;
    int labelled; /* true if records have labels */
    uint64_t fingerprint, seed;
} dg_lead;

/* Writes the properties of the device that determine the bits of results. */
void dg_lead_device(const dg_backend *b, char *out, size_t size);

/* Rank 0 sends *lead, the others receive it. Returns lead->code on followers, with an empty message. */
dg_err dg_lead_send(dg_group *g, dg_lead *lead);

/* Each process sends the path of its dataset's file, or "", of at most DG_TURN_BYTES - 1 bytes, and receives in `of`
 * the path of the first process of its machine. */
dg_err dg_group_share_path(dg_group *g, const char *own, char of[DG_TURN_BYTES]);

/* Agree on e, the result of the set-up of each process. Then send the weights, moments, running statistics and averages
 * of rank 0 to the followers. Each process calls it. */
dg_err dg_group_weights(dg_job *job, dg_err e);

/* Let the followers launch the n steps that the leader launches by dg_epoch_steps after this call. begins: after
 * dg_epoch_begin. *signal becomes the number of a signal that a follower received, or stays unchanged. */
dg_err dg_lead_steps(dg_group *g, bool begins, const dg_position *at, const double lr[DG_NETS_MAX], int n, int *signal);

/* Collect the moments of all slices on rank 0, before a checkpoint. */
dg_err dg_lead_save(dg_job *job);

/* End dg_follow on the followers, with this code. */
dg_err dg_lead_end(dg_group *g, int code);

/* Follow the commands of rank 0 until dg_lead_end. Returns its code, with an empty message. *signal is the number of a
 * signal of this process, or 0. */
dg_err dg_follow(dg_job *job, dg_loader *f, const volatile int *signal);
