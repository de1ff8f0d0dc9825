/* Converts log rows to text and back. Numbers are "%.9g" with a dot in every locale. */
#pragma once

#include "host/net/recipe.h"
#include "host/rundir/logged.h"

enum { DG_LOG_LINE = 1280, DG_LOG_ENERGY_OF = 256 };
#define DG_LOG_BYTES ((uint64_t)4 << 30) /* max size of a log: about 40 million rows */

typedef struct {
    uint64_t step, epoch;
    double value[DG_METRICS_MAX];
    double seconds; /* since the start of the run, summed over all sessions */
    double images_per_second;
    double joules;         /* since the start of the run, over all sessions; 0: unknown. Only in log.jsonl */
    const char *energy_of; /* names of the counters, not owned; with joules */
    int judged;            /* number of columns of sample metrics */
    double measure[DG_LOGGED];
} dg_log_row;

/* Write the first line of log.csv with its newline. Returns its length. */
int dg_log_header(char out[DG_LOG_LINE], const dg_recipe *r);
int dg_log_header_judged(char out[DG_LOG_LINE], const dg_recipe *r, int judged); /* with columns of sample metrics */
/* Returns the number of columns of sample metrics if the text begins with a header of a log of r, otherwise -1. */
int dg_log_judged(const char *text, const dg_recipe *r);

/* Find the recipe of a log.csv by its first line, of *header bytes. Returns NULL if the text is not a log.csv. */
const dg_recipe *dg_log_recipe(const char *text, size_t *header);

bool dg_log_is_empty(const char *text);

int dg_log_csv(char out[DG_LOG_LINE], const dg_recipe *r, const dg_log_row *row);
int dg_log_json(char out[DG_LOG_LINE], const dg_recipe *r, const dg_log_row *row, const char *kind);

/* Parse a log line without its newline. Returns false unless the line is a row with epoch 1 to DG_LOG_EPOCH_MAX and
 * step 1 to DG_LOG_STEP_MAX. Missing columns become 0. */
enum { DG_LOG_EPOCH_MAX = 999999999 };
#define DG_LOG_STEP_MAX (((uint64_t)1 << 53) - 1)
bool dg_log_parse(const char *line, const dg_recipe *r, dg_log_row *row);

/* True if log row `row` may follow `before` (NULL: none): steps increase, epochs do not decrease. */
bool dg_log_follows(const dg_log_row *before, const dg_log_row *row);

/* Parse the rows of a log.csv after its header. Newlines in the text become NUL. A last line without newline is
 * ignored. Returns malloc'd rows, or NULL if out of memory. Set *bad to the number of the first invalid line, or 0. */
dg_log_row *dg_log_rows_in(char *text, size_t header, const dg_recipe *r, long *rows, long *bad);

/* Returns the value of v after writing it to the log and reading it back. */
double dg_log_rounded(double v);
