/* Reads the fp32 tensors of a state dict that torch.save wrote, in the layout of today (a zip file) or of versions
 * before 1.6. The pickle inside is data for a small reader: no code of the file runs. */
#pragma once

#include "core/base/sha256.h"
#include "host/files/safetensors.h"

typedef struct dg_torch dg_torch;

/* Returns true if the file begins like a file of torch.save. */
bool dg_torch_inside(const char *path);

/* Read a file. Returns DG_IO if it is not readable or not a file of torch.save. Tensors of other types than fp32 are
 * left out. Free *out with dg_torch_free. */
dg_err dg_torch_read(const char *path, dg_torch **out);
void dg_torch_free(dg_torch *t);

const char *dg_torch_sha256(const dg_torch *t);
int dg_torch_count(const dg_torch *t);
const dg_st_tensor *dg_torch_at(const dg_torch *t, int i);
