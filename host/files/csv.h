/* CSV fields (RFC 4180) with names from files. */
#ifndef DG_CSV_H
#define DG_CSV_H

#include <stdio.h>

/* Write one field. Control characters and invalid UTF-8 become \xNN, as in messages. A name gets a leading apostrophe
 * if it begins with an apostrophe, or if a spreadsheet would compute it as a formula (= + - @ or their wide forms, also
 * after spaces). Readers remove one apostrophe. Names with a separator, a quote, or spaces at an end are quoted. */
void dg_csv_field(FILE *f, const char *name);

#endif
