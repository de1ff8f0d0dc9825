/* Which existing files may be replaced: those that dcgan made, told by their content, and that are not read by the same
 * command. Every named output of every command goes by this rule. */
#ifndef DG_REPLACE_H
#define DG_REPLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include "core/base/file_io.h"

/* Metadata `format` of the safetensors files of dcgan. */
#define DG_CHECKPOINT_FORMAT "dcgan-checkpoint-1"
#define DG_GENERATOR_FORMAT "dcgan-generator-1"
#define DG_CLASSIFIER_FORMAT "dcgan-classifier-1"
#define DG_NETWORK_FORMAT "dcgan-network-1" /* another network than the one that export writes unasked */
#define DG_Z_FORMAT "dcgan-z-1"             /* generate --write-z */

typedef enum {
    DG_MADE_BY_OTHERS, /* a file without a mark of ours */
    DG_MADE_EMPTY,     /* 0 bytes: nothing is lost */
    DG_MADE_SAMPLE,
    DG_MADE_IMAGE,
    DG_MADE_GIF,
    DG_MADE_PAGE,
    DG_MADE_SWEEP,
    DG_MADE_RULES,
    DG_MADE_TUNING,
    DG_MADE_CACHE,
    DG_MADE_ONNX,
    DG_MADE_GENERATOR,
    DG_MADE_CLASSIFIER,
    DG_MADE_NETWORK,
    DG_MADE_IMPORT,            /* a checkpoint of step 0 */
    DG_MADE_IMPORT_CLASSIFIER, /* the same with names of classes */
    DG_MADE_CHECKPOINT,
    DG_MADE_Z
} dg_made;

enum { DG_MADE_BYTES = 1 << 16 }; /* so many first bytes of a file are looked at */

/* What a file is, by its first bytes. */
dg_made dg_made_kind(const void *head, size_t bytes);

/* What the program's user says; NULL, as in the beginning: nothing. Must outlive all writing. */
typedef struct {
    bool force; /* everything may be replaced */
    /* The name of the option that gave this path. */
    const char *(*option)(const char *path);
    /* Is this file, which is at `path`, read by the command? */
    bool (*is_input)(const char *path, const struct stat *s, dg_made kind);
} dg_replacing;
void dg_set_replacing(const dg_replacing *r);
bool dg_replaces_all(void); /* force */

/* DG_USAGE: a regular file is at `path` that a new one of this kind may not replace. DG_MADE_EMPTY: of whatever kind
 * the new one will be. */
dg_err dg_may_replace(const char *path, dg_made kind);

/* The same for dg_output_rule. */
dg_err dg_may_replace_by(int old, const char *path, const dg_chunk *piece, int pieces);

#endif
