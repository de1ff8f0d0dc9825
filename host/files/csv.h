/* Writes names as CSV fields (RFC 4180). */
#ifndef DG_CSV_H
#define DG_CSV_H

#include <stdio.h>

/* Write one field. Control characters and invalid UTF-8 become \xNN. A name that a spreadsheet would evaluate as a
 * formula gets a leading apostrophe. So does a name that begins with an apostrophe. Readers of the file must remove
 * one leading apostrophe. Names with a separator, a quote, or outer spaces are quoted. */
void dg_csv_field(FILE *f, const char *name);

#endif
