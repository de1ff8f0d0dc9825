/* Help, man page and reference page, all from the tables in options_table.c. */
#include "core/base/shell.h"
#include "core/plan/fusions.h"
#include "host/options/option_table.h"

#include <ctype.h>
#include <string.h>

enum { WIDTH = 80, TEXT_MAX = 2048 };
typedef const char *const row[2];

static row exit_codes[] = {
    {"0", "success"},
    {"1", "a check failed (replay: a difference above --tol; verify: other bits)"},
    {"2", "error in the command line, configuration or model file"},
    {"3", "no images, too few images, or too many corrupt images"},
    {"4", "a file cannot be read or written"},
    {"5", "error of the device, memory or threads"},
    {"6", "NaN or infinity during training"},
    {"7", "the run directory is in use by another run"},
    {"8", "--stop-on-collapse ended the run after saving"},
    {"129, 130, 143", "stopped by SIGHUP, SIGINT or SIGTERM, after saving a checkpoint"},
    {"138, 140, 152", "stopped by SIGUSR1, SIGUSR2 or SIGXCPU, after saving a checkpoint"},
    {NULL, NULL},
};

static row variables[] = {
    {"DCGAN_NAME", "value of the option --name, for example DCGAN_LR_D for --lr-d; not for options such as --preset, "
                   "which are read from the command line only"},
    {"DCGAN_ISA",
     "instruction set of the CPU kernels: base, avx2 or avx512 (default: the best one that the CPU supports)"},
    {"DCGAN_MPI", "plugin for MPI, with which several processes train (default: dcgan-mpi-openmpi.so or "
                  "dcgan-mpi-mpich.so, next to the program or in the library directory)"},
    {"DCGAN_NCCL", "NCCL library, by which the GPUs of several processes exchange data (default: libnccl.so.2)"},
    {"OMP_NUM_THREADS", "number of threads if --threads is 0"},
    {"NO_COLOR", "if not empty, dcgan prints no colours on the terminal"},
    {NULL, NULL},
};

static const char rules[] =
    "To turn off a switch such as --flip, write --flip=no. Option values come from these sources, lowest precedence "
    "first: default, model file, config file, --preset, environment, command line.";

static void print_wrapped(FILE *to, const char *text, int column)
{
    int at = column;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (!strncmp(text, "(default ", 9)) n += 1 + (int)strcspn(text + n + 1, " ");
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

static void print_row(FILE *to, const char *left, const char *text, int column)
{
    if (!*text) fprintf(to, "  %s", left);
    else if ((int)strlen(left) > column - 4) fprintf(to, "  %s\n%*s", left, column, "");
    else fprintf(to, "  %-*s", column - 2, left);
    print_wrapped(to, text, column);
}

static void put_roff(FILE *to, const char *s)
{
    for (; *s; s++) fputs(*s == '-' ? "\\-" : *s == '\\' ? "\\e" : *s == '\'' ? "\\(aq" : (char[]){*s, 0}, to);
}

static void put_heading(FILE *to, dg_help_format f, bool sub, const char *text)
{
    static const char *const format[][2] = {
        [DG_HELP_TEXT] = {"\n%s:\n", "\n%s:\n"},
        [DG_HELP_MAN] = {".SH %s\n", ".SS %s\n"},
        [DG_HELP_MARKDOWN] = {"\n## %s\n\n", "\n### %s\n\n"},
    };
    char upper[64] = "";
    for (size_t i = 0; text[i] && i + 1 < sizeof upper; i++) upper[i] = (char)toupper((unsigned char)text[i]);
    fprintf(to, format[f][sub], f == DG_HELP_MAN && !sub ? upper : text);
}

static void put_markdown(FILE *to, const char *s)
{
    for (size_t n; *s; s += n) {
        n = strncmp(s, "--", 2) ? 1 : strspn(s, "-abcdefghijklmnopqrstuvwxyz0123456789");
        fprintf(to, n > 1 ? "`%.*s`" : "%.*s", (int)n, s);
    }
}

static void put_item(FILE *to, dg_help_format f, const char *term, const char *text)
{
    if (f == DG_HELP_TEXT) print_row(to, term, text, 8);
    else if (f == DG_HELP_MARKDOWN) {
        fprintf(to, "- `%s`%s", term, *text ? ": " : "");
        put_markdown(to, text);
        fputc('\n', to);
    } else {
        fputs(".TP\n\\fB", to);
        put_roff(to, term);
        fputs("\\fR\n", to);
        put_roff(to, text);
        fputc('\n', to);
    }
}

static void put_rows(FILE *to, dg_help_format f, const char *heading, row *r)
{
    char text[200];
    put_heading(to, f, false, heading);
    for (; (*r)[0]; r++) {
        snprintf(text, sizeof text, "%s.", (*r)[1]);
        put_item(to, f, (*r)[0], text);
    }
}

static const char *term_of(const dg_option *t, char out[64], const char *no_letter)
{
    char letter[8] = "";
    if (t->letter) snprintf(letter, sizeof letter, "-%c, ", t->letter);
    snprintf(out, 64, "%s--%s%s%s", t->letter ? letter : no_letter, t->name, t->arg ? " " : "", t->arg ? t->arg : "");
    return out;
}

void dg_help_option(const dg_option *t, dg_command c, char *out, size_t size)
{
    char choices[128] = "";
    const char *preset = t->kind == DG_OPT_FLAG ? NULL : dg_option_preset(t, c);
    if (t->choices) dg_option_range(t, choices, sizeof choices);
    snprintf(out, size, "%s%s%s%s%s%s", t->help, *choices ? ": " : "", choices, preset ? " (default " : "",
             preset ? preset : "", preset ? ")" : "");
}

static void describe_fully(const dg_option *t, bool commands, char *out, size_t size)
{
    char range[128] = "";
    dg_help_option(t, DG_CMD_TRAIN, out, size);
    out[0] = (char)toupper((unsigned char)out[0]);
    size_t n = strlen(out);
    if (t->kind != DG_OPT_FLAG && t->kind != DG_OPT_U64 && !t->choices) dg_option_range(t, range, sizeof range);
    n += (size_t)snprintf(out + n, size - n, ". %s%s%s%s", t->text, *range ? " Allowed values: " : "", range,
                          *range ? "." : "");
    for (int i = 0; !strcmp(t->name, "fuse") && dg_fusion_name(i); i++)
        n += (size_t)snprintf(out + n, size - n, " %s: %s.", dg_fusion_name(i), dg_fusion_help(i));
    if (!commands || t->commands == (1u << DG_CMDS) - 1) return;
    const char *between = " Commands with this option: ";
    for (int c = 0; c < DG_CMDS; c++) {
        if (!(t->commands >> c & 1)) continue;
        n += (size_t)snprintf(out + n, size - n, "%s%s", between, dg_commands[c].name);
        between = ", ";
    }
    snprintf(out + n, size - n, ".");
}

static void usage_of(dg_command c, char out[128])
{
    const dg_command_info *info = &dg_commands[c];
    snprintf(out, 128, "%s%s%s%s [OPTION]...", c == DG_CMD_TRAIN ? "[train]" : info->name, *info->operands ? " " : "",
             info->operands, c == DG_CMD_TRAIN ? " --data DIR" : "");
}

void dg_help_bare(FILE *to)
{
    const char *us = dg_program();
    fprintf(to,
            "dcgan trains a DCGAN, or a classifier, on a folder of images.\n\n"
            "  %s --data cats/ --epochs 300\n"
            "  %s generate samples/cats-dcgan64-paper -n 64 --out images/\n\n"
            "All options and commands: %s --help\n",
            us, us, us);
}

void dg_help_short(FILE *to)
{
    char term[64], text[TEXT_MAX];
    fputs("Usage: dcgan [train] --data DIR [OPTION]...\n       dcgan COMMAND [OPERAND]... [OPTION]...\n\nCommands:\n",
          to);
    for (int c = 0; c < DG_CMDS; c++) print_row(to, dg_commands[c].name, dg_commands[c].help, 15);
    fputs("\nCommon options of train:\n", to);
    for (const dg_option *t = dg_option_table; t->name; t++) {
        if (!(t->flags & DG_OPT_COMMON)) continue;
        dg_help_option(t, DG_CMD_TRAIN, text, sizeof text);
        print_row(to, term_of(t, term, ""), text, 21);
    }
    fputs("\nExamples:\n"
          "  dcgan --data cats/ --epochs 300\n"
          "  dcgan --resume --out samples/cats-dcgan64-paper --epochs 400\n"
          "  dcgan generate samples/cats-dcgan64-paper -n 64 --out images/\n\n"
          "More: dcgan COMMAND --help, dcgan --help-all, man dcgan, docs/reference.md\n",
          to);
}

void dg_help_command(FILE *to, dg_command c, bool all)
{
    const dg_command_info *info = &dg_commands[c];
    char term[64], text[TEXT_MAX];
    const char *group = "";
    usage_of(c, text);
    fprintf(to, "Usage: dcgan %s\n\n", text);
    snprintf(text, sizeof text, "%c%s. %s", toupper((unsigned char)info->help[0]), info->help + 1, info->text);
    print_wrapped(to, text, 0);
    for (const dg_option *t = dg_option_table; t->name; t++) {
        if (!(t->commands >> c & 1)) continue;
        if (strcmp(group, t->group)) put_heading(to, DG_HELP_TEXT, true, group = t->group);
        if (all) describe_fully(t, false, text, sizeof text);
        else dg_help_option(t, c, text, sizeof text);
        print_row(to, term_of(t, term, "    "), text, all ? 8 : 28);
    }
    fputs("\nHelp:\n", to);
    print_row(to, "-h, --help", "print this text", 28);
    print_row(to, "    --help-all", "print this text with the details of each option", 28);
    print_row(to, "-V, --version", "print version and build", 28);
    fputs("\nExamples:\n", to);
    for (int i = 0; i < DG_EXAMPLES && info->example[i]; i++) {
        const char *line = info->example[i], *why = strstr(line, " :: ");
        fprintf(to, "  %.*s\n", why ? (int)(why - line) : (int)strlen(line), line);
        if (why) fprintf(to, "      %s\n", why + 4);
    }
    fputc('\n', to);
    print_wrapped(to, rules, 0);
}

static void put_commands(FILE *to, dg_help_format f)
{
    char term[128], text[TEXT_MAX];
    put_heading(to, f, false, "Commands");
    for (int c = 0; c < DG_CMDS; c++) {
        const dg_command_info *info = &dg_commands[c];
        usage_of((dg_command)c, term);
        snprintf(text, sizeof text, "%c%s. %s", toupper((unsigned char)info->help[0]), info->help + 1, info->text);
        put_item(to, f, term, text);
    }
}

static void put_examples(FILE *to, dg_help_format f)
{
    put_heading(to, f, false, "Examples");
    for (int c = 0; c < DG_CMDS; c++)
        for (int i = 0; i < DG_EXAMPLES && dg_commands[c].example[i]; i++) {
            const char *line = dg_commands[c].example[i], *why = strstr(line, " :: ");
            char command[200], text[200] = "";
            snprintf(command, sizeof command, "%.*s", why ? (int)(why - line) : (int)strlen(line), line);
            if (why) snprintf(text, sizeof text, "%s.", why + 4);
            put_item(to, f, command, text);
        }
}

void dg_help_reference(FILE *to, dg_help_format f)
{
    char term[64], text[TEXT_MAX];
    const char *group = "";
    put_commands(to, f);
    put_heading(to, f, false, "Options");
    if (f == DG_HELP_TEXT) print_wrapped(to, rules, 0);
    else if (f == DG_HELP_MAN) put_roff(to, rules);
    else put_markdown(to, rules);
    if (f != DG_HELP_TEXT) fputc('\n', to);
    for (const dg_option *t = dg_option_table; t->name; t++) {
        if (strcmp(group, t->group)) put_heading(to, f, true, group = t->group);
        describe_fully(t, true, text, sizeof text);
        put_item(to, f, term_of(t, term, ""), text);
    }
    put_examples(to, f);
    put_rows(to, f, "Exit codes", exit_codes);
    put_rows(to, f, "Environment variables", variables);
}
