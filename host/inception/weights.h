/* Files with Inception weights: pytorch-fid's .pth (torch_file.h), or a safetensors file. */
#pragma once

#include "core/base/sha256.h"
#include "host/files/safetensors.h"
#include "host/inception/torch_file.h"

/* The first digits of the SHA-256 of pytorch-fid's file pt_inception-2015-12-05-6726825d.pth. */
#define DG_INCEPTION_DIGITS "6726825d"

typedef struct {
    const char *path;
    dg_st *st;
    dg_torch *torch;
    char source[DG_SHA256_TEXT];  /* hash of the .pth file, or empty if unknown */
    char tensors[DG_SHA256_TEXT]; /* hash of the names and values of all tensors of the network */
    bool known;
} dg_inception_weights;

/* Read a safetensors or .pth file. Returns DG_IO if it is not readable, and DG_DATA if it lacks a tensor. Free w also
 * after errors. */
dg_err dg_inception_weights_read(const char *path, dg_inception_weights *w);
void dg_inception_weights_free(dg_inception_weights *w);

/* Find an fp32 tensor of `rank` dimensions. Returns DG_DATA if it is missing. */
dg_err dg_inception_tensor(const dg_inception_weights *w, const char *layer, const char *part, int rank,
                           const dg_st_tensor **out);

/* Convert a .pth file to a safetensors file. *done is false if the file is not of torch.save, or has no layer of the
 * network; then the result is DG_OK. */
dg_err dg_inception_convert(const char *path, const char *out, bool *done);
