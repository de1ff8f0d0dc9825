/* The part of rank 0 in a training command of several processes. Without a group, the functions do nothing. */
#pragma once

#include "host/train/train.h"

/* Send the options of the job to the other processes, and wait until they have loaded their images and built the job.
 */
dg_err dg_lead_begin(dg_training *r, const dg_model *model);

/* After dg_lead_begin: send the weights of r->job to the other processes, or end them if e is not DG_OK. Returns e, or
 * another error. */
dg_err dg_lead_weights(dg_training *r, dg_err e);

/* End the other processes with `code`, also if they still wait for dg_lead_begin. */
void dg_lead_finish(dg_training *r, dg_err code);

/* Print processes, threads and shards at the start of a run. */
void dg_note_shards(const dg_training *r);
