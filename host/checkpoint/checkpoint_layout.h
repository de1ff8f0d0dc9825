/* Lists names, shapes and metadata of the tensors in a checkpoint. */
#pragma once

#include "host/checkpoint/checkpoint.h"
#include "host/files/replace.h"
#include "host/net/layers/layers.h"

#define DG_CK_AVERAGE "ema."

typedef struct {
    char name[64];
    dg_parameter_kind kind;
    int net, rank;
    char alone[72]; /* the tensor's name in an exported file, or "" if it is not exported */
    int64_t dim[4]; /* PyTorch's order of dimensions */
} dg_ck_tensor;

enum { DG_CK_MOST = 2 * DG_MAX_LAYERS * DG_LAYER_PARAMETERS + 2 };

/* List a model's tensors in the order of checkpoint files. */
int dg_ck_layout(const dg_model *model, dg_ck_tensor out[DG_CK_MOST]);
/* List the weight and bias of the model's ZCA whitening. Returns the number of tensors. */
int dg_ck_input(const dg_model *model, dg_ck_tensor out[2]);

/* Sets *full to true for a checkpoint, or to false for an exported network. Other files are errors. */
dg_err dg_ck_format(const dg_st *st, const char *path, bool *full);

/* True if `format` is the metadata value of an exported generator or classifier. */
bool dg_ck_exported(const char *format);

/* Read the optimizer from the metadata of st. The default is Adam. Returns DG_IO for an unknown optimizer. */
dg_err dg_ck_optimizer(const dg_st *st, const char *path, dg_optimizer *out);

/* Check that st has exactly the model's tensors, with the right types and shapes. If the values of st were read,
 * check them, too. If `full` is true, st must have optimizer moments, and all floating-point tensors must have type
 * `type`. If `full` is false, the discriminator, num_batches_tracked and the name prefix "G." may be missing. */
dg_err dg_ck_check(const dg_st *st, const char *path, const dg_model *model, bool full, dg_type type);

/* Check that the header of st fits the model, then read and check the values. */
dg_err dg_ck_load(dg_st *st, const char *path, const dg_model *model, bool full, dg_type type);

/* Find a tensor by its checkpoint name or its name in exported files. Returns NULL if st lacks the tensor. */
const dg_st_tensor *dg_ck_find(const dg_st *st, const dg_ck_tensor *want);

/* Find the EMA weights, or the trained weights if st has no EMA weights. */
const dg_st_tensor *dg_ck_find_shown(const dg_st *st, const dg_ck_tensor *want);

/* The metadata key `input` is text with mean and standard deviation per channel. Invalid text is DG_IO. */
void dg_ck_input_text(char *out, size_t size, int channels, const dg_input_data *in);
dg_err dg_ck_read_input(const dg_st *st, const char *path, const dg_model *m, dg_input_data *out);
/* Get the ZCA whitening. The values of st must have been read. No-op for a model without whitening. */
dg_err dg_ck_read_whitening(const dg_st *st, const dg_model *m, dg_whitening **out);

/* Write the images per class as malloc'd text, "6000 5900". Returns NULL without memory. */
char *dg_ck_class_text(const int *images, int classes);

/* Name classes by their numbers: malloc'd lines "0", "1" ... Returns NULL without memory. */
char *dg_ck_numbered_names(int classes);

/* Returns DG_IO unless `classes` has one line per class of the model. */
dg_err dg_ck_check_names(const char *path, const dg_model *m, const char *classes);

/* Read the class names and, of a conditional GAN, the images per class. Without `full`, st may lack both. */
dg_err dg_ck_read_classes(const dg_st *st, const char *path, const dg_model *m, bool full, dg_checkpoint_info *info);

/* Copy the values of st into job. The function dg_ck_check must have accepted st. */
dg_err dg_ck_put(const dg_st *st, const char *path, dg_job *job, bool moments);

/* Get the model from the metadata of st. Without metadata, derive the model from the tensor shapes of a DCGAN
 * generator. */
dg_err dg_ck_derive(const dg_st *st, const char *path, dg_model *model);

/* Convert any bytes to UTF-8 and back, because safetensors metadata must be UTF-8. Invalid bytes become U+F780 to
 * U+F7FF (private use). U+F780 to U+F7FF in the original text are encoded like invalid bytes. Both functions return
 * malloc'd text or NULL. */
char *dg_text_to_utf8(const char *text);
char *dg_text_from_utf8(const char *text);

/* Write a network in evaluation mode as an ONNX file. A generator maps "z" (N, latent, 1, 1) to images (N, channels,
 * size, size) with values from -1 to 1. A discriminator maps images with values from -1 to 1 to "logit". A
 * classifier maps "pixels" (N, channels, size, size) with values from 0 to 255 to "logits" (N, classes). The
 * classifier normalises its pixels. `tensor` has the network's tensors in the order of dg_ck_layout, with PyTorch's
 * names. */
dg_err dg_onnx_network(const char *path, const dg_model *m, int net, const dg_input_data *input,
                       const dg_st_tensor *tensor, const dg_st_meta *meta, int metas);
