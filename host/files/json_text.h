/* JSON on its way to stdout. Whatever the texts in it hold, what is printed is valid JSON and can be shown on a
 * terminal: bytes that are no UTF-8 become U+FFFD, and what dg_printable (err.h) would not let through is escaped. */
#ifndef DG_JSON_TEXT_H
#define DG_JSON_TEXT_H

#include <stdio.h>
#include "core/base/err.h"

struct cJSON;

/* text as a JSON string, quotes included. */
void dg_json_text(FILE *to, const char *text);

/* Print on stdout, and free. DG_DEVICE: no memory. */
dg_err dg_json_print(struct cJSON *json);

#endif
