/* Writes names as CSV fields (RFC 4180). */
#pragma once

#include <stdio.h>

/* Write one field. Control characters and invalid UTF-8 become \xNN. A name gets a leading apostrophe if it begins
 * with an apostrophe, or if a spreadsheet would evaluate it as a formula. Readers of the file must remove one
 * leading apostrophe. Names with a separator, a quote, or outer spaces are quoted. */
void dg_csv_field(FILE *f, const char *name);
