/* Completion for bash, zsh and fish: commands, options and their values. */
#include "core/plan/fusions.h"
#include "core/tune/machine.h"
#include "host/net/model.h"
#include "host/options/option_table.h"

#include <ctype.h>
#include <string.h>

typedef enum { ANYTHING, WORDS, MODELS, FILES, FOLDERS } value_kind;

enum { ROOM = 1024 };

static void add_word(char *out, const char *word, size_t n)
{
    const size_t used = strlen(out);
    snprintf(out + used, ROOM - used, "%s%.*s", used ? " " : "", (int)n, word);
}

static void add_models(char *out)
{
    for (int i = 0; dg_model_builtin(i); i++) add_word(out, dg_model_builtin(i), strlen(dg_model_builtin(i)));
}

/* Add the short names of known GPUs: h200 for "NVIDIA H200", rtx4090 for "NVIDIA GeForce RTX 4090". */
static void add_gpus(char *out)
{
    dg_machine m;
    for (int i = 0; dg_machine_known(i, DG_F32, &m); i++) {
        static const char *const makes[] = {"NVIDIA ", "GeForce ", "Tesla ", "Quadro "};
        const char *from = m.name;
        for (size_t k = 0; k < sizeof makes / sizeof makes[0]; k++)
            if (!strncmp(from, makes[k], strlen(makes[k]))) from += strlen(makes[k]);
        char word[sizeof m.name];
        size_t n = 0;
        for (const char *c = from; *c; c++)
            if (*c != ' ') word[n++] = (char)tolower((unsigned char)*c);
        add_word(out, word, n);
    }
}

static value_kind value_of(const dg_option *t, char words[ROOM])
{
    *words = 0;
    if (!t->arg) return ANYTHING;
    if (t->choices) {
        for (const char *c = t->choices, *end; *c; c = *end ? end + 1 : end) {
            end = c + strcspn(c, "|");
            add_word(words, c, (size_t)(end - c));
        }
    } else if (!strcmp(t->name, "device")) {
        add_word(words, "auto cpu cuda", 13);
    } else if (!strcmp(t->name, "fuse")) {
        add_word(words, "all none", 8);
        for (int i = 0; dg_fusion_name(i); i++) add_word(words, dg_fusion_name(i), strlen(dg_fusion_name(i)));
    } else if (!strcmp(t->arg, "GPU")) {
        add_gpus(words);
    } else if (!strcmp(t->arg, "MODEL")) {
        add_models(words);
        return MODELS;
    }
    if (*words) return WORDS;
    if (!strcmp(t->arg, "DIR")) return FOLDERS;
    static const char *const files[] = {"FILE", "PATH", "RUN", "DIR|", "[CHECKPOINT]", "[FILE]"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (!strncmp(t->arg, files[i], strlen(files[i]))) return FILES;
    return ANYTHING;
}

static bool takes_model(int c) { return strstr(dg_commands[c].operands, "MODEL") != NULL; }

static void put_help(FILE *to, const char *help, const char *escaped, const char *escape)
{
    for (; *help; help++) {
        if (strchr(escaped, *help)) fputs(*help == '\'' && *escape == '\'' ? "'\\'" : "\\", to);
        fputc(*help, to);
    }
}

/* Print bash `case` patterns COMMAND:OPTION, such as "generate:--out|generate:-o", or "*:--out" if the name is
 * unique. */
static void put_patterns(FILE *to, const dg_option *t)
{
    bool alone = true;
    for (const dg_option *other = dg_option_table; other->name; other++)
        alone &= other == t || strcmp(other->name, t->name);
    const char *between = "        ";
    for (int c = 0; c < (alone ? 1 : DG_CMDS); c++) {
        if (!alone && !(t->commands >> c & 1)) continue;
        fprintf(to, "%s%s:--%s", between, alone ? "*" : dg_commands[c].name, t->name);
        if (t->letter) fprintf(to, "|%s:-%c", alone ? "*" : dg_commands[c].name, t->letter);
        between = "|";
    }
}

static void bash_values(FILE *to)
{
    for (const dg_option *t = dg_option_table; t->name; t++) {
        char words[ROOM];
        const value_kind kind = value_of(t, words);
        if (!t->arg) continue;
        put_patterns(to, t);
        if (kind == WORDS) fprintf(to, ") COMPREPLY=($(compgen -W '%s' -- \"$cur\"))", words);
        else if (kind == MODELS)
            fputs(") COMPREPLY=($(compgen -W \"$models\" -- \"$cur\") $(compgen -f -- \"$cur\"))", to);
        else fprintf(to, ")%s", kind == ANYTHING ? "" : " COMPREPLY=($(compgen ");
        if (kind == FILES || kind == FOLDERS) fprintf(to, "-%c -- \"$cur\"))", kind == FILES ? 'f' : 'd');
        fprintf(to, "%s return ;;\n", kind == ANYTHING ? "" : ";");
    }
}

static void bash(FILE *to)
{
    char models[ROOM] = "";
    add_models(models);
    fputs(
        "# bash completion for dcgan, made by: dcgan --completion-bash\n"
        "_dcgan()\n{\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=train options= commands= w\n",
        to);
    fprintf(to, "    local models='%s'\n    commands='", models);
    for (int c = 0; c < DG_CMDS; c++) fprintf(to, "%s%s", c ? " " : "", dg_commands[c].name);
    fputs("'\n    for w in $commands help; do [[ ${COMP_WORDS[1]} == \"$w\" ]] && command=$w; done\n"
          "    if [[ $cur == = ]]; then\n        cur=\n"
          "    elif [[ $prev == = ]]; then\n        prev=${COMP_WORDS[COMP_CWORD-2]}\n    fi\n"
          "    COMPREPLY=()\n"
          "    case $command:$prev in\n",
          to);
    bash_values(to);
    fputs("    esac\n    case $command in\n        help) COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\")); return "
          ";;\n",
          to);
    for (int c = 0; c < DG_CMDS; c++) {
        fprintf(to, "        %s) options='", dg_commands[c].name);
        for (const dg_option *t = dg_option_table; t->name; t++)
            if (t->commands >> c & 1) fprintf(to, "--%s ", t->name);
        fputs("--help --version' ;;\n", to);
    }
    fputs("    esac\n    if [[ $cur == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
          "    elif [[ $COMP_CWORD == 1 ]]; then\n"
          "        COMPREPLY=($(compgen -W \"help $commands\" -- \"$cur\"))\n"
          "    else\n        COMPREPLY=($(compgen -f -- \"$cur\"))\n        case $command in\n            ",
          to);
    const char *between = "";
    for (int c = 0; c < DG_CMDS; c++) {
        if (!takes_model(c)) continue;
        fprintf(to, "%s%s", between, dg_commands[c].name);
        between = "|";
    }
    fputs(") COMPREPLY+=($(compgen -W \"$models\" -- \"$cur\")) ;;\n        esac\n    fi\n}\n"
          "complete -o filenames -F _dcgan dcgan\n",
          to);
}

static void zsh_option(FILE *to, const dg_option *t)
{
    char words[ROOM];
    const value_kind kind = value_of(t, words);
    fputs(" \\\n                ", to);
    if (t->letter)
        fprintf(to, "'(-%c --%s)'{-%c%s,--%s%s}'[", t->letter, t->name, t->letter, t->arg ? "+" : "", t->name,
                t->arg ? "=" : "");
    else fprintf(to, "'--%s%s[", t->name, t->arg ? "=" : "");
    put_help(to, t->help, "':[]\\", "'");
    fputc(']', to);
    if (t->arg) {
        static const char *const action[] = {" ", NULL, "_dcgan_models", "_files", "_files -/"};
        fprintf(to, ":%s:", t->kind == DG_OPT_RESUME ? "CHECKPOINT" : t->name);
        if (kind == WORDS) fprintf(to, "(%s)", words);
        else fputs(action[kind], to);
    }
    fputc('\'', to);
}

static void zsh(FILE *to)
{
    char models[ROOM] = "";
    add_models(models);
    fprintf(to,
            "#compdef dcgan\n# zsh completion for dcgan, made by: dcgan --completion-zsh\n"
            "_dcgan_models()\n{\n    compadd %s\n    _files\n}\n"
            "_dcgan()\n{\n    local -a commands\n    commands=(\n",
            models);
    for (int c = 0; c < DG_CMDS; c++) {
        fprintf(to, "        '%s:", dg_commands[c].name);
        put_help(to, dg_commands[c].help, "':\\", "'");
        fputs("'\n", to);
    }
    fputs("        'help:print the help of a command'\n    )\n"
          "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
          "        _describe -t commands command commands\n        return\n    fi\n"
          "    local command=train\n"
          "    if [[ $words[2] != -* ]]; then\n        command=$words[2]\n        shift words\n"
          "        (( CURRENT-- ))\n    fi\n"
          "    case $command in\n        help) _describe -t commands command commands ;;\n",
          to);
    for (int c = 0; c < DG_CMDS; c++) {
        fprintf(to, "        %s)\n            _arguments -s", dg_commands[c].name);
        for (const dg_option *t = dg_option_table; t->name; t++)
            if (t->commands >> c & 1) zsh_option(to, t);
        fputs(" \\\n                '(-h --help)'{-h,--help}'[print the help]'", to);
        if (dg_commands[c].max > 0)
            fprintf(to, " \\\n                '*:file:%s'", takes_model(c) ? "_dcgan_models" : "_files");
        fputs(" ;;\n", to);
    }
    fputs("    esac\n}\n[[ $funcstack[1] == _dcgan ]] && _dcgan \"$@\" || compdef _dcgan dcgan\n", to);
}

/* Print the condition under which fish completes options of `commands`. A command line without a command means
 * train. */
static void fish_where(FILE *to, unsigned commands)
{
    const bool train = commands >> DG_CMD_TRAIN & 1;
    unsigned named = train ? ~commands : commands;
    fputs(" -n '", to);
    bool any = !train;
    for (int c = 0; c < DG_CMDS; c++) any |= (named >> c & 1) != 0;
    fprintf(to, "%s__fish_seen_subcommand_from", train ? "not " : "");
    for (int c = 0; c < DG_CMDS && any; c++)
        if (named >> c & 1) fprintf(to, " %s", dg_commands[c].name);
    fprintf(to, "%s'", train ? " help" : "");
}

static void fish_option(FILE *to, const dg_option *t)
{
    char words[ROOM];
    const value_kind kind = value_of(t, words);
    fputs("complete -c dcgan", to);
    fish_where(to, t->commands);
    fprintf(to, " -l %s", t->name);
    if (t->letter) fprintf(to, " -s %c", t->letter);
    if (t->arg && t->kind != DG_OPT_RESUME) fputs(kind == FILES ? " -r -F" : kind == MODELS ? " -r -F" : " -x", to);
    if (kind == WORDS || kind == MODELS) fprintf(to, " -a '%s'", words);
    if (kind == FOLDERS) fputs(" -a '(__fish_complete_directories)'", to);
    fputs(" -d '", to);
    put_help(to, t->help, "'\\", "\\");
    fputs("'\n", to);
}

static void fish(FILE *to)
{
    char models[ROOM] = "";
    add_models(models);
    fputs("# fish completion for dcgan, made by: dcgan --completion-fish\n", to);
    for (int c = 0; c < DG_CMDS; c++) {
        fprintf(to, "complete -c dcgan -n __fish_use_subcommand -f -a %s -d '", dg_commands[c].name);
        put_help(to, dg_commands[c].help, "'\\", "\\");
        fputs("'\n", to);
    }
    fputs("complete -c dcgan -n __fish_use_subcommand -f -a help -d 'print the help of a command'\n"
          "complete -c dcgan -n '__fish_seen_subcommand_from help' -f -a '",
          to);
    for (int c = 0; c < DG_CMDS; c++) fprintf(to, "%s%s", c ? " " : "", dg_commands[c].name);
    fputs("'\n", to);
    unsigned with_model = 0;
    for (int c = 0; c < DG_CMDS; c++) with_model |= takes_model(c) ? 1u << c : 0;
    fputs("complete -c dcgan", to);
    fish_where(to, with_model);
    fprintf(to, " -a '%s'\n", models);
    for (const dg_option *t = dg_option_table; t->name; t++) fish_option(to, t);
}

bool dg_help_completion(FILE *to, const char *shell)
{
    static const struct {
        const char *shell;
        void (*write)(FILE *to);
    } known[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(shell, known[i].shell)) continue;
        known[i].write(to);
        return true;
    }
    return false;
}
