/* Sets the model from other options: --init (the model stored with the weights), --size and --channels, --norm-d. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/checkpoint/checkpoint.h"
#include "host/options/option_table.h"

enum { PATH_SIZE = 4096 };

static size_t next_line(const char **text)
{
    for (;;) {
        const size_t n = strcspn(*text, "\n");
        if (!**text || !strchr(";#", **text)) return n + ((*text)[n] != 0);
        *text += n + ((*text)[n] != 0);
    }
}

/* True if the model file of `name` has this text, except for comment lines. */
static bool names(const char *name, const char *text, dg_model *scratch)
{
    if (!name || dg_model_read(name, scratch) != DG_OK) return false;
    for (const char *other = scratch->text;;) {
        const size_t n = next_line(&text);
        if (n != next_line(&other) || strncmp(text, other, n) != 0) return false;
        if (!n) return true;
        text += n, other += n;
    }
}

/* Returns the --model (malloc'd) of a checkpoint's run, or NULL if the checkpoint is not in a run directory. */
static char *model_of_run(const char *checkpoint)
{
    char path[PATH_SIZE + 16];
    const char *slash = strrchr(checkpoint, '/');
    const int length = slash ? (int)(slash + 1 - checkpoint) : 0;
    dg_options run = {.command = DG_CMD_TRAIN};
    snprintf(path, sizeof path, "%.*sconfig.ini", length < PATH_SIZE ? length : 0, checkpoint);
    char *model = NULL;
    if (!access(path, R_OK) && !dg_config_read(path, &run)) {
        model = run.model;
        run.model = NULL;
    }
    dg_options_free(&run);
    return model;
}

/* Set o->model to the name of the model stored in file `path`. `text` is the stored model text. */
static dg_err find_name(dg_options *o, const char *path, const char *text)
{
    char name[sizeof((dg_model *)0)->name] = "";
    dg_model *m = malloc(sizeof *m);
    if (!m) return dg_fail(DG_DEVICE, "out of memory");
    dg_err e = dg_model_parse(text, path, m);
    if (!e) snprintf(name, sizeof name, "%s", m->name);
    char *in_run = e ? NULL : model_of_run(path);
    if (!e && names(name, text, m)) e = dg_path_set(&o->model, name);
    else if (!e && names(in_run, text, m)) e = dg_path_set(&o->model, in_run);
    else if (!e)
        e = dg_fail(
            DG_USAGE,
            DG_MSG("init-model-unknown",
                   "--init %s: the model %s of these weights is not built in; give the model file with --model FILE"),
            o->init, name);
    free(in_run);
    free(m);
    return e;
}

static dg_err init_model(dg_options *o)
{
    char *path = strdup(o->init), *text = NULL;
    dg_err e = path ? dg_options_settle_run(&path, false) : dg_fail(DG_DEVICE, "out of memory");
    if (!e) e = dg_context(dg_weights_model(path, &text), "--init");
    if (!e && !text)
        e = dg_fail(DG_USAGE, "--init %s: the file does not name a model; give the model with --model", o->init);
    if (!e) e = find_name(o, path, text);
    free(text);
    free(path);
    return e;
}

bool dg_options_model_is_file(const char *name) { return strchr(name, '/') || access(name, F_OK) == 0; }

static dg_err name_norm(dg_options *o)
{
    static const dg_norm norms[] = {[DG_NORM_D_MODEL] = DG_NORM_BATCH, /* no suffix */
                                    [DG_NORM_D_SPECTRAL] = DG_NORM_SPECTRAL,
                                    [DG_NORM_D_NONE] = DG_NORM_NONE};
    char name[80];
    const bool spectral = o->norm_d == DG_NORM_D_SPECTRAL;
    const char *suffix = dg_model_norm_suffix(norms[o->norm_d]), *word = spectral ? "spectral" : "none";
    if (!suffix) return DG_OK;
    const size_t n = strlen(o->model);
    size_t plain = n;
    for (int i = DG_NORM_D_SPECTRAL; i <= DG_NORM_D_NONE; i++) {
        const size_t length = dg_model_plain_length(o->model, norms[i]);
        if (length < n && i == o->norm_d) return DG_OK;
        if (length < n) plain = length;
    }
    if (o->operands)
        return dg_fail(DG_USAGE,
                       DG_MSG("spectral-by-name",
                              "--norm-d %s: cannot be combined with an operand MODEL; give the model MODEL%s instead"),
                       word, suffix);
    if (dg_options_model_is_file(o->model))
        return dg_fail(DG_USAGE,
                       DG_MSG("spectral-in-file",
                              "--norm-d %s: only for built-in models; write norm = %s into the sections of D in %s"),
                       word, spectral ? word : "none, bias = yes and start = gain", o->model);
    snprintf(name, sizeof name, "%.*s%s", plain < 60 ? (int)plain : 60, o->model, suffix);
    return dg_option_set(o, dg_option_find("model"), name, "--norm-d");
}

dg_err dg_options_name_model(dg_options *o)
{
    char name[48], size[DG_SIZE_TEXT];
    if (dg_option_given(o, "init") && !o->config && !o->size.W && !o->channels && !dg_option_given(o, "model")) {
        const dg_err e = init_model(o);
        return e ? e : name_norm(o);
    }
    if (o->command == DG_CMD_DATA || (!o->size.W && !o->channels)) return name_norm(o);
    if (o->operands || dg_option_given(o, "model"))
        return dg_fail(DG_USAGE, "--size and --channels: cannot be combined with a model, because a model sets its own "
                                 "size and channels; give one or the other");
    snprintf(name, sizeof name, "dcgan-%sx%d", dg_size_text(o->size.W ? o->size : dg_square(64), size),
             o->channels ? o->channels : 3);
    const dg_err e = dg_option_set(o, dg_option_find("model"), name, "--size");
    return e ? e : name_norm(o);
}
