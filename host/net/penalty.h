/* Gradient penalties R1 and R2 (Mescheder et al. 2018) without double backward.
 *
 * loss_d grows by r1 / 2 mean |v|^2 over real images and r2 / 2 mean |v|^2 over samples; v is the gradient of an
 * image's logit by the image that D sees. For layers that are linear, or linear on both sides of 0, with N images:
 *   backward   g_L = 1, g_l = M_l W_{l+1}^T g_{l+1}, v = W_1^T g_1      (M_l: the slopes of activation l)
 *   tangent    t_0 = v, t_l = M_l W_l t_{l-1}; then t_L of an image is |v|^2
 *   gradients  dW_l = sum_n g_l (x) (s_n a_{l-1} + (r / N) t_{l-1}), db_l = sum_n s_n g_l, s_n = d loss / d logit_n
 * because |v|^2 = <v, v> is a product of the weights in which each weight occurs twice. The backward pass starts with
 * 1 at each logit, so that the slopes s_n of the loss scale the inputs of the weight gradients (op mix). */
#ifndef DG_PENALTY_H
#define DG_PENALTY_H

#include "host/net/job.h"
#include "host/net/build.h"

static inline bool dg_is_penalised(const dg_job_options *o) { return o->r1 > 0 || o->r2 > 0; }

/* Append the ops of D's gradients from slopes, the gradient of the loss by the logits of pass d: 2B images, real images
 * first. Writes metrics DG_R1 and DG_R2. role: the plan. */
void dg_backward_penalised(dg_builder *b, dg_job *job, dg_plan_role role, dg_pass *d, dg_view slopes);

#endif
