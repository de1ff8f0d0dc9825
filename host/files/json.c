#include "host/files/json.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdlib.h>

static _Thread_local unsigned long refused;

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes);
    refused += !p;
    return p;
}

static void watch(void) { cJSON_InitHooks(&(cJSON_Hooks){allocate, free}); }

unsigned long dg_json_refused(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch);
    return refused;
}

void dg_json_put(cJSON *to, const char *key, cJSON *item)
{
    if (!cJSON_AddItemToObject(to, key, item)) cJSON_Delete(item);
}

static int put_character(FILE *to, const char *s)
{
    unsigned code;
    int n = dg_printable_bytes(s);
    if (n) {
        (void)fwrite(s, 1, (size_t)n, to);
        return n;
    }
    n = dg_utf8(s, &code);
    char escape[12];
    snprintf(escape, sizeof escape, "\\u%04x", n ? code : 0xfffdu);
    fputs(escape, to);
    return n ? n : 1;
}

void dg_json_text(FILE *to, const char *text)
{
    fputc('"', to);
    while (*text) {
        if (*text == '"' || *text == '\\') fputc('\\', to);
        text += put_character(to, text);
    }
    fputc('"', to);
}

static _Thread_local unsigned long at_begin;

cJSON *dg_json_begin(void)
{
    at_begin = dg_json_refused();
    return cJSON_CreateObject();
}

dg_err dg_json_print(FILE *to, cJSON *json)
{
    char *text = dg_json_refused() == at_begin ? cJSON_Print(json) : NULL;
    cJSON_Delete(json);
    if (!text) return dg_fail(DG_DEVICE, "out of memory for the JSON text");
    /* escapes are valid here, because cJSON writes unprintable characters only inside strings */
    for (const char *s = text; *s;) {
        if (*s == '\n' || *s == '\t') fputc(*s++, to);
        else s += put_character(to, s);
    }
    fputc('\n', to);
    cJSON_free(text);
    return DG_OK;
}
