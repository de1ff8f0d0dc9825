/* A row of the log as text and back. Numbers are "%.9g" with a dot whatever the locale says. */
#ifndef DG_LOG_TEXT_H
#define DG_LOG_TEXT_H

#include "host/net/recipe.h"
#include "host/rundir/logged.h"

enum { DG_LOG_LINE = 1024 };             /* a line is shorter than this */
#define DG_LOG_BYTES ((uint64_t)4 << 30) /* limit of a log that is read: some 40 million rows */

/* A row. The columns are the metrics of a recipe, and these. */
typedef struct {
    uint64_t step, epoch;         /* 1-based in the files */
    double value[DG_METRICS_MAX]; /* as dg_metrics has them */
    double seconds;               /* since the start of the run, over all sessions */
    double images_per_second;
    bool judged;               /* the line has columns for measures */
    double measure[DG_LOGGED]; /* NaN: not measured behind this step */
} dg_log_row;

/* The first line of log.csv with its newline; returns its length. */
int dg_log_header(char out[DG_LOG_LINE], const dg_recipe *r);
int dg_log_header_judged(char out[DG_LOG_LINE], const dg_recipe *r); /* with columns for measures */

/* The recipe whose log begins with these bytes, and how many of them are the first line; NULL: it is no log.csv. */
const dg_recipe *dg_log_recipe(const char *text, size_t *header);

/* Is there a row, or a line, in this text of a log.csv or log.jsonl? */
bool dg_log_is_empty(const char *text);

/* One line with its newline; returns its length. */
int dg_log_csv(char out[DG_LOG_LINE], const dg_recipe *r, const dg_log_row *row);
int dg_log_json(char out[DG_LOG_LINE], const dg_recipe *r, const dg_log_row *row, const char *kind);

/* From a line without its newline; false: not a row, which has an epoch and a step of 1 to these. What a file does not
 * hold becomes 0. */
enum { DG_LOG_EPOCH_MAX = 999999999 };
#define DG_LOG_STEP_MAX (((uint64_t)1 << 53) - 1)
bool dg_log_parse(const char *line, const dg_recipe *r, dg_log_row *row);

/* Can `row` be the next one after `before` (NULL: none)? Steps rise, and epochs do not fall. Readers of a log accept no
 * other rows, because all that plots, judges or resumes a run relies on this order. */
bool dg_log_follows(const dg_log_row *before, const dg_log_row *row);

/* All rows behind the header of a log.csv's text, in which ends of lines become NUL: a torn last line, without its end,
 * is none. malloc'd; NULL: no memory. *bad: the number of the first line that is no row or does not follow the row
 * before, 0: none; such lines are left out. */
dg_log_row *dg_log_rows_in(char *text, size_t header, const dg_recipe *r, long *rows, long *bad);

/* What a value is when it has been written and read. */
double dg_log_rounded(double v);

#endif
