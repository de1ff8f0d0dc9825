#include "host/export/export.h"

#include <stdlib.h>

dg_err dg_exported_open(const char *checkpoint, int threads, dg_weight_type type, dg_exported *out)
{
    *out = (dg_exported){.checkpoint = checkpoint, .type = type};
    const dg_device cpu = {.device = "cpu", .threads = threads};
    dg_err e = dg_generator_open(&cpu, checkpoint, &out->g);
    if (!e) e = dg_steps_read(out->g, &out->steps);
    if (!e) e = dg_context(dg_steps_encode(out->steps, type, &out->weights, &out->bytes), "%s", checkpoint);
    return !e && type != DG_WEIGHTS_FP32 ? dg_steps_compare(out->g, out->steps, &out->error) : e;
}

void dg_exported_close(dg_exported *x)
{
    free(x->weights);
    dg_steps_free(x->steps);
    dg_generator_close(x->g);
}
