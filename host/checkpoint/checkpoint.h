/* A checkpoint is a safetensors file from which a run resumes bit for bit. Weights, gamma, beta and running statistics
 * have the names of PyTorch's DCGAN example (G.main.0.weight). The names of the optimizer's moments have a prefix
 * (Adam: adam.m.NAME, adam.v.NAME). The tensors C.input.weight and C.input.bias store the ZCA whitening. The metadata
 * always has these keys: format=dcgan-checkpoint-1, version, step, epoch (number of finished epochs), batch-in-epoch,
 * seed, precision, model, config (text of config.ini), data (count and fingerprint of the dataset), checksums. Optional
 * keys: images-shown (after a change of the dataset or of the batch size), optimizer (unless Adam), classes (of a
 * classifier), input (mean and standard deviation per channel, if images are standardised). */
#ifndef DG_CHECKPOINT_H
#define DG_CHECKPOINT_H

#include "core/base/file_io.h"
#include "host/net/job.h"
#include "host/files/safetensors.h"

typedef struct {
    uint64_t step;
    uint64_t epoch;  /* finished epochs */
    uint64_t batch;  /* finished steps of the current epoch */
    uint64_t images; /* images trained on so far; 0: unknown (in a snapshot: computed from epoch and batch) */
    uint64_t seed;
    uint64_t data_count, data_fingerprint;
    char precision[8];
    char *config;  /* text of config.ini, malloc'd, "" if none */
    char *classes; /* names of the classes, one per line, malloc'd; NULL: none */
    dg_input_data input;
} dg_checkpoint_info;

/* A copy of the training state, which another thread writes to a file and frees. */
typedef struct dg_snapshot dg_snapshot;
size_t dg_snapshot_bytes(const dg_job *job);
dg_err dg_snapshot_take(dg_job *job, const dg_checkpoint_info *info, dg_snapshot **out);
/* Write snapshot s to the file `path` in dir, or in the directory of path if dir is NULL. Always frees s. */
dg_err dg_snapshot_write(dg_snapshot *s, const dg_directory *dir, const char *path);

/* Open and check a checkpoint, and read its model and its position in training. Free info after use. */
dg_err dg_checkpoint_open(const char *path, dg_st **st, dg_model *model, dg_checkpoint_info *info);
void dg_checkpoint_info_free(dg_checkpoint_info *info);
/* Return an error (for a tf32 checkpoint: warn) if backend b has another precision than the checkpoint. */
dg_err dg_checkpoint_precision(const dg_checkpoint_info *info, const char *path, const dg_backend *b);

/* Load the tensors of st into a job of the same model. Only a training job loads optimizer moments. An inference job
 * also accepts a generator exported by dcgan or PyTorch (main.0.weight ...). */
dg_err dg_checkpoint_load(const dg_st *st, const char *path, dg_job *job);

/* Read the model's text from a checkpoint or an exported network. *text: malloc'd, NULL if the file has no model. */
dg_err dg_weights_model(const char *path, char **text);

/* Read a file of weights and check that they fit the model. Free *out with dg_st_free. */
dg_err dg_weights_open(const char *path, const dg_model *model, dg_st **out);

/* Copy weights and running statistics, without moments, from st into the job's networks. Networks missing in st stay
 * unchanged. *nets: bit n is set if network n of the model is in the file st. */
dg_err dg_weights_put(const dg_st *st, const char *path, dg_job *job, unsigned *nets);

/* dg_export writes network `net` (NULL: the generator or classifier) of a checkpoint as safetensors or ONNX. The
 * function dg_import makes a checkpoint at step 0 from an exported file; model NULL: derive it from tensor shapes. */
dg_err dg_export(const char *checkpoint, const char *net, bool onnx, const char *out);
dg_err dg_import(const char *weights, const char *model, const char *out, const dg_recipe **recipe);
dg_err dg_info(const char *path, bool json);

#endif
