#include "host/cli/sample_png.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/build_info.h"
#include "host/files/made.h"

dg_err dg_sample_write(const dg_options *o, const dg_generator *g, const char *path, const dg_image *im,
                       const char *key, const char *value)
{
    char checkpoint[4096], run_seed[24], step[24];
    dg_printable(checkpoint, sizeof checkpoint, o->operand[0]);
    snprintf(run_seed, sizeof run_seed, "%" PRIu64, g->info.seed);
    snprintf(step, sizeof step, "%" PRIu64, g->info.step);
    const dg_text text[] = {{"Software", dg_version},  {DG_ORIGIN, g->origin}, {key, value},
                            {"Model", g->model.name},  {"Step", step},         {"Seed", run_seed},
                            {"Checkpoint", checkpoint}};
    return dg_png_write(path, im, text, (int)(sizeof text / sizeof text[0]));
}
