/* CSV fields (RFC 4180) with names from files. */
#ifndef DG_CSV_H
#define DG_CSV_H

#include <stdio.h>

/* Write one field. Control characters and invalid UTF-8 become \xNN, as in messages. An apostrophe is put before a name
 * that begins with one, or that a spreadsheet would compute as a formula (= + - @ or their wide forms, also after
 * spaces); readers remove one apostrophe. Names with a separator, a quote, or spaces at an end are quoted. */
void dg_csv_field(FILE *f, const char *name);

#endif
