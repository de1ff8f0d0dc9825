/* Any text as a model file and as a config.ini. What a model reader accepts can be planned. */
#include <stdlib.h>
#include <string.h>

#include "host/net/build.h"
#include "host/net/job.h"
#include "host/options/option_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);
    if (!text) return 0;
    memcpy(text, data, bytes);
    text[bytes] = 0;

    static dg_model model;
    static dg_backend *cpu;
    if (!cpu && dg_cpu_open(&(dg_cpu_options){.threads = 1}, &cpu)) abort();
    const dg_job_options gan_options = {.batch = 2, .last_batch = 1, .samples = 1, .rows = 3, .train = true};
    dg_job job;
    dg_arena arena;
    dg_plan plan;
    if (dg_model_parse(text, "fuzz", &model)) model.nets = 0;
    else if (!dg_job_build(&job, &model, &gan_options, cpu)) dg_job_free(&job);
    for (int net = 0; net < model.nets; net++) {
        if (dg_build_forward(&model, net, 2, cpu, &arena, &plan)) continue;
        dg_plan_free(&plan);
        dg_arena_free(&arena, cpu);
    }

    dg_options o = {0};
    (void)dg_config_parse(text, "fuzz", &o);
    dg_options_free(&o);
    free(text);
    return 0;
}
