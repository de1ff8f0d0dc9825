/* A plan that improves latents z by gradient descent, so that G(z) becomes a given image. */
#pragma once

#include "host/net/job.h"

/* Recipe of a job with networks without batch norm (host/infer/fold.h): G, and optionally the layers of D whose outputs
 * are compared. o.batch is the number of inputs. Plan DG_PLAN_TRAIN is a step of Adam on z. Its gradient is that of
 *   |x - t|^2 / 2 + sum over layers of D: weight |f(x) - f(t)|^2 / 2,  x = G(z), t = target image.
 * Plan DG_PLAN_TEST computes the outputs f of D's layers. The plans share memory, so that the host must write the rows
 * of DG_PLAN_TRAIN after a run of DG_PLAN_TEST. The host writes and reads these rows, named by dg_find_row:
 *   "find.z", "find.m", "find.v" (N, inputs): inputs of G and their Adam moments
 *   "find.mask" (inputs), only with classes: factors of the gradient, which keep the classes
 *   "find.target" (N, height, width, channels): -t
 *   "find.image" (N, height, width, channels): images, the input of DG_PLAN_TEST
 *   "find.f.LAYER", "find.target.LAYER", "find.weight.LAYER": f, -f(t) and, per image, `weight`, for layers that
 *   dg_find_compares */
extern const dg_recipe dg_find_recipe;

/* True unless layer `layer` of D is the identity in evaluation mode. */
bool dg_find_compares(const dg_model *m, int layer);

/* Returns the arena row with this name. layer < 0: a name without a layer. */
int dg_find_row(const dg_job *job, const char *name, int layer);
