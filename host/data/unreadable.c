/* Unreadable folders, and advice about unusable files. */
#include "core/base/plural.h"
#include "core/base/shell.h"
#include "host/data/dataset_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

typedef enum { DAMAGED, FORMAT, LARGE, PERMISSION, DISK, CAUSES } cause;

static bool has_any(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strstr(text, *words)) return true;
    return false;
}

/* Find the cause of a failure from words in the messages of the decoders and of dg_file_whole(). */
static cause cause_of(const char *reason)
{
    static const char refused[] = "cannot be read: ";
    static const char *const disk[] = {refused, "vanished", "became shorter", "regular file", "unknown type", NULL},
                             *const large[] = {"the limit is", NULL},
                             *const format[] = {"not supported", "neither PNG", "not an image", NULL};
    const char *at = strstr(reason, refused);
    if (at && (!strcmp(at + sizeof refused - 1, strerror(EACCES)) || !strcmp(at + sizeof refused - 1, strerror(EPERM))))
        return PERMISSION;
    return has_any(reason, disk) ? DISK : has_any(reason, large) ? LARGE : has_any(reason, format) ? FORMAT : DAMAGED;
}

char *dg_bad_advice(const dg_dataset *d, char *out, size_t size)
{
    static const char *const what[CAUSES] = {
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
