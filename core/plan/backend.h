/* The only seam between host and device. A backend owns memory and runs ops; it knows nothing of networks.
 *
 *     dg_backend *b;
 *     dg_err e = dg_cpu_open(&(dg_cpu_options){.threads = 0, .real = DG_F32}, &b);
 *     ... b->alloc, dg_plan_bind, b->run ... b->close(b);
 */
#ifndef DG_BACKEND_H
#define DG_BACKEND_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/plan/op_info.h"

struct dg_plan;
struct dg_machine;

/* Queues of a device that run side by side; what one is given happens in order. Ops, put and get are in the first. */
typedef enum { DG_COMPUTE, DG_COPY, DG_STREAMS } dg_stream;
/* Who uses which event. */
enum {
    DG_EVENT_METRICS,                        /* and one more: ring_reader.h */
    DG_EVENT_SAMPLES = DG_EVENT_METRICS + 2, /* train.h */
    DG_EVENT_FILLED,                         /* and one more: loader.h */
    DG_EVENT_READ = DG_EVENT_FILLED + 2,
    DG_EVENTS
};

typedef struct dg_backend dg_backend;
struct dg_backend {
    char driver[32]; /* of a GPU: "CUDA 13.0" */
    char name[64];   /* "cpu, 2 threads, avx512" */
    char bus[16];    /* of a GPU: its place on the PCI bus, "0000:3b:00.0" */
    dg_type real;    /* type of weights, gradients, statistics and activations */
    dg_math math;    /* what the factors of convolutions are rounded to where that is faster: precision.h */
    int threads;     /* of the CPU backend; 0 elsewhere */
    bool queues;     /* run() returns before the work is done; sync(), get() and query() wait for it */

    dg_err (*memory)(dg_backend *, size_t *free, size_t *total); /* bytes for alloc */
    dg_err (*alloc)(dg_backend *, size_t bytes, void **mem);     /* zeroed, 256-aligned; the caller releases */
    void (*release)(dg_backend *, void *mem);
    dg_err (*put)(dg_backend *, void *dst, const void *host, size_t bytes);
    dg_err (*get)(dg_backend *, void *host, const void *src, size_t bytes);

    /* Copies that are only begun: host is memory of alloc_host, and stays as it is until the copy is done. record: the
     * event (0 .. DG_EVENTS - 1) completes when the stream has done all that it was given before. wait: what the stream
     * is given from now on begins after the event. query: has it completed, or block until it has. */
    dg_err (*alloc_host)(dg_backend *, size_t bytes, void **mem);
    void (*release_host)(dg_backend *, void *mem);
    dg_err (*start_put)(dg_backend *, dg_stream, void *dst, const void *host, size_t bytes);
    dg_err (*start_get)(dg_backend *, dg_stream, void *host, const void *src, size_t bytes);
    dg_err (*record)(dg_backend *, dg_stream, int event);
    dg_err (*wait)(dg_backend *, dg_stream, int event);
    dg_err (*query)(dg_backend *, int event, bool wait, bool *yes);

    /* Before placing: NULL, or why this op cannot run here (static text). Fills op->tune. choices: every way in which
     * it can run here, at most `room` into out; how many. NULL: refuses() knows best. */
    const char *(*refuses)(dg_backend *, dg_op *);
    int (*choices)(dg_backend *, const dg_op *, dg_tune *out, int room);
    size_t (*scratch)(dg_backend *, const dg_op *); /* bytes that operand `scratch` needs */
    /* Before placing, once all ops have their tune: put the ops of the plan into launches, by dg_fuse_plan. NULL: op by
     * op. */
    dg_err (*fuse)(dg_backend *, struct dg_plan *);

    dg_err (*run)(dg_backend *, struct dg_plan *); /* enqueue all ops in order */
    /* the same n times; NULL: no better than n calls of run */
    dg_err (*run_many)(dg_backend *, struct dg_plan *, int n);
    dg_err (*run_op)(dg_backend *, const dg_op *, double *ms); /* one op, finished on return; ms may be NULL */
    /* the same for one launch; NULL: there are none */
    dg_err (*run_launch)(dg_backend *, const struct dg_plan *, int launch);
    dg_err (*sync)(dg_backend *);

    /* For `dcgan profile` and `tune`. time_plan: one run of the plan, and how long each of its ops took in it.
     * time_op: n runs of one op, one after another but timed singly, on a GPU with its cache overwritten before each.
     * measure: what the device can do at most (machine.h), best of `rounds`; 0: a look at the arithmetic peak alone. */
    dg_err (*time_plan)(dg_backend *, struct dg_plan *, double *ms);
    dg_err (*time_op)(dg_backend *, const dg_op *, int n, double *ms);
    dg_err (*measure)(dg_backend *, struct dg_machine *, int rounds);
    void (*close)(dg_backend *);
};

typedef struct {
    int threads;            /* 0: OMP_NUM_THREADS, else every core this process may use */
    dg_type real;           /* DG_F32 or DG_F64 */
    const dg_variant *conv; /* of convolutions, where it can; NULL: what suits each shape */
    const char *isa;        /* instruction set; NULL: what DCGAN_ISA names, else the best that this machine has */
} dg_cpu_options;

/* DG_USAGE when an instruction set is named that this machine or build lacks. */
dg_err dg_cpu_open(const dg_cpu_options *o, dg_backend **out);

typedef struct {
    int device;         /* CUDA's number */
    dg_type real;       /* DG_F32 or DG_F64 (the direct kernels alone) */
    dg_math math;       /* anything but DG_MATH_FP32: beside DG_F32, where dg_math_on() */
    bool else_fp32;     /* DG_MATH_FP32 takes its place on a device that lacks it */
    bool eager;         /* --no-graph: launch op by op instead of replaying a captured graph */
    unsigned fuse;      /* --fuse: DG_FUSE_... (fused.h) */
    const char *tuning; /* --tuning FILE, NULL: none */
} dg_cuda_options;

/* DG_DEVICE with what is wrong and what to do when there is no driver, an old one, no such device, or a device
 * that this build has no code for. */
dg_err dg_cuda_open(const dg_cuda_options *o, dg_backend **out);

/* What --list-devices shows and --device auto goes by. */
typedef struct {
    char name[128];
    int major, minor; /* compute capability */
    int multiprocessors;
    size_t bytes;      /* of memory */
    bool usable;       /* this build has code for it, and it answers */
    char why_not[200]; /* "" if it is usable */
} dg_cuda_device;

/* The devices of this machine, at most `room` of them into out. 0 when there are none; *why then says why in one
 * sentence (no driver, built without CUDA, ...), static text or valid until the next call. Never fails. */
int dg_cuda_devices(dg_cuda_device *out, int room, const char **why);

#endif
