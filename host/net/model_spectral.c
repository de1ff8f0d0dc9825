/* Variants of model texts: with another norm in D, or with another number of classes. */
#include <stdio.h>
#include <string.h>

#include "host/net/model.h"

typedef struct {
    char *out;
    size_t n;
    bool full;
} text;

static void put(text *t, const char *words, size_t n)
{
    t->full |= t->n + n >= DG_MODEL_TEXT_MAX;
    if (t->full) return;
    memcpy(t->out + t->n, words, n);
    t->n += n;
    t->out[t->n] = 0;
}

static bool says(const char *line, const char *key)
{
    const size_t n = strlen(key);
    line += strspn(line, " \t");
    return !strncmp(line, key, n) && (line[n] == '=' || line[n] == ' ' || line[n] == '\t');
}

static const char *const suffixes[] = {
    [DG_NORM_SPECTRAL] = "-spectral", [DG_NORM_NONE] = "-nonorm", [DG_NORM_BATCH] = NULL};

const char *dg_model_norm_suffix(dg_norm norm) { return suffixes[norm]; }

size_t dg_model_plain_length(const char *name, dg_norm norm)
{
    const size_t n = strlen(name), last = strlen(suffixes[norm]);
    return n > last && !strcmp(name + n - last, suffixes[norm]) ? n - last : n;
}

static const char *after(const char *line)
{
    line += strcspn(line, "\n");
    return line + (*line != 0);
}

static const char *last_layer(const char *model)
{
    const char *last = NULL;
    for (const char *line = model; *line; line = after(line))
        if (!strncmp(line, "[D.", 3)) last = line;
    return last;
}

/* True if the section's layer has weights: a dense layer, or a convolution, which is the default without key op. */
static bool has_weights(const char *heading)
{
    for (const char *line = after(heading); *line && *line != '['; line = after(line)) {
        if (!says(line, "op")) continue;
        line += strcspn(line, "=\n");
        line += strspn(line, "= \t");
        return !strncmp(line, "conv", 4) || !strncmp(line, "dense", 5);
    }
    return true;
}

dg_err dg_model_norm_d(const char *model, const char *name, dg_norm norm, char out[DG_MODEL_TEXT_MAX])
{
    const bool none = norm == DG_NORM_NONE;
    const char *const keys = none ? "norm = none\nstart = gain\n" : "norm = spectral\n", bias[] = "bias = yes\n";
    const char *const last = last_layer(model);
    char called[80];
    text t = {.out = out};
    bool in_model = false, in_d = false, had_norm = false;
    snprintf(called, sizeof called, "name = %.63s\n", name);
    for (const char *line = model, *next; *line; line = next) {
        next = after(line);
        const bool is_heading = *line == '[', is_layer = !strncmp(line, "[D.", 3) && has_weights(line);
        if (is_heading)
            in_model = !strncmp(line, "[model]", 7), in_d = !strncmp(line, "[D.", 3) || !strncmp(line, "[D]", 3);
        const bool of_norm = in_d && says(line, "norm");
        const bool replaced = of_norm ||
                              (in_d && (says(line, "start") || says(line, "gain") || (none && says(line, "bias"))));
        had_norm |= of_norm;
        if (in_model && says(line, "name")) put(&t, called, strlen(called));
        else if (!replaced) put(&t, line, (size_t)(next - line));
        if (is_layer) put(&t, keys, strlen(keys));
        if (is_layer && none && line != last) put(&t, bias, strlen(bias));
    }
    if (!last)
        return dg_fail(DG_USAGE, DG_MSG("spectral-classifier", "model %s: %s needs a discriminator"), name,
                       suffixes[norm]);
    if (none && !had_norm)
        return dg_fail(DG_USAGE,
                       DG_MSG("no-norm-in-d", "D of this model already has no norm; leave out %s, or {norm-d} none"),
                       suffixes[norm]);
    return t.full ? dg_fail(DG_USAGE, "model %s: the text of the model file is too long", name) : DG_OK;
}

/* In a classifier, also replace the last line `filters = N`, which belongs to the last layer. */
dg_err dg_model_reclassed(const char *model, const char *name, int classes, char out[DG_MODEL_TEXT_MAX])
{
    char called[80], number[32], filters[32];
    text t = {.out = out};
    const char *last = NULL;
    bool in_model = false, classifies = false, is_gan = last_layer(model) != NULL;
    snprintf(called, sizeof called, "name = %.63s\n", name);
    snprintf(number, sizeof number, "classes = %d\n", classes);
    snprintf(filters, sizeof filters, "filters = %d\n", classes);
    for (const char *line = model; *line; line = after(line)) {
        classifies |= !strncmp(line, "[C.", 3);
        if (says(line, "filters") && !is_gan) last = line;
    }
    for (const char *line = model, *next; *line; line = next) {
        next = after(line);
        if (*line == '[') in_model = !strncmp(line, "[model]", 7);
        const char *mine = line == last                        ? filters
                           : in_model && says(line, "name")    ? called
                           : in_model && says(line, "classes") ? is_gan ? "" : number
                                                               : NULL;
        if (mine) put(&t, mine, strlen(mine));
        else put(&t, line, (size_t)(next - line));
        if (is_gan && in_model && *line == '[') put(&t, number, strlen(number));
    }
    if (!classifies && !is_gan) return dg_fail(DG_USAGE, "model %s: -Nclasses needs a classifier or a GAN", name);
    return t.full ? dg_fail(DG_USAGE, "model %s: the text of the model file is too long", name) : DG_OK;
}
