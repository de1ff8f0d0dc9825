/* What a machine can do at most: measured here, or published for one that is not at hand. For `dcgan bench` and
 * `profile`, and for predicting times (predict.h). */
#ifndef DG_MACHINE_H
#define DG_MACHINE_H

#include "core/plan/backend.h"
#include "core/plan/precision.h"

/* mma.sync reaches so much of what wgmma does on Hopper (arXiv 2501.12084, section 6.2). */
#define DG_MMA_ON_HOPPER 0.63

/* What launches reach of a GPU's rates, and what they cost beside them (cost.h). */
typedef struct {
    double ghz;       /* clocks; 0: as fast as `all` says */
    double after_us;  /* a kernel that began while the one before it ended, in a chain of such */
    double last_us;   /* that the last block of a launch finds out that it is, and adds the others' parts up */
    double l1;        /* wavefronts of shared memory in a clock of a multiprocessor, at most 1 */
    double l2;        /* part of `cache` with one block of 8 warps a multiprocessor */
    double tensor;    /* part of the tensor cores' rate with as many */
    double issued[4]; /* instructions in a clock of a scheduler that has 1, 2, 3, 4 or more warps */
} dg_machine_costs;

typedef struct dg_machine {
    char name[128];     /* "AMD EPYC", "NVIDIA H200"; "" where the system does not say */
    const char *source; /* "measured", "published" */
    bool gpu;
    dg_type real;            /* what `one` and `all` are about */
    dg_math math;            /* what the steps' convolutions are rounded to */
    int arch;                /* of a GPU: 90 for sm_90 */
    int units;               /* cores, multiprocessors */
    size_t shared;           /* of a GPU: bytes of shared memory that a block may have */
    double memory_gb;        /* of a GPU that is known by its published numbers; 0 unknown */
    double one, all;         /* GFLOP/s of multiply-adds: of one thread (CPU), of all units; 0 unknown */
    double tf32, bf16, fp16; /* GFLOP/s of tensor cores through mma.sync; 0 none */
    double triad, read;      /* GB/s of memory; triad counts three arrays */
    double array_mb;         /* of one array */
    double cache, cache_mb;  /* GB/s within the cache that an op finds the one before it in, and its size: of a CPU a
                                triad in the cores' own caches, of a GPU reading the cache of all multiprocessors */
    double launch_us;        /* an op that does next to nothing, within a chain of them: a kernel, a parallel loop */
    dg_machine_costs costs;  /* of a GPU */
    int rounds;              /* of measuring; the best of them is above */
    double foreign;          /* cores that other programs used meanwhile; -1 unknown */
} dg_machine;

/* Of a multiprocessor of an architecture: multiply-adds of fp32 in a clock; threads that it holds. */
static inline int dg_arch_lanes(int arch) { return arch == 75 || arch == 80 ? 64 : 128; }
static inline int dg_arch_threads(int arch)
{
    return arch == 75 ? 1024 : arch == 80 || arch == 90 || arch == 100 ? 2048 : 1536;
}

/* Everything above, `rounds` times; and one more look at the peak of all units, to be taken between other
 * measurements: clocks move, and other programs come and go. */
dg_err dg_machine_measure(dg_machine *m, dg_backend *b, int rounds);
dg_err dg_machine_peak(dg_machine *m, dg_backend *b);

/* GPU number i of those whose published numbers are known, false past the last. By its name or the end of it ("h200",
 * "rtx 4090"): DG_USAGE with the list when there is none. */
bool dg_machine_known(int i, dg_type real, dg_machine *out);
dg_err dg_machine_find(const char *name, dg_type real, dg_machine *out);

/* For planning alone: "sm_90" or "90", or a GPU's name as above. Of an architecture only `arch` and `shared` are known.
 * DG_USAGE with both lists when it is neither. */
dg_err dg_machine_arch(const char *name, dg_type real, dg_machine *out);

/* How busy the machine is apart from this process: call before and after. */
typedef struct {
    double wall, busy, own; /* seconds; busy < 0: unknown */
} dg_busy;
void dg_busy_start(dg_busy *l);
double dg_busy_foreign(const dg_busy *start); /* cores, -1 unknown */

#endif
