/* A row of the log as text and back. Numbers are "%.9g" with a dot whatever the locale says. */
#ifndef DG_LOG_TEXT_H
#define DG_LOG_TEXT_H

#include "host/run/rundir.h"

enum { DG_LOG_LINE = 512 }; /* a line is shorter than this */

extern const char dg_log_header[]; /* first line of log.csv */

/* One line with its newline; returns its length. */
int dg_log_csv(char out[DG_LOG_LINE], const dg_log_row *row);
int dg_log_json(char out[DG_LOG_LINE], const dg_log_row *row, const char *kind);

/* From a line without its newline; false: not a row. What a file does not hold (DG_BAD_*) becomes 0. */
bool dg_log_parse(const char *line, dg_log_row *row);

#endif
