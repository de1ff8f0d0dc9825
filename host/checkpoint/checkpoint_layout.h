/* What a checkpoint of a model holds, for the files that write, read, export and import it. */
#ifndef DG_CHECKPOINT_LAYOUT_H
#define DG_CHECKPOINT_LAYOUT_H

#include "host/checkpoint/checkpoint.h"
#include "host/files/replace.h"
#include "host/net/layers/layers.h"

#define DG_CK_AVERAGE "ema." /* in front of the name of what is averaged over the steps */

typedef struct {
    char name[64]; /* "G.main.0.weight" */
    dg_parameter_kind kind;
    int net, rank;
    char alone[72]; /* of the net that `export` writes: its name there, PyTorch's; "": it is of another net */
    int64_t dim[4]; /* PyTorch's */
} dg_ck_tensor;

enum { DG_CK_MOST = 2 * DG_MAX_LAYERS * DG_LAYER_PARAMETERS + 2 };

/* The tensors of the networks of a model that a recipe trains, in the order of files; returns their number. */
int dg_ck_layout(const dg_model *model, dg_ck_tensor out[DG_CK_MOST]);
/* Of these the weight and the bias that whiten images; returns 2, or 0 where the model has another input. */
int dg_ck_input(const dg_model *model, dg_ck_tensor out[2]);

/* Is it a checkpoint of ours (*full), or a network alone that the checkpoint's readers take? DG_IO, DG_USAGE: neither.
 */
dg_err dg_ck_format(const dg_st *st, const char *path, bool *full);

/* Is it that of a generator, or a classifier, as `export` writes them unasked? */
bool dg_ck_exported(const char *format);

/* Whose moments st holds: as its metadata say, else Adam's. DG_IO: they say something unknown. */
dg_err dg_ck_optimizer(const dg_st *st, const char *path, dg_optimizer *out);

/* Has st all that the layout of the model asks for, and nothing else, with the right types, shapes and, where they have
 * been read, values? full: a checkpoint with moments, all of type `type`; otherwise a generator, alone or with its
 * discriminator, whose names may lack "G." and whose counts may be missing. */
dg_err dg_ck_check(const dg_st *st, const char *path, const dg_model *model, bool full, dg_type type);

/* The data of st, of which the header alone has been read, if it is that of this model; then its values. */
dg_err dg_ck_load(dg_st *st, const char *path, const dg_model *model, bool full, dg_type type);

/* The tensor that st holds for want, under its own name or that in a file of the network alone; NULL: none. */
const dg_st_tensor *dg_ck_find(const dg_st *st, const dg_ck_tensor *want);

/* The one that makes images or tells classes: where weights are averaged, their average. */
const dg_st_tensor *dg_ck_find_shown(const dg_st *st, const dg_ck_tensor *want);

/* Metadata `input`: mean and standard deviation of each channel, as text and back. DG_IO: there are none. */
void dg_ck_input_text(char *out, size_t size, int channels, const dg_input_data *in);
dg_err dg_ck_read_input(const dg_st *st, const char *path, const dg_model *m, dg_input_data *out);
/* What whitens images, of a file whose values have been read; nothing where the model has another input. */
dg_err dg_ck_read_whitening(const dg_st *st, const dg_model *m, dg_whitening **out);

/* As many names of classes, a line each, as the model tells apart? DG_IO: no. NULL is none. */
dg_err dg_ck_check_names(const char *path, const dg_model *m, const char *classes);

/* Put the values that st, checked, holds into job, where it has them. */
dg_err dg_ck_put(const dg_st *st, const char *path, dg_job *job, bool moments);

/* The model of a generator file: what its metadata say, else the stock DCGAN of these shapes. */
dg_err dg_ck_derive(const dg_st *st, const char *path, dg_model *model);

/* Any bytes as UTF-8 and back: files have UTF-8 metadata, while a configuration may name a folder in Latin-1. Bytes
 * that are not UTF-8 become U+F780 ... U+F7FF (private use), which are themselves kept apart. malloc'd; NULL: no
 * memory. */
char *dg_text_to_utf8(const char *text);
char *dg_text_from_utf8(const char *text);

#endif
