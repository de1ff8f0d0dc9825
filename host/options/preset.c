/* The values that --preset sets. */
#include <string.h>

#include "host/net/recipe.h"
#include "host/options/option_table.h"

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

/* Preset steady has the loss, penalties and schedules of R3GAN (Huang et al. 2024), with the values and the norm of D
 * that were best for small networks (docs/results). */
static pair steady[] = {{"loss", "rpgan"},
                        {"r1", "0.01"},
                        {"r2", "0.01"},
                        {"r1-end", "0.001"},
                        {"r2-end", "0.001"},
                        {"optimizer", "adam"},
                        {"lr", "0.001"},
                        {"lr-d", "0"},
                        {"lr-g", "0"},
                        {"lr-end", "2.5e-4"},
                        {"beta1", "0"},
                        {"beta2", "0.9"},
                        {"beta2-end", "0.99"},
                        {"schedule", "cosine"},
                        {"schedule-length", "auto"},
                        {"ema", "0"},
                        {"ema-half-life", "auto"},
                        {NULL, NULL}};

static pair *const values[DG_PRESETS] = {
    [DG_PRESET_SMALL] = small, [DG_PRESET_PAPER] = paper, [DG_PRESET_STEADY] = steady};

static bool has_batch_norm(const dg_model *m)
{
    bool found = false;
    for (int n = 0; n < m->nets; n++)
        for (int i = 0; i < m->net[n].layers && !strcmp(m->net[n].name, "D"); i++)
            found |= m->net[n].layer[i].norm == DG_NORM_BATCH;
    return found;
}

bool dg_options_replaces_norm(int preset, const char *name, const dg_model *m)
{
    return preset == DG_PRESET_STEADY && has_batch_norm(m) && !dg_options_model_is_file(name);
}

dg_err dg_options_take_preset(dg_options *o, int preset)
{
    dg_err e = DG_OK;
    for (pair *p = values[preset]; p && (*p)[0] && !e; p++)
        e = dg_option_set(o, dg_option_find((*p)[0]), (*p)[1], "--preset");
    if (o->replace_norm) o->norm_d = DG_NORM_D_SPECTRAL;
    return e;
}

int dg_options_choose_preset(const dg_options *user, const dg_model *m)
{
    const bool offered = dg_option_find("preset")->commands & 1u << user->command;
    const bool averaged = dg_option_given(user, "ema") || dg_option_given(user, "ema-half-life");
    const dg_recipe *r = dg_recipe_find(m);
    if (user->preset != DG_PRESET_AUTO || !offered || !r || r->preset) return user->preset;
    return m->trains || user->config || averaged ? DG_PRESET_NONE : DG_PRESET_SMALL;
}

void dg_options_resume_preset(dg_options *o, const dg_options *run)
{
    const bool spectral = run->model && run->model[dg_model_plain_length(run->model, DG_NORM_SPECTRAL)];
    if (run->preset == DG_PRESET_STEADY && spectral) o->norm_d = DG_NORM_D_SPECTRAL;
}
