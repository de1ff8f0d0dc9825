/* cJSON says NULL for a text that is none and for lack of memory alike, and what there was no memory to add is not in
 * the text that it prints. This tells them apart:
 *
 *     const unsigned long before = dg_json_refused();
 *     cJSON *o = cJSON_Parse(text);
 *     if (dg_json_refused() != before) return dg_fail(DG_DEVICE, "out of memory");
 */
#ifndef DG_JSON_H
#define DG_JSON_H

/* How often cJSON has found no memory in this thread. */
unsigned long dg_json_refused(void);

/* Adds item, which may be NULL, to an object and owns it; without memory for the key it is freed. */
struct cJSON;
void dg_json_put(struct cJSON *to, const char *key, struct cJSON *item);

#endif
