/* The interface between host and device. A backend owns memory and runs ops.
 *   dg_backend *b;
 *   dg_err e = dg_cpu_open(&(dg_cpu_options){.threads = 0, .real = DG_F32}, &b);
 *   ... b->alloc, dg_plan_bind, b->run ... b->close(b); */
#pragma once

#include <stdbool.h>

#include "core/base/err.h"
#include "core/plan/op_info.h"

struct dg_group;
struct dg_plan;
struct dg_machine;

/* Streams of a device. Ops, put() and get() use stream DG_COMPUTE. */
typedef enum { DG_COMPUTE, DG_COPY, DG_STREAMS } dg_stream;
enum {
    DG_EVENT_METRICS,                        /* two events of ring_reader.h */
    DG_EVENT_SAMPLES = DG_EVENT_METRICS + 2, /* train.h */
    DG_EVENT_FILLED,                         /* two events of loader.h */
    DG_EVENT_READ = DG_EVENT_FILLED + 2,
    DG_EVENTS
};

typedef struct dg_backend dg_backend;
struct dg_backend {
    char driver[32]; /* GPU: "CUDA 13.0" */
    char name[64];
    char bus[16]; /* GPU: PCI address, "0000:3b:00.0" */
    dg_type real; /* type of weights, gradients, statistics and activations */
    dg_math math; /* type to which convolutions may round their operands (precision.h) */
    int threads;
    struct dg_group *group; /* processes that train together, not owned; NULL: this process alone */
    bool queues;            /* run() returns before its work is done */

    dg_err (*memory)(dg_backend *, size_t *free, size_t *total);
    dg_err (*alloc)(dg_backend *, size_t bytes, void **mem);
    void (*release)(dg_backend *, void *mem);
    dg_err (*put)(dg_backend *, void *dst, const void *host, size_t bytes);
    dg_err (*get)(dg_backend *, void *host, const void *src, size_t bytes);

    /* start_put() and start_get() copy asynchronously. `host` is memory of alloc_host and must not change until the
     * copy is done. An event (0 to DG_EVENTS - 1) completes when all work enqueued in the stream before record() is
     * done. Work enqueued after wait() begins after the event. query() sets *yes if the event has completed. If `wait`
     * is true, query() blocks until the event completes. */
    dg_err (*alloc_host)(dg_backend *, size_t bytes, void **mem);
    void (*release_host)(dg_backend *, void *mem);
    dg_err (*start_put)(dg_backend *, dg_stream, void *dst, const void *host, size_t bytes);
    dg_err (*start_get)(dg_backend *, dg_stream, void *host, const void *src, size_t bytes);
    dg_err (*record)(dg_backend *, dg_stream, int event);
    dg_err (*wait)(dg_backend *, dg_stream, int event);
    dg_err (*query)(dg_backend *, int event, bool wait, bool *yes);

    /* refuses() is called before tensors are placed. refuses() sets op->tune and returns NULL, or returns static text
     * that says why the op cannot run. choices() writes at most `room` variants that can run the op, and returns their
     * number. If choices is NULL, every op runs the variant that refuses() selects. */
    const char *(*refuses)(dg_backend *, dg_op *);
    int (*choices)(dg_backend *, const dg_op *, dg_tune *out, int room);
    size_t (*scratch)(dg_backend *, const dg_op *);
    /* Groups ops into launches by dg_fuse_plan, after op->tune is set and before tensors are placed. If `fuse` is NULL,
     * each op is a launch. */
    dg_err (*fuse)(dg_backend *, struct dg_plan *);

    dg_err (*run)(dg_backend *, struct dg_plan *);
    /* if run_many is NULL, the caller calls run n times */
    dg_err (*run_many)(dg_backend *, struct dg_plan *, int n);
    dg_err (*run_op)(dg_backend *, const dg_op *, double *ms); /* waits for the op; ms may be NULL */
    /* waits for the launch; NULL if the backend has no launches */
    dg_err (*run_launch)(dg_backend *, const struct dg_plan *, int launch);
    dg_err (*sync)(dg_backend *);

    /* time_plan() runs the plan once and returns ms per op. time_op() times n runs of an op and overwrites a GPU's
     * cache before each run. measure() measures the device's limits (machine.h) `rounds` times and keeps the best. If
     * `rounds` is 0, measure() measures only the arithmetic peak. */
    dg_err (*time_plan)(dg_backend *, struct dg_plan *, double *ms);
    dg_err (*time_op)(dg_backend *, const dg_op *, int n, double *ms);
    /* Captures `runs` runs of the plan's first `launches` launches as a graph. Runs the graph 1 + n times, and sets *ms
     * to the time per run of the plan in the last n graphs. NULL if the backend has no graphs. */
    dg_err (*time_graph)(dg_backend *, struct dg_plan *, int launches, int runs, int n, double *ms);
    dg_err (*measure)(dg_backend *, struct dg_machine *, int rounds);
    void (*close)(dg_backend *);
};

typedef struct {
    int threads;
    dg_type real;
    const dg_variant *conv; /* used for convolutions that the variant supports; if NULL, the shape decides */
    const char *isa;        /* instruction set; if NULL, the value of DCGAN_ISA, else this machine's fastest */
} dg_cpu_options;

dg_err dg_cpu_open(const dg_cpu_options *o, dg_backend **out);

typedef struct {
    int device;
    dg_type real;   /* DG_F32 or DG_F64 (direct kernels only) */
    dg_math math;   /* DG_MATH_FP32 if `real` is DG_F64, else any value that dg_math_on() accepts */
    bool else_fp32; /* use DG_MATH_FP32 if the device does not support `math` */
    bool eager;     /* --no-graph: launch op by op, without a captured graph */
    unsigned fuse;
    const char *tuning;
} dg_cuda_options;

/* Opens a GPU. Returns DG_DEVICE if the driver is missing or old, the device does not exist, or this build has no code
 * for the device. */
dg_err dg_cuda_open(const dg_cuda_options *o, dg_backend **out);

typedef struct {
    char name[128];
    int major, minor;
    int multiprocessors;
    size_t bytes;
    bool usable; /* the device responds, and this build has code for it */
    char why_not[200];
} dg_cuda_device;

/* Writes at most `room` of the machine's GPUs to out and returns their number. If the number is 0, *why is a sentence
 * with the reason, valid until the next call. */
int dg_cuda_devices(dg_cuda_device *out, int room, const char **why);
