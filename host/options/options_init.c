/* --init: the name of the model that weights were trained as, so that it need not be given again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/files/checkpoint.h"
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
        e = dg_fail(DG_USAGE,
                    "--init %s: its model %s is none of the built-in ones, and the file that it is from is not known: "
                    "give that with --model FILE",
                    o->init, name);
    free(beside);
    free(m);
    return e;
}

dg_err dg_options_init_model(dg_options *o)
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
