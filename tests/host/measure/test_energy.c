/* Tests the counters of CPUs with files like those of Linux's powercap: which zones count, and counters that wrap. */
#include "host/measure/energy.h"

#include <sys/stat.h>

#include "tempdir.h"
#include "test.h"

static char root[300];

static void put(const char *zone, const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:%s/%s", root, zone, name);
    temp_put(path, text, strlen(text));
}

static void add_zone(const char *zone, const char *name, const char *energy)
{
    char path[600];
    snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:%s", root, zone);
    DG_CHECK(mkdir(path, 0777) == 0);
    put(zone, "name", name);
    put(zone, "max_energy_range_uj", "9000000\n");
    put(zone, "energy_uj", energy);
}

static void check_none(const char *what)
{
    dg_energy *e = dg_energy_open(root, "");
    DG_CHECKF(!e, "%s", what);
    dg_energy_close(e);
}

int main(void)
{
    static const char *const folders[] = {"", "/sys", "/sys/class", "/sys/class/powercap"};
    char path[600];
    temp_make("energy");
    snprintf(root, sizeof root, "%s", temp_path("root"));
    check_none("a machine without powercap");
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", root, folders[i]);
        DG_CHECK(mkdir(path, 0777) == 0);
    }
    add_zone("0", "psys\n", "1000000\n");
    check_none("a machine with the zone psys alone");
    add_zone("1", "package-0\n", "");
    check_none("a package without a value");
    put("1", "energy_uj", "5x\n");
    check_none("a package with an invalid value");
    put("1", "energy_uj", "8000000\n");
    add_zone("1/intel-rapl:1:0", "core\n", "1000000\n");
    add_zone("1/intel-rapl:1:1", "dram\n", "2000000\n");
    add_zone("2", "package-1\n", "1000000\n");
    add_zone("2/intel-rapl:2:0", "dram\n", "1000000\n");

    dg_energy *e = dg_energy_open(root, "");
    if (!DG_CHECK(e)) return dg_test_report();
    DG_CHECKF(!strcmp(dg_energy_of(e), "package-0, dram, package-1"), "%s", dg_energy_of(e));
    DG_NEAR(dg_energy_joules(e, true), 0, 0);
    put("0", "energy_uj", "7000000\n");
    put("1/intel-rapl:1:0", "energy_uj", "7000000\n");
    put("1", "energy_uj", "500000\n"); /* 1.5 J, the counter wrapped */
    put("1/intel-rapl:1:1", "energy_uj", "2250000\n");
    put("2", "energy_uj", "5000000\n");
    DG_NEAR(dg_energy_joules(e, false), 0, 0); /* too soon after the last read */
    DG_NEAR(dg_energy_joules(e, true), 1.5 + 0.25 + 4, 1e-12);
    put("2", "energy_uj", "");
    put("1", "energy_uj", "400000\n"); /* 8.9 J */
    DG_NEAR(dg_energy_joules(e, true), 1.5 + 8.9 + 0.25 + 4, 1e-12);
    dg_energy_close(e);
    e = dg_energy_open(root, "0000:00:00.0");
    DG_CHECKF(!e, "a GPU needs a counter of its own");
    dg_energy_close(e);
    temp_remove(temp_dir);
    return dg_test_report();
}
