/* Determines the machine's name, its rates, and its load by other programs. */
#include "core/tune/machine.h"

#include "core/base/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void name_cpu(char *out, size_t size)
{
    char line[256];
    out[0] = 0;
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (!f) return;
    while (!*out && fgets(line, sizeof line, f)) {
        char *text = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !text) continue;
        text += 1 + strspn(text + 1, " ");
        text[strcspn(text, "\n")] = 0;
        dg_printable(out, size, text);
    }
    (void)fclose(f);
}

dg_err dg_machine_measure(dg_machine *m, dg_backend *b, int rounds)
{
    *m = (dg_machine){.source = "measured", .real = b->real, .math = b->math, .rounds = rounds, .foreign = -1};
    name_cpu(m->name, sizeof m->name);
    return b->measure(b, m, rounds);
}

dg_err dg_machine_peak(dg_machine *m, dg_backend *b) { return b->measure(b, m, 0); }

/* Returns the busy seconds of all processors since boot, from the first line of /proc/stat: "cpu user nice system idle
 * iowait irq softirq steal ...". */
static double busy_seconds(void)
{
    char line[512], *at = line + 3;
    double ticks = 0;
    FILE *f = fopen("/proc/stat", "re");
    if (!f) return -1;
    bool good = fgets(line, sizeof line, f) && strncmp(line, "cpu ", 4) == 0;
    (void)fclose(f);
    for (int i = 0; i < 8 && good; i++) {
        char *end;
        double value = strtod(at, &end);
        good = end != at;
        at = end;
        if (i != 3 && i != 4) ticks += value;
    }
    return good ? ticks / (double)sysconf(_SC_CLK_TCK) : -1;
}

void dg_busy_start(dg_busy *l)
{
    l->wall = dg_clock();
    l->busy = busy_seconds();
    l->own = dg_cpu_seconds();
}

double dg_busy_foreign(const dg_busy *start)
{
    dg_busy now;
    dg_busy_start(&now);
    double wall = now.wall - start->wall;
    if (start->busy < 0 || now.busy < 0 || wall < 0.1) return -1;
    return fmax((now.busy - start->busy - (now.own - start->own)) / wall, 0);
}
