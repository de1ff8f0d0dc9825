/* Which backend the options mean. `cuda` is never replaced by something else; `auto` may be, and says so when there is
 * a GPU that it leaves out. */
#include "host/cli/open_async.h"
#include "core/plan/fuse.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 64 };

static dg_err open_cpu(const dg_options *o, dg_backend **out)
{
    static const char *const conv[] = {NULL, "direct", "winograd"}; /* by o->conv */
    bool else_fp32;
    const dg_precision *p = dg_options_precision(o, &else_fp32);
    if (p->math != DG_MATH_FP32 && !else_fp32 && o->resume)
        return dg_fail(
            DG_USAGE,
            "--precision %s is for the tensor cores of a GPU, and this run was begun with it: it goes on there "
            "(--device cuda), or another one begins here",
            p->name);
    if (p->math != DG_MATH_FP32 && !else_fp32)
        return dg_fail(
            DG_USAGE,
            "--precision %s is for the tensor cores of a GPU (--device cuda); a CPU would round its factors and "
            "be no faster for it: --precision fp32 runs here",
            p->name);
    if (o->tuning) dg_warn("--tuning %s is for CUDA devices; the CPU does not read it", o->tuning);
    return dg_cpu_open(&(dg_cpu_options){.threads = o->threads, .real = p->real, .conv = conv[o->conv]}, out);
}

static dg_err open_cuda(const dg_options *o, int device, dg_backend **out)
{
    bool else_fp32;
    const dg_precision *p = dg_options_precision(o, &else_fp32);
    const unsigned fuse = o->command == DG_CMD_TUNE ? (unsigned)DG_FUSE_NONE : o->fused; /* that is about single ops */
    const dg_cuda_options options = {.device = device,
                                     .real = p->real,
                                     .math = p->math,
                                     .else_fp32 = else_fp32,
                                     .eager = o->no_graph,
                                     .fuse = fuse,
                                     .tuning = o->tuning};
    const dg_err e = dg_cuda_open(&options, out);
    if (!e && o->conv) dg_warn("--conv chooses among the CPU's convolutions; on %s --tuning does", (*out)->name);
    return e;
}

/* The first line of a small file, "" if there is none. */
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
        found = strncmp(vendor, "0x10de", 6) == 0 && strncmp(class, "0x03", 4) == 0; /* a display or 3D controller */
    }
    if (d) closedir(d);
    return found;
}

/* The first device that this build can use, or where there is none -1 and why. Not a word where there is no GPU. */
static int first_usable(char *why, size_t size)
{
    static dg_cuda_device device[MOST_DEVICES];
    const char *reason;
    const int n = dg_cuda_devices(device, MOST_DEVICES, &reason);
    for (int i = 0; i < n; i++)
        if (device[i].usable) return i;
    *why = 0;
    if (n) snprintf(why, size, "%s: %s", device[0].name, device[0].why_not);
    else if (dg_nvidia_hardware("/sys/bus/pci/devices")) snprintf(why, size, "there is an NVIDIA GPU, but %s", reason);
    return -1;
}

static dg_err open_any(const dg_options *o, dg_backend **out, char *why, size_t size)
{
    const int device = first_usable(why, size);
    if (device < 0) return DG_OK;
    const dg_err e = open_cuda(o, device, out);
    if (e != DG_DEVICE) return e;
    snprintf(why, size, "%s", dg_message());
    return DG_OK;
}

dg_err dg_open_gpu(const dg_options *o, dg_backend **out, char *why, size_t size)
{
    *out = NULL;
    *why = 0;
    if (!strcmp(o->device, "cpu")) return DG_OK;
    if (!strcmp(o->device, "auto")) return open_any(o, out, why, size);
    if (o->device[4] == ':') return open_cuda(o, (int)strtol(o->device + 5, NULL, 10), out);
    const int device = first_usable(why, size);
    return open_cuda(o, device < 0 ? 0 : device, out);
}

dg_err dg_open_instead(const dg_options *o, const char *why, dg_backend **out)
{
    if (*why) dg_warn("%s; going on with the CPU (--device cpu says so from the start)", why);
    return open_cpu(o, out);
}

dg_err dg_open_backend(const dg_options *o, dg_backend **out)
{
    char why[600];
    const dg_err e = dg_open_gpu(o, out, why, sizeof why);
    return e || *out ? e : dg_open_instead(o, why, out);
}
