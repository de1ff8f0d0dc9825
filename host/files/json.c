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
