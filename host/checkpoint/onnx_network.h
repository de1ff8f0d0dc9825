/* A network as ONNX, in evaluation mode. Generator: "z" (N, latent, 1, 1) -> images (N, channels, size, size), -1 to 1.
 * Discriminator: such images -> "logit". Classifier: "pixels" (N, channels, size, size), 0 to 255 -> "logits" (N,
 * classes); the graph includes the preparation of the pixels. */
#ifndef DG_ONNX_NETWORK_H
#define DG_ONNX_NETWORK_H

#include "host/checkpoint/checkpoint_layout.h"
#include "host/files/onnx.h"

/* tensor: those of the network in the order of dg_ck_layout, with PyTorch's names, F32 and I64. Errors as for
 * dg_onnx_write. */
dg_err dg_onnx_network(const char *path, const dg_model *m, int net, const dg_input_data *input,
                       const dg_st_tensor *tensor, const dg_st_meta *meta, int metas);

#endif
