/* Detects memory errors of cJSON. If an allocation fails, cJSON returns NULL, as for invalid text, or silently omits
 * items. Example:
 * const unsigned long before = dg_json_refused(); cJSON *o = cJSON_Parse(text);
 * if (dg_json_refused() != before) return dg_fail(DG_DEVICE, "out of memory"); */
#pragma once

#include <stdio.h>
#include "core/base/err.h"

/* Returns the number of failed allocations of cJSON in the calling thread so far. */
unsigned long dg_json_refused(void);

/* Add item (may be NULL) to the object `to`, which owns item. Item is freed if an allocation fails. */
struct cJSON;
void dg_json_put(struct cJSON *to, const char *key, struct cJSON *item);

/* Printed JSON is valid and safe for a terminal. Invalid UTF-8 becomes U+FFFD, and unprintable characters are
 * escaped. */

void dg_json_text(FILE *to, const char *text);

/* Make an empty object for dg_json_print. */
struct cJSON *dg_json_begin(void);
/* Print and free json. Returns DG_DEVICE if an allocation of cJSON has failed since dg_json_begin. */
dg_err dg_json_print(FILE *to, struct cJSON *json);
