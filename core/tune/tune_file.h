/* Tuning files (tune.h) that `dcgan tune` writes and merges, with comments at the top and a measured time per row:
 *   ; dcgan tune: NVIDIA H200, sm_90, driver CUDA 13.0, 2026-11-21 16:00:00 UTC, dcgan 0.1.0 (commit)
 *   [sm_90 fp32]
 *   adam n=1100224 : vector block=512 ; 6.11 us (6.40 before, direct 9.02) G.adam */
#pragma once

#include "core/base/err.h"

typedef struct {
    char section[32]; /* name of a section, such as "sm_90 fp32"; "" for rows of all architectures */
    char text[192];
    double us; /* the first number in the row's comment (measured time), or INFINITY */
} dg_tune_line;
typedef struct {
    char *head;
    dg_tune_line *line;
    int lines, capacity;
} dg_tune_file;

/* Adds a comment at the top of a tuning file. `text` is one line without a semicolon. */
dg_err dg_tune_file_head(dg_tune_file *f, const char *text);

/* Adds a row. An old row with equal op, shape and section is replaced unless its time is shorter. */
dg_err dg_tune_file_row(dg_tune_file *f, const char *section, const char *text);

/* Adds the rows of a tuning file and the comments at its top. If a row is invalid, returns DG_USAGE with line and
 * reason. */
dg_err dg_tune_file_read(dg_tune_file *f, const char *path);

dg_err dg_tune_file_text(const dg_tune_file *f, char **out);
dg_err dg_tune_file_write(const dg_tune_file *f, const char *path);
void dg_tune_file_free(dg_tune_file *f);
