/* A checkpoint is a safetensors file from which a run resumes bit for bit. Tensors and metadata of checkpoints are
 * listed in docs/formats.md. */
#pragma once

#include "core/base/file_io.h"
#include "host/checkpoint/provenance.h"
#include "host/net/job.h"
#include "host/files/safetensors.h"

typedef struct {
    uint64_t step;
    uint64_t epoch;  /* number of finished epochs */
    uint64_t batch;  /* number of finished steps in the current epoch */
    uint64_t images; /* number of images trained on so far, or 0 if unknown */
    uint64_t seed;
    uint64_t data_count, data_fingerprint;
    char precision[8];
    dg_provenance by;  /* dg_snapshot_take writes it unless by.device is empty */
    char *config;      /* malloc'd text of config.ini */
    char *classes;     /* malloc'd class names, one per line, or NULL */
    int *class_images; /* malloc'd numbers of images per class of a conditional GAN, or NULL if unknown */
    dg_input_data input;
} dg_checkpoint_info;

/* A copy of the training state, which another thread can write while training continues. */
typedef struct dg_snapshot dg_snapshot;
size_t dg_snapshot_bytes(const dg_job *job);
dg_err dg_snapshot_take(dg_job *job, const dg_checkpoint_info *info, dg_snapshot **out);
/* Write snapshot s, and free it even after an error. `path` is relative to dir unless dir is NULL. */
dg_err dg_snapshot_write(dg_snapshot *s, const dg_directory *dir, const char *path);

/* Open and check a checkpoint, and read its model and its position in training. The caller frees *st and info. */
dg_err dg_checkpoint_open(const char *path, dg_st **st, dg_model *model, dg_checkpoint_info *info);
void dg_checkpoint_info_free(dg_checkpoint_info *info);
/* Returns DG_USAGE if backend b has another precision than the checkpoint. A tf32 checkpoint of an older version only
 * causes a warning if b->real is DG_F32. */
dg_err dg_checkpoint_precision(const dg_checkpoint_info *info, const char *path, const dg_backend *b);

/* Load the tensors of st into a job of the same model. Only a training job loads optimizer moments. An inference job
 * also accepts an exported generator with names such as main.0.weight. */
dg_err dg_checkpoint_load(const dg_st *st, const char *path, dg_job *job);

/* Read the model's text from a checkpoint or an exported network. `*text` is malloc'd, or NULL if the file has no
 * model. */
dg_err dg_weights_model(const char *path, char **text);

/* Read a file of weights and check that they fit the model. Free *out with dg_st_free. */
dg_err dg_weights_open(const char *path, const dg_model *model, dg_st **out);

/* Copy weights and running statistics from st into the job's networks, but no optimizer moments. Networks missing in
 * st stay unchanged. Bit n of *nets is set if st has network n of the model. */
dg_err dg_weights_put(const dg_st *st, const char *path, dg_job *job, unsigned *nets);

/* Write network `net` of a checkpoint as safetensors or ONNX. If net is NULL, write the generator or classifier. */
dg_err dg_export(const char *checkpoint, const char *net, bool onnx, const char *out);
/* Make a checkpoint at step 0 from an exported file. If model is NULL, derive the model from tensor shapes. */
dg_err dg_import(const char *weights, const char *model, const char *out, const dg_recipe **recipe);
dg_err dg_info(const char *path, bool json);
