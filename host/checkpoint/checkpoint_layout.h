/* Contents of a model's checkpoint, for the code that writes, reads, exports and imports it. */
#ifndef DG_CHECKPOINT_LAYOUT_H
#define DG_CHECKPOINT_LAYOUT_H

#include "host/checkpoint/checkpoint.h"
#include "host/files/replace.h"
#include "host/net/layers/layers.h"

#define DG_CK_AVERAGE "ema." /* prefix of the names of averaged tensors */

typedef struct {
    char name[64];
    dg_parameter_kind kind;
    int net, rank;
    char alone[72]; /* the tensor's PyTorch name in an exported file; "": the tensor is not exported */
    int64_t dim[4]; /* PyTorch's */
} dg_ck_tensor;

enum { DG_CK_MOST = 2 * DG_MAX_LAYERS * DG_LAYER_PARAMETERS + 2 };

/* List the tensors of a model's networks in the order in which files store them. Returns their number. */
int dg_ck_layout(const dg_model *model, dg_ck_tensor out[DG_CK_MOST]);
/* List the weight and bias that whiten images. Returns 2, or 0 if the model does not whiten. */
int dg_ck_input(const dg_model *model, dg_ck_tensor out[2]);

/* *full: true for a dcgan checkpoint, false for a file with a single network. Returns DG_IO or DG_USAGE otherwise. */
dg_err dg_ck_format(const dg_st *st, const char *path, bool *full);

/* True if `format` is a metadata format that `dcgan export` writes, for a generator or a classifier. */
bool dg_ck_exported(const char *format);

/* Get the optimizer from the metadata of st; the default is Adam. DG_IO: unknown optimizer. */
dg_err dg_ck_optimizer(const dg_st *st, const char *path, dg_optimizer *out);

/* Check that st has exactly the tensors of the model's layout, with the right types and shapes. Checks the values if
 * they were read. full: st is a checkpoint with moments, all of type `type`. Without full, st is a generator with or
 * without its discriminator, and may lack the prefix "G." and num_batches_tracked. */
dg_err dg_ck_check(const dg_st *st, const char *path, const dg_model *model, bool full, dg_type type);

/* Read the data of st if its header fits the model, then check the values. */
dg_err dg_ck_load(dg_st *st, const char *path, const dg_model *model, bool full, dg_type type);

/* Find a tensor of the layout in st, by its name in checkpoints or in exported files. NULL: not in st. */
const dg_st_tensor *dg_ck_find(const dg_st *st, const dg_ck_tensor *want);

/* Find the tensor of st to use for inference: its running average if st has one, otherwise the tensor itself. */
const dg_st_tensor *dg_ck_find_shown(const dg_st *st, const dg_ck_tensor *want);

/* Convert the metadata `input` (mean and standard deviation per channel) to text and back. DG_IO: invalid. */
void dg_ck_input_text(char *out, size_t size, int channels, const dg_input_data *in);
dg_err dg_ck_read_input(const dg_st *st, const char *path, const dg_model *m, dg_input_data *out);
/* Get the whitening from st, whose values must have been read. No-op if the model does not whiten. */
dg_err dg_ck_read_whitening(const dg_st *st, const dg_model *m, dg_whitening **out);

/* Returns DG_IO if `classes` (one name per line) does not have one name per class of the model. NULL: no names. */
dg_err dg_ck_check_names(const char *path, const dg_model *m, const char *classes);

/* Copy the values of st into job. st must have passed dg_ck_check. */
dg_err dg_ck_put(const dg_st *st, const char *path, dg_job *job, bool moments);

/* Get a generator's model from the file's metadata; without metadata, the stock DCGAN with the tensors' shapes. */
dg_err dg_ck_derive(const dg_st *st, const char *path, dg_model *model);

/* Convert any bytes to UTF-8 and back: metadata is UTF-8, but a configuration may name a folder in Latin-1. Invalid
 * bytes become U+F780 to U+F7FF (private use); if the text has such characters, they are escaped. Returns malloc'd
 * text; NULL: no memory. */
char *dg_text_to_utf8(const char *text);
char *dg_text_from_utf8(const char *text);

/* Writes a network in evaluation mode as an ONNX file. A generator maps "z" (N, latent, 1, 1) to images (N, channels,
 * size, size) from -1 to 1. A discriminator maps images from -1 to 1 to "logit". A classifier maps "pixels" (N,
 * channels, size, size) from 0 to 255 to "logits" (N, classes); its graph includes the preparation of the pixels.
 * tensor: the network's tensors in the order of dg_ck_layout, with PyTorch's names and type F32 or I64. Errors: see
 * dg_onnx_write. */
dg_err dg_onnx_network(const char *path, const dg_model *m, int net, const dg_input_data *input,
                       const dg_st_tensor *tensor, const dg_st_meta *meta, int metas);

#endif
