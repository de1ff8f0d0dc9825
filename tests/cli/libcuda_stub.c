/* Simulates a CUDA driver for tests/cli/drivers.sh. The CUDA runtime loads this library as libcuda.so.1. The
 * environment variables STUB_INIT and STUB_VERSION set the results of cuInit and cuDriverGetVersion. */
#include <stdlib.h>
#include <string.h>

static int from_environment(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static int not_supported(void) { return 801; }

int cuInit(unsigned flags)
{
    (void)flags;
    return from_environment("STUB_INIT", 100);
}

int cuDriverGetVersion(int *version)
{
    *version = from_environment("STUB_VERSION", 13000);
    return 0;
}

typedef int (*function)(void);

int cuGetExportTable(const void **out, const void *id)
{
    static struct {
        size_t size;
        function entry[255];
    } table = {sizeof table, {0}};
    (void)id;
    for (int i = 0; i < 255; i++) table.entry[i] = not_supported;
    *out = &table;
    return 0;
}

int cuGetProcAddress_v2(const char *symbol, function *out, int version, unsigned long long flags, int *status)
{
    (void)version;
    (void)flags;
    if (status) *status = 0;
    *out = not_supported;
    if (!strcmp(symbol, "cuInit")) *out = (function)cuInit;
    if (!strcmp(symbol, "cuDriverGetVersion")) *out = (function)cuDriverGetVersion;
    if (!strcmp(symbol, "cuGetExportTable")) *out = (function)cuGetExportTable;
    if (!strncmp(symbol, "cuGetProcAddress", 16)) *out = (function)cuGetProcAddress_v2;
    return 0;
}

int cuGetProcAddress(const char *symbol, function *out, int version, unsigned long long flags)
{
    return cuGetProcAddress_v2(symbol, out, version, flags, NULL);
}
