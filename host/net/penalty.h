/* Gradient penalties R1 and R2 (Mescheder et al. 2018) without double backward.
 *
 * The penalties add r1 / 2 mean |v|^2 over real images and r2 / 2 mean |v|^2 over samples to loss_d. v is the gradient
 * of an image's logit with respect to the augmented image. Layer l of L has weights W_l, input a_{l-1} and activation
 * slopes M_l. Activations must be linear on both sides of 0.
 *   Backward pass: g_L = 1, g_l = M_l W_{l+1}^T g_{l+1}, v = W_1^T g_1
 *   Tangent pass:  t_0 = v, t_l = M_l W_l t_{l-1}, t_L = |v|^2
 *   Gradients:     dW_l = sum_n g_l (x) (s_n a_{l-1} + (r / N) t_{l-1}), db_l = sum_n s_n g_l, s_n = d loss / d logit_n
 * Op mix computes the right operand of the outer product (x). The factor is r / N, because each weight occurs twice in
 * |v|^2. */
#pragma once

#include "host/net/job.h"
#include "host/net/build.h"

static inline bool dg_is_penalised(const dg_job_options *o) { return o->r1 > 0 || o->r2 > 0; }

/* Append the ops of D's gradients and of metrics DG_R1 and DG_R2 to plan `role`. `d` is the forward pass of 2B images,
 * real images first. `slopes` is the gradient of the loss with respect to the logits of `d`. */
void dg_backward_penalised(dg_builder *b, dg_job *job, dg_plan_role role, dg_pass *d, dg_view slopes);
