#include "host/data/dirs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool exists(const char *path)
{
    struct stat st;
    return !lstat(path, &st);
}

void dg_dirs_split(const char *text, dg_dirs *out)
{
    *out = (dg_dirs){.n = 1, .dir = {text}};
    if (!strchr(text, ',') || strlen(text) >= sizeof out->text || exists(text)) return;
    memcpy(out->text, text, strlen(text) + 1);
    int n = 0;
    for (char *at = out->text, *end; *at; at = end) {
        end = at + strcspn(at, ",");
        if (*end) *end++ = 0;
        if (!*at) continue;
        if (n == DG_DIRS_MAX) {
            n = 0;
            break;
        }
        for (char *last = at + strlen(at) - 1; last > at && *last == '/'; last--) *last = 0;
        out->dir[n++] = at;
    }
    if (n) out->n = n;
    else out->dir[0] = text;
}

static bool same_place(const char *a, const char *b)
{
    char x[PATH_MAX], y[PATH_MAX];
    return !strcmp(a, b) || (realpath(a, x) && realpath(b, y) && !strcmp(x, y));
}

static bool has(const dg_dirs *d, const char *dir)
{
    for (int i = 0; i < d->n; i++)
        if (same_place(d->dir[i], dir)) return true;
    return false;
}

char *dg_dirs_add(const char *text, const char *dir, dg_err *e)
{
    dg_dirs old = {0}, more;
    if (text) dg_dirs_split(text, &old);
    dg_dirs_split(dir, &more);
    *e = DG_OK;
    const char *comma = text && old.n == 1 && strchr(text, ',') ? text : more.n == 1 && strchr(dir, ',') ? dir : NULL;
    if (text && comma && !has(&old, dir))
        *e = dg_fail(DG_USAGE, "%s: several folders, but this path has a comma; rename it, or give a link to it",
                     comma);
    const size_t bytes = (text ? strlen(text) : 0) + strlen(dir) + 2;
    if (!*e && (old.n + more.n > DG_DIRS_MAX || bytes > DG_DIRS_BYTES))
        *e = dg_fail(DG_USAGE, "%s: at most %d folders, with paths of %d bytes in all; put them into one folder", dir,
                     DG_DIRS_MAX, DG_DIRS_BYTES);
    char *joined = *e ? NULL : malloc(bytes);
    if (!joined) {
        if (!*e) *e = dg_fail(DG_DEVICE, "out of memory");
        return NULL;
    }
    snprintf(joined, bytes, "%s", text ? text : "");
    for (int i = 0; i < more.n; i++)
        if (!text || !has(&old, more.dir[i]))
            snprintf(joined + strlen(joined), bytes - strlen(joined), "%s%s", *joined ? "," : "", more.dir[i]);
    return joined;
}

bool dg_dirs_same(const char *a, const char *b)
{
    dg_dirs x, y;
    dg_dirs_split(a, &x);
    dg_dirs_split(b, &y);
    for (int i = 0; i < x.n && x.n == y.n; i++)
        if (!same_place(x.dir[i], y.dir[i])) return false;
    return x.n == y.n;
}

static void absolute(const char *dir, char *out, size_t size)
{
    char real[PATH_MAX], here[DG_DIRS_BYTES];
    if (realpath(dir, real)) snprintf(out, size, "%s", real);
    else if (*dir != '/' && getcwd(here, sizeof here)) snprintf(out, size, "%s/%s", here, dir);
    else snprintf(out, size, "%s", dir);
}

void dg_dirs_absolute(char *text, size_t size)
{
    dg_dirs d;
    char all[2 * DG_DIRS_BYTES] = "", one[2 * DG_DIRS_BYTES];
    dg_dirs_split(text, &d);
    for (int i = 0; i < d.n; i++) {
        const size_t at = strlen(all);
        absolute(d.dir[i], one, sizeof one);
        if ((d.n > 1 && strchr(one, ',')) || at + strlen(one) + 2 > sizeof all) return;
        if (i) all[at] = ',';
        memcpy(all + at + (i > 0), one, strlen(one) + 1);
    }
    if (strlen(all) < size) memcpy(text, all, strlen(all) + 1);
}
