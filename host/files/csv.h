/* Fields of CSV (RFC 4180) that hold names from files. */
#ifndef DG_CSV_H
#define DG_CSV_H

#include <stdio.h>

/* One field. Control characters and invalid UTF-8 become \xNN, as in messages. A name that a spreadsheet would compute
 * as a formula, because it begins with = + - @ or their wide forms after spaces, and one that begins with an
 * apostrophe, gets an apostrophe before it: a reader takes one apostrophe away. Names with a separator, a quote or
 * spaces at an end are quoted. */
void dg_csv_field(FILE *f, const char *name);

#endif
