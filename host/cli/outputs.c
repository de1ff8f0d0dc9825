#include "host/cli/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file_io.h"
#include "core/base/plural.h"
#include "host/files/replace.h"
#include "host/data/dirs.h"
#include "host/options/option_table.h"
#include "host/cli/commands.h"

static const dg_options *options;
static int saved = -1; /* duplicate of the original stdout while descriptor 1 refers to stderr, otherwise -1 */

/* Returns 3 for a path such as /dev/fd/3, or -1 if the path names no descriptor. */
static int numbered(const char *path)
{
    static const char *const before[] = {"/dev/fd/", "/proc/self/fd/"};
    if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout")) return STDOUT_FILENO;
    if (!strcmp(path, "/dev/stderr")) return STDERR_FILENO;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        if (strncmp(path, before[i], strlen(before[i])) != 0) continue;
        const char *digits = path + strlen(before[i]);
        const size_t n = strspn(digits, "0123456789");
        if (n > 0 && n < 8 && !digits[n]) return (int)strtol(digits, NULL, 10);
    }
    return -1;
}

static int descriptor(const char *path)
{
    const int fd = numbered(path);
    return fd == STDOUT_FILENO && saved >= 0 ? saved : fd;
}

bool dg_to_stdout(const char *path) { return numbered(path) == STDOUT_FILENO; }

const char *dg_output_name(const char *path) { return dg_to_stdout(path) ? "standard output" : path; }

static const char *value_of(const dg_option *t)
{
    if (!(t->flags & DG_OPT_OUTPUT) || !(t->commands >> options->command & 1)) return NULL;
    return *(char *const *)((const char *)options + t->offset);
}

/* Option --write names a directory. Option --out names a directory, except for the commands in `files`. */
static bool is_file(const dg_option *t)
{
    const unsigned files = 1 << DG_CMD_TUNE | 1 << DG_CMD_EXPORT | 1 << DG_CMD_IMPORT | 1 << DG_CMD_REPORT;
    if (t->offset == offsetof(dg_options, write)) return false;
    return t->offset != offsetof(dg_options, out) || files >> options->command & 1;
}

/* Files that are also read, if they exist. */
static bool is_read_again(const dg_option *t)
{
    return t->offset == offsetof(dg_options, cache) || t->offset == offsetof(dg_options, moments);
}

static const char *option_of(const char *path)
{
    for (const dg_option *t = dg_option_table; t->name; t++) {
        const char *value = value_of(t);
        if (value && !strcmp(value, path)) return t->name;
    }
    return "out";
}

static bool is_below(const char *folder, const char *path)
{
    char *a = realpath(folder, NULL), *b = realpath(path, NULL);
    const size_t n = a ? strlen(a) : 0;
    const bool below = a && b && !strncmp(a, b, n) && (b[n] == '/' || n == 1);
    free(a);
    free(b);
    return below;
}

static bool reads(const char *given, const char *path, const struct stat *s, bool images)
{
    struct stat of;
    if (!given || stat(given, &of)) return false;
    if (S_ISDIR(of.st_mode)) return images && is_below(given, path);
    return of.st_dev == s->st_dev && of.st_ino == s->st_ino;
}

static bool is_input(const char *path, const struct stat *s, dg_made kind)
{
    const dg_options *o = options;
    const bool sample = kind == DG_MADE_SAMPLE;
    const bool folders = o->command == DG_CMD_DATA || o->command == DG_CMD_EVAL || o->command == DG_CMD_CLASSIFY ||
                         o->command == DG_CMD_FIND;
    const char *const given[] = {o->test,       o->config, o->init,     o->resume_from, o->tuning,
                                 o->classifier, o->read_z, o->held_out, o->inception};
    dg_dirs dirs = {0};
    if (o->data) dg_dirs_split(o->data, &dirs);
    for (int i = 0; i < dirs.n; i++)
        if (reads(dirs.dir[i], path, s, sample)) return true;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (reads(given[i], path, s, sample)) return true;
    for (int i = 0; i < o->operands; i++) {
        const bool out = o->operand[i] == o->out || (o->out && i > 0 && !strcmp(o->operand[i], o->out));
        const bool names_out = o->command == DG_CMD_EXPORT || o->command == DG_CMD_IMPORT;
        if (!(out && names_out) && reads(o->operand[i], path, s, sample && folders)) return true;
    }
    return false;
}

static dg_err check_stream(const dg_option *t, const char *value, bool *taken)
{
    const char *name = t->name, *command = dg_commands[options->command].name;
    if (!is_file(t))
        return dg_fail(DG_USAGE,
                       DG_MSG("output-needs-directory",
                              "--%s %s: is a stream, but %s writes a directory; give a directory name"),
                       name, value, command);
    if (is_read_again(t) || options->command == DG_CMD_TUNE)
        return dg_fail(DG_USAGE,
                       DG_MSG("output-read-again",
                              "--%s %s: must be a file, because it is read again; give a file name"),
                       name, value);
    /* if the descriptor were closed, a file that dcgan opens later could get its number */
    if (fcntl(numbered(value), F_GETFD) < 0)
        return dg_fail(DG_IO, DG_MSG("output-not-open", "--%s %s: %s"), name, value, strerror(errno));
    if (!dg_to_stdout(value)) return DG_OK;
    if (options->json)
        return dg_fail(DG_USAGE,
                       DG_MSG("stdout-has-json", "--%s %s: standard output is used by --json; give a file name"), name,
                       value);
    if (*taken)
        return dg_fail(DG_USAGE,
                       DG_MSG("stdout-taken", "--%s %s: standard output is used by another output; give a file name"),
                       name, value);
    *taken = true;
    return DG_OK;
}

/* Refuse two outputs to one regular file (not to a FIFO or device), because they would overwrite each other. */
static dg_err check_other(const dg_option *t, const char *value)
{
    struct stat s;
    if (!stat(value, &s) && !S_ISREG(s.st_mode)) return DG_OK;
    for (const dg_option *other = dg_option_table; other < t; other++) {
        const char *path = value_of(other);
        if (path && dg_same_place(path, value))
            return dg_fail(DG_USAGE,
                           DG_MSG("output-taken", "--%s %s: is also the output of --%s; give another file name"),
                           t->name, value, other->name);
    }
    return DG_OK;
}

static dg_err check(const dg_option *t, bool *taken)
{
    const char *value = value_of(t);
    struct stat s;
    if (!value) return DG_OK;
    if (numbered(value) >= 0) return check_stream(t, value, taken);
    const dg_err e = check_other(t, value);
    if (e) return e;
    if (!is_file(t)) return DG_OK;
    if (!is_read_again(t)) return dg_may_replace(value, DG_MADE_EMPTY);
    if (!stat(value, &s) && (S_ISFIFO(s.st_mode) || S_ISBLK(s.st_mode) || S_ISSOCK(s.st_mode) || S_ISCHR(s.st_mode)))
        return dg_fail(DG_USAGE,
                       DG_MSG("output-not-regular",
                              "--%s %s: must be a regular file, because it is read again; give a file name"),
                       t->name, value);
    return DG_OK; /* the reader refuses other files later; dg_dataset_load warns of a file that is not a cache */
}

dg_err dg_outputs_begin(const dg_options *o, bool closed)
{
    static const dg_output_rule rule = {descriptor, dg_may_replace_by};
    static dg_replacing how;
    options = o;
    how = (dg_replacing){o->force, option_of, is_input};
    dg_set_replacing(&how);
    dg_set_output_rule(&rule);
    bool taken = false;
    dg_err e = DG_OK;
    for (const dg_option *t = dg_option_table; t->name && !e; t++) e = check(t, &taken);
    if (e || !taken) return e;
    if (closed)
        return dg_fail(DG_IO, DG_MSG("stdout-closed", "standard output: is closed; give a file name for the output"));
    saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (saved < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return dg_fail(DG_IO, "standard output: %s", strerror(errno));
    return DG_OK;
}

void dg_raw_say(const dg_options *o, const dg_video *v)
{
    char format[32];
    dg_option_get(o, dg_option_find("raw-format"), format, sizeof format);
    dg_say("%s: %ld image%s of %d x %d pixels, %s", dg_output_name(o->raw), v->frames, dg_s(v->frames), v->W, v->H,
           format);
}

dg_err dg_outputs_check(const char *dir, const char *const *names)
{
    dg_err e = DG_OK;
    for (; *names && !e; names++) {
        char path[PATH_MAX + NAME_MAX];
        snprintf(path, sizeof path, "%s/%s", dir, *names);
        e = dg_may_replace(path, DG_MADE_EMPTY);
    }
    return e;
}

dg_err dg_results_directory(const dg_options *o, const char *name, char *out, size_t size)
{
    const char *checkpoint = o->operands ? o->operand[0] : "", *slash = strrchr(checkpoint, '/');
    int n = o->out ? snprintf(out, size, "%s", o->out)
                   : snprintf(out, size, "%.*s%s", slash ? (int)(slash - checkpoint) + 1 : 0, checkpoint, name);
    if (n < 0 || (size_t)n >= size) return dg_fail(DG_USAGE, "--out: path too long");
    return dg_make_directories(out, NULL);
}
