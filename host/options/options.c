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

enum { NONE, SMALL, PAPER };
typedef const char *const pair[2];

/* Preset small improves images of small datasets (docs/results). EMA decay 0.995 has a half-life of 138 steps. */
static pair small[] = {{"ema", "0.995"}, {"ema-half-life", "0"}, {NULL, NULL}};

/* Preset paper has the values of Radford, Metz and Chintala 2016, section 4, without the batch size. */
static pair paper[] = {
    {"loss", "bce"},    {"augment", "none"},   {"r1", "0"},      {"r2", "0"},          {"ema", "0"},
    {"flip", "no"},     {"optimizer", "adam"}, {"lr", "0.0002"}, {"lr-d", "0"},        {"lr-g", "0"},
    {"beta1", "0.5"},   {"beta2", "0.999"},    {"eps", "1e-8"},  {"schedule", "none"}, {"schedule-length", "auto"},
    {"lr-end", "0"},    {"beta2-end", "0"},    {"r1-end", "0"},  {"r2-end", "0"},      {"ema-half-life", "0"},
    {"augment-p", "1"}, {"start", "dcgan"},    {NULL, NULL}};

dg_err dg_options_take_preset(dg_options *o)
{
    dg_err e = DG_OK;
    if (o->preset == NONE) return DG_OK;
    for (pair *p = o->preset == SMALL ? small : paper; (*p)[0] && !e; p++)
        e = dg_option_set(o, dg_option_find((*p)[0]), (*p)[1], "--preset");
    return e;
}
