/* Each function adds properties of one kind of file to a JSON object, which `dcgan info` prints as JSON or text. */
#pragma once

#include <cjson/cJSON.h>
#include "core/base/err.h"

/* Integers that a double cannot represent are stored as text. */
void dg_info_text(cJSON *to, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
void dg_info_whole(cJSON *to, const char *key, unsigned long long n);

dg_err dg_info_safetensors(const char *path, cJSON *to);
/* Add the properties of a run directory. If the run is damaged, the error is also stored in the object. */
#define DG_INFO_RUN "run"
dg_err dg_info_directory(const char *path, cJSON *to);
dg_err dg_info_log(const char *path, cJSON *to);
