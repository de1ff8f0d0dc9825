/* Parse the command line, and merge defaults, model, config files, preset, environment and command line. */
#include "host/options/option_table.h"

#include "host/data/dirs.h"
#include "core/base/file_io.h"
#include "core/base/shell.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GIVEN = 256, LONG_FIRST = 256, LONG_HELP = 512, LONG_HELP_ALL, LONG_VERSION };

typedef struct {
    const dg_option *t;
    const char *value;
} given;

typedef struct {
    given given[MOST_GIVEN];
    int n;
    bool help, help_all, version;
} scanned;

static const dg_option *by_letter(int letter, dg_command c)
{
    for (const dg_option *t = dg_option_table; t->name; t++)
        if (t->letter == letter && t->commands >> c & 1) return t;
    return NULL;
}

static dg_err unknown_long(const char *argument, dg_command c)
{
    char name[64];
    argument += strspn(argument, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(argument, "="), argument);
    const dg_option *t = dg_option_find(name);
    if (t)
        return dg_fail(DG_USAGE, DG_MSG("option-of-others", "--%s: not an option of '%s'; see: %s help %s"), name,
                       dg_commands[c].name, dg_program(), dg_commands[c].name);
    char list[256] = "";
    int starts = 0;
    for (t = dg_option_table; *name && t->name; t++)
        if (t->commands >> c & 1 && !strncmp(t->name, name, strlen(name))) {
            size_t at = strlen(list);
            snprintf(list + at, sizeof list - at, "%s--%s", starts++ ? ", " : "", t->name);
        }
    if (starts > 1) return dg_fail(DG_USAGE, "--%s: ambiguous; it could be %s", name, list);
    const char *near = dg_option_nearest(name, c), *absent = dg_option_absent(name);
    if (absent) return dg_fail(DG_USAGE, DG_MSG("option-absent", "--%s is not an option of dcgan: %s"), name, absent);
    if (near) return dg_fail(DG_USAGE, DG_MSG("option-near", "unknown option --%s; did you mean --%s?"), name, near);
    return dg_fail(DG_USAGE, "unknown option --%s; see: %s help %s", name, dg_program(), dg_commands[c].name);
}

static bool is_optional(const dg_option *t) { return t->arg && *t->arg == '['; }

/* True if `next` is the value of option t, which is optional. A run or checkpoint after --onnx is the operand. */
static bool is_value(const dg_option *t, const char *next)
{
    static const char checkpoint[] = ".safetensors";
    const size_t n = strlen(next), end = sizeof checkpoint - 1;
    if (t->kind != DG_OPT_TEXT) return *next != '-';
    if (dg_is_folder(next) || (n > end && !strcmp(next + n - end, checkpoint))) return false;
    return *next != '-' || !next[1];
}

static dg_err scan(int argc, char **argv, dg_command c, scanned *s)
{
    struct option longs[DG_OPTIONS_MAX + 8];     /* room for aliases, help, version and the end */
    char shorts[2 * DG_OPTIONS_MAX + 8] = ":hV"; /* leading colon: getopt returns ':' for a missing value */
    int n = 0;
    size_t at = strlen(shorts);
    for (const dg_option *t = dg_option_table; t->name && n < DG_OPTIONS_MAX; t++) {
        if (!(t->commands >> c & 1)) continue;
        int has = !t->arg || is_optional(t) ? optional_argument : required_argument;
        const char *alias = dg_option_alias(t);
        longs[n++] = (struct option){t->name, has, NULL, LONG_FIRST + (int)(t - dg_option_table)};
        if (alias) longs[n++] = (struct option){alias, has, NULL, LONG_FIRST + (int)(t - dg_option_table)};
        if (t->letter) shorts[at++] = t->letter;
        if (t->letter && has == required_argument) shorts[at++] = ':';
    }
    shorts[at] = 0;
    longs[n++] = (struct option){"help", no_argument, NULL, LONG_HELP};
    longs[n++] = (struct option){"help-all", no_argument, NULL, LONG_HELP_ALL};
    longs[n++] = (struct option){"version", no_argument, NULL, LONG_VERSION};
    longs[n] = (struct option){0};

    opterr = 0;
    optind = 0; /* glibc: reset getopt, so that tests can parse many command lines */
    for (int k; (k = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
        const dg_option *t;
        if (k == 'h' || k == LONG_HELP || k == LONG_HELP_ALL) {
            s->help = true;
            s->help_all |= k == LONG_HELP_ALL;
            continue;
        }
        if (k == 'V' || k == LONG_VERSION) {
            s->version = true;
            continue;
        }
        if (k == '?') {
            if (optopt >= LONG_HELP && optopt <= LONG_VERSION)
                return dg_fail(DG_USAGE, "%s: accepts no value", argv[optind - 1]);
            if (!optopt) return unknown_long(argv[optind - 1], c);
            return dg_fail(DG_USAGE, "unknown option -%c; see: %s help %s", optopt, dg_program(), dg_commands[c].name);
        }
        bool missing = k == ':';
        if (missing) k = optopt;
        t = k >= LONG_FIRST ? &dg_option_table[k - LONG_FIRST] : by_letter(k, c);
        if (!t) return dg_fail(DG_USAGE, "unknown option -%c", k);
        if (missing)
            return dg_fail(DG_USAGE, DG_MSG("value-missing", "--%s needs a value: --%s %s"), t->name, t->name, t->arg);
        if (s->n == MOST_GIVEN) return dg_fail(DG_USAGE, "more than %d options", MOST_GIVEN);
        if (is_optional(t) && !optarg && optind < argc && is_value(t, argv[optind])) optarg = argv[optind++];
        s->given[s->n++] = (given){t, optarg};
    }
    return DG_OK;
}

static dg_err set_from_environment(dg_options *o)
{
    for (const dg_option *t = dg_option_table; t->name; t++) {
        char name[64], where[512];
        if (!(t->commands >> o->command & 1) || t->flags & DG_OPT_ARGV_ONLY) continue;
        const char *alias = dg_option_alias(t), *value = getenv(dg_option_variable(t->name, name));
        if (!value && alias) value = getenv(dg_option_variable(alias, name));
        if (!value || !*value) continue;
        snprintf(where, sizeof where, "%s=%s", name, value);
        dg_err e = dg_option_give(o, t, value, where);
        if (e) return e;
    }
    return DG_OK;
}

static const char *given_before(const scanned *s, int i)
{
    for (int k = i - 1; k >= 0; k--)
        if (s->given[k].t == s->given[i].t && s->given[k].value) return s->given[k].value;
    return NULL;
}

static dg_err set_from_command_line(dg_options *o, const scanned *s)
{
    for (int i = 0; i < s->n; i++) {
        const given *g = &s->given[i];
        char where[512];
        snprintf(where, sizeof where, "--%s%s%s", g->t->name, g->value ? " " : "", g->value ? g->value : "");
        if (g->t->kind == DG_OPT_RESUME && !g->value) {
            o->resume = true;
            continue;
        }
        const bool more = !strcmp(g->t->name, "data") && given_before(s, i);
        dg_err e = more ? dg_option_add_dir(o, g->t, g->value, where)
                        : dg_option_give(o, g->t, g->value ? g->value : "yes", where);
        if (e) return e;
    }
    return DG_OK;
}

static bool is_input(const dg_option *t, const scanned *s)
{
    static const char *const name[] = {"data",   "init",       "config", "resume",   "test",
                                       "tuning", "classifier", "read-z", "held-out", "inception"};
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->given[i].t->name, "synthesize") && !strcmp(t->name, "data")) return false;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (!strcmp(name[i], t->name)) return true;
    return false;
}

static dg_err check_given(const scanned *s)
{
    for (int i = 0; i < s->n; i++) {
        const given *g = &s->given[i];
        char where[512];
        if (!g->value || !*g->value || !dg_option_is_path(g->t)) continue;
        const bool data = !strcmp(g->t->name, "data"), images = data || !strcmp(g->t->name, "held-out");
        const dg_err code = images ? DG_DATA : DG_IO;
        dg_err e = data ? DG_OK : dg_options_twice(g->t, g->value, given_before(s, i));
        snprintf(where, sizeof where, "--%s %s", g->t->name, g->value);
        if (data && is_input(g->t, s)) e = dg_path_check_dirs(g->value);
        else if (!e) e = dg_path_check(code, g->value, where, is_input(g->t, s));
        if (e) return e;
    }
    return DG_OK;
}

static const dg_option *first_option(const dg_options *o)
{
    if (o->command == DG_CMD_DATA) return dg_option_find("data");
    const bool model = o->command == DG_CMD_PLAN || o->command == DG_CMD_CHECK || o->command == DG_CMD_BENCH ||
                       o->command == DG_CMD_PROFILE || o->command == DG_CMD_BATCH;
    return model ? dg_option_find("model") : NULL;
}

static dg_err check_operands(const dg_options *o, const scanned *s)
{
    const dg_option *first = first_option(o);
    bool synthesize = false;
    for (int i = 0; i < s->n; i++) {
        synthesize |= !strcmp(s->given[i].t->name, "synthesize");
        if (!o->operands || s->given[i].t != first) continue;
        const dg_err e = dg_options_twice(first, s->given[i].value, o->operand[0]);
        if (e) return e;
    }
    const bool writes = o->command == DG_CMD_EXPORT || o->command == DG_CMD_IMPORT;
    for (int i = 0; i < o->operands; i++) {
        const bool images = o->command == DG_CMD_DATA ||
                            ((o->command == DG_CMD_CLASSIFY || o->command == DG_CMD_FIND) && i),
                   output = writes && i;
        const bool model = o->command == DG_CMD_TUNE || (first && !images);
        const char *text = o->operand[i];
        if (o->command == DG_CMD_DATA && !synthesize && text && strchr(text, ',')) {
            const dg_err e = dg_path_check_dirs(text);
            if (e) return e;
            continue;
        }
        const dg_err e = dg_path_check(model    ? DG_USAGE
                                       : images ? DG_DATA
                                                : DG_IO,
                                       o->operand[i], o->operand[i], !output && !model && !synthesize);
        if (e) return e;
    }
    return DG_OK;
}

static dg_err read_run_config(const char *path, dg_options *o, dg_options *run)
{
    dg_err e = dg_options_presets(run);
    if (e) return e;
    o->precision = run->precision = DG_PRECISION_FP32; /* versions without --precision auto used fp32 */
    o->preset = run->preset = DG_PRESET_NONE;          /* versions without --preset auto used none */
    e = dg_config_read(path, o);
    return e ? e : dg_config_read(path, run);
}

/* Fail if an unchangeable option differs from the run's config.ini. Write the other differences to o->changed. */
static dg_err compare(dg_options *o, const dg_options *run)
{
    char text[4096] = "";
    for (const dg_option *t = dg_option_table; t->name; t++) {
        char now[512], then[512];
        const size_t at = strlen(text);
        if (!(t->flags & DG_OPT_SAVED)) continue;
        dg_option_get(o, t, now, sizeof now);
        dg_option_get(run, t, then, sizeof then);
        if (!strcmp(t->name, "data") ? dg_dirs_same(now, then) : dg_same_place(now, then)) continue;
        if (t->flags & DG_OPT_FIXED)
            return dg_fail(
                DG_USAGE,
                DG_MSG("fixed-in-run",
                       "--%s %s: this run was started with %s, which cannot change; leave out --%s, or start a "
                       "new run with --out"),
                t->name, now, *then ? then : "none", t->name);
        snprintf(text + at, sizeof text - at, "%s%s %s -> %s", at ? ", " : "", t->name, *then ? then : "(none)",
                 *now ? now : "(none)");
    }
    if (run->schedule_length && o->schedule_length && o->schedule_length != run->schedule_length)
        dg_warn(DG_MSG("schedule-moved",
                       "the run will differ from an uninterrupted one: --schedule-length %d instead of %d images"),
                o->schedule_length, run->schedule_length);
    if (*text && !(o->changed = strdup(text))) return dg_fail(DG_DEVICE, "out of memory");
    return DG_OK;
}

static dg_err leave_tf32(const dg_options *o, dg_options *run, const char *run_config, const char *config)
{
    if (!o->tf32_line) return DG_OK;
    run->precision = o->precision;
    if (o->precision == DG_PRECISION_FP32 || o->precision == DG_PRECISION_BF16)
        if (dg_option_given(o, "precision")) return DG_OK;
    return dg_fail(DG_USAGE,
                   DG_MSG("tf32-in-config", "%s:%d: precision = tf32: dcgan no longer computes in tf32; add "
                                            "--precision fp32 or --precision bf16 (results will differ)"),
                   run->tf32_line ? run_config : config, o->tf32_line);
}

static void take_settled(dg_options *o, const dg_options *run)
{
    if (!o->batch) o->batch = run->batch;
    if (!o->epochs) o->epochs = run->epochs;
    if (o->sample_every < 0) o->sample_every = run->sample_every;
    if (o->class_fade < 0) o->class_fade = run->class_fade;
    if (o->job.ema_half_life < 0) o->job.ema_half_life = run->job.ema_half_life;
    if (!o->schedule_length && o->schedule && !strcmp(o->schedule, "cosine")) o->schedule_length = run->schedule_length;
}

/* user: the options of environment and command line only */
static dg_err set_base(dg_options *o, const dg_options *user)
{
    const dg_err e = user->config ? dg_config_read(user->config, o) : DG_OK;
    return e ? e : dg_options_take_preset(o, user->preset);
}

static dg_err set_given(dg_options *o, const scanned *s)
{
    dg_err e = set_from_environment(o);
    if (!e) e = set_from_command_line(o, s);
    return e ? e : dg_options_name_model(o);
}

/* If the user gave only one of --ema and --ema-half-life, reset the other one, which a preset or a model may set. */
static void choose_average(dg_options *o, const dg_options *user)
{
    const bool ema = dg_option_given(user, "ema"), half_life = dg_option_given(user, "ema-half-life");
    if (ema && !half_life && o->job.ema > 0) o->job.ema_half_life = 0;
    if (half_life && !ema && o->job.ema_half_life != 0) o->job.ema = 0;
}

/* Sources of higher precedence are read first, because they name the model. */
static dg_err set_from_model(dg_options *o, const scanned *s, const dg_options *user)
{
    const bool operand = o->command == DG_CMD_PLAN || o->command == DG_CMD_PROFILE || o->command == DG_CMD_CHECK ||
                         o->command == DG_CMD_BATCH;
    if (!operand && o->command != DG_CMD_TRAIN) return DG_OK;
    dg_options named = {.command = o->command, .operands = o->operands};
    dg_err e = dg_options_presets(&named);
    if (!e) e = set_base(&named, user);
    if (!e) e = set_given(&named, s);
    if (!e) e = dg_options_model(o, user, operand && o->operands ? o->operand[0] : named.model);
    dg_options_free_values(&named);
    return e;
}

/* Copy the values that dg_options_drop compares. Frees the previous copy. */
static dg_err copy(dg_options *to, const dg_options *o)
{
    free(to->schedule);
    free(to->augment);
    *to = *o;
    to->schedule = strdup(o->schedule ? o->schedule : "");
    to->augment = strdup(o->augment ? o->augment : "");
    return to->schedule && to->augment ? DG_OK : dg_fail(DG_DEVICE, "out of memory for options");
}

static dg_err set_all(dg_options *o, const scanned *s)
{
    dg_options run = {.command = o->command};
    dg_options probe = {.command = o->command};
    char run_config[4096] = "";
    dg_err e = set_from_environment(&probe);
    if (!e) e = set_from_command_line(&probe, s);
    probe.resume |= probe.from_epoch > 0;
    if (!e && probe.resume) e = dg_options_run_config(&probe, run_config, sizeof run_config);
    if (!e && probe.from_epoch) e = dg_options_from_epoch(&probe);

    if (!e && probe.resume && dg_option_given(&probe, "preset"))
        e = dg_fail(DG_USAGE,
                    DG_MSG("preset-while-resuming", "--preset: cannot be combined with --resume, because a resumed run "
                                                    "keeps its option values; leave out --preset"));

    if (!e) e = dg_options_presets(o);
    if (!e && !*run_config) e = set_from_model(o, s, &probe);
    dg_options before = {0};
    if (!e) e = copy(&before, o);
    if (!e && *run_config) e = read_run_config(run_config, o, &run);
    if (!e && *run_config) dg_options_resume_preset(o, &run);
    if (!e) e = set_base(o, &probe);
    if (!e) dg_options_drop(o, &before);
    const int chosen = o->preset;
    if (!e) e = copy(&before, o);
    if (!e) e = set_given(o, s);
    if (!e) dg_options_drop(o, &before);
    if (o->preset == DG_PRESET_AUTO) { /* --preset auto has the effect of no --preset */
        o->preset = chosen;
        o->given[dg_option_find("preset") - dg_option_table] = false;
    }
    if (!e && !*run_config) choose_average(o, &probe);
    free(before.schedule);
    free(before.augment);

    if (!e) e = leave_tf32(o, &run, run_config, probe.config);
    if (!e && *run_config && o->precision == DG_PRECISION_AUTO) o->precision = run.precision;
    if (!e && *run_config) take_settled(o, &run);
    if (!e && *run_config) e = compare(o, &run);
    o->resume |= probe.resume;
    if (!e && probe.resume) {
        free(o->out);
        free(o->resume_from);
        o->out = probe.out;
        o->resume_from = probe.resume_from;
        probe.out = probe.resume_from = NULL;
    }
    dg_options_free_values(&probe);
    dg_options_free_values(&run);
    return e;
}

static dg_err set_operands(dg_options *o, int n, char **operand)
{
    const dg_command_info *c = &dg_commands[o->command];
    if (n < c->min)
        return dg_fail(DG_USAGE, DG_MSG("no-operands", "usage: %s %s %s; see: %s help %s"), dg_program(), c->name,
                       c->operands, dg_program(), c->name);
    if (n > c->max) {
        const char *stray = operand[c->max];
        if (o->command == DG_CMD_TRAIN)
            return dg_fail(DG_USAGE, "unexpected '%s'; to train on a folder: %s --data DIR", stray, dg_program());
        return dg_fail(DG_USAGE, DG_MSG("unexpected-operand", "unexpected '%s'; usage: %s %s %s"), stray, dg_program(),
                       c->name, c->operands);
    }
    o->operand = calloc((size_t)n + 1, sizeof *o->operand);
    if (!o->operand) return dg_fail(DG_DEVICE, "out of memory");
    for (; o->operands < n; o->operands++) {
        if (!*operand[o->operands]) return dg_fail(DG_USAGE, "an operand must not be empty");
        o->operand[o->operands] = strdup(operand[o->operands]);
        if (!o->operand[o->operands]) return dg_fail(DG_DEVICE, "out of memory");
        dg_path_trim(o->operand[o->operands], o->command == DG_CMD_DATA);
    }
    return DG_OK;
}

static dg_err set_command(const char *word, dg_command *out)
{
    for (int c = 0; c < DG_CMDS; c++)
        if (!strcmp(word, dg_commands[c].name)) {
            *out = (dg_command)c;
            return DG_OK;
        }
    if (!strcmp(word, "curves"))
        return dg_fail(DG_USAGE,
                       DG_MSG("curves-is-report",
                              "the command curves was removed; use: %s report RUN... --out FILE.html"),
                       dg_program());
    char quoted[DG_SHELL_ROOM];
    if (dg_is_folder(word))
        return dg_fail(DG_USAGE,
                       DG_MSG("folder-as-command", "'%s' is a folder, not a command; to train on it: %s --data %s"),
                       word, dg_program(), dg_shell_path(quoted, sizeof quoted, word));
    const char *near = dg_command_nearest(word);
    if (near) return dg_fail(DG_USAGE, DG_MSG("command-near", "unknown command '%s'; did you mean '%s'?"), word, near);
    return dg_fail(DG_USAGE,
                   DG_MSG("unknown-command",
                          "unknown command '%s'; to train on a folder: %s --data DIR; all commands: %s --help"),
                   word, dg_program(), dg_program());
}

static dg_err special(int argc, char **argv, bool *done)
{
    *done = true;
    if (!strcmp(argv[1], "--help-man")) return dg_help_reference(stdout, DG_HELP_MAN), DG_OK;
    if (!strcmp(argv[1], "--help-md")) return dg_help_reference(stdout, DG_HELP_MARKDOWN), DG_OK;
    static const char completion[] = "--completion-";
    const size_t n = sizeof completion - 1;
    if (!strncmp(argv[1], completion, n) && dg_help_completion(stdout, argv[1] + n)) return DG_OK;
    if (!strcmp(argv[1], "help")) {
        dg_command c = DG_CMD_TRAIN;
        if (argc < 3) return dg_help_short(stdout), DG_OK;
        if (!strcmp(argv[2], "--help-all")) return dg_help_reference(stdout, DG_HELP_TEXT), DG_OK;
        dg_err e = set_command(argv[2], &c);
        if (!e) dg_help_command(stdout, c, argc > 3 && !strcmp(argv[3], "--help-all"));
        return e;
    }
    *done = false;
    return DG_OK;
}

dg_err dg_options_parse(int argc, char **argv, dg_options *o, bool *done)
{
    *o = (dg_options){0};
    *done = false;
    if (argc < 2) {
        dg_help_bare(stderr);
        *done = true;
        return DG_USAGE;
    }
    dg_err e = special(argc, argv, done);
    if (e || *done) return e;

    o->argc = argc;
    o->argv = argv;
    bool word = argv[1][0] != '-';
    if (word && (e = set_command(argv[1], &o->command))) return e;
    scanned s = {.n = 0};
    e = scan(argc - word, argv + word, o->command, &s);
    if (e) return e;
    if (s.help || s.version) {
        *done = true;
        if (s.version) printf("%s\n%s\n", dg_version, dg_features);
        else if (word) dg_help_command(stdout, o->command, s.help_all);
        else if (s.help_all) dg_help_reference(stdout, DG_HELP_TEXT);
        else dg_help_short(stdout);
        return DG_OK;
    }

    for (int i = 0; i < s.n; i++) o->list_devices |= !strcmp(s.given[i].t->name, "list-devices");
    if (o->list_devices) return DG_OK;
    e = set_operands(o, argc - word - optind, argv + word + optind);
    if (!e) e = check_given(&s);
    if (!e) e = check_operands(o, &s);
    if (!e) dg_options_unknown_variables();
    if (!e) e = set_all(o, &s);
    if (!e) e = dg_options_finish(o);
    if (!e && o->command == DG_CMD_TRAIN && !(o->resolved = dg_config_text(o, argc, argv)))
        e = dg_fail(DG_DEVICE, "out of memory");
    return e;
}
