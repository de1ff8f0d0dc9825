/* Checkpoints: one safetensors file from which a run resumes bit for bit. Weights, gamma, beta and running statistics
 * have the names of PyTorch's DCGAN example (G.main.0.weight). Moments of the optimizer have a prefix (Adam:
 * adam.m.NAME, adam.v.NAME). C.input.weight and C.input.bias store the whitening. Metadata: format=dcgan-checkpoint-1,
 * version, step, epoch (number of finished epochs), batch-in-epoch, seed, precision, model, config (text of
 * config.ini), data (count and fingerprint of the dataset), checksums; images-shown after a change of the dataset or of
 * the batch size; optimizer unless Adam; classes of a classifier;
 * input (mean and standard deviation per channel) if standardised. */
#ifndef DG_CHECKPOINT_H
#define DG_CHECKPOINT_H

#include "core/base/file_io.h"
#include "host/net/job.h"
#include "host/files/safetensors.h"

typedef struct {
    uint64_t step;
    uint64_t epoch; /* finished epochs */
    uint64_t batch; /* finished steps of the current epoch */
    uint64_t
        images; /* images shown; 0 in a snapshot: as many as epoch, batch and data_count say; 0 in a file: unknown */
    uint64_t seed;
    uint64_t data_count, data_fingerprint;
    char precision[8];
    char *config;  /* text of config.ini, malloc'd, "" if none */
    char *classes; /* names of the classes, one per line, malloc'd; NULL: none */
    dg_input_data input;
} dg_checkpoint_info;

/* A copy of the training state. Another thread writes the snapshot to a file and frees it. */
typedef struct dg_snapshot dg_snapshot;
/* Bytes of memory for a snapshot of this job. */
size_t dg_snapshot_bytes(const dg_job *job);
dg_err dg_snapshot_take(dg_job *job, const dg_checkpoint_info *info, dg_snapshot **out);
/* Write s to the file `path` in directory dir (file_io.h). dir NULL: the directory of path. Always frees s. */
dg_err dg_snapshot_write(dg_snapshot *s, const dg_directory *dir, const char *path);

/* Open and check a checkpoint; *model and *info receive its model and its position in training. Free info after use. */
dg_err dg_checkpoint_open(const char *path, dg_st **st, dg_model *model, dg_checkpoint_info *info);
void dg_checkpoint_info_free(dg_checkpoint_info *info);
/* Check that backend b has the checkpoint's precision. A checkpoint in tf32 only causes a warning. */
dg_err dg_checkpoint_precision(const dg_checkpoint_info *info, const char *path, const dg_backend *b);

/* Load the values into a job built from the same model. A job that trains (job->o.train) also loads the moments. A job
 * that does not train also accepts a generator exported by dcgan or PyTorch (main.0.weight ...). */
dg_err dg_checkpoint_load(const dg_st *st, const char *path, dg_job *job);

/* Read the model from a file of initial weights: a checkpoint, or one network exported by dcgan or PyTorch. *text: the
 * model, malloc'd; NULL: the file has no model. */
dg_err dg_weights_model(const char *path, char **text);

/* Read weights and check that they fit the model. The message of DG_IO names the first tensor that does not fit. Free
 * *out with dg_st_free. */
dg_err dg_weights_open(const char *path, const dg_model *model, dg_st **out);

/* Copy weights and running statistics into a job of the same model. Moments, and the networks that are not in the file,
 * stay unchanged. *nets: bit mask of the networks in the file, in the order of the model. */
dg_err dg_weights_put(const dg_st *st, const char *path, dg_job *job, unsigned *nets);

/* The commands `export`, `import` and `info`. dg_export writes network `net` of a checkpoint in fp32, as safetensors
 * with PyTorch's names or as ONNX; net NULL: the generator or the classifier. dg_import makes a checkpoint at step 0
 * from an exported file. model NULL: derive it from the shapes of the weights. *recipe: the training recipe. */
dg_err dg_export(const char *checkpoint, const char *net, bool onnx, const char *out);
dg_err dg_import(const char *weights, const char *model, const char *out, const dg_recipe **recipe);
dg_err dg_info(const char *path, bool json);

#endif
