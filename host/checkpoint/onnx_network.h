/* Writes a network in evaluation mode as an ONNX file. A generator maps "z" (N, latent, 1, 1) to images (N, channels,
 * size, size) from -1 to 1. A discriminator maps images from -1 to 1 to "logit". A classifier maps "pixels" (N,
 * channels, size, size) from 0 to 255 to "logits" (N, classes); its graph includes the preparation of the pixels. */
#ifndef DG_ONNX_NETWORK_H
#define DG_ONNX_NETWORK_H

#include "host/checkpoint/checkpoint_layout.h"
#include "host/files/onnx.h"

/* tensor: the network's tensors in the order of dg_ck_layout, with PyTorch's names and type F32 or I64. Errors: see
 * dg_onnx_write. */
dg_err dg_onnx_network(const char *path, const dg_model *m, int net, const dg_input_data *input,
                       const dg_st_tensor *tensor, const dg_st_meta *meta, int metas);

#endif
