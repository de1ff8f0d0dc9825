/* Names, shapes and metadata of the tensors in a model's checkpoint. */
#ifndef DG_CHECKPOINT_LAYOUT_H
#define DG_CHECKPOINT_LAYOUT_H

#include "host/checkpoint/checkpoint.h"
#include "host/files/replace.h"
#include "host/net/layers/layers.h"

#define DG_CK_AVERAGE "ema." /* prefix of the names of EMA weights */

typedef struct {
    char name[64];
    dg_parameter_kind kind;
    int net, rank;
    char alone[72]; /* the tensor's PyTorch name in an exported file, or "" if the tensor is not exported */
    int64_t dim[4]; /* in PyTorch's order */
} dg_ck_tensor;

enum { DG_CK_MOST = 2 * DG_MAX_LAYERS * DG_LAYER_PARAMETERS + 2 };

/* List the tensors of a model's networks in the order of checkpoint files. Returns the number of tensors. */
int dg_ck_layout(const dg_model *model, dg_ck_tensor out[DG_CK_MOST]);
/* List the weight and bias of the model's ZCA whitening. Returns the number of tensors: 2, or 0 without whitening. */
int dg_ck_input(const dg_model *model, dg_ck_tensor out[2]);

/* *full: true for a dcgan checkpoint, false for a file with a single network; other files are errors. */
dg_err dg_ck_format(const dg_st *st, const char *path, bool *full);

/* True if `dcgan export` writes this value of the metadata key `format`. */
bool dg_ck_exported(const char *format);

/* Read the optimizer from the metadata of st; the default is Adam. DG_IO: unknown optimizer. */
dg_err dg_ck_optimizer(const dg_st *st, const char *path, dg_optimizer *out);

/* Check that st has exactly the model's tensors, with the right types and shapes, and check the values if they were
 * read. If `full` is true, st must be a checkpoint with optimizer moments, all of type `type`. If `full` is false, the
 * discriminator, the tensors num_batches_tracked and the prefix "G." of names may be missing. */
dg_err dg_ck_check(const dg_st *st, const char *path, const dg_model *model, bool full, dg_type type);

/* Check that the header of st fits the model, then read and check the values. */
dg_err dg_ck_load(dg_st *st, const char *path, const dg_model *model, bool full, dg_type type);

/* Find a tensor in st by its name in checkpoints or in exported files. NULL: not in st. */
const dg_st_tensor *dg_ck_find(const dg_st *st, const dg_ck_tensor *want);

/* Find the weights in st to use for inference: the EMA weights if st has them, otherwise the trained weights. */
const dg_st_tensor *dg_ck_find_shown(const dg_st *st, const dg_ck_tensor *want);

/* Convert mean and standard deviation per channel to text (metadata key `input`) and back. DG_IO: invalid text. */
void dg_ck_input_text(char *out, size_t size, int channels, const dg_input_data *in);
dg_err dg_ck_read_input(const dg_st *st, const char *path, const dg_model *m, dg_input_data *out);
/* Get the ZCA whitening from st after its values were read. No-op for a model without whitening. */
dg_err dg_ck_read_whitening(const dg_st *st, const dg_model *m, dg_whitening **out);

/* Returns DG_IO if a classifier's number of classes differs from the number of lines in `classes` (NULL: 0). */
dg_err dg_ck_check_names(const char *path, const dg_model *m, const char *classes);

/* Copy the values of st into job, after dg_ck_check accepted st. */
dg_err dg_ck_put(const dg_st *st, const char *path, dg_job *job, bool moments);

/* Get the model from the metadata of st or, without metadata, from the shapes of a DCGAN generator's tensors. */
dg_err dg_ck_derive(const dg_st *st, const char *path, dg_model *model);

/* Convert any bytes to UTF-8 and back: safetensors metadata is UTF-8, but folder names may be Latin-1. Invalid bytes
 * become U+F780 to U+F7FF (private use); such characters in the original are escaped. Returns malloc'd text or NULL. */
char *dg_text_to_utf8(const char *text);
char *dg_text_from_utf8(const char *text);

/* Write a network in evaluation mode as an ONNX file. A generator maps "z" (N, latent, 1, 1) to images (N, channels,
 * size, size) with values from -1 to 1. A discriminator maps images with values from -1 to 1 to "logit". A classifier
 * maps "pixels" (N, channels, size, size) with values from 0 to 255, which it normalises, to "logits" (N, classes).
 * tensor: the network's tensors in the order of dg_ck_layout, with PyTorch's names. */
dg_err dg_onnx_network(const char *path, const dg_model *m, int net, const dg_input_data *input,
                       const dg_st_tensor *tensor, const dg_st_meta *meta, int metas);

#endif
