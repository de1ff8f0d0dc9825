/* Parses and prints --fuse. */
#include <string.h>

#include "core/plan/fusions.h"

static const struct {
    const char *name, *help;
} fusions[DG_FUSE_KINDS] = {
#define X(name, help) {#name, help},
    DG_FUSIONS(X)
#undef X
};

const char *dg_fusion_name(int i) { return i >= 0 && i < DG_FUSE_KINDS ? fusions[i].name : NULL; }
const char *dg_fusion_help(int i) { return fusions[i].help; }

static bool take(const char *word, size_t n, unsigned *what)
{
    const bool without = n && *word == '-';
    unsigned bits = DG_FUSE_NONE;
    word += without;
    n -= without;
    if (n == 3 && !memcmp(word, "all", 3)) bits = DG_FUSE_ALL;
    for (int i = 0; i < DG_FUSE_KINDS; i++)
        if (strlen(fusions[i].name) == n && !memcmp(word, fusions[i].name, n)) bits = 1u << i;
    if (!bits && !(n == 4 && !memcmp(word, "none", 4) && !without)) return false;
    *what = without ? *what & ~bits : *what | bits;
    return true;
}

bool dg_fuse_parse(const char *list, unsigned *what)
{
    unsigned bits = *list == '-' ? (unsigned)DG_FUSE_ALL : (unsigned)DG_FUSE_NONE;
    for (const char *at = list;; at++) {
        const size_t n = strcspn(at, ",");
        if (!take(at, n, &bits)) return false;
        at += n;
        if (!*at) break;
    }
    *what = bits;
    return true;
}
