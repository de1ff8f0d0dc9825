/* Detects options that are given twice, and unknown environment variables DCGAN_... */
#include "host/options/option_table.h"

#include "host/data/dirs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

dg_err dg_options_twice(const dg_option *t, const char *value, const char *before)
{
    if (!value || !before || dg_same_place(value, before)) return DG_OK;
    return dg_fail(DG_USAGE, DG_MSG("given-twice", "--%s %s: given twice, first as --%s %s; leave one of them out"),
                   t->name, value, t->name, before);
}

dg_err dg_option_add_dir(dg_options *o, const dg_option *t, const char *dir, const char *where)
{
    dg_err e;
    char *all = dg_dirs_add(o->data, dir, &e);
    if (!e) e = dg_option_give(o, t, all, where);
    free(all);
    return e ? dg_context(e, "--%s", t->name) : DG_OK;
}

char *dg_option_variable(const char *name, char out[64])
{
    size_t at = (size_t)snprintf(out, 64, "DCGAN_");
    for (const char *c = name; *c && at + 1 < 64; c++) out[at++] = (char)(*c == '-' ? '_' : toupper((unsigned char)*c));
    out[at] = 0;
    return out;
}

/* Environment variables that CPU kernels, host/group and tests read. */
static const char *const elsewhere[] = {"DCGAN_ISA",  "DCGAN_MESSAGE_KEYS", "DCGAN_MPI",
                                        "DCGAN_NCCL", "DCGAN_SHARED",       NULL};

/* Returns the option that is most similar to a misspelt name such as EPOHCS. Options of train are searched first. */
static const dg_option *meant(const char *name)
{
    char plain[64];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof plain; n++)
        plain[n] = (char)(name[n] == '_' ? '-' : tolower((unsigned char)name[n]));
    plain[n] = 0;
    for (int c = 0; c < DG_CMDS; c++) {
        const char *near = dg_option_nearest(plain, (dg_command)c);
        const dg_option *t = near ? dg_option_find(near) : NULL;
        if (t && !(t->flags & DG_OPT_ARGV_ONLY)) return t;
    }
    return NULL;
}

static void warn_unknown(const char *name)
{
    char known[64], printable[256];
    for (const char *const *e = elsewhere; *e; e++)
        if (!strcmp(name, *e)) return;
    dg_printable(printable, sizeof printable, name);
    for (const dg_option *t = dg_option_table; t->name; t++) {
        const char *alias = dg_option_alias(t);
        if (strcmp(dg_option_variable(t->name, known), name) != 0 &&
            (!alias || strcmp(dg_option_variable(alias, known), name) != 0))
            continue;
        if (t->flags & DG_OPT_ARGV_ONLY)
            dg_warn(DG_MSG("variable-not-read", "%s is ignored: --%s is read from the command line only"), printable,
                    t->name);
        return;
    }
    const dg_option *t = meant(name + sizeof "DCGAN_" - 1);
    if (t)
        dg_warn(DG_MSG("unknown-variable", "%s is ignored: no option has this name; did you mean %s?"), printable,
                dg_option_variable(t->name, known));
    else dg_warn("%s is ignored: no option has this name", printable);
}

void dg_options_unknown_variables(void)
{
    for (char **e = environ; e && *e; e++) {
        char name[64];
        const size_t n = strcspn(*e, "=");
        if (strncasecmp(*e, "DCGAN_", 6) != 0 || n >= sizeof name || !(*e)[n] || !(*e)[n + 1]) continue;
        snprintf(name, sizeof name, "%.*s", (int)n, *e);
        warn_unknown(name);
    }
}
