/* Which variant of each op the CUDA backend runs, and with what numbers. In this order: a row of the file given with
 * --tuning, a row of the table shipped for this architecture, a rule that looks at the shape. A choice changes speed,
 * and sums within the op's stated tolerance; nothing else.
 *
 * A tuning file is an INI file, a section an architecture (rows before the first section hold for all), a line an op:
 *
 *     [sm_90]
 *     conv_fwd N=128 H=32 W=32 C=32>64 K=4 S=2 P=1 : tiled tile=64x64 stages=3 split=1
 *     norm_act N=64 H=32 W=32 C=32 groups=1        : vector block=256
 *     adam n=1100224                               : vector block=256
 *
 *     [sm_90 bf16]
 *     conv_fwd N=128 H=32 W=32 C=32>64 K=4 S=2 P=1 : mma tile=128x64
 *
 * Rows of a section with a precision are for runs of that alone, and come before the others.
 * What a variant does not mention it decides itself. Every row is checked when it is read: that the variant exists,
 * takes this shape, and its threads and shared memory fit the device. Plain C, without CUDA. */
#ifndef DG_TUNE_H
#define DG_TUNE_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/tune/variants.h"

typedef struct {
    dg_op key; /* kind and shape */
    dg_tune tune;
    int arch; /* 0: any */
    int line;
    bool precise;  /* of a section for this precision alone */
    char why[120]; /* "FILE:12" */
} dg_tune_row;
typedef struct {
    dg_tune_row *row;
    int rows, capacity;
} dg_tune_table;

/* Add the rows of a tuning file's text. Rows that are wrong are left out; then DG_USAGE, and the message says file,
 * line and reason of the first and how many there were. DG_DEVICE: out of memory. */
dg_err dg_tune_parse(dg_tune_table *t, const char *text, const char *where, dg_type real, const dg_gpu *gpu);

/* The same from a file: DG_IO when it cannot be read. */
dg_err dg_tune_read(dg_tune_table *t, const char *path, dg_type real, const dg_gpu *gpu);

/* The row for this op on this architecture, NULL if there is none. Valid as long as the table. */
const dg_tune_row *dg_tune_find(const dg_tune_table *t, const dg_op *op, int arch);

/* An op and its choice as a row of text, as dg_tune_parse reads it. Returns out. */
char *dg_tune_text(char *out, size_t size, const dg_op *op, const dg_tune *tune);

void dg_tune_free(dg_tune_table *t);

#endif
