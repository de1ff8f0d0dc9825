#include "host/cli/info/info_internal.h"

#include <stdarg.h>
#include <stdio.h>

void dg_info_text(cJSON *to, const char *key, const char *format, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    cJSON_AddStringToObject(to, key, text);
}

void dg_info_whole(cJSON *to, const char *key, unsigned long long n)
{
    if (n < 1ull << 53) cJSON_AddNumberToObject(to, key, (double)n);
    else dg_info_text(to, key, "%llu", n);
}
