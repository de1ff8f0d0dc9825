/* Defines limits and error messages for unusable images. */
#include "host/data/dataset_internal.h"
#include "host/data/dirs.h"
#include "core/base/plural.h"
#include "core/base/shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

typedef struct {
    char *text;
    const char *reason; /* reason of all files in the group, or NULL if their reasons differ in numbers */
    int count;
} group;

/* Replace numbers by N, so that "cut off after 57 bytes" and "cut off after 58 bytes" are the same reason. */
static char *without_numbers(const char *reason)
{
    char *s = malloc(strlen(reason) + 1), *to = s;
    if (!s) return NULL;
    for (const char *p = reason; *p; p++) {
        bool digit = *p >= '0' && *p <= '9';
        bool word = p > reason && ((p[-1] | 32) >= 'a' && (p[-1] | 32) <= 'z'); /* keep a digit in a word such as c0 */
        if (digit && !word) {
            while (p[1] >= '0' && p[1] <= '9') p++;
            *to++ = 'N';
        } else {
            *to++ = *p;
        }
    }
    *to = 0;
    return s;
}

static int by_text(const void *a, const void *b) { return strcmp(((const group *)a)->text, ((const group *)b)->text); }

static int by_count(const void *a, const void *b)
{
    int x = ((const group *)a)->count, y = ((const group *)b)->count;
    return x != y ? (x < y) - (x > y) : by_text(a, b);
}

char *dg_skip_summary(const dg_dataset *d, bool bad_only, int most, char *out, size_t size)
{
    out[0] = 0;
    group *g = calloc(d->skips ? (size_t)d->skips : 1, sizeof *g);
    int n = 0, kinds = 0;
    for (int i = 0; g && i < d->skips; i++) {
        if (bad_only && !d->skip[i].bad) continue;
        char *text = without_numbers(d->skip[i].reason);
        if (text) g[n++] = (group){text, d->skip[i].reason, 1};
    }
    if (n) qsort(g, (size_t)n, sizeof *g, by_text);
    for (int i = 0; i < n; i++) {
        if (kinds && !strcmp(g[kinds - 1].text, g[i].text)) {
            group *k = g + kinds - 1;
            k->count++;
            if (k->reason && strcmp(k->reason, g[i].reason) != 0) k->reason = NULL;
            free(g[i].text);
        } else {
            g[kinds++] = g[i];
        }
    }
    if (kinds) qsort(g, (size_t)kinds, sizeof *g, by_count);
    size_t at = 0;
    int rest = 0;
    for (int i = 0; i < kinds; i++) {
        if (i < most && at < size)
            at += (size_t)snprintf(out + at, size - at, "%s%s (%d)", i ? ", " : "",
                                   g[i].reason ? g[i].reason : g[i].text, g[i].count);
        else rest += g[i].count;
        free(g[i].text);
    }
    if (rest && at < size) snprintf(out + at, size - at, ", other reasons (%d)", rest);
    free(g);
    return out;
}

char *dg_left_out(const dg_dataset *d, char *out, size_t size)
{
    int n = 0;
    out[0] = 0;
    if (d->made) n = snprintf(out, size, "%d image%s made by dcgan", d->made, dg_s(d->made));
    if (d->hidden)
        snprintf(out + n, size - (size_t)n, "%s%d hidden %s", n ? " and " : "", d->hidden,
                 d->hidden == 1 ? "file or folder" : "files or folders");
    return out;
}

dg_err dg_dataset_judge(const dg_dataset_options *o, const dg_dataset *d)
{
    const dg_err lost = dg_check_folders(o, d->skip, d->skips);
    if (lost) return lost;
    char name[1024], reasons[512], advice[512], unpack[DG_MESSAGE_BYTES];
    int bad = 0, first = -1;
    for (int i = 0; i < d->skips; i++)
        if (d->skip[i].bad && bad++ == 0) first = i;
    dg_dirs dirs; /* the names of files of several folders begin with the folder */
    dg_dirs_split(o->dir, &dirs);
    if (o->strict && first >= 0)
        return dg_fail(DG_DATA, DG_MSG("strict-image", "%s%s%s: %s (with {strict}, an unusable image is an error)"),
                       dirs.n > 1 ? "" : o->dir, dirs.n > 1 ? "" : "/",
                       dg_printable(name, sizeof name, d->skip[first].name), d->skip[first].reason);
    dg_skip_summary(d, bad > 0, 4, reasons, sizeof reasons);
    char dir[DG_SHELL_ROOM], list[DG_MESSAGE_BYTES];
    if (dg_dataset_listed(o, d)) snprintf(list, sizeof list, "%s", o->skipped);
    else if (!o->least) snprintf(list, sizeof list, "The report");
    else snprintf(list, sizeof list, "%s data %s", dg_program(), dg_shell_path(dir, sizeof dir, o->dir));
    if (bad > 1000 || 10 * (int64_t)bad > (int64_t)bad + d->usable)
        return dg_fail(DG_DATA, "%s: %d of %d image%s cannot be read, more than 10%% or 1,000: %s. %s lists them: %s",
                       o->dir, bad, bad + d->usable, dg_s(bad + d->usable), reasons, list,
                       dg_bad_advice(d, advice, sizeof advice));
    char ours[128];
    const char *and_ours = *dg_left_out(d, ours, sizeof ours) ? "; left out: " : "";
    if (d->count == 0)
        return dg_fail(DG_DATA, DG_MSG("no-images-in", "%s: no images%s%s%s%s%s"), o->dir,
                       d->skips ? "; skipped: " : "", reasons, and_ours, ours,
                       dg_unpack_advice(o->dir, d, unpack, sizeof unpack));
    if (d->train < o->least)
        return dg_fail(DG_DATA,
                       DG_MSG("few-images", "%s: only %d usable image%s%s; one batch needs at least %d%s%s%s%s"),
                       o->dir, d->train, dg_s(d->train), d->train < d->count || d->aside ? " for training" : "",
                       o->least, d->skips ? "; skipped: " : "", reasons, and_ours, ours);
    return DG_OK;
}

dg_err dg_errno_kind(int error)
{
    if (error == EMFILE || error == ENFILE || error == ENOMEM) return DG_DEVICE;
    return dg_may_pass(error) || error == ENXIO || error == ENODEV ? DG_IO : DG_DATA;
}

static bool is_permission(int error) { return error == EACCES || error == EPERM; }

static void advise(const dg_dataset_options *o, int error, char *out, size_t size)
{
    char dir[DG_SHELL_ROOM];
    if (is_permission(error))
        snprintf(out, size, "give read permission: chmod -R u+rX %s", dg_shell_path(dir, sizeof dir, o->dir));
    else if (dg_errno_kind(error) == DG_IO) snprintf(out, size, "check the disk or the network, then try again");
    else if (error == ENOENT) snprintf(out, size, "wait until no program changes the folder, then try again");
    else snprintf(out, size, "move its images to a shorter path");
}

dg_err dg_check_folders(const dg_dataset_options *o, const dg_skip *skip, long skips)
{
    const dg_skip *first = NULL;
    int n = 0;
    for (long i = 0; i < skips; i++)
        if (skip[i].folder && n++ == 0) first = skip + i;
    if (!n || o->skip_unreadable) return DG_OK;
    char name[1024], more[64] = "", advice[DG_SHELL_ROOM + 64];
    if (n > 1) snprintf(more, sizeof more, "; %d more folder%s cannot be read", n - 1, dg_s(n - 1));
    advise(o, first->folder, advice, sizeof advice);
    return dg_fail(dg_errno_kind(first->folder),
                   DG_MSG("folder-not-read",
                          "%s/%s: %s; an unknown number of images is missing%s: %s, or use {skip-unreadable}"),
                   o->dir, dg_printable(name, sizeof name, first->name), first->reason, more, advice);
}

void dg_warn_folders(const dg_dataset_options *o, const dg_skip *skip, long skips)
{
    char name[1024];
    const dg_skip *link = NULL;
    int links = 0;
    for (long i = 0; i < skips; i++) {
        if (skip[i].folder && o->skip_unreadable)
            dg_warn(DG_MSG("images-missing", "an unknown number of images is missing: %s/%s: %s"), o->dir,
                    dg_printable(name, sizeof name, skip[i].name), skip[i].reason);
        if (!strcmp(skip[i].reason, DG_LINK_TO_FOLDER) && links++ == 0) link = skip + i;
    }
    if (links)
        dg_warn("images in %d linked folder%s are not used: links to folders are not followed; the first is %s/%s",
                links, dg_s(links), o->dir, dg_printable(name, sizeof name, link->name));
}

typedef enum { POINTER, DAMAGED, FORMAT, LARGE, PERMISSION, DISK, CAUSES } cause;

static bool has_any(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strstr(text, *words)) return true;
    return false;
}

static cause cause_of(const char *reason)
{
    static const char refused[] = "cannot be read: ";
    static const char *const disk[] = {refused, "vanished", "became shorter", "regular file", "unknown type", NULL},
                             *const large[] = {"the limit is", NULL},
                             *const format[] = {"not supported", "neither PNG", "not an image", NULL};
    if (!strcmp(reason, DG_LFS_POINTER)) return POINTER;
    const char *at = strstr(reason, refused);
    if (at && (!strcmp(at + sizeof refused - 1, strerror(EACCES)) || !strcmp(at + sizeof refused - 1, strerror(EPERM))))
        return PERMISSION;
    return has_any(reason, disk) ? DISK : has_any(reason, large) ? LARGE : has_any(reason, format) ? FORMAT : DAMAGED;
}

char *dg_bad_advice(const dg_dataset *d, char *out, size_t size)
{
    static const char *const what[CAUSES] = {
        [POINTER] = "fetch the files of Git LFS pointers: git lfs pull",
        [DAMAGED] = "replace or remove damaged images",
        [FORMAT] = "convert images of other formats to PNG",
        [LARGE] = "reduce the size of images that are too large",
        [PERMISSION] = "give read permission (chmod u+r) to images without it",
        [DISK] = "check the disk or the network, then try again",
    };
    int count[CAUSES] = {0};
    for (int i = 0; i < d->skips; i++)
        if (d->skip[i].bad) count[cause_of(d->skip[i].reason)]++;
    size_t at = 0;
    out[0] = 0;
    for (int i = 0; i < CAUSES; i++)
        if (count[i] && at < size) at += (size_t)snprintf(out + at, size - at, "%s%s", at ? "; " : "", what[i]);
    return out;
}
