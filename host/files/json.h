/* Detects memory errors of cJSON. Without memory, cJSON returns NULL, as for invalid text, or silently leaves out
 * items. Example:
 *
 *     const unsigned long before = dg_json_refused();
 *     cJSON *o = cJSON_Parse(text);
 *     if (dg_json_refused() != before) return dg_fail(DG_DEVICE, "out of memory"); */
#ifndef DG_JSON_H
#define DG_JSON_H

/* Number of failed allocations of cJSON in this thread. */
unsigned long dg_json_refused(void);

/* Add item (may be NULL) to an object, which owns it; without memory for the key, item is freed. */
struct cJSON;
void dg_json_put(struct cJSON *to, const char *key, struct cJSON *item);

#endif
