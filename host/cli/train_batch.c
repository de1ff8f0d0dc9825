#include "host/cli/train_batch.h"

#include <stdlib.h>

#include "host/measure/batch_time.h"
#include "host/run/stop.h"

static void show_size(void *context, int batch)
{
    dg_progress_note(((dg_training *)context)->progress, "timing batch %d", batch);
}

static dg_err search(dg_training *r, const dg_model *model, int *batch)
{
    char why[400];
    dg_search s;
    dg_search_limits limits = dg_batch_limits(r->o);
    dg_batch_bench b = {.o = r->o,
                        .model = model,
                        .backend = r->backend,
                        .data = &r->data,
                        .stop = &dg_stop_signal,
                        .progress = show_size,
                        .context = r};
    limits.pictures = r->data.train;
    dg_err e = dg_batch_bench_open(&b);
    if (e) return e;
    e = dg_batch_find(&b, &limits, &s);
    dg_batch_bench_close(&b);
    if (!e) {
        *batch = s.row[dg_search_choice(&s)].batch;
        dg_search_sentence(&s, why, sizeof why);
        dg_progress_note(r->progress, "batch %s", why);
    }
    dg_search_free(&s);
    return e;
}

dg_err dg_train_batch(dg_training *r, const dg_model *model)
{
    if (r->o->batch) return DG_OK;
    char number[16], *config;
    r->found = *r->o;
    const dg_err e = search(r, model, &r->found.batch);
    if (e) return e;
    snprintf(number, sizeof number, "%d", r->found.batch);
    config = dg_config_settled(r->config, "batch", number);
    if (!config) return dg_fail(DG_DEVICE, "out of memory");
    free(r->config);
    r->config = config;
    r->o = &r->found;
    return DG_OK;
}
