/* Tuning tables, which select the variant and launch parameters of each CUDA op. A row of the --tuning file takes
 * precedence over the table shipped for the architecture, and the shipped table over a rule by shape. Results of all
 * variants of an op agree within the op's tolerance.
 *
 * A tuning file is an INI file with a section per architecture and a row per op. Rows before the first section apply to
 * all architectures.
 *   [sm_90]
 *   conv_fwd N=128 H=32 W=32 C=32>64 K=4 S=2 P=1 : tiled tile=64x64 stages=3 split=1
 *   norm_act N=64 H=32 W=32 C=32 groups=1        : vector block=256
 *   adam n=1100224                               : vector block=256
 *
 *   [sm_90 bf16]
 *   conv_fwd N=128 H=32 W=32 C=32>64 K=4 S=2 P=1 : mma tile=128x64
 * The rows of a section that names a precision apply only to this precision and take precedence over rows without a
 * precision. A launch parameter that a row omits has the variant's default. The parser checks for every row that the
 * variant exists, supports the shape and fits the device. */
#pragma once

#include <stdbool.h>

#include "core/base/err.h"
#include "core/tune/variants.h"

typedef struct {
    dg_op key;
    dg_tune tune;
    int arch;
    int line;
    bool precise;  /* the row is from a section that names a precision */
    char why[120]; /* "FILE:12" */
} dg_tune_row;
typedef struct {
    dg_tune_row *row;
    int rows, capacity;
} dg_tune_table;

/* Adds the rows of a tuning file's text. Skips invalid rows and then returns DG_USAGE. The message has the number of
 * invalid rows, and the file, line and reason of the first invalid row. Returns DG_DEVICE if memory runs out. */
dg_err dg_tune_parse(dg_tune_table *t, const char *text, const char *where, dg_type real, const dg_gpu *gpu);

/* Like dg_tune_parse, for a file. Returns DG_IO if the file cannot be read. */
dg_err dg_tune_read(dg_tune_table *t, const char *path, dg_type real, const dg_gpu *gpu);

/* Returns the table's row for an op on an architecture, or NULL. The table owns the row. */
const dg_tune_row *dg_tune_find(const dg_tune_table *t, const dg_op *op, int arch);

/* Writes op and tune to out as a row of a tuning file. Returns out. */
char *dg_tune_text(char *out, size_t size, const dg_op *op, const dg_tune *tune);

void dg_tune_free(dg_tune_table *t);
