#include "host/measure/energy.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "host/measure/nvml.h"

/* Zones: /sys/class/powercap/intel-rapl:0 has the first package, intel-rapl:0/intel-rapl:0:0 a part of it. */
enum { ZONES = 32, PACKAGES = 16, PARTS = 4 };
#define EVERY 0.1 /* seconds between reads */

typedef struct {
    char path[200];
    uint64_t range, last; /* in microjoules */
    double joules;
} zone;

struct dg_energy {
    zone zone[ZONES];
    int zones;
    dg_nvml *gpu;
    double gpu_start;
    char of[256];
    double joules, read_at;
};

static bool read_text(const char *directory, const char *name, char text[64])
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = fopen(path, "re");
    const bool read = f && fgets(text, 64, f);
    if (f) (void)fclose(f);
    if (read) text[strcspn(text, "\n")] = 0;
    return read;
}

static bool read_number(const char *directory, const char *name, uint64_t *out)
{
    char text[64], *end;
    if (!read_text(directory, name, text)) return false;
    *out = strtoull(text, &end, 10);
    return end > text && !*end;
}

static void add_name(dg_energy *e, const char *name)
{
    const size_t n = strlen(e->of);
    snprintf(e->of + n, sizeof e->of - n, "%s%s", n ? ", " : "", name);
}

/* A package contains its cores. The zone psys contains packages, so it is not counted. */
static void add_zone(dg_energy *e, const char *path)
{
    char name[64];
    zone *z = &e->zone[e->zones];
    if (e->zones == ZONES || !read_text(path, "name", name)) return;
    if (strncmp(name, "package", 7) != 0 && strcmp(name, "dram") != 0) return;
    snprintf(z->path, sizeof z->path, "%s", path);
    if (!read_number(path, "max_energy_range_uj", &z->range) || !read_number(path, "energy_uj", &z->last)) return;
    e->zones++;
    if (name[0] == 'p' || !strstr(e->of, name)) add_name(e, name);
}

static void find_zones(dg_energy *e, const char *root)
{
    char path[200];
    for (int i = 0; i < PACKAGES; i++) {
        snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:%d", root, i);
        add_zone(e, path);
        for (int k = 0; k < PARTS; k++) {
            snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:%d/intel-rapl:%d:%d", root, i, i, k);
            add_zone(e, path);
        }
    }
}

dg_energy *dg_energy_open(const char *root, const char *bus)
{
    const char *why;
    dg_energy *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    find_zones(e, root);
    if (*bus) {
        e->gpu = dg_nvml_open(bus, &why);
        e->gpu_start = dg_nvml_joules(e->gpu);
        if (e->gpu_start >= 0) add_name(e, "GPU");
    }
    e->read_at = dg_clock();
    if (*bus ? e->gpu && e->gpu_start >= 0 : e->zones > 0) return e;
    dg_energy_close(e);
    return NULL;
}

void dg_energy_close(dg_energy *e)
{
    if (!e) return;
    dg_nvml_close(e->gpu);
    free(e);
}

static void read_zone(zone *z)
{
    uint64_t now;
    if (!read_number(z->path, "energy_uj", &now)) return;
    z->joules += 1e-6 * (double)(now >= z->last ? now - z->last : now + z->range - z->last);
    z->last = now;
}

double dg_energy_joules(dg_energy *e, bool now)
{
    if (!now && dg_clock() - e->read_at < EVERY) return e->joules;
    e->read_at = dg_clock();
    e->joules = 0;
    for (int i = 0; i < e->zones; i++) {
        read_zone(&e->zone[i]);
        e->joules += e->zone[i].joules;
    }
    const double gpu = e->gpu ? dg_nvml_joules(e->gpu) : -1;
    if (gpu >= e->gpu_start) e->joules += gpu - e->gpu_start;
    return e->joules;
}

const char *dg_energy_of(const dg_energy *e) { return e->of; }
