/* Checkpoints: one safetensors file from which a run resumes bit for bit. Tensors: weights, gamma, beta and running
 * statistics under the names of the stock example (G.main.0.weight); the optimizer's moments with its prefixes (Adam:
 * adam.m.NAME, adam.v.NAME); C.input.weight and C.input.bias for whitening, a Linear over the values in order C, H, W.
 * Metadata: format=dcgan-checkpoint-1, version, step, epoch (finished), batch-in-epoch, seed, precision, model (text),
 * config (text of config.ini), data (count and fingerprint of the dataset), checksums; optimizer unless Adam; classes
 * of a classifier; input (mean and standard deviation per channel) if standardised. */
#ifndef DG_CHECKPOINT_H
#define DG_CHECKPOINT_H

#include "core/base/file_io.h"
#include "host/net/job.h"
#include "host/files/safetensors.h"

typedef struct {
    uint64_t step;
    uint64_t epoch; /* finished epochs */
    uint64_t batch; /* steps done in the current epoch */
    uint64_t seed;
    uint64_t data_count, data_fingerprint;
    char precision[8];
    char *config;  /* text of config.ini, malloc'd, "" if none */
    char *classes; /* names of the classes, one per line, malloc'd; NULL: none */
    dg_input_data input;
} dg_checkpoint_info;

/* A copy of the training state for writing by another thread, which frees it. */
typedef struct dg_snapshot dg_snapshot;
/* Bytes of memory for a snapshot of this job. */
size_t dg_snapshot_bytes(const dg_job *job);
dg_err dg_snapshot_take(dg_job *job, const dg_checkpoint_info *info, dg_snapshot **out);
/* Write s into directory dir (file_io.h); NULL: the path's directory. Always frees s. */
dg_err dg_snapshot_write(dg_snapshot *s, const dg_directory *dir, const char *path);

/* Open and check a checkpoint; returns its model and its position in training. Free info after use. */
dg_err dg_checkpoint_open(const char *path, dg_st **st, dg_model *model, dg_checkpoint_info *info);
void dg_checkpoint_info_free(dg_checkpoint_info *info);

/* Load the values into a job built from the same model; moments only if job->o.train. Without job->o.train also accepts
 * generators exported by dcgan or PyTorch (main.0.weight ...). */
dg_err dg_checkpoint_load(const dg_st *st, const char *path, dg_job *job);

/* For initial weights, from a checkpoint or from a single network by dcgan or PyTorch. *text: the model, malloc'd;
 * NULL: not in the file. */
dg_err dg_weights_model(const char *path, char **text);

/* Read and check weights for the model. DG_IO names the first tensor that does not fit. Free *out with dg_st_free. */
dg_err dg_weights_open(const char *path, const dg_model *model, dg_st **out);

/* Copy weights and running statistics into a job of that model; moments are unchanged. *nets: bit mask of the networks
 * in the file, in the order of the model; other networks are unchanged. */
dg_err dg_weights_put(const dg_st *st, const char *path, dg_job *job, unsigned *nets);

/* Commands; each returns the exit code. dg_export writes network `net` of a checkpoint in fp32, as safetensors with
 * PyTorch's names or as ONNX; net NULL: the generator or the classifier. dg_import makes a checkpoint at step 0 from
 * such a file, with the moments of the model's [train]; model NULL: from the weights. *recipe: the training recipe. */
dg_err dg_export(const char *checkpoint, const char *net, bool onnx, const char *out);
dg_err dg_import(const char *weights, const char *model, const char *out, const dg_recipe **recipe);
dg_err dg_info(const char *path, bool json);

#endif
