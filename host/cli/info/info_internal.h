/* `dcgan info`: each kind of file adds what it says of itself to one JSON object, which is printed as it is or as
 * lines of text. */
#ifndef DG_INFO_INTERNAL_H
#define DG_INFO_INTERNAL_H

#include <cjson/cJSON.h>
#include "core/base/err.h"

/* Add a value under key; numbers of 64 bits as text when a double would not hold them. */
void dg_info_text(cJSON *to, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
void dg_info_whole(cJSON *to, const char *key, unsigned long long n);

dg_err dg_info_safetensors(const char *path, cJSON *to);
/* A run: an error is in the object, too, beside all else that can be told. */
#define DG_INFO_RUN "run"
dg_err dg_info_directory(const char *path, cJSON *to);
dg_err dg_info_log(const char *path, cJSON *to); /* log.csv and log.jsonl */

#endif
