/* Paths as typed: suggestions for a path that does not exist, and removal of redundant slashes. */
#include "host/options/option_table.h"
#include "core/base/file_io.h"
#include "core/base/shell.h"
#include "host/data/dirs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { PATH_SIZE = 4096, NAME_SIZE = 256 };

bool dg_option_is_path(const dg_option *t)
{
    static const char *const word[] = {"DIR", "FILE", "PATH", "RUN", "CHECKPOINT", "MODEL"};
    if (t->kind != DG_OPT_TEXT && t->kind != DG_OPT_RESUME) return false;
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (t->arg && strstr(t->arg, word[i])) return true;
    return false;
}

static bool is_address(const char *path)
{
    const char *end = path;
    while (isalnum((unsigned char)*end) || *end == '+') end++;
    return end > path + 1 && !strncmp(end, "://", 3);
}

void dg_path_trim(char *path, bool folder)
{
    if (is_address(path)) return;
    char *to = path;
    for (const char *from = path; *from; from++)
        if (*from != '/' || to == path || to[-1] != '/') *to++ = *from;
    *to = 0;
    if (to - path > 1 && to[-1] == '/' && (folder || dg_is_folder(path))) to[-1] = 0;
}

static bool is_missing(const char *path)
{
    struct stat st;
    return lstat(path, &st) != 0 && errno == ENOENT;
}

/* Returns the bytes of the quotation mark or blank at s; 0: neither. */
static size_t wrapping(const char *s)
{
    static const char *const mark[] = {
        "\"", "'", "`", " ", "\t", "\n", "\xe2\x80\x9c", "\xe2\x80\x9d", "\xe2\x80\x98", "\xe2\x80\x99"};
    for (size_t i = 0; i < sizeof mark / sizeof *mark; i++)
        if (!strncmp(s, mark[i], strlen(mark[i]))) return strlen(mark[i]);
    return 0;
}

static void unwrap(char *path)
{
    size_t n = strlen(path), mark;
    while ((mark = wrapping(path)) > 0) memmove(path, path + mark, (n -= mark) + 1);
    for (size_t back = 1; back <= 3 && back <= n; back++)
        if (wrapping(path + n - back) == back) path[n -= back] = 0, back = 0;
}

/* Returns the value of the variable reference $NAME or ${NAME} at s, or NULL if the variable is not set. Set *bytes to
 * the length of the reference. */
static const char *variable(const char *s, size_t *bytes)
{
    char name[64];
    const bool braces = s[1] == '{';
    const char *first = s + 1 + braces, *end = first;
    while (isalnum((unsigned char)*end) || *end == '_') end++;
    if (end == first || end - first >= (long)sizeof name || (braces && *end != '}')) return NULL;
    snprintf(name, sizeof name, "%.*s", (int)(end - first), first);
    *bytes = (size_t)(end - s) + braces;
    return getenv(name);
}

static bool is_drive(const char *s) { return isalpha((unsigned char)s[0]) && s[1] == ':' && (!s[2] || s[2] == '/'); }

/* Copy a path, resolving ~, variables, backslashes, Windows drives and the %20 of URLs. Set *why to a text that names
 * the user's mistake. */
static void resolve(const char *from, char out[PATH_SIZE], const char **why)
{
    const char *home = getenv("HOME");
    size_t at = 0, bytes;
    const bool local = !strncmp(from, "file://", 7), posix = strchr(from, '\\') == NULL;
    if (local) from += 7, *why = "a URL instead of a path";
    if (home && *from == '~' && (!from[1] || from[1] == '/')) {
        at = (size_t)snprintf(out, PATH_SIZE, "%.3000s", home);
        *why = "the shell expands ~ only at the start of a word";
        from++;
    }
    while (*from && at + 1 < PATH_SIZE) {
        const char *value = *from == '$' ? variable(from, &bytes) : NULL;
        const bool hex = local && *from == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2]);
        if (value && strlen(value) < PATH_SIZE - at) {
            at += (size_t)snprintf(out + at, PATH_SIZE - at, "%s", value);
            from += bytes;
            *why = "the shell expands no variables in single quotes";
        } else if (hex) {
            out[at++] = (char)strtoul((char[]){from[1], from[2], 0}, NULL, 16);
            from += 3;
        } else {
            out[at++] = *from++;
            if (out[at - 1] == '\\') out[at - 1] = '/';
        }
    }
    out[at] = 0;
    if (!posix) *why = "the separator is /";
    if (at >= 2 && is_drive(out) && at + 6 < PATH_SIZE) {
        const char letter = (char)tolower((unsigned char)out[0]);
        memmove(out + 6, out + 2, at - 1);
        memcpy(out, "/mnt/", 5);
        out[5] = letter;
        *why = "Windows drives are folders in /mnt";
    }
}

static void nearest(const char *path, char out[PATH_SIZE])
{
    struct dirent **entry = NULL;
    char folder[PATH_SIZE], best[NAME_SIZE] = "";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    const int n = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0, distance = NAME_SIZE; i < n; i++) {
        const char *found = NULL;
        const bool same = !strcasecmp(entry[i]->d_name, name);
        if (same) distance = 0;
        if (entry[i]->d_name[0] != '.') dg_name_nearer(entry[i]->d_name, name, &found, &distance);
        if (found || same) snprintf(best, sizeof best, "%s", entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    *out = 0;
    if (*best) snprintf(out, PATH_SIZE, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, best);
}

static void folder_of_pattern(const char *path, char out[PATH_SIZE])
{
    snprintf(out, PATH_SIZE, "%.*s", (int)strcspn(path, "*?["), path);
    char *slash = strrchr(out, '/');
    if (slash) slash[slash == out] = 0;
    else snprintf(out, PATH_SIZE, ".");
}

dg_err dg_path_check(dg_err code, const char *path, const char *where, bool input)
{
    char clean[PATH_SIZE], meant[PATH_SIZE], quoted[DG_SHELL_ROOM];
    const char *why = NULL;
    if (strlen(path) >= PATH_SIZE || !is_missing(path)) return DG_OK;
    if (is_address(path) && strncmp(path, "file://", 7) != 0)
        return dg_fail(code, DG_MSG("path-address", "%s: a URL instead of a file or folder; %s"), where,
                       input ? "download it first" : "write to a folder of this machine, then copy the folder");
    const bool typed = *path == '~' || !strncmp(path, "file://", 7);
    if (!input && !typed) return DG_OK;
    snprintf(clean, sizeof clean, "%s", path);
    unwrap(clean);
    if (strcmp(clean, path) != 0) why = "quotation marks and blanks are part of the name";
    resolve(clean, meant, &why);
    if (why && *meant && strcmp(meant, path) != 0 && (!input || !is_missing(meant)))
        return dg_fail(code, DG_MSG("path-corrected", "%s: no such file or folder (%s); did you mean %s?"), where, why,
                       dg_shell_path(quoted, sizeof quoted, meant));
    if (strpbrk(meant, "*?[")) {
        folder_of_pattern(meant, clean);
        return dg_fail(code, DG_MSG("path-pattern", "%s: a pattern that no shell has expanded; give the folder: %s"),
                       where, dg_shell_path(quoted, sizeof quoted, clean));
    }
    if (why && *meant) return dg_fail(code, "%s: no such file or folder, nor is there %s (%s)", where, meant, why);
    nearest(path, meant);
    if (!*meant) return DG_OK;
    return dg_fail(code, DG_MSG("path-near", "%s: no such file or folder; did you mean %s?"), where,
                   dg_shell_path(quoted, sizeof quoted, meant));
}

dg_err dg_path_check_dirs(const char *value)
{
    dg_dirs d;
    dg_err e = DG_OK;
    dg_dirs_split(value, &d);
    for (int i = 0; i < d.n && !e; i++) {
        char where[512];
        snprintf(where, sizeof where, "--data %s", d.dir[i]);
        e = dg_path_check(DG_DATA, d.dir[i], where, true);
    }
    return e;
}
