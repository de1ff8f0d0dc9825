/* The directory for results. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "host/cli/commands.h"

static dg_err make_directories(char *path)
{
    for (char *c = path + 1;; c++) {
        if (*c && *c != '/') continue;
        char kept = *c;
        *c = 0;
        int failed = mkdir(path, 0777) && errno != EEXIST ? errno : 0;
        *c = kept;
        if (failed) return dg_fail(DG_IO, "%s: cannot create the directory: %s", path, strerror(failed));
        if (!kept) break;
    }
    struct stat st;
    if (stat(path, &st) || !S_ISDIR(st.st_mode)) return dg_fail(DG_IO, "%s: is not a directory", path);
    return DG_OK;
}

dg_err dg_results_directory(const dg_options *o, const char *name, char *out, size_t size)
{
    const char *checkpoint = o->operands ? o->operand[0] : "", *slash = strrchr(checkpoint, '/');
    int n = o->out ? snprintf(out, size, "%s", o->out)
                   : snprintf(out, size, "%.*s%s", slash ? (int)(slash - checkpoint) + 1 : 0, checkpoint, name);
    if (n < 0 || (size_t)n >= size) return dg_fail(DG_USAGE, "--out: path too long");
    return make_directories(out);
}
