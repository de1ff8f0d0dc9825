/* Tuning files as `dcgan tune` writes and merges them: comments at the top, sections, rows with what was measured
 * behind them (tune.h says how rows are written):
 *
 *     ; dcgan tune: NVIDIA H200, sm_90, driver CUDA 13.0, 2026-11-21 16:00:00 UTC, dcgan 0.1.0 (commit)
 *     [sm_90 fp32]
 *     adam n=1100224 : vector block=512 ; 6.11 us (6.40 before, direct 9.02) G.adam
 */
#ifndef DG_TUNE_FILE_H
#define DG_TUNE_FILE_H

#include "core/base/err.h"

typedef struct {
    char section[32]; /* "sm_90 fp32", "": for all */
    char text[192];   /* a row, its comment included */
    double us;        /* the first number of the comment, INFINITY: none */
} dg_tune_line;
typedef struct {
    char *head; /* comments, lines */
    dg_tune_line *line;
    int lines, capacity;
} dg_tune_file;

/* A comment at the top; the text of one line, without its semicolon. */
dg_err dg_tune_file_head(dg_tune_file *f, const char *text);

/* A row. One for the same op, shape and section is replaced unless it was measured to be faster. */
dg_err dg_tune_file_row(dg_tune_file *f, const char *section, const char *text);

/* Take over the head and the rows of a file. DG_USAGE with file, line and reason when a row of it is wrong: nothing of
 * it is left out in silence. */
dg_err dg_tune_file_read(dg_tune_file *f, const char *path);

/* Section by section. The text is malloc'd, also after an error. */
dg_err dg_tune_file_text(const dg_tune_file *f, char **out);
dg_err dg_tune_file_write(const dg_tune_file *f, const char *path);
void dg_tune_file_free(dg_tune_file *f);

#endif
