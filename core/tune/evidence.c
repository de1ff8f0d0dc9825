/* Evidence for the constants of machine_known.c, predict_gpu.c and predict_cpu.c. */
#include "core/tune/evidence.h"

#include <string.h>

#define ISSUE "one instruction per 10 clocks and warp (ncu, H100, 2026-11-22)"
#define FITTED "3.7 us per wave of blocks, 7.25 clocks per instruction of weight gradients (H100, 2026-11-22)"
#define PUBLISHED "clock rate, FLOP rates, memory, clusters of blocks"
#define ASSUMED "reached fractions of shared memory, L2 and tensor cores; time to detect the last block"
#define H100 \
    .where = "H100, bf16, 2026-11-22", .compared = {{"dcgan64-paper", 64, 0.216, 1.011}, {"dcgan64", 128, 1.26, 3.74}}

static const dg_evidence h100 = {
    .measured = "time per launch, L2 rate; " ISSUE, .fitted = FITTED, .published = PUBLISHED, .assumed = ASSUMED, H100};

static const dg_evidence other_gpu = {.measured = "none on this GPU; on an H100: time per launch, L2 rate; " ISSUE,
                                      .fitted = FITTED,
                                      .published = PUBLISHED,
                                      .assumed = ASSUMED "; clocks of this GPU as on an H100",
                                      H100};

static const dg_evidence gpu_here = {.measured = "all rates above on this GPU; " ISSUE,
                                     .fitted = FITTED,
                                     .published = "clusters of blocks",
                                     H100};

static const dg_evidence cpu = {.measured = "all rates above, on this machine",
                                .assumed = "fractions of the FMA peak that the variants of convolutions reach",
                                .where = "2 cores with AVX2, fp32",
                                .compared = {{"dcgan64-paper", 64, 136, 246}}};

const dg_evidence *dg_evidence_of(const dg_machine *m)
{
    if (!m->gpu) return &cpu;
    if (strcmp(m->source, "measured") == 0) return &gpu_here;
    return strstr(m->name, "H100") ? &h100 : &other_gpu;
}
