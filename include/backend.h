/* The only seam between host and device. A backend owns memory and runs ops; it knows nothing of networks.
 *
 *     dg_backend *b;
 *     dg_err e = dg_cpu_open(&(dg_cpu_options){.threads = 0, .real = DG_F32}, &b);
 *     ... b->alloc, dg_plan_bind, b->run ... b->close(b);
 */
#ifndef DG_BACKEND_H
#define DG_BACKEND_H

#include <stdbool.h>

#include "err.h"
#include "ops.h"

struct dg_plan;
typedef struct dg_backend dg_backend;
struct dg_backend {
    char name[64];   /* "cpu, 2 threads, avx512" */
    dg_type real;    /* type of weights, gradients, statistics and activations */
    int threads;     /* of the CPU backend; 0 elsewhere */

    dg_err (*alloc)(dg_backend *, size_t bytes, void **mem); /* zeroed, 256-aligned; the caller releases */
    void (*release)(dg_backend *, void *mem);
    dg_err (*put)(dg_backend *, void *dst, const void *host, size_t bytes);
    dg_err (*get)(dg_backend *, void *host, const void *src, size_t bytes);

    /* Before placing: NULL, or why this op cannot run here (static text). Fills op->tune. */
    const char *(*refuses)(dg_backend *, dg_op *);
    size_t (*scratch)(dg_backend *, const dg_op *); /* bytes that operand `scratch` needs */

    dg_err (*run)(dg_backend *, struct dg_plan *);  /* enqueue all ops in order */
    dg_err (*run_op)(dg_backend *, const dg_op *, double *ms); /* one op, finished on return; ms may be NULL */
    dg_err (*sync)(dg_backend *);
    void (*close)(dg_backend *);
};

typedef struct {
    int threads;      /* 0: OMP_NUM_THREADS, else every core this process may use */
    dg_type real;     /* DG_F32 or DG_F64 */
    const char *conv; /* NULL: the convolution variant that suits each shape; else "direct" or "winograd" where it can */
    const char *isa;  /* instruction set; NULL: what DCGAN_ISA names, else the best that this machine has */
} dg_cpu_options;

/* DG_USAGE when an instruction set is named that this machine or build lacks. */
dg_err dg_cpu_open(const dg_cpu_options *o, dg_backend **out);

typedef struct {
    int device;         /* CUDA's number */
    dg_type real;       /* DG_F32 or DG_F64 (the direct kernels alone) */
    bool eager;         /* --no-graph: launch op by op instead of replaying a captured graph */
    const char *tuning; /* --tuning FILE, NULL: none */
} dg_cuda_options;

/* DG_DEVICE with what is wrong and what to do when there is no driver, an old one, no such device, or a device
 * that this build has no code for. */
dg_err dg_cuda_open(const dg_cuda_options *o, dg_backend **out);

/* What --list-devices shows and --device auto goes by. */
typedef struct {
    char name[128];
    int major, minor;      /* compute capability */
    int multiprocessors;
    size_t bytes;          /* of memory */
    bool usable;           /* this build has code for it, and it answers */
    char why_not[200];     /* "" if it is usable */
} dg_cuda_device;

/* The devices of this machine, at most `room` of them into out. 0 when there are none; *why then says why in one
 * sentence (no driver, built without CUDA, ...), static text or valid until the next call. Never fails. */
int dg_cuda_devices(dg_cuda_device *out, int room, const char **why);

#endif
