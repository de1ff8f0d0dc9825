/* Limits of a machine, measured or published, for `dcgan bench`, `profile` and predictions (predict.h). */
#pragma once

#include "core/plan/backend.h"
#include "core/plan/precision.h"

/* FLOP rate of mma.sync relative to wgmma on Hopper (arXiv 2501.12084, section 6.2). */
#define DG_MMA_ON_HOPPER 0.63

/* Fractions of a GPU's peak rates that kernels reach, and fixed costs of launches (cost.h). machine_known.c describes
 * where the values come from. */
typedef struct {
    double ghz;       /* clock rate in GHz; 0: computed from dg_machine.all */
    double after_us;  /* cost per kernel in a chain whose kernels begin before the previous kernel has ended */
    double last_us;   /* cost of detecting the last block of a launch, which adds the partial sums of all blocks */
    double wave_us;   /* once-part of a wave of blocks: prologue, epilogue, and code and data that no cache holds yet */
    double update;    /* clocks per instruction in weight gradients, relative to other kernels */
    double join;      /* bytes per clock that a multiprocessor loads from the other blocks of a cluster */
    double l1;        /* wavefronts of shared memory per clock and multiprocessor, at most 1 */
    double l2;        /* fraction of dg_machine.cache that one block of 8 warps per multiprocessor reaches */
    double tensor;    /* fraction of the tensor cores' rate that one block of 8 warps per multiprocessor reaches */
    double issued[4]; /* instructions per clock of a warp scheduler with 1, 2, 3, and 4 warps */
} dg_machine_costs;

typedef struct dg_machine {
    char name[128]; /* "AMD EPYC", "NVIDIA H200"; "" if unknown */
    const char *source;
    bool gpu;
    dg_type real;
    dg_math math;
    int arch;
    int units;
    size_t shared;
    double memory_gb;   /* size of a known GPU's memory; 0: unknown */
    double one, all;    /* GFLOP/s of multiply-adds by one CPU thread, and by the whole CPU or GPU; 0: unknown */
    double bf16, fp16;  /* GFLOP/s of tensor cores with mma.sync; 0: no tensor cores */
    double triad, read; /* memory bandwidth in GB/s; triad counts three arrays */
    double array_mb;
    /* GB/s and MB of the cache that holds the previous op's results: private caches of CPU cores, or a GPU's L2 */
    double cache, cache_mb;
    double launch_us; /* time of an empty kernel (GPU) or empty parallel loop (CPU) in a chain */
    dg_machine_costs costs;
    int rounds;
    double foreign; /* cores that other programs used during the measurement; -1: unknown */
} dg_machine;

static inline int dg_arch_lanes(int arch) { return arch == 75 || arch == 80 ? 64 : 128; }
static inline int dg_arch_threads(int arch)
{
    return arch == 75 ? 1024 : arch == 80 || arch == 90 || arch == 100 ? 2048 : 1536;
}

/* Returns the clock rate of a GPU in GHz. */
static inline double dg_machine_ghz(const dg_machine *m)
{
    return m->costs.ghz > 0 ? m->costs.ghz : m->all / (2.0 * m->units * dg_arch_lanes(m->arch));
}

/* Returns the costs that dg_machine_measure does not measure, for a clock rate of `ghz`. */
dg_machine_costs dg_machine_costs_of(int arch, double ghz);

/* Returns the number of multiprocessors of `units` that clusters of `blocks` blocks can occupy. */
int dg_machine_cluster_units(int units, int blocks);

dg_err dg_machine_measure(dg_machine *m, dg_backend *b, int rounds);
/* Measures only the peak rate `all` again, because clock rate and load change between measurements. */
dg_err dg_machine_peak(dg_machine *m, dg_backend *b);

bool dg_machine_known(int i, dg_type real, dg_machine *out);
/* Finds a known GPU by its name or the end of its name ("h200", "rtx 4090"). If the GPU is unknown, returns DG_USAGE
 * with a list of the known names. */
dg_err dg_machine_find(const char *name, dg_type real, dg_machine *out);

/* Finds an architecture ("sm_90" or "90") or a known GPU by name. For an architecture, sets only out->arch and
 * out->shared. If the name is unknown, returns DG_USAGE with a list of the known names. */
dg_err dg_machine_arch(const char *name, dg_type real, dg_machine *out);

/* Measures how many cores other processes use between the calls of dg_busy_start and dg_busy_foreign. */
typedef struct {
    double wall, busy, own; /* seconds: wall time, CPU time of all processes (negative: unknown) and of this process */
} dg_busy;
void dg_busy_start(dg_busy *l);
double dg_busy_foreign(const dg_busy *start);
