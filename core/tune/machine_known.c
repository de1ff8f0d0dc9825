/* Published limits of GPUs, for predictions. FLOP rates are for dense matrices at boost clocks, from NVIDIA's
 * data sheets and architecture papers. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tune/machine.h"

typedef struct {
    const char *name;
    int arch, units, lanes;
    double ghz;
    double fp64;
    double bf16, fp16;
    double gb_s, cache_mb;
    int shared_kb;
    int memory_gb; /* memory of the GPU's version that has bandwidth gb_s */
} gpu;

static const gpu list[] = {
    {"Tesla T4", 75, 40, 64, 1.590, 1.0 / 32, 0, 65, 320, 4, 64, 16},
    {"Quadro RTX 6000", 75, 72, 64, 1.770, 1.0 / 32, 0, 130.5, 672, 6, 64, 24},
    {"A100", 80, 108, 64, 1.410, 0.5, 312, 312, 2039, 40, 163, 80},
    {"GeForce RTX 3090", 86, 82, 128, 1.695, 1.0 / 64, 71, 71, 936, 6, 99, 24},
    {"GeForce RTX 4090", 89, 128, 128, 2.520, 1.0 / 64, 165, 165, 1008, 72, 99, 24},
    {"H100", 90, 132, 128, 1.980, 0.5, 989, 989, 3350, 50, 227, 80},
    {"H200", 90, 132, 128, 1.980, 0.5, 989, 989, 4800, 60, 227, 141},
    {"B200", 100, 148, 128, 1.965, 0.5, 2250, 2250, 8000, 126, 227, 180},
    {"GeForce RTX 5090", 120, 170, 128, 2.407, 1.0 / 64, 209.5, 209.5, 1792, 96, 99, 32},
};

/* Constants measured on an H100 (docs/results/2026-11-22-h100.md), used for all GPUs. LAUNCH_US is the time from a
 * kernel in a CUDA graph to a kernel that depends on it, and AFTER_US this time with programmatic dependent launch. L2
 * gives a multiprocessor CACHE_BYTES bytes per clock (7.9 TB/s). In each kernel that ncu timed, a warp issued one
 * instruction per WARP_CLOCKS clocks. */
#define LAUNCH_US 1.09
#define AFTER_US 0.75
#define CACHE_BYTES 34
#define WARP_CLOCKS 10

/* Fitted on this H100: WAVE_CLOCKS to the training steps of dcgan64-paper (814 us) and dcgan64 (3,050 us) without their
 * weight updates, and UPDATE_CLOCKS to D's weight update of dcgan64-paper (125 us). Weight gradients copy their
 * operands three steps ahead. tests/core/tune/test_measured.c compares the cost model with other measurements. */
#define WAVE_CLOCKS 6500
#define UPDATE_CLOCKS 7.25

/* Published measurements: a multiprocessor loads 14 bytes per clock from the other blocks of a cluster (arXiv
 * 2501.12084). The clock rate of an H100 under load is 1755 MHz instead of the boost clock of 1980 MHz. Assumed: the
 * fraction MEMORY of the published bandwidth (86% and 93% were measured on the H100), and `last_us`, `l1`, `l2` and
 * `tensor` (below). */
#define JOIN_BYTES 14
#define MEMORY 0.9
#define UNDER_LOAD (1755. / 1980)

dg_machine_costs dg_machine_costs_of(int arch, double ghz)
{
    dg_machine_costs c = {.after_us = arch >= 90 ? AFTER_US : LAUNCH_US,
                          .last_us = 1.2,
                          .wave_us = ghz > 0 ? WAVE_CLOCKS / ghz * 1e-3 : 0,
                          .update = UPDATE_CLOCKS / WARP_CLOCKS,
                          .join = JOIN_BYTES,
                          .l1 = 0.8,
                          .l2 = 0.8,
                          .tensor = 0.9};
    for (int i = 0; i < 4; i++) c.issued[i] = (i + 1.0) / WARP_CLOCKS;
    return c;
}

/* A cluster's blocks run in one GPC. The GPCs of an H100 have 14 to 18 multiprocessors, so that 15 clusters of 8, 31 of
 * 4 or 64 of 2 blocks run at once (NVIDIA/cutlass issue 1921; not measured here). */
int dg_machine_cluster_units(int units, int blocks)
{
    const int clusters = blocks > 4 ? 15 : blocks > 2 ? 31 : 64;
    return blocks > 1 ? clusters * units / 132 * blocks : units;
}

bool dg_machine_known(int i, dg_type real, dg_machine *out)
{
    if (i < 0 || (size_t)i >= sizeof list / sizeof *list) return false;
    const gpu *g = &list[i];
    const double mma = g->arch == 90 ? DG_MMA_ON_HOPPER : 1;
    *out = (dg_machine){.source = "published",
                        .gpu = true,
                        .real = real,
                        .arch = g->arch,
                        .units = g->units,
                        .shared = (size_t)g->shared_kb << 10,
                        .memory_gb = g->memory_gb,
                        .all = 2.0 * g->units * g->lanes * g->ghz * (real == DG_F64 ? g->fp64 : 1),
                        .bf16 = g->bf16 * 1e3 * mma,
                        .fp16 = g->fp16 * 1e3 * mma,
                        .triad = g->gb_s * MEMORY,
                        .read = g->gb_s * MEMORY,
                        .cache_mb = g->cache_mb,
                        .cache = CACHE_BYTES * g->units * g->ghz * UNDER_LOAD,
                        .launch_us = LAUNCH_US,
                        .costs = dg_machine_costs_of(g->arch, g->ghz * UNDER_LOAD),
                        .foreign = -1};
    out->costs.ghz = g->ghz * UNDER_LOAD;
    snprintf(out->name, sizeof out->name, "NVIDIA %s", g->name);
    return true;
}

static bool same_text(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a && !isalnum((unsigned char)*a)) a++;
        while (*b && !isalnum((unsigned char)*b)) b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (!*a) return true;
    }
}

/* True if `wanted` is a GPU's name or the last words of its name: "rtx4090" means "GeForce RTX 4090". */
static bool is_named(const char *name, const char *wanted)
{
    for (const char *word = name; word; word = strchr(word, ' '), word += word != NULL)
        if (same_text(word, wanted)) return true;
    return false;
}

static bool find(const char *name, dg_type real, dg_machine *out, char *all, size_t size)
{
    size_t used = 0;
    *all = 0;
    for (int i = 0; dg_machine_known(i, real, out); i++) {
        if (is_named(out->name, name)) return true;
        used += (size_t)snprintf(all + used, size - used, "%s%s", used ? ", " : "", list[i].name);
    }
    return false;
}

dg_err dg_machine_find(const char *name, dg_type real, dg_machine *out)
{
    char all[300];
    if (find(name, real, out, all, sizeof all)) return DG_OK;
    return dg_fail(DG_USAGE, DG_MSG("unknown-gpu", "--predict %s: unknown GPU; known: %s"), name, all);
}

dg_err dg_machine_arch(const char *name, dg_type real, dg_machine *out)
{
    /* {compute capability, KB of shared memory per block}, from the CUDA C++ programming guide */
    static const int arch[][2] = {{75, 64},   {80, 163},  {86, 99},   {87, 163}, {89, 99}, {90, 227},
                                  {100, 227}, {103, 227}, {110, 227}, {120, 99}, {121, 99}};
    char all[300], *rest;
    const char *digits = strncmp(name, "sm_", 3) == 0 ? name + 3 : name;
    const long number = isdigit((unsigned char)*digits) ? strtol(digits, &rest, 10) : 0;
    for (size_t i = 0; i < sizeof arch / sizeof *arch && number && !*rest; i++) {
        if (arch[i][0] != number) continue;
        *out = (dg_machine){.source = "published",
                            .gpu = true,
                            .real = real,
                            .arch = arch[i][0],
                            .shared = (size_t)arch[i][1] << 10,
                            .foreign = -1};
        snprintf(out->name, sizeof out->name, "sm_%d", arch[i][0]);
        return DG_OK;
    }
    if (find(name, real, out, all, sizeof all)) return DG_OK;
    return dg_fail(
        DG_USAGE,
        DG_MSG("unknown-arch",
               "--arch %s: unknown architecture or GPU; architectures: sm_75, sm_80, sm_86, sm_87, sm_89, sm_90, "
               "sm_100, sm_103, sm_110, sm_120, sm_121; GPUs: %s"),
        name, all);
}
