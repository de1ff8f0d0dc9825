/* libFuzzer: recorded training runs, and the first two steps of their replay. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host/run/replay.h"

enum { STEPS = 2, MOST_VALUES = 1 << 20 };

FUZZ_MUTATOR(fuzz_mutate_safetensors)

static void compared(void *context, const char *name, double difference, const char *where)
{
    FUZZ_HOLDS(*name && strlen(where) < 64 && !(difference < 0));
    ++*(int *)context;
}

/* False for large networks, which would only slow down the test. */
static bool is_small(const dg_oracle *o)
{
    size_t values = 0;
    for (int i = 0; i < o->model.nets; i++)
        for (int k = 0; k < o->model.net[i].layers; k++) {
            const dg_shape s = o->model.net[i].layer[k].out;
            values += (size_t)s.H * (size_t)s.W * (size_t)s.C;
        }
    return values * (size_t)o->batch < MOST_VALUES;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static dg_backend *cpu;
    static dg_oracle o;
    dg_metrics m[STEPS];
    int n = 0;
    if (!cpu && dg_cpu_open(&(dg_cpu_options){.threads = 1, .real = DG_F64}, &cpu)) abort();
    const char *path = fuzz_file(0, data, size);
    if (dg_oracle_open(&o, path)) {
        FUZZ_HOLDS(!strncmp(dg_message(), path, strlen(path)));
    } else if (is_small(&o)) {
        const int steps = o.steps < STEPS ? o.steps : STEPS;
        const dg_replay_report report = {.compared = compared, .context = &n};
        FUZZ_HOLDS(dg_replay(&o, cpu, steps, &report, m) ? *dg_message() != 0 : n > 0);
    }
    dg_oracle_close(&o);
    return 0;
}
