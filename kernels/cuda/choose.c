/* Chooses the kernel variant of an op from a tuning file, a built-in tuning table or the op's rule. */
#include <stdbool.h>
#include <stdio.h>

#include "kernels/cuda/choose.h"

dg_err dg_chooser_open(dg_chooser *c, const char *path, dg_type real, const dg_gpu *gpu)
{
    const char *name, *text;
    *c = (dg_chooser){.real = real, .gpu = *gpu};
    const char *why = dg_variant_refuses_math(gpu);
    if (why) return dg_fail(DG_USAGE, "%s", why);
    for (int i = 0; (text = dg_tune_shipped(i, &name)) != NULL; i++) {
        char where[80];
        snprintf(where, sizeof where, "shipped %.60s", name);
        const dg_err e = dg_tune_parse(&c->shipped, text, where, DG_F32, gpu);
        if (e == DG_DEVICE) return e;
        if (e) dg_warn("%s; left out", dg_message());
    }
    if (!path) return DG_OK;
    if (real != DG_F32) dg_warn("{tuning} %s: not used in fp64, because its rows are for fp32", path);
    const dg_err e = dg_tune_read(&c->file, path, DG_F32, gpu);
    if (e == DG_USAGE) dg_warn("%s; rows with errors are left out", dg_message());
    return e == DG_USAGE ? DG_OK : e;
}

void dg_chooser_close(dg_chooser *c)
{
    dg_tune_free(&c->file);
    dg_tune_free(&c->shipped);
}

static bool from_table(const dg_chooser *c, const dg_tune_table *table, dg_op *op, dg_tune_also *also)
{
    const dg_tune_row *row = dg_tune_find(table, op, c->gpu.arch);
    if (!row) return false;
    dg_tune tune = row->tune;
    tune.why = row->why;
    const char *why = dg_variant_check(op, &tune, c->real, &c->gpu);
    if (!why && also) why = also(&tune);
    if (why) {
        dg_warn("%s: %s: %s; dcgan ignores this tuning row", row->why, op->name, why);
        return false;
    }
    op->tune = tune;
    return true;
}

const char *dg_chooser_pick(const dg_chooser *c, dg_op *op, dg_tune_also *also)
{
    if (c->real == DG_F32 && (from_table(c, &c->file, op, also) || from_table(c, &c->shipped, op, also))) return NULL;
    return dg_variant_choose(op, &op->tune, c->real, &c->gpu);
}
