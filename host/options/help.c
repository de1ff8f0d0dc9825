/* Everything that is told about options: all of it comes from the tables in options_table.c. */
#include "core/plan/fusions.h"
#include "host/options/option_table.h"
#include "core/base/shell.h"

#include <ctype.h>
#include <string.h>

enum { INDENT = 28, WIDTH = 80 };

/* "  -e, --epochs N" */
static int usage_of(const dg_option *t, char *out, size_t size)
{
    char letter[8] = "    ";
    if (t->letter) snprintf(letter, sizeof letter, "-%c, ", t->letter);
    return snprintf(out, size, "%s--%s%s%s", letter, t->name, t->arg ? " " : "", t->arg ? t->arg : "");
}

/* What it does for a command, with range and default. */
static void describe(const dg_option *t, dg_command c, char *out, size_t size)
{
    char range[128] = "";
    const char *preset = dg_option_preset(t, c);
    bool shown = preset && t->kind != DG_OPT_FLAG && strcmp(preset, "0");
    if (t->kind != DG_OPT_FLAG && t->kind != DG_OPT_U64) dg_option_range(t, range, sizeof range);
    int n = snprintf(out, size, "%s", t->help);
    if (n < 0 || (size_t)n >= size || (!*range && !shown)) return;
    snprintf(out + n, size - (size_t)n, " (%s%s%s%s)", range, *range && shown ? "; " : "", shown ? "default " : "",
             shown ? preset : "");
}

static void print_wrapped(FILE *to, const char *text, int column)
{
    int at = column;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (at > column && at + 1 + n > WIDTH) {
            fprintf(to, "\n%*s", column, "");
            at = column;
        }
        fprintf(to, "%s%.*s", at > column ? " " : "", n, text);
        at += n + (at > column);
        text += n + (text[n] == ' ');
    }
    fputc('\n', to);
}

static void print_row(FILE *to, const char *left, const char *text)
{
    if ((int)strlen(left) > INDENT - 4) fprintf(to, "  %s\n%*s", left, INDENT, "");
    else fprintf(to, "  %-*s", INDENT - 2, left);
    print_wrapped(to, text, INDENT);
}

static void print_examples(FILE *to, dg_command c)
{
    for (int i = 0; i < DG_EXAMPLES && dg_commands[c].example[i]; i++) {
        const char *line = dg_commands[c].example[i], *why = strstr(line, " :: ");
        fprintf(to, "  %.*s\n", why ? (int)(why - line) : (int)strlen(line), line);
        if (why) fprintf(to, "      %s\n", why + 4);
    }
}

/* Finer points are left out, and named in the end, unless all are wanted. */
static void print_options(FILE *to, dg_command c, bool all)
{
    const char *group = "";
    char left_out[200] = "";
    for (const dg_option *t = dg_option_table; t->name; t++) {
        char left[64], text[512];
        if (!(t->commands >> c & 1)) continue;
        if (t->flags & DG_OPT_FINE && !all) {
            const size_t n = strlen(left_out);
            snprintf(left_out + n, sizeof left_out - n, "%s--%s", n ? ", " : "", t->name);
            continue;
        }
        if (strcmp(group, t->group)) fprintf(to, "\n%s:\n", group = t->group);
        usage_of(t, left, sizeof left);
        describe(t, c, text, sizeof text);
        print_row(to, left, text);
        for (int i = 0; strcmp(t->name, "fuse") == 0 && dg_fusion_name(i); i++) {
            snprintf(left, sizeof left, "      %s", dg_fusion_name(i));
            print_row(to, left, dg_fusion_help(i));
        }
    }
    fprintf(to, "\n");
    print_row(to, "-h, --help", "this text");
    if (*left_out) {
        char text[300];
        snprintf(text, sizeof text, "with the finer points, too: %s", left_out);
        print_row(to, "    --help-all", text);
    }
    print_row(to, "-V, --version", "version and what this build was made of");
}

static void print_rules(FILE *to)
{
    fputs("\nA switch such as --flip takes =no to turn it off again. An option is also taken\n"
          "from the environment, --lr-d from DCGAN_LR_D. Built-in values give way to the\n"
          "config file, that to a --preset, to the environment, to the command line.\n",
          to);
}

void dg_help_short(FILE *to)
{
    const char *us = dg_program();
    fprintf(to,
            "dcgan trains a DCGAN, or a classifier, on a folder of pictures.\n\n"
            "  %s --data cats/ --epochs 300\n"
            "  %s generate samples/cats-dcgan64-paper -n 64 --out pictures/\n\n"
            "All options and commands: %s --help\n",
            us, us, us);
}

void dg_help_command(FILE *to, dg_command c, bool all)
{
    const dg_command_info *info = &dg_commands[c];
    fprintf(to, "Usage: dcgan %s%s%s%s [OPTION]...\n", c == DG_CMD_TRAIN ? "[train]" : info->name,
            *info->operands ? " " : "", info->operands, c == DG_CMD_TRAIN ? " --data DIR" : "");
    fprintf(to, "%c%s.\n\nExamples:\n", toupper((unsigned char)info->summary[0]), info->summary + 1);
    print_examples(to, c);
    print_options(to, c, all);
    print_rules(to);
}

static const char *const exit_codes[][2] = {
    {"0", "all went well"},
    {"1", "it ran, but the result is not what was asked for"},
    {"2", "command line, configuration or model file"},
    {"3", "pictures: none, too few, too many bad ones"},
    {"4", "reading or writing a file"},
    {"5", "device, memory or threads"},
    {"6", "NaN or infinity while training"},
    {"7", "the run directory is in use by another run"},
    {"8", "--stop-on-collapse stopped the run, after saving"},
    {"129, 130, 143", "stopped by SIGHUP, SIGINT or SIGTERM, after saving"},
    {"138, 140, 152", "stopped by SIGUSR1, SIGUSR2 or SIGXCPU, after saving"},
};

void dg_help_full(FILE *to, bool all)
{
    fputs("Usage: dcgan [train] --data DIR [OPTION]...\n"
          "       dcgan COMMAND [OPERAND]... [OPTION]...\n"
          "Train a DCGAN, or a classifier, on a folder of pictures; use what it learned.\n\nExamples:\n",
          to);
    print_examples(to, DG_CMD_TRAIN);
    print_examples(to, DG_CMD_GENERATE);
    fputs("\nCommands (dcgan help COMMAND tells each one's options):\n", to);
    for (int c = 0; c < DG_CMDS; c++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", dg_commands[c].name, *dg_commands[c].operands ? " " : "",
                 dg_commands[c].operands);
        print_row(to, left, dg_commands[c].summary);
    }
    fputs("\nOptions of train\n----------------", to);
    print_options(to, DG_CMD_TRAIN, all);
    print_rules(to);
    fputs("\nExit codes:\n", to);
    for (size_t i = 0; i < sizeof exit_codes / sizeof exit_codes[0]; i++)
        fprintf(to, "  %-14s %s\n", exit_codes[i][0], exit_codes[i][1]);
}

/* Hyphens as they are typed, and nothing that roff would take as a request. */
static void print_roff(FILE *to, const char *s)
{
    for (; *s; s++) fputs(*s == '-' ? "\\-" : *s == '\\' ? "\\e" : *s == '\'' ? "\\(aq" : (char[]){*s, 0}, to);
}

static void man_option(FILE *to, const dg_option *t)
{
    char text[1024], which[256] = "";
    fputs(".TP\n", to);
    if (t->letter) fprintf(to, "\\fB\\-%c\\fR, ", t->letter);
    fputs("\\fB", to);
    print_roff(to, "--");
    print_roff(to, t->name);
    fprintf(to, "\\fR%s%s%s\n", t->arg ? " \\fI" : "", t->arg ? t->arg : "", t->arg ? "\\fR" : "");
    describe(t, DG_CMD_TRAIN, text, sizeof text);
    for (int i = 0; strcmp(t->name, "fuse") == 0 && dg_fusion_name(i); i++) {
        const size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s \"%s\": %s", i ? ";" : ". To be named are", dg_fusion_name(i),
                 dg_fusion_help(i));
    }
    /* "cpu, cuda ...", "bench: ..." begin with a word as it is typed */
    if (!strchr(",:", text[strcspn(text, " ,:")])) text[0] = (char)toupper((unsigned char)text[0]);
    print_roff(to, text);
    for (int c = 0; c < DG_CMDS; c++)
        if (t->commands >> c & 1) {
            size_t at = strlen(which);
            snprintf(which + at, sizeof which - at, "%s%s", at ? ", " : "", dg_commands[c].name);
        }
    fprintf(to, ".\nFor: %s.\n", t->commands == (1u << DG_CMDS) - 1 ? "every command" : which);
}

void dg_help_man(FILE *to)
{
    fputs(".SH COMMANDS\n", to);
    for (int c = 0; c < DG_CMDS; c++) {
        fprintf(to, ".TP\n\\fB%s\\fR \\fI%s\\fR\n", dg_commands[c].name, dg_commands[c].operands);
        print_roff(to, dg_commands[c].summary);
        fputs(".\n", to);
    }
    fputs(".SH OPTIONS\n", to);
    const char *group = "";
    for (const dg_option *t = dg_option_table; t->name; t++) {
        if (strcmp(group, t->group)) fprintf(to, ".SS %s\n", group = t->group);
        man_option(to, t);
    }
    fputs(".SH EXAMPLES\n", to);
    for (int c = 0; c < DG_CMDS; c++)
        for (int i = 0; i < DG_EXAMPLES && dg_commands[c].example[i]; i++) {
            const char *line = dg_commands[c].example[i], *why = strstr(line, " :: ");
            char command[300];
            snprintf(command, sizeof command, "%.*s", why ? (int)(why - line) : (int)strlen(line), line);
            fputs(".TP\n\\fB", to);
            print_roff(to, command);
            fputs("\\fR\n", to);
            print_roff(to, why ? why + 4 : ".");
            fputc('\n', to);
        }
    fputs(".SH EXIT STATUS\n", to);
    for (size_t i = 0; i < sizeof exit_codes / sizeof exit_codes[0]; i++) {
        fprintf(to, ".TP\n%s\n", exit_codes[i][0]);
        print_roff(to, exit_codes[i][1]);
        fputs(".\n", to);
    }
}
