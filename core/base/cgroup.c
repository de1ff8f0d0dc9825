#include "core/base/cgroup.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *root, *controller;
    char path[PATH_MAX];
    char mount[PATH_MAX]; /* mount point with the prefix `root`, or "" if there is none */
    char group[PATH_MAX]; /* path of the cgroup relative to the mount point */
    bool second;
} hierarchy;

static FILE *open_in(const char *root, const char *path)
{
    char name[PATH_MAX];
    const int n = snprintf(name, sizeof name, "%s%s", root, path);
    return n > 0 && (size_t)n < sizeof name ? fopen(name, "re") : NULL;
}

static bool lists(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *s = list; s; s = strchr(s, ',')) {
        s += *s == ',';
        if (!strncmp(s, word, n) && (s[n] == 0 || s[n] == ',')) return true;
    }
    return false;
}

static bool find_path(hierarchy *h)
{
    char *line = NULL;
    size_t room = 0;
    FILE *f = open_in(h->root, "/proc/self/cgroup");
    bool found = false;
    while (f && getline(&line, &room, f) > 0) {
        line[strcspn(line, "\n")] = 0;
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path || strlen(path + 1) >= sizeof h->path) continue;
        *path++ = 0;
        const bool second = list[1] == 0, first = lists(list + 1, h->controller);
        if (!first && (!second || found)) continue;
        snprintf(h->path, sizeof h->path, "%s", path);
        h->second = !first;
        found = true;
        if (first) break;
    }
    free(line);
    if (f) (void)fclose(f);
    return found;
}

static void unescape(char *s)
{
    char *to = s;
    for (; *s; s++) {
        if (s[0] == '\\' && strspn(s + 1, "01234567") >= 3) {
            *to++ = (char)strtoul((char[]){s[1], s[2], s[3], 0}, NULL, 8);
            s += 3;
        } else {
            *to++ = *s;
        }
    }
    *to = 0;
}

/* A path with a component ".." leads to a cgroup outside of the process's cgroup namespace. */
static bool leads_out(const char *path)
{
    for (const char *s = path; (s = strstr(s, "/..")); s += 3)
        if (s[3] == '/' || s[3] == 0) return true;
    return false;
}

/* Stores the process's cgroup path relative to the mount point, or "" if the cgroup is not below the mount point. */
static void set_group(hierarchy *h, const char *mounted)
{
    size_t n = strlen(mounted);
    if (n == 1) n = 0;
    const bool below = !strncmp(h->path, mounted, n) && (h->path[n] == '/' || h->path[n] == 0);
    snprintf(h->group, sizeof h->group, "%s", below && !leads_out(h->path + n) ? h->path + n : "");
    size_t end = strlen(h->group);
    while (end && h->group[end - 1] == '/') h->group[--end] = 0;
}

/* Parses a line of /proc/self/mountinfo: "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw". */
static bool take_mount(hierarchy *h, char *line)
{
    char *field[5], *rest = line;
    for (int i = 0; i < 5; i++)
        if (!(field[i] = strsep(&rest, " "))) return false;
    char *type = rest ? strstr(rest, " - ") : NULL;
    if (!type) return false;
    type += 3;
    char *options = strrchr(type, ' ');
    const size_t n = strcspn(type, " ");
    const bool second = n == 7 && !strncmp(type, "cgroup2", n), first = n == 6 && !strncmp(type, "cgroup", n);
    if (h->second ? !second : !first || !options || !lists(options + 1, h->controller)) return false;
    unescape(field[3]);
    unescape(field[4]);
    const int length = snprintf(h->mount, sizeof h->mount, "%s%s", h->root, field[4]);
    if (length < 0 || (size_t)length >= sizeof h->mount) return h->mount[0] = 0, false;
    set_group(h, field[3]);
    return true;
}

/* Finds the first cgroup mount that contains the process's cgroup, or else the last mount. */
static bool find(const char *root, const char *controller, hierarchy *h)
{
    *h = (hierarchy){.root = root, .controller = controller};
    if (!find_path(h)) return false;
    char *line = NULL;
    size_t room = 0;
    FILE *f = open_in(root, "/proc/self/mountinfo");
    bool found = false;
    while (f && getline(&line, &room, f) > 0) {
        line[strcspn(line, "\n")] = 0;
        found |= take_mount(h, line);
        if (found && h->group[0]) break;
    }
    free(line);
    if (f) (void)fclose(f);
    return found;
}

static bool up(hierarchy *h)
{
    char *slash = strrchr(h->group, '/');
    if (!slash) return false;
    *slash = 0;
    return true;
}

static FILE *open_file(const hierarchy *h, const char *name)
{
    char path[PATH_MAX + 64];
    const int n = snprintf(path, sizeof path, "%s/%s", h->group, name);
    return n > 0 ? open_in(h->mount, path) : NULL;
}

static bool read_text(const hierarchy *h, const char *name, char *text, int size)
{
    FILE *f = open_file(h, name);
    if (!f) return false;
    const bool read = fgets(text, size, f) != NULL;
    (void)fclose(f);
    return read;
}

/* Reads a limit from a cgroup file. *out is SIZE_MAX for "max" and for huge numbers, which mean no limit. */
static bool read_number(const hierarchy *h, const char *name, size_t *out)
{
    char text[64], *end;
    if (!read_text(h, name, text, sizeof text)) return false;
    *out = SIZE_MAX;
    if (!strncmp(text, "max", 3) || text[0] == '-') return true;
    const unsigned long long n = strtoull(text, &end, 10);
    if (end == text) return false;
    if (n < 1ull << 60 && n < SIZE_MAX) *out = (size_t)n;
    return true;
}

static size_t stat_number(const hierarchy *h, const char *const name[], int names)
{
    char line[256], *end;
    size_t sum = 0;
    FILE *f = open_file(h, "memory.stat");
    while (f && fgets(line, sizeof line, f)) {
        const size_t n = strcspn(line, " ");
        for (int i = 0; i < names; i++)
            if (strlen(name[i]) == n && !strncmp(line, name[i], n)) sum += (size_t)strtoull(line + n, &end, 10);
    }
    if (f) (void)fclose(f);
    return sum;
}

/* Returns a cgroup's used bytes without the caches that the kernel can reclaim. */
static size_t kept(const hierarchy *h)
{
    static const char *const first[] = {"total_inactive_file", "total_active_file"}, *const second[] = {
                                                                                         "inactive_file", "active_file",
                                                                                         "slab_reclaimable"};
    size_t used;
    if (!read_number(h, h->second ? "memory.current" : "memory.usage_in_bytes", &used) || used == SIZE_MAX) return 0;
    const size_t cache = h->second ? stat_number(h, second, 3) : stat_number(h, first, 2);
    return used > cache ? used - cache : 0;
}

static void note(const hierarchy *h, const char *file, size_t all, size_t used, dg_cgroup_limit *out)
{
    const size_t left = all > used ? all - used : 0;
    if (all == SIZE_MAX || (out->file[0] && left >= out->left)) return;
    *out = (dg_cgroup_limit){.all = all, .left = left};
    snprintf(out->file, sizeof out->file, "%s", file);
    snprintf(out->group, sizeof out->group, "%.159s", h->group[0] ? h->group : "/");
}

static size_t add(size_t a, size_t b) { return a > SIZE_MAX - b ? SIZE_MAX : a + b; }
static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static void note_second(const hierarchy *h, size_t swap, dg_cgroup_limit *out)
{
    static const char *const file[] = {"memory.max", "memory.high"};
    size_t all, more = 0, swapped = 0;
    for (int i = 0; i < 2; i++) {
        if (!read_number(h, file[i], &all) || all == SIZE_MAX) continue;
        if (!read_number(h, "memory.swap.max", &more)) more = swap;
        if (!read_number(h, "memory.swap.current", &swapped) || swapped == SIZE_MAX) swapped = 0;
        note(h, file[i], add(all, smaller(more, swap)), add(kept(h), swapped), out);
    }
}

/* In cgroup version 1, memory.memsw.limit_in_bytes limits memory plus swap. hierarchical_memory_limit includes the
 * limits of ancestor cgroups that are invisible to this process. */
static void note_first(const hierarchy *h, size_t swap, bool child, dg_cgroup_limit *out)
{
    static const char *const above[] = {"hierarchical_memory_limit"}, *const swapped[] = {"total_swap"};
    char hierarchical[8];
    if (child && read_text(h, "memory.use_hierarchy", hierarchical, sizeof hierarchical) && hierarchical[0] == '0')
        return;
    size_t all, both, used = kept(h);
    if (!read_number(h, "memory.limit_in_bytes", &all)) all = SIZE_MAX;
    const size_t inherited = stat_number(h, above, 1);
    if (inherited && inherited < (size_t)1 << 60) all = smaller(all, inherited);
    if (!read_number(h, "memory.memsw.limit_in_bytes", &both)) both = SIZE_MAX;
    used = add(used, swap ? stat_number(h, swapped, 1) : 0);
    if (all != SIZE_MAX) note(h, "memory.limit_in_bytes", smaller(add(all, swap), both), used, out);
    else if (both != SIZE_MAX) note(h, "memory.memsw.limit_in_bytes", both, used, out);
}

bool dg_cgroup_memory(const char *root, size_t swap, dg_cgroup_limit *out)
{
    hierarchy h;
    bool child = false;
    *out = (dg_cgroup_limit){.all = SIZE_MAX, .left = SIZE_MAX};
    if (!find(root, "memory", &h)) return false;
    do {
        if (h.second) note_second(&h, swap, out);
        else note_first(&h, swap, child, out);
        child = true;
    } while (up(&h));
    return out->file[0] != 0;
}

bool dg_cgroup_threads(const char *root, dg_cgroup_limit *out)
{
    hierarchy h;
    *out = (dg_cgroup_limit){.all = SIZE_MAX, .left = SIZE_MAX};
    if (!find(root, "pids", &h)) return false;
    do {
        size_t all, used;
        if (!read_number(&h, "pids.max", &all)) continue;
        if (!read_number(&h, "pids.current", &used) || used == SIZE_MAX) used = 0;
        note(&h, "pids.max", all, used, out);
    } while (up(&h));
    return out->file[0] != 0;
}

static double quota(const hierarchy *h)
{
    char text[64], *end;
    size_t most, period;
    if (!h->second) {
        const bool both = read_number(h, "cpu.cfs_quota_us", &most) && read_number(h, "cpu.cfs_period_us", &period);
        return both && most != SIZE_MAX && period ? (double)most / (double)period : INFINITY;
    }
    if (!read_text(h, "cpu.max", text, sizeof text) || !strncmp(text, "max", 3)) return INFINITY;
    const unsigned long long q = strtoull(text, &end, 10), p = strtoull(end, NULL, 10);
    return q && p ? (double)q / (double)p : INFINITY;
}

static int count_list(const char *s)
{
    int n = 0;
    while (*s >= '0' && *s <= '9') {
        char *end;
        const unsigned long from = strtoul(s, &end, 10), to = *end == '-' ? strtoul(end + 1, &end, 10) : from;
        if (to < from || to - from > 1u << 20) return 0;
        n += (int)(to - from) + 1;
        s = end + (*end == ',');
    }
    return n;
}

int dg_cgroup_cores(const char *root)
{
    static const char *const sets[] = {"cpuset.effective_cpus", "cpuset.cpus.effective", "cpuset.cpus"};
    hierarchy h;
    double most = INFINITY;
    char text[4096];
    for (bool there = find(root, "cpu", &h); there; there = up(&h)) most = fmin(most, quota(&h));
    int n = isinf(most) ? 0 : most < 1 ? 1 : (int)fmin(ceil(most - 1e-9), 1e6);
    if (!find(root, "cpuset", &h)) return n;
    for (int i = h.second ? 1 : 0; i < 3; i++) {
        const int listed = read_text(&h, sets[i], text, sizeof text) ? count_list(text) : 0;
        if (listed) return n && n < listed ? n : listed;
    }
    return n;
}
