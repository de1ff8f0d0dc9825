/* Other ways to name a model than --model: --init, by what its weights were trained as, --size and --channels,
 * --norm-d. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/checkpoint/checkpoint.h"
#include "host/options/option_table.h"

enum { PATH_SIZE = 4096 };

/* Does this name mean the model with this text? */
static bool names(const char *name, const char *text, dg_model *scratch)
{
    return name && dg_model_read(name, scratch) == DG_OK && !strcmp(scratch->text, text);
}

/* The model of the run in whose directory the checkpoint lies, malloc'd; NULL: it lies in none. */
static char *model_beside(const char *checkpoint)
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

/* text: of the model, as the file has it. */
static dg_err find_name(dg_options *o, const char *path, const char *text)
{
    char name[sizeof((dg_model *)0)->name] = "";
    dg_model *m = malloc(sizeof *m);
    if (!m) return dg_fail(DG_DEVICE, "out of memory");
    dg_err e = dg_model_parse(text, path, m);
    if (!e) snprintf(name, sizeof name, "%s", m->name);
    char *beside = e ? NULL : model_beside(path);
    if (!e && names(name, text, m)) e = dg_path_set(&o->model, name);
    else if (!e && names(beside, text, m)) e = dg_path_set(&o->model, beside);
    else if (!e)
        e = dg_fail(
            DG_USAGE,
            DG_MSG("init-model-unknown",
                   "--init %s: its model %s is none of the built-in ones, and the file that it is from is not known: "
                   "give that with --model FILE"),
            o->init, name);
    free(beside);
    free(m);
    return e;
}

/* That of --init. */
static dg_err init_model(dg_options *o)
{
    char *path = strdup(o->init), *text = NULL;
    dg_err e = path ? dg_options_settle_run(&path, false) : dg_fail(DG_DEVICE, "out of memory");
    if (!e) e = dg_context(dg_weights_model(path, &text), "--init");
    if (!e && !text)
        e = dg_fail(DG_USAGE, "--init %s: does not say which model it is of: give that with --model", o->init);
    if (!e) e = find_name(o, path, text);
    free(text);
    free(path);
    return e;
}

/* --norm-d spectral: the model of that name behind which stands how its D is. */
static dg_err name_spectral(dg_options *o)
{
    static const char behind[] = "-spectral";
    char name[80];
    if (!o->norm_d) return DG_OK; /* commands without the option may have no model */
    const size_t n = strlen(o->model), last = sizeof behind - 1;
    if (n > last && !strcmp(o->model + n - last, behind)) return DG_OK;
    if (o->operands)
        return dg_fail(DG_USAGE,
                       DG_MSG("spectral-by-name", "--norm-d spectral: here the model's own name says so: give MODEL%s"),
                       behind);
    if (strchr(o->model, '/') || access(o->model, F_OK) == 0)
        return dg_fail(
            DG_USAGE,
            DG_MSG("spectral-in-file",
                   "--norm-d spectral: is for built-in models; in %s write norm = spectral into the sections of D"),
            o->model);
    snprintf(name, sizeof name, "%.60s%s", o->model, behind);
    return dg_option_set(o, dg_option_find("model"), name, "--norm-d");
}

dg_err dg_options_name_model(dg_options *o)
{
    char name[32];
    if (dg_option_given(o, "init") && !o->config && !o->size && !o->channels && !dg_option_given(o, "model")) {
        const dg_err e = init_model(o);
        return e ? e : name_spectral(o);
    }
    if (o->command == DG_CMD_DATA || (!o->size && !o->channels)) return name_spectral(o);
    if (o->operands || dg_option_given(o, "model"))
        return dg_fail(DG_USAGE,
                       "--size and --channels build a network, and a model has its own: give one or the other");
    snprintf(name, sizeof name, "dcgan-%dx%d", o->size ? o->size : 64, o->channels ? o->channels : 3);
    const dg_err e = dg_option_set(o, dg_option_find("model"), name, "--size");
    return e ? e : name_spectral(o);
}
