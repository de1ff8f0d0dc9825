/* libFuzzer: model files. A parsed model keeps its text. Planning the model succeeds or gives a message. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host/net/build.h"
#include "host/net/job.h"

static void plan(const dg_model *m)
{
    static dg_backend *cpu;
    if (!cpu && dg_cpu_open(&(dg_cpu_options){.threads = 1}, &cpu)) abort();
    const dg_job_options o = {.batch = 2, .last_batch = 1, .samples = 1, .tested = 1, .rows = 3, .train = true};
    dg_job job;
    dg_arena arena;
    dg_plan forward;
    if (dg_job_build(&job, m, &o, cpu) == DG_OK) dg_job_free(&job);
    else FUZZ_HOLDS(*dg_message());
    for (int net = 0; net < m->nets; net++) {
        if (dg_build_forward(m, net, 2, cpu, &arena, &forward)) continue;
        dg_plan_free(&forward);
        dg_arena_free(&arena, cpu);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static dg_model model, again;
    char *text = fuzz_text(data, size);
    if (dg_model_parse(text, "fuzz", &model)) {
        FUZZ_HOLDS(!strncmp(dg_message(), "fuzz", 4));
    } else {
        FUZZ_HOLDS(model.nets >= 1 && model.nets <= DG_MAX_NETS && !strcmp(model.text, text));
        FUZZ_HOLDS(dg_model_parse(model.text, "fuzz", &again) == DG_OK && again.nets == model.nets);
        plan(&model);
    }
    free(text);
    return 0;
}
