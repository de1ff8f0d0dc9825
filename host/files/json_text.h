/* JSON on stdout, always valid and safe for a terminal: invalid UTF-8 -> U+FFFD, other unprintable text is escaped. */
#ifndef DG_JSON_TEXT_H
#define DG_JSON_TEXT_H

#include <stdio.h>
#include "core/base/err.h"

struct cJSON;

/* Write text as a JSON string with quotes. */
void dg_json_text(FILE *to, const char *text);

/* An empty object for dg_json_print. */
struct cJSON *dg_json_begin(void);
/* Print on stdout and free json. DG_DEVICE: an allocation has failed since this thread's last dg_json_begin. */
dg_err dg_json_print(struct cJSON *json);

#endif
