/* A network as ONNX. A generator reads "z" (N, latent, 1, 1) and makes "image" (N, channels, size, size) from -1 to
 * 1; a discriminator reads such an image and makes "logit"; a classifier reads "pixels" (N, channels, size, size) from
 * 0 to 255, which the graph itself prepares as in training, and makes "logits" (N, classes). All in evaluation mode. */
#ifndef DG_ONNX_NETWORK_H
#define DG_ONNX_NETWORK_H

#include "host/checkpoint/checkpoint_layout.h"
#include "host/files/onnx.h"

/* tensor: those of the network in the order of dg_ck_layout, under PyTorch's names, in F32 and I64. Errors as
 * dg_onnx_write's. */
dg_err dg_onnx_network(const char *path, const dg_model *m, int net, const dg_input_data *input,
                       const dg_st_tensor *tensor, const dg_st_meta *meta, int metas);

#endif
