/* Times the convolution kernels on a network's layers and prints what a training step costs; not run by make check.
 *
 *     make build/tests/bench_conv && build/tests/bench_conv [-b batch] [-f filters] [-t threads] [-r repeats]
 *                                                          [-k "avx512 f32"] [-v variant] [-l layer] [-d dir] [-c]
 *                                                          [-n gan|caltech|vgg16|resnet50|keras]
 *
 * -n names the network: W1's GAN with -f filters, the layers of cnn-caltech, or the 3x3 layers of vgg16-cifar, resnet50
 * or cnn-mnist-keras, at stride 1.
 * Without -v each op runs as the plan would run it; where a named variant cannot, direct does.
 * -c takes processor time, which with -t 1 gives figures on a busy machine, too.
 *
 * GFLOP/s count padding taps, as dg_op_flops does, so values above the peak are possible. */
#include "conv_kernels.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    const char *name;
    int H, Ci, Co, K, S, P;
    int times[3]; /* fwd, dx, dw of this geometry in one training step, of D and G together */
} layer;

static const layer caltech[] = {{"C1.1", 224, 3, 32, 3, 1, 1, {1, 0, 1}},   {"C7", 28, 128, 1024, 28, 1, 0, {1, 1, 1}},
                                {"C1.2", 224, 32, 32, 3, 1, 1, {1, 1, 1}},  {"C3.1", 112, 32, 64, 3, 1, 1, {1, 1, 1}},
                                {"C3.2", 112, 64, 64, 3, 1, 1, {1, 1, 1}},  {"C5.1", 56, 64, 128, 3, 1, 1, {1, 1, 1}},
                                {"C5.2", 56, 128, 128, 3, 1, 1, {1, 1, 1}}, {NULL}};
static const layer vgg16[] = {{"f.3", 32, 64, 64, 3, 1, 1, {1, 1, 1}},
                              {"f.7", 16, 64, 128, 3, 1, 1, {1, 1, 1}},
                              {"f.10", 16, 128, 128, 3, 1, 1, {1, 1, 1}},
                              {"f.14", 8, 128, 256, 3, 1, 1, {1, 1, 1}},
                              {"f.17", 8, 256, 256, 3, 1, 1, {2, 2, 2}},
                              {"f.24", 4, 256, 512, 3, 1, 1, {1, 1, 1}},
                              {"f.27", 4, 512, 512, 3, 1, 1, {2, 2, 2}},
                              {"f.34", 2, 512, 512, 3, 1, 1, {3, 3, 3}},
                              {NULL}};

static const layer resnet50[] = {{"56", 56, 64, 64, 3, 1, 1, {3, 3, 3}},
                                 {"28", 28, 128, 128, 3, 1, 1, {3, 3, 3}},
                                 {"14", 14, 256, 256, 3, 1, 1, {5, 5, 5}},
                                 {"7", 7, 512, 512, 3, 1, 1, {2, 2, 2}},
                                 {NULL}};
static const layer keras[] = {{"C.2", 26, 32, 64, 3, 1, 0, {1, 1, 1}}, {NULL}};

static clockid_t which_clock = CLOCK_MONOTONIC;

static double now(void)
{
    struct timespec t;
    clock_gettime(which_clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* GFLOP/s of multiply-adds on initialised registers, all threads together. */
static double fma_peak(void)
{
    double best = 0;
#ifdef __x86_64__
    int wide = __builtin_cpu_supports("avx512f");
    if (!wide && !__builtin_cpu_supports("fma")) return 0;
    const long loops = 4000000;
    for (int r = 0; r < 5; r++) {
        double t = now();
#pragma omp parallel
        {
            long n = loops;
            if (wide)
                __asm__ volatile(
                    "vxorps %%zmm0, %%zmm0, %%zmm0\n\tvxorps %%zmm1, %%zmm1, %%zmm1\n\t"
                    ".irp r,2,3,4,5,6,7,8,9,10,11,12,13\n\tvxorps %%zmm\\r, %%zmm\\r, %%zmm\\r\n\t.endr\n"
                    "1:\n\t"
                    ".irp r,2,3,4,5,6,7,8,9,10,11,12,13\n\tvfmadd231ps %%zmm0, %%zmm1, %%zmm\\r\n\t.endr\n\t"
                    "dec %0\n\tjnz 1b"
                    : "+r"(n)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                      "xmm11", "xmm12", "xmm13", "cc");
            else
                __asm__ volatile(
                    "vxorps %%ymm0, %%ymm0, %%ymm0\n\tvxorps %%ymm1, %%ymm1, %%ymm1\n\t"
                    ".irp r,2,3,4,5,6,7,8,9,10,11,12,13\n\tvxorps %%ymm\\r, %%ymm\\r, %%ymm\\r\n\t.endr\n"
                    "1:\n\t"
                    ".irp r,2,3,4,5,6,7,8,9,10,11,12,13\n\tvfmadd231ps %%ymm0, %%ymm1, %%ymm\\r\n\t.endr\n\t"
                    "dec %0\n\tjnz 1b"
                    : "+r"(n)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                      "xmm11", "xmm12", "xmm13", "cc");
        }
        t = now() - t;
        double rate = 2.0 * 12 * (wide ? 16 : 8) * (double)loops * omp_get_max_threads() / t * 1e-9;
        if (rate > best) best = rate;
    }
#endif
    return best;
}

static void *memory(size_t bytes, unsigned size)
{
    char *p = aligned_alloc(4096, (bytes + 4096) / 4096 * 4096);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    unsigned s = 1;
    for (size_t i = 0; i + size <= bytes; i += size) {
        s = s * 1664525u + 1013904223u;
        double v = (double)s / 2147483648.0 - 1.0;
        if (size == 4) *(float *)(p + i) = (float)v;
        else *(double *)(p + i) = v;
    }
    return p;
}

int main(int argc, char **argv)
{
    int batch = 64, f = 32, repeats = 15, opt;
    const char *which = NULL, *only = NULL, *dir = NULL, *network = "gan";
    dg_tune tune = {.why = "default"};
    const dg_variant *const direct = &dg_conv_variant_direct, *const winograd = &dg_conv_variant_winograd,
                            *const gemm = &dg_conv_variant_gemm, *asked = NULL;
    while ((opt = getopt(argc, argv, "b:f:t:r:k:v:l:d:n:c")) != -1) {
        if (opt == 'b') batch = atoi(optarg);
        else if (opt == 'f') f = atoi(optarg);
        else if (opt == 't') omp_set_num_threads(atoi(optarg));
        else if (opt == 'r') repeats = atoi(optarg);
        else if (opt == 'd') dir = optarg;
        else if (opt == 'c') which_clock = CLOCK_PROCESS_CPUTIME_ID;
        else if (opt == 'k') which = optarg;
        else if (opt == 'v')
            asked = !strcmp(optarg, direct->name) ? direct : !strcmp(optarg, gemm->name) ? gemm : winograd;
        else if (opt == 'l') only = optarg;
        else if (opt == 'n') network = optarg;
        else return 2;
    }
    conv_kernels table[CONV_KERNELS], *k = NULL;
    int kernels = conv_kernel_table(table);
    for (int i = 0; i < kernels; i++)
        if (table[i].supported && (which ? !strcmp(table[i].name, which) : table[i].real == DG_F32)) k = &table[i];
    if (!k) {
        fprintf(stderr, "no such kernels here: %s\n", which ? which : "any");
        return 2;
    }
    const layer gan[] = {
        {"D1/G5", 64, 3, f, 4, 2, 1, {4, 2, 3}},
        {"D2/G4", 32, f, 2 * f, 4, 2, 1, {4, 4, 3}},
        {"D3/G3", 16, 2 * f, 4 * f, 4, 2, 1, {4, 4, 3}},
        {"D4/G2", 8, 4 * f, 8 * f, 4, 2, 1, {4, 4, 3}},
        {"D5", 4, 8 * f, 1, 4, 1, 0, {3, 3, 2}},
        {"G1", 4, 8 * f, 100, 4, 1, 0, {0, 1, 1}},
        {NULL},
    };
    static const char *const direction[] = {"fwd", "dx", "dw"};
    static const dg_op_kind kinds[] = {DG_OP_conv_fwd, DG_OP_conv_dx, DG_OP_conv_dw};
    double peak = fma_peak(), total = 0, flops = 0;
    printf("%s, variant %s, batch %d, %d threads, FMA peak of f32 %.0f GFLOP/s\n", k->name,
           asked ? asked->name : "by shape", batch, omp_get_max_threads(), peak);
    printf("layer  dir  variant  x/step   best ms  median ms   GFLOP/s  %% of peak  scratch MB\n");
    const layer *layers = !strcmp(network, "caltech")    ? caltech
                          : !strcmp(network, "vgg16")    ? vgg16
                          : !strcmp(network, "resnet50") ? resnet50
                          : !strcmp(network, "keras")    ? keras
                                                         : gan;
    for (const layer *y = layers; y->name; y++) {
        if (only && strncmp(only, y->name, strlen(only)) != 0) continue;
        int Ho = (y->H + 2 * y->P - y->K) / y->S + 1;
        dg_conv_args a = {.N = batch,
                          .H = y->H,
                          .W = y->H,
                          .Ci = y->Ci,
                          .Ho = Ho,
                          .Wo = Ho,
                          .Co = y->Co,
                          .K = y->K,
                          .S = y->S,
                          .P = y->P};
        unsigned size = k->real == DG_F32 ? 4 : 8;
        a.x = memory((size_t)batch * (size_t)(y->H * y->H * y->Ci) * size, size);
        a.y = memory((size_t)batch * (size_t)(Ho * Ho * y->Co) * size, size);
        a.w = memory((size_t)(y->Co * y->K * y->K * y->Ci) * size, size);
        double flop = 2.0 * batch * Ho * Ho * y->Co * y->K * y->K * y->Ci;
        for (int d = 0; d < 3; d++) {
            if (dir && strcmp(dir, direction[d]) != 0) continue;
            tune.variant = k->variant(kinds[d], &a, asked);
            if (!tune.variant) tune.variant = direct;
            size_t bytes = k->scratch(kinds[d], &a, &tune);
            a.scratch = memory(bytes, size);
            double t[1000] = {0};
            if (repeats > 1000) repeats = 1000;
            for (int r = -2; r < repeats; r++) {
                double start = now();
                k->run[d](&a, &tune);
                if (r < 0) continue;
                double v = now() - start;
                int i = r;
                for (; i > 0 && t[i - 1] > v; i--) t[i] = t[i - 1];
                t[i] = v;
            }
            printf("%-6s %-4s %-8s %4d  %9.3f  %9.3f  %8.1f  %8.1f%%  %8.2f\n", y->name, direction[d],
                   tune.variant->name, y->times[d], t[0] * 1e3, t[repeats / 2] * 1e3, flop / t[0] * 1e-9,
                   peak > 0 ? 100 * flop / t[0] * 1e-9 / peak : 0, (double)bytes / 1048576);
            fflush(stdout);
            total += t[0] * y->times[d];
            flops += flop * y->times[d];
            free(a.scratch);
        }
        free(a.x);
        free(a.y);
        free(a.w);
    }
    printf("step: %.1f ms, %.2f GFLOP, %.1f GFLOP/s, %.1f%% of peak\n", total * 1e3, flops * 1e-9, flops / total * 1e-9,
           peak > 0 ? 100 * flops / total * 1e-9 / peak : 0);
    return 0;
}
