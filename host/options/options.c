/* dg_options: defaults and memory. */
#include "host/options/option_table.h"

#include <stdlib.h>

const char *dg_option_preset(const dg_option *t, dg_command command)
{
    const bool follows = command == DG_CMD_IMPORT || command == DG_CMD_EVAL;
    return follows && t == dg_option_find("model") ? NULL : t->preset;
}

dg_err dg_options_presets(dg_options *o)
{
    for (const dg_option *t = dg_option_table; t->name; t++) {
        const char *preset = dg_option_preset(t, o->command);
        if (!preset) continue;
        dg_err e = dg_option_set(o, t, preset, t->name);
        if (e) return e;
    }
    return DG_OK;
}

void dg_options_free_values(dg_options *o)
{
    for (const dg_option *t = dg_option_table; t->name; t++)
        if (t->kind == DG_OPT_TEXT) {
            char **text = (char **)(void *)((char *)o + t->offset);
            free(*text);
            *text = NULL;
        }
    free(o->resume_from);
    free(o->resolved);
    free(o->changed);
    o->resume_from = o->resolved = o->changed = NULL;
}

void dg_options_free(dg_options *o)
{
    dg_options_free_values(o);
    for (int i = 0; i < o->operands; i++) free(o->operand[i]);
    free(o->operand);
    *o = (dg_options){0};
}
