/* Tests that limits of memory and processors are read correctly from cgroup trees of versions 1 and 2. */
#include "core/base/cgroup.h"

#include <stdint.h>
#include <sys/stat.h>

#include "tempdir.h"
#include "test.h"

static int trees;
static char root[300];

static void put(const char *path, const char *text)
{
    char name[600];
    snprintf(name, sizeof name, "%s%s", root, path);
    for (char *s = name + strlen(root) + 1; (s = strchr(s, '/')); s++) {
        *s = 0;
        (void)mkdir(name, 0700);
        *s = '/';
    }
    temp_put(name, text, strlen(text));
}

static void begin(const char *groups, const char *mounts)
{
    snprintf(root, sizeof root, "%s", temp_path(temp_text("tree%d", trees++)));
    (void)mkdir(root, 0700);
    put("/proc/self/cgroup", groups);
    put("/proc/self/mountinfo", mounts);
}

static void is(const char *what, size_t swap, size_t all, size_t left, const char *file, const char *group)
{
    dg_cgroup_limit l;
    const bool there = dg_cgroup_memory(root, swap, &l);
    DG_CHECKF(there == (all != SIZE_MAX), "%s: found %d", what, there);
    DG_CHECKF(l.all == all && l.left == left, "%s: %zu of %zu, not %zu of %zu", what, l.left, l.all, left, all);
    DG_CHECKF(!strcmp(l.file, file) && !strcmp(l.group, group), "%s: %s of %s", what, l.file, l.group);
}

static const char mount2[] = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

static void second_version(void)
{
    begin("0::/user.slice/job 7\n", mount2);
    is("no files", 0, SIZE_MAX, SIZE_MAX, "", "");
    put("/sys/fs/cgroup/user.slice/job 7/memory.max", "max\n");
    is("max", 0, SIZE_MAX, SIZE_MAX, "", "");
    put("/sys/fs/cgroup/user.slice/memory.max", "1000000\n");
    is("the group above", 0, 1000000, 1000000, "memory.max", "/user.slice");
    put("/sys/fs/cgroup/user.slice/job 7/memory.max", "2000000\n");
    put("/sys/fs/cgroup/user.slice/job 7/memory.current", "1700000\n");
    put("/sys/fs/cgroup/user.slice/job 7/memory.stat",
        "anon 600000\nfile 1000000\ninactive_file 900000\nactive_file 50000\nslab_reclaimable 50000\n");
    is("a cache that can be reclaimed", 0, 1000000, 1000000, "memory.max", "/user.slice");
    put("/sys/fs/cgroup/user.slice/job 7/memory.current", "2700000\n");
    is("used up", 0, 2000000, 300000, "memory.max", "/user.slice/job 7");
    put("/sys/fs/cgroup/user.slice/job 7/memory.high", "1800000\n");
    is("high", 0, 1800000, 100000, "memory.high", "/user.slice/job 7");
    is("swap without a limit", 500000, 2300000, 600000, "memory.high", "/user.slice/job 7");
    put("/sys/fs/cgroup/user.slice/job 7/memory.swap.max", "0\n");
    is("no swap", 500000, 1800000, 100000, "memory.high", "/user.slice/job 7");
    put("/sys/fs/cgroup/user.slice/job 7/memory.current", "nonsense\n");
    put("/sys/fs/cgroup/user.slice/job 7/memory.max", "\n");
    put("/sys/fs/cgroup/user.slice/memory.max", "-5\n");
    is("files that are wrong", 0, 1800000, 1800000, "memory.high", "/user.slice/job 7");
}

/* In a cgroup namespace, the path of the process's cgroup may lie outside of the mounted cgroup tree. */
static void namespaces(void)
{
    static const char *const seen[][2] = {{"0::/\n", "/"},
                                          {"0::/../../system.slice\n", "/"},
                                          {"0::/docker/abc\n", "/docker/abc"},
                                          {"0::/elsewhere\n", "/docker/abc"},
                                          {"0::/docker/abcd\n", "/docker/abc"},
                                          {"0::/../abc\n", "/../abc"}};
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        char mounts[300];
        snprintf(mounts, sizeof mounts,
                 "29 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 23 0:26 %s /my\\040cgroups rw - cgroup2 none rw\n",
                 seen[i][1]);
        begin(seen[i][0], mounts);
        put("/my cgroups/memory.max", "3000\n");
        put("/memory.max", "7\n"); /* a limit above the mounted cgroup tree is ignored */
        is(seen[i][0], 0, 3000, 3000, "memory.max", "/");
    }
    begin("0::/docker/abc/in/it\n", "30 23 0:26 /docker/abc /cg rw - cgroup2 none rw\n");
    put("/cg/memory.max", "3000\n");
    put("/cg/in/it/memory.max", "2000\n");
    is("below the mount", 0, 2000, 2000, "memory.max", "/in/it");
    begin("0::/..hidden\n", "30 23 0:26 / /cg rw - cgroup2 none rw\n");
    put("/cg/..hidden/memory.max", "2000\n");
    is("a name with two dots", 0, 2000, 2000, "memory.max", "/..hidden");
    begin("broken\n0:\n\n1:x\n", mount2);
    is("no such file", 0, SIZE_MAX, SIZE_MAX, "", "");
    begin("0::/\n", "1 2\n30 23 0:26 / /cg\n30 23 0:26 / /cg rw -\n");
    is("no such mounts", 0, SIZE_MAX, SIZE_MAX, "", "");
}

static const char mount1[] = "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                             "32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                             "33 23 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                             "34 23 0:30 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
                             "35 23 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
static const char groups1[] = "5:pids:/a\n4:cpuset:/a\n3:memory:/a/b\n2:cpu,cpuacct:/a/b\n1:name=systemd:/x\n0::/y\n";

static void first_version(void)
{
    begin(groups1, mount1);
    /* ignored, because the memory controller belongs to the version 1 tree */
    put("/sys/fs/cgroup/unified/y/memory.max", "5\n");
    put("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    is("none", 0, SIZE_MAX, SIZE_MAX, "", "");
    put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "4000\n");
    is("the group above", 0, 4000, 4000, "memory.limit_in_bytes", "/a");
    put("/sys/fs/cgroup/memory/a/memory.use_hierarchy", "0\n");
    is("without a hierarchy", 0, SIZE_MAX, SIZE_MAX, "", "");
    put("/sys/fs/cgroup/memory/a/b/memory.stat", "cache 9\ntotal_inactive_file 100\ntotal_active_file 20\n"
                                                 "hierarchical_memory_limit 3000\ntotal_swap 70\n");
    is("out of sight", 0, 3000, 3000, "memory.limit_in_bytes", "/a/b");
    put("/sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "1120\n");
    is("used", 0, 3000, 2000, "memory.limit_in_bytes", "/a/b");
    is("with swap", 500, 3500, 2430, "memory.limit_in_bytes", "/a/b");
    put("/sys/fs/cgroup/memory/a/b/memory.memsw.limit_in_bytes", "3200\n");
    is("with less swap", 500, 3200, 2130, "memory.limit_in_bytes", "/a/b");
}

static void processors(void)
{
    begin(groups1, mount1);
    DG_CHECK(dg_cgroup_cores(root) == 0);
    put("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
    DG_CHECK(dg_cgroup_cores(root) == 0);
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    DG_CHECK(dg_cgroup_cores(root) == 3);
    put("/sys/fs/cgroup/cpuset/a/cpuset.effective_cpus", "0,4-5\n");
    DG_CHECK(dg_cgroup_cores(root) == 3);
    put("/sys/fs/cgroup/cpuset/a/cpuset.effective_cpus", "7\n");
    DG_CHECK(dg_cgroup_cores(root) == 1);
    begin("0::/a/b\n", mount2);
    static const struct {
        const char *max;
        int cores;
    } quotas[] = {{"max 100000\n", 0},  {"200000 100000\n", 2}, {"150000 100000\n", 2},
                  {"1000 100000\n", 1}, {"0 0\n", 0},           {"rubbish\n", 0}};
    for (size_t i = 0; i < sizeof quotas / sizeof *quotas; i++) {
        put("/sys/fs/cgroup/a/cpu.max", quotas[i].max);
        DG_CHECKF(dg_cgroup_cores(root) == quotas[i].cores, "%s: %d", quotas[i].max, dg_cgroup_cores(root));
    }
    put("/sys/fs/cgroup/a/b/cpuset.cpus.effective", "0-3,8,9\n");
    DG_CHECK(dg_cgroup_cores(root) == 6);
}

static void threads(void)
{
    dg_cgroup_limit l;
    begin(groups1, mount1);
    DG_CHECK(!dg_cgroup_threads(root, &l));
    put("/sys/fs/cgroup/pids/a/pids.max", "40\n");
    put("/sys/fs/cgroup/pids/a/pids.current", "38\n");
    DG_CHECK(dg_cgroup_threads(root, &l) && l.all == 40 && l.left == 2 && !strcmp(l.group, "/a"));
}

DG_TESTS_IN("cgroup", second_version, namespaces, first_version, processors, threads)
