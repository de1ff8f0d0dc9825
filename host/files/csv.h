/* Writes names as CSV fields (RFC 4180). */
#ifndef DG_CSV_H
#define DG_CSV_H

#include <stdio.h>

/* Write one field. Control characters and invalid UTF-8 become \xNN. A leading apostrophe is added to names that begin
 * with an apostrophe, or that a spreadsheet would evaluate as a formula (= + - @ or full-width forms, also after
 * spaces). CSV readers remove one apostrophe. Names with a separator, a quote, or outer spaces are quoted. */
void dg_csv_field(FILE *f, const char *name);

#endif
