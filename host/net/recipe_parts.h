/* Code shared by recipes: parameter tensors, the gather op, the update of a network, the end of a step. */
#pragma once

#include "core/group/slices.h"
#include "host/net/build.h"
#include "host/net/job.h"

dg_builder dg_job_builder(dg_job *job);

void dg_add_parameters(dg_job *job, dg_builder *b, int net);

/* Append an op that gathers B images into `images` and, if label.row is not -1, their labels into `label`. */
dg_op *dg_add_gather(dg_job *job, dg_plan *plan, const char *name, dg_view images, dg_view label, int B);

/* Append the augmentation of N images for network `net`; returns the augmented images. `order` is the number of the
 * augmentation within the step, from 0. dg_add_augment_dx appends its gradient. Without --augment they append nothing.
 */
dg_view dg_add_augment(dg_builder *b, dg_job *job, int net, dg_view images, int N, int order);
dg_view dg_add_augment_dx(dg_builder *b, dg_job *job, int net, dg_view dy, int N, int order);

/* Append the optimizer op for a slice of the weights of a network, whose gradients begin at g. `bad` is the index of
 * the metric that counts non-finite weights. */
void dg_add_update(dg_job *job, dg_plan *plan, int net, int bad, dg_slice s, dg_view g);

/* A network's weights. `first` has the first arena row of each kind (weights, gradients, moments, averages). `n` counts
 * all values, and `decayed` counts values with weight decay. */
typedef struct {
    int first[DG_AVERAGE + 1];
    int64_t n, decayed;
} dg_weights;
dg_weights dg_weights_of(const dg_job *job, int net);

/* Append padding after the tensors of network `net`, for kinds `first` to `last`, so that each process of the group has
 * a slice of equal length. Without a group, append nothing. */
void dg_pad_weights(dg_builder *b, const dg_job *job, int net, dg_row_kind first, dg_row_kind last);

/* Call dg_add_average after dg_add_update. */
void dg_add_average(dg_job *job, dg_plan *plan, int net);

void dg_add_advance(dg_job *job, dg_plan *plan, int B);

/* Reserve an arena row's memory for the whole plan, because the host accesses the row outside the plan. Returns row. */
int dg_keep(dg_job *job, int row);

dg_err dg_check_trainable(const dg_model *m, int net);

/* Returns DG_USAGE if tensors of `images` images are too large, or if batch norm would have one value per channel. */
dg_err dg_check_sizes(const dg_model *m, int net, const dg_job_options *o, double images);
