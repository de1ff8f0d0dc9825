/* The CUDA backend: runs plans on one device as CUDA graphs (cuda_graph.cu). Values that change per training step are
 * in device memory, so that captured CUDA graphs stay valid. */
#include "kernels/cuda/cuda_internal.cuh"
#include "kernels/cuda/cublas.cuh"
#include "kernels/cuda/cuda_device.cuh"
#include "kernels/cuda/nccl.cuh"
#include "kernels/fused/fuse.cuh"

#include <stdio.h>
#include <stdlib.h>

extern "C" {
#include "core/base/shell.h"
#include "core/plan/optimizer.h"
#include "kernels/ops/conv/variants.h"
#include "kernels/ops/ops.h"
}

static const char *has(const dg_tune *tune)
{
    if (tune->variant == &dg_conv_variant_wgmma && !dg_cuda_has_wgmma())
        return "this dcgan has no code for sm_90a, which wgmma needs";
    return tune->variant == &dg_conv_variant_cublas ? dg_cublas_open() : nullptr;
}

static const char *cuda_refuses(dg_backend *b, dg_op *op) { return dg_chooser_pick(&((gpu *)b)->chooser, op, has); }

static int cuda_choices(dg_backend *b, const dg_op *op, dg_tune *out, int room)
{
    int kept = 0;
    const int n = dg_variant_list(op, out, room, b->real, &((gpu *)b)->limits);
    for (int i = 0; i < n && i < room; i++)
        if (!has(&out[i])) out[kept++] = out[i];
    return kept;
}

static size_t cuda_scratch(dg_backend *b, const dg_op *op) { return dg_scratch_of(op, b->real); }

static dg_err cuda_fuse(dg_backend *b, struct dg_plan *p)
{
    const gpu *c = (const gpu *)b;
    return dg_fuse_plan(p, c->fuse, b->real, &c->limits);
}

/* Runs a plan's launches one by one and waits for each launch, so that error messages name the op. */
static dg_err run_eagerly(gpu *c, const dg_plan *p)
{
    for (int i = 0; i < dg_plan_pieces(p); i++) {
        const dg_err e = dg_gpu_enqueue_piece(c, p, i, c->stream[DG_COMPUTE]);
        if (e) return e;
        TRY(c, p->op[p->launch ? p->launch[i].main : i].name, cudaStreamSynchronize(c->stream[DG_COMPUTE]));
    }
    return DG_OK;
}

static dg_err cuda_run_many(dg_backend *b, struct dg_plan *p, int n)
{
    gpu *c = (gpu *)b;
    ENTER(c);
    dg_err e = dg_gpu_round(c, p);
    for (int i = 0; i < n && c->eager && !e; i++) e = run_eagerly(c, p);
    while (n > 0 && !c->eager && !e) {
        captured *g = nullptr;
        e = dg_gpu_graph_for(c, p, n, &g);
        if (!e && !g) e = run_eagerly(c, p);
        if (e) return e;
        if (g) TRY(c, p->name, cudaGraphLaunch(g->graph, c->stream[DG_COMPUTE]));
        n -= g ? g->runs : 1;
    }
    return e;
}

static dg_err cuda_run(dg_backend *b, struct dg_plan *p) { return cuda_run_many(b, p, 1); }

static dg_err run_one(gpu *c, const char *name, const dg_op *op, const dg_plan *p, int launch, double *ms)
{
    TRY(c, name, cudaEventRecord(c->from, c->stream[DG_COMPUTE]));
    const dg_err e = op ? dg_gpu_enqueue(c, op, c->stream[DG_COMPUTE])
                        : dg_gpu_enqueue_piece(c, p, launch, c->stream[DG_COMPUTE]);
    if (e) return e;
    TRY(c, name, cudaEventRecord(c->to, c->stream[DG_COMPUTE]));
    TRY(c, name, cudaEventSynchronize(c->to));
    float elapsed = 0;
    TRY(c, name, cudaEventElapsedTime(&elapsed, c->from, c->to));
    if (ms) *ms = (double)elapsed;
    return DG_OK;
}

static dg_err cuda_run_op(dg_backend *b, const dg_op *op, double *ms)
{
    gpu *c = (gpu *)b;
    ENTER(c);
    c->written += dg_is_update(op->kind);
    return run_one(c, op->name, op, nullptr, 0, ms);
}

static dg_err cuda_run_launch(dg_backend *b, const struct dg_plan *p, int launch)
{
    gpu *c = (gpu *)b;
    ENTER(c);
    c->alone = true;
    dg_err e = dg_gpu_round(c, p);
    if (!e) e = run_one(c, p->op[p->launch[launch].main].name, nullptr, p, launch, nullptr);
    c->alone = false;
    return e;
}

static dg_err cuda_sync(dg_backend *b)
{
    gpu *c = (gpu *)b;
    ENTER(c);
    const cudaError_t e = cudaStreamSynchronize(c->stream[DG_COMPUTE]);
    if (e == cudaSuccess) return DG_OK;
    return dg_gpu_report(c, "", "waiting for the device", e);
}

static void cuda_close(dg_backend *b)
{
    gpu *c = (gpu *)b;
    if (b->group) dg_nccl_compute(nullptr);
    if (!c->broken && c->device >= 0) {
        (void)cudaSetDevice(c->device);
        if (c->stream[DG_COMPUTE]) (void)cudaStreamSynchronize(c->stream[DG_COMPUTE]);
        dg_cublas_close();
        dg_cuda_timer_free(&c->timer);
        if (c->from) (void)cudaEventDestroy(c->from);
        if (c->to) (void)cudaEventDestroy(c->to);
        dg_gpu_memory_close(c);
    }
    dg_gpu_graphs_close(c);
    dg_chooser_close(&c->chooser);
    free(c);
}

static dg_err open_device(gpu *c, int device)
{
    dg_cuda_device all[64];
    const char *why;
    const int count = dg_cuda_devices(all, 64, &why);
    if (!count) return dg_fail(DG_DEVICE, "{device cuda}: %s; use {device cpu}", why);
    if (device < 0 || device >= count)
        return dg_fail(
            DG_DEVICE,
            DG_MSG("device-number",
                   "{device cuda:%d}: this machine has %d CUDA device%s, numbered from 0 (%s --list-devices)"),
            device, count, count == 1 ? "" : "s", dg_program());
    const dg_cuda_device *d = &all[device];
    if (!d->usable) return dg_fail(DG_DEVICE, "{device cuda:%d}: %s: %s", device, d->name, d->why_not);
    c->device = device;
    c->limits.arch = d->major * 10 + d->minor;
    c->limits.wgmma = c->limits.arch == 90 && dg_cuda_has_wgmma();
    snprintf(c->base.name, sizeof c->base.name, "cuda:%d, %.36s, sm_%d", device, d->name, c->limits.arch);
    TRY(c, "", cudaSetDevice(device));
    int shared = 0, driver = 0;
    TRY(c, "", cudaDriverGetVersion(&driver));
    snprintf(c->base.driver, sizeof c->base.driver, "CUDA %d.%d", driver / 1000, driver % 1000 / 10);
    cudaDeviceProp p;
    TRY(c, "", cudaGetDeviceProperties(&p, device));
    snprintf(c->base.bus, sizeof c->base.bus, "%04x:%02x:%02x.0", p.pciDomainID & 0xffff, p.pciBusID & 0xff,
             p.pciDeviceID & 0xff);
    TRY(c, "", cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    c->limits.shared = (size_t)shared;
    TRY(c, "", cudaEventCreate(&c->from));
    TRY(c, "", cudaEventCreate(&c->to));
    return dg_gpu_memory_open(c);
}

extern "C" dg_err dg_cuda_open(const dg_cuda_options *o, dg_backend **out)
{
    *out = nullptr;
    dg_ops_use(dg_op_table);
    if (o->real != DG_F32 && (o->real != DG_F64 || o->math != DG_MATH_FP32))
        return dg_fail(DG_USAGE, "the GPU computes in fp32, bf16, fp16 or fp64 only");
    gpu *c = (gpu *)calloc(1, sizeof *c);
    if (!c) return dg_fail(DG_DEVICE, "out of memory for the CUDA backend");
    dg_backend *b = &c->base;
    c->device = -1;
    c->eager = o->eager;
    c->fuse = o->fuse;
    b->real = o->real;
    b->math = c->limits.math = o->math;
    b->queues = !o->eager;
    dg_gpu_memory_functions(b);
    b->refuses = cuda_refuses;
    b->choices = cuda_choices;
    b->scratch = cuda_scratch;
    b->fuse = cuda_fuse;
    b->run = cuda_run;
    b->run_many = cuda_run_many;
    b->run_op = cuda_run_op;
    b->run_launch = cuda_run_launch;
    dg_gpu_time_functions(b);
    b->sync = cuda_sync;
    b->close = cuda_close;
    dg_err e = open_device(c, o->device);
    if (!e && o->else_fp32 && !dg_math_on(o->math, c->limits.arch)) b->math = c->limits.math = DG_MATH_FP32;
    if (!e) e = dg_chooser_open(&c->chooser, o->tuning, o->real, &c->limits);
    if (e) {
        cuda_close(b);
        return e;
    }
    *out = b;
    return DG_OK;
}
