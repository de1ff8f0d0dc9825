/* Checkpoints: one safetensors file that resumes bit for bit. Weights, gamma, beta and running statistics under
 * the stock example's names (G.main.0.weight), Adam's moments as adam.m.NAME and adam.v.NAME, and in the
 * metadata: format=dcgan-checkpoint-1, version, step, epoch (finished ones), batch-in-epoch, seed, precision,
 * model (the text), config (the run's config.ini), data (count and fingerprint of the data set), and the checksums.
 * Other optimisers have a line optimizer, and prefixes of their own; classifiers a line classes, and one input where it
 * is standardised: mean and standard deviation of each channel. What whitens images is C.input.weight and
 * C.input.bias, a Linear over their values in the order C, H, W. */
#ifndef DG_CHECKPOINT_H
#define DG_CHECKPOINT_H

#include "core/base/file_io.h"
#include "host/net/job.h"
#include "host/files/safetensors.h"

typedef struct {
    uint64_t step;  /* optimiser steps done */
    uint64_t epoch; /* finished epochs */
    uint64_t batch; /* steps done in the epoch that is under way */
    uint64_t seed;
    uint64_t data_count, data_fingerprint;
    char precision[8];   /* a name of precision.h */
    char *config;        /* text of config.ini, malloc'd by dg_checkpoint_open, "" if none */
    char *classes;       /* names of a classifier's classes, a line each, malloc'd by it as well; NULL: it has none */
    dg_input_data input; /* of dg_job_options; the whitening is freed with the rest */
} dg_checkpoint_info;

/* A copy of the training state taken now, to be written later by another thread. Freed by the write. */
typedef struct dg_snapshot dg_snapshot;
/* Bytes of memory that a snapshot of this job needs. */
size_t dg_snapshot_bytes(const dg_job *job);
dg_err dg_snapshot_take(dg_job *job, const dg_checkpoint_info *info, dg_snapshot **out);
/* Into this directory (file_io.h); dir = NULL: the one that the path names. Always frees s. */
dg_err dg_snapshot_write(dg_snapshot *s, const dg_directory *dir, const char *path);

/* Open and check a checkpoint: the model it was trained with and where it stands. */
dg_err dg_checkpoint_open(const char *path, dg_st **st, dg_model *model, dg_checkpoint_info *info);
void dg_checkpoint_info_free(dg_checkpoint_info *info);

/* Put its values into a job that was built from the same model; moments only when job->o.train. Generators
 * exported by us or by PyTorch (main.0.weight ...) are taken too when job->o.train is false. */
dg_err dg_checkpoint_load(const dg_st *st, const char *path, dg_job *job);

/* Weights as a beginning, of a checkpoint, whatever its training state, or of a network alone, ours or PyTorch's.
 *
 * The text of the model that they were trained as, malloc'd; *text NULL: the file does not say. */
dg_err dg_weights_model(const char *path, char **text);

/* Read and check them. DG_IO names the first tensor that this model has not, or has with another shape. *out is freed
 * with dg_st_free. */
dg_err dg_weights_open(const char *path, const dg_model *model, dg_st **out);

/* Put them, and the running statistics, into a job of that model; moments stay as they are. *nets: a bit for each
 * network that they have, in the order of the model; others stay as they are. */
dg_err dg_weights_put(const dg_st *st, const char *path, dg_job *job, unsigned *nets);

/* Commands. Each returns the exit code. The first writes network `net` of a checkpoint alone, in fp32, as safetensors
 * under PyTorch's names or as ONNX; NULL: the generator or the classifier. The second makes a checkpoint at step 0 of
 * such a file, with moments as [train] of the model wants them; model NULL: as the weights say. *recipe: what trains
 * it. */
dg_err dg_export(const char *checkpoint, const char *net, bool onnx, const char *out);
dg_err dg_import(const char *weights, const char *model, const char *out, const dg_recipe **recipe);
dg_err dg_info(const char *path, bool json); /* what a file of ours is */

#endif
