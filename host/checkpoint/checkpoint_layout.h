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
    char alone[72]; /* PyTorch's name in an exported file; "": not in the exported network */
    int64_t dim[4]; /* PyTorch's */
} dg_ck_tensor;

enum { DG_CK_MOST = 2 * DG_MAX_LAYERS * DG_LAYER_PARAMETERS + 2 };

/* The tensors of a model's networks in the order of files; returns their number. */
int dg_ck_layout(const dg_model *model, dg_ck_tensor out[DG_CK_MOST]);
/* The weight and bias that whiten images; returns 2, or 0 if the model does not whiten. */
int dg_ck_input(const dg_model *model, dg_ck_tensor out[2]);

/* *full: a dcgan checkpoint; false: a single network. DG_IO, DG_USAGE: neither. */
dg_err dg_ck_format(const dg_st *st, const char *path, bool *full);

/* True for the format of a generator or classifier by `export`. */
bool dg_ck_exported(const char *format);

/* The optimizer whose moments st has: from the metadata, default Adam. DG_IO: unknown optimizer. */
dg_err dg_ck_optimizer(const dg_st *st, const char *path, dg_optimizer *out);

/* Check that st has exactly the tensors of the model's layout, with the right types, shapes and (once read) values.
 * full: a checkpoint with moments, all of type `type`; otherwise a generator with or without its discriminator, where
 * the prefix "G." and num_batches_tracked may be missing. */
dg_err dg_ck_check(const dg_st *st, const char *path, const dg_model *model, bool full, dg_type type);

/* Read the data of st if its header fits the model, then check the values. */
dg_err dg_ck_load(dg_st *st, const char *path, const dg_model *model, bool full, dg_type type);

/* The tensor of st for this entry, under its own or its exported name; NULL: none. */
const dg_st_tensor *dg_ck_find(const dg_st *st, const dg_ck_tensor *want);

/* The tensor for inference: its average if there is one. */
const dg_st_tensor *dg_ck_find_shown(const dg_st *st, const dg_ck_tensor *want);

/* Metadata `input`, mean and standard deviation per channel: to text and from it. DG_IO: missing or invalid. */
void dg_ck_input_text(char *out, size_t size, int channels, const dg_input_data *in);
dg_err dg_ck_read_input(const dg_st *st, const char *path, const dg_model *m, dg_input_data *out);
/* Read the whitening; nothing if the model does not whiten. Call after the values were read. */
dg_err dg_ck_read_whitening(const dg_st *st, const dg_model *m, dg_whitening **out);

/* DG_IO: the number of class names (one per line) is not the model's. NULL: no names. */
dg_err dg_ck_check_names(const char *path, const dg_model *m, const char *classes);

/* Copy the values of st, which was checked, into job. */
dg_err dg_ck_put(const dg_st *st, const char *path, dg_job *job, bool moments);

/* The model of a generator file: from its metadata, otherwise the stock DCGAN with these shapes. */
dg_err dg_ck_derive(const dg_st *st, const char *path, dg_model *model);

/* Convert any bytes to UTF-8 and back, because metadata is UTF-8 but a configuration may name a folder in Latin-1.
 * Invalid bytes become U+F780 ... U+F7FF (private use), and those are escaped. malloc'd; NULL: no memory. */
char *dg_text_to_utf8(const char *text);
char *dg_text_from_utf8(const char *text);

#endif
