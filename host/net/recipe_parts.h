/* What the recipes of jobs have in common: tensors as files know them, the images of a step, the update of a network,
 * the end of a step. */
#ifndef DG_RECIPE_PARTS_H
#define DG_RECIPE_PARTS_H

#include "host/net/build.h"
#include "host/net/job.h"

/* A builder of the job's plans; what its optimiser needs is set. */
dg_builder dg_job_builder(dg_job *job);

/* Append the rows and tensors of the parameters of a network. */
void dg_add_parameters(dg_job *job, dg_builder *b, int net);

/* B images into `images`; label, unless its row is -1, gets their labels. */
dg_op *dg_add_gather(dg_job *job, dg_plan *plan, const char *name, dg_view images, dg_view label, int B);

/* The job's optimiser over all weights of a network; bad: the metric that counts those that are not finite. */
void dg_add_update(dg_job *job, dg_plan *plan, int net, int bad);

/* The running average of all weights of a network, behind their update. */
void dg_add_average(dg_job *job, dg_plan *plan, int net);

/* The step of B images is done. */
void dg_add_advance(dg_job *job, dg_plan *plan, int B);

/* A row that the host writes before the plan runs, or reads afterwards; returns it. */
int dg_keep(dg_job *job, int row);

/* Refuses a network without weights, and layers that no gradient reaches. */
dg_err dg_check_trainable(const dg_model *m, int net);

/* Refuses what a pass of so many images would make too large, and norms over a single value. */
dg_err dg_check_sizes(const dg_model *m, int net, const dg_job_options *o, double images);

#endif
