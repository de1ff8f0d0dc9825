/* An output that a user names may replace an existing file only if the content shows that dcgan made the file. Files
 * that the command reads are never replaced. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include "core/base/file_io.h"

/* Values of the metadata key `format` in safetensors files made by dcgan. */
#define DG_CHECKPOINT_FORMAT "dcgan-checkpoint-1"
#define DG_GENERATOR_FORMAT "dcgan-generator-1"
#define DG_CLASSIFIER_FORMAT "dcgan-classifier-1"
#define DG_NETWORK_FORMAT "dcgan-network-1" /* a network that is neither generator nor classifier */
#define DG_Z_FORMAT "dcgan-z-1"
#define DG_INCEPTION_FORMAT "dcgan-inception-1"

typedef enum {
    DG_MADE_BY_OTHERS,
    DG_MADE_EMPTY,
    DG_MADE_SAMPLE,
    DG_MADE_IMAGE,
    DG_MADE_GIF,
    DG_MADE_PAGE,
    DG_MADE_TUNING,
    DG_MADE_CACHE,
    DG_MADE_ONNX,
    DG_MADE_C,
    DG_MADE_HTML,
    DG_MADE_GENERATOR,
    DG_MADE_CLASSIFIER,
    DG_MADE_NETWORK,
    DG_MADE_IMPORT,            /* a checkpoint of step 0 */
    DG_MADE_IMPORT_CLASSIFIER, /* a checkpoint of step 0 with class names */
    DG_MADE_CHECKPOINT,
    DG_MADE_Z,
    DG_MADE_INCEPTION
} dg_made;

enum { DG_MADE_BYTES = 1 << 16 }; /* number of bytes at a file's beginning that determine its kind */

dg_made dg_made_kind(const void *head, size_t bytes);

/* A dg_replacing must stay valid until the last output is written. */
typedef struct {
    bool force;
    const char *(*option)(const char *path);
    bool (*is_input)(const char *path, const struct stat *s, dg_made kind);
} dg_replacing;
void dg_set_replacing(const dg_replacing *r);
bool dg_replaces_all(void);

/* Returns DG_USAGE if an output of kind `kind` (DG_MADE_EMPTY: unknown) must not replace the file at `path`. */
dg_err dg_may_replace(const char *path, dg_made kind);

/* Like dg_may_replace for output with content `piece`. `old` is the open file at `path`. */
dg_err dg_may_replace_by(int old, const char *path, const dg_chunk *piece, int pieces);
