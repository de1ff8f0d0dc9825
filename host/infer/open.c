#include "host/infer/open.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 64 };

bool dg_device_known(const char *name)
{
    if (!strcmp(name, "auto") || !strcmp(name, "cpu") || !strcmp(name, "cuda")) return true;
    if (strncmp(name, "cuda:", 5) != 0) return false;
    const char *number = name + 5;
    return *number && strlen(number) <= 3 && strspn(number, "0123456789") == strlen(number);
}

static const dg_precision *precision_of(const dg_device *d)
{
    if (d->precision) return d->precision;
    return d->preferred ? d->preferred : &dg_precisions[DG_PRECISION_BF16];
}

static dg_err open_cpu(const dg_device *d, dg_backend **out)
{
    const dg_precision *p = precision_of(d);
    if (p->math != DG_MATH_FP32 && d->precision && d->begun)
        return dg_fail(DG_USAGE,
                       DG_MSG("precision-of-run-needs-gpu",
                              "this run was started with {precision} %s, which needs the tensor cores of a GPU; resume "
                              "the run on a GPU ({device cuda}), or start a new run here"),
                       p->name);
    if (p->math != DG_MATH_FP32 && d->precision)
        return dg_fail(DG_USAGE,
                       DG_MSG("precision-needs-gpu", "{precision} %s needs the tensor cores of a GPU ({device cuda}); "
                                                     "on a CPU, use {precision fp32}"),
                       p->name);
    if (d->tuning)
        dg_warn(DG_MSG("tuning-unused", "{tuning} %s is ignored: tuning files are for CUDA devices"), d->tuning);
    return dg_cpu_open(&(dg_cpu_options){.threads = d->threads, .real = p->real, .conv = d->conv}, out);
}

static dg_err open_cuda(const dg_device *d, int device, dg_backend **out)
{
    const dg_precision *p = precision_of(d);
    const dg_cuda_options options = {.device = device,
                                     .real = p->real,
                                     .math = p->math,
                                     .else_fp32 = !d->precision,
                                     .eager = d->eager,
                                     .fuse = d->fuse,
                                     .tuning = d->tuning};
    const dg_err e = dg_cuda_open(&options, out);
    if (!e && d->conv) dg_warn("{conv} is ignored: it applies to the CPU only; %s uses {tuning}", (*out)->name);
    return e;
}

static void first_line(const char *path, char *out, int size)
{
    FILE *f = fopen(path, "re");
    if (!f || !fgets(out, size, f)) *out = 0;
    if (f) (void)fclose(f);
}

bool dg_nvidia_hardware(const char *devices)
{
    DIR *d = opendir(devices);
    bool found = false;
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        char path[4096], vendor[16], class[16];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s/vendor", devices, e->d_name);
        first_line(path, vendor, sizeof vendor);
        snprintf(path, sizeof path, "%s/%s/class", devices, e->d_name);
        first_line(path, class, sizeof class);
        found = strncmp(vendor, "0x10de", 6) == 0 && strncmp(class, "0x03", 4) == 0; /* NVIDIA display controller */
    }
    if (d) closedir(d);
    return found;
}

/* Returns the index of the first usable GPU, or -1. For -1, `why` becomes the reason, or "" if the machine has no
 * GPU. */
static int first_usable(char *why, size_t size)
{
    dg_cuda_device device[MOST_DEVICES];
    const char *reason;
    const int n = dg_cuda_devices(device, MOST_DEVICES, &reason);
    for (int i = 0; i < n; i++)
        if (device[i].usable) return i;
    *why = 0;
    if (n) snprintf(why, size, "%s: %s", device[0].name, device[0].why_not);
    else if (dg_nvidia_hardware("/sys/bus/pci/devices"))
        snprintf(why, size, "this machine has an NVIDIA GPU, but %s", reason);
    return -1;
}

static dg_err open_any(const dg_device *d, dg_backend **out, char *why, size_t size)
{
    const int device = first_usable(why, size);
    if (device < 0) return DG_OK;
    const dg_err e = open_cuda(d, device, out);
    if (e != DG_DEVICE) return e;
    snprintf(why, size, "%s", dg_message());
    return DG_OK;
}

dg_err dg_device_open_gpu(const dg_device *d, dg_backend **out, char *why, size_t size)
{
    *out = NULL;
    *why = 0;
    if (!strcmp(d->device, "cpu")) return DG_OK;
    if (!strcmp(d->device, "auto")) return open_any(d, out, why, size);
    if (d->device[4] == ':') return open_cuda(d, (int)strtol(d->device + 5, NULL, 10), out);
    const int device = first_usable(why, size);
    return open_cuda(d, device < 0 ? 0 : device, out);
}

dg_err dg_device_open_cpu(const dg_device *d, const char *why, dg_backend **out)
{
    if (*why) dg_warn(DG_MSG("going-on-with-cpu", "using the CPU: %s ({device cpu} avoids this warning)"), why);
    return open_cpu(d, out);
}

dg_err dg_device_open(const dg_device *d, dg_backend **out)
{
    char why[600];
    const dg_err e = dg_device_open_gpu(d, out, why, sizeof why);
    return e || *out ? e : dg_device_open_cpu(d, why, out);
}

dg_err dg_device_open_trained(const dg_device *d, const char *precision, dg_backend **out)
{
    const dg_precision *trained = dg_precision_find(precision);
    dg_device mine = *d;
    mine.preferred = trained ? trained : &dg_precisions[DG_PRECISION_FP32];
    return dg_device_open(&mine, out);
}
