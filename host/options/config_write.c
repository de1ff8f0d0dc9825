#include "host/options/option_table.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/memory_file.h"
#include "core/base/shell.h"

enum { VALUE_SIZE = DG_CONFIG_VALUE };

/* Write a value, quoted with \xNN if inih would change it: blanks at its ends, starts of comments, control codes. */
static void write_value(FILE *to, const char *s)
{
    size_t n = strlen(s);
    bool quote = n && (isspace((unsigned char)s[0]) || isspace((unsigned char)s[n - 1]) || *s == '"');
    for (const char *c = s; *c; c++) quote |= *c == ';' || *c == '#' || iscntrl((unsigned char)*c);
    if (quote) fputc('"', to);
    for (const char *c = s; *c; c++) {
        if (quote && (*c == ';' || *c == '#' || *c == '"' || *c == '\\' || iscntrl((unsigned char)*c)))
            fprintf(to, "\\x%02x", (unsigned char)*c);
        else fputc(*c, to);
    }
    if (quote) fputc('"', to);
}

static void write_command_line(FILE *to, int argc, char **argv)
{
    char word[DG_SHELL_ROOM];
    for (int i = 0; i < argc; i++) fprintf(to, " %s", dg_shell_quote(word, sizeof word, argv[i]));
}

/* Makes a path absolute, so that the run can be resumed from another directory. */
static void absolute(const dg_option *t, char *value, size_t size)
{
    static const char *const path[] = {"model", "data", "cache", "tuning", "test", "init"};
    bool is_model = !strcmp(t->name, "model"), is_path = false;
    for (size_t i = 0; i < sizeof path / sizeof path[0]; i++) is_path |= !strcmp(t->name, path[i]);
    struct stat st;
    if (!*value || !is_path || (!strcmp(t->name, "test") && dg_test_share(value) >= 0)) return;
    if (is_model && (stat(value, &st) ? errno == ENOENT : !S_ISREG(st.st_mode))) return; /* built in */
    char real[PATH_MAX], here[VALUE_SIZE], joined[2 * VALUE_SIZE];
    if (realpath(value, real)) snprintf(value, size, "%s", real);
    else if (*value != '/' && getcwd(here, sizeof here)) {
        snprintf(joined, sizeof joined, "%s/%s", here, value);
        if (strlen(joined) < size) memcpy(value, joined, strlen(joined) + 1);
    }
}

/* True if an option of section [train] differs from its default; config.ini then stores all options of this section. */
static bool says_training(const dg_options *o)
{
    char value[VALUE_SIZE];
    for (const dg_option *t = dg_option_table; t->name; t++) {
        if (!(t->flags & DG_OPT_IF_SET) || !(t->flags & DG_OPT_MODEL)) continue;
        dg_option_get(o, t, value, sizeof value);
        if (strcmp(value, t->preset ? t->preset : "")) return true;
    }
    return o->model_says;
}

char *dg_config_text(const dg_options *o, int argc, char **argv)
{
    char value[VALUE_SIZE];
    const bool all = says_training(o);
    dg_memory_file m;
    FILE *to = dg_memory_open(&m);
    if (!to) return NULL;
    fprintf(to, "; All values of this run. To train another run with these values: dcgan --config FILE --out DIR\n"
                "; command:");
    write_command_line(to, argc, argv);
    fprintf(to, "\n[run]\nversion = %s\n", dg_version);
    for (const dg_option *t = dg_option_table; t->name; t++) {
        if (!(t->flags & DG_OPT_SAVED)) continue;
        dg_option_get(o, t, value, sizeof value);
        const bool plain = !*value || (!all && t->preset && !strcmp(value, t->preset));
        if (t->flags & DG_OPT_IF_SET && plain) continue;
        absolute(t, value, sizeof value);
        fprintf(to, "%s =%s", t->name, *value ? " " : "");
        write_value(to, value);
        fputc('\n', to);
    }
    return dg_memory_close(to, &m) ? m.text : NULL;
}

char *dg_config_results(const char *text)
{
    char *out = malloc(strlen(text) + 1), *to = out, name[64];
    for (const char *line = text; out && *line;) {
        const size_t n = strcspn(line, "\n"), length = n + (line[n] != 0);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line, " =\n"), line);
        const dg_option *t = dg_option_find(name);
        if (t && t->flags & DG_OPT_RESULT) to = (char *)memcpy(to, line, length) + length;
        line += length;
    }
    if (out) *to = 0;
    return out;
}

char *dg_config_settled(const char *text, const char *key, const char *value)
{
    char line[128];
    snprintf(line, sizeof line, "\n%s = ", key);
    const char *at = strstr(text, line);
    if (!at) return strdup(text);
    const size_t head = (size_t)(at - text) + strlen(line), size = strlen(text) + strlen(value) + 1;
    char *out = malloc(size);
    if (out) snprintf(out, size, "%.*s%s%s", (int)head, text, value, text + head + strcspn(text + head, "\n"));
    return out;
}
