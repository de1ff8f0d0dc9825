/* `dcgan --list-devices`: prints the values for --device, also without a GPU driver or CUDA. */

#include "host/cli/commands.h"

int dg_cmd_list_devices(const dg_options *o)
{
    enum { MOST = 64 };
    static dg_cuda_device device[MOST];
    const char *why;
    dg_backend *cpu;
    dg_err e = dg_cpu_open(&(dg_cpu_options){.threads = o->threads, .real = DG_F32}, &cpu);
    if (e) return (int)e;
    dg_say("%-8s %s", "cpu", cpu->name + 5);
    cpu->close(cpu);
    const int n = dg_cuda_devices(device, MOST, &why);
    for (int i = 0; i < n; i++) {
        const dg_cuda_device *d = &device[i];
        dg_say("cuda:%-3d %s, sm_%d%d, %d multiprocessors, %.1f GB%s%s", i, d->name, d->major, d->minor,
               d->multiprocessors, (double)d->bytes / 1e9,
               d->usable ? "" : "; unusable: ", d->usable ? "" : d->why_not);
    }
    if (!n) dg_say("no CUDA device: %s", why);
    return DG_OK;
}
