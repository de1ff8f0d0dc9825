/* What the machine can do at most: multiply-adds, memory; and who else is using it. */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "kernels/cpu.h"

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { KEPT = sizeof((dg_timing *)0)->value / sizeof(double) };

void dg_timing_add(dg_timing *t, double value)
{
    if (!t->n || value < t->best) t->best = value;
    t->value[t->n++ % KEPT] = value;
}

double dg_timing_median(const dg_timing *t)
{
    double sorted[KEPT];
    int n = t->n < KEPT ? t->n : KEPT;
    if (!n) return 0;
    memcpy(sorted, t->value, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* GFLOP/s of `threads` threads over a few milliseconds: short enough to fall between other programs. */
static double fma_burst(const dg_cpu_table *table, int threads)
{
    double flops = 0, first = 0, last = 0, sink = 0;
    const int64_t loops = 500000;
#pragma omp parallel num_threads(threads) reduction(+ : flops, sink)
    {
        double mine;
        flops += table->fma(1000, &mine); /* clocks and code are warm */
        sink += mine;
#pragma omp barrier
#pragma omp master
        first = seconds();
        flops = table->fma(loops, &mine);
        sink += mine;
#pragma omp barrier
#pragma omp master
        last = seconds();
    }
    return sink > 0 && last > first ? flops / (last - first) * 1e-9 : 0;
}

static double fma_rate(const dg_cpu_table *table, int threads)
{
    double best = 0;
    for (int i = 0; i < 8; i++) {
        double rate = fma_burst(table, threads);
        if (rate > best) best = rate;
    }
    return best;
}

void dg_machine_peak(dg_machine *m, dg_backend *b)
{
    const dg_cpu_table *table = dg_cpu_table_of(b);
    if (!table) return;
    double rate = fma_rate(table, b->threads);
    if (rate > m->all) m->all = rate;
}

/* Four times the last cache, so that little of an array survives in it, within reason. */
static size_t array_bytes(void)
{
    long cache = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    size_t bytes = cache > 0 ? 4 * (size_t)cache : 0;
    const size_t least = (size_t)64 << 20, most = (size_t)128 << 20;
    return bytes < least ? least : bytes > most ? most : bytes;
}

static void name_machine(char *out, size_t size)
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
    *m = (dg_machine){.rounds = rounds, .foreign = -1};
    name_machine(m->machine, sizeof m->machine);
    const dg_cpu_table *table = dg_cpu_table_of(b);
    if (!table) return DG_OK;
    const size_t bytes = array_bytes();
    const int64_t n = (int64_t)(bytes / dg_type_bytes(b->real)) / 4096 * 4096;
    void *array[3] = {NULL, NULL, NULL};
    dg_err e = DG_OK;
    for (int i = 0; i < 3 && !e; i++) e = b->alloc(b, bytes, &array[i]);
    omp_set_num_threads(b->threads);
    m->array_mb = (double)bytes / 1e6;
    for (int i = 0; i < rounds && !e; i++) {
        double rate = fma_rate(table, 1), t0 = seconds();
        if (rate > m->one) m->one = rate;
        table->triad(array[0], array[1], array[2], n);
        double t1 = seconds(), sum = table->read(array[1], n), t2 = seconds();
        double triad = 3 * (double)bytes / (t1 - t0) * 1e-9, reading = (double)bytes / (t2 - t1) * 1e-9;
        if (triad > m->triad) m->triad = triad;
        if (sum == 0 && reading > m->read) m->read = reading; /* the arrays are zero; a sum must be looked at */
        dg_machine_peak(m, b);
    }
    for (int i = 0; i < 3; i++)
        if (array[i]) b->release(b, array[i]);
    return e;
}

/* Seconds that all processors together were not idle, since boot: the first line of /proc/stat is
 * "cpu user nice system idle iowait irq softirq steal ...". */
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
        if (i != 3 && i != 4) ticks += value; /* idle, waiting for a disk */
    }
    return good ? ticks / (double)sysconf(_SC_CLK_TCK) : -1;
}

void dg_load_start(dg_load *l)
{
    struct rusage r;
    l->wall = seconds();
    l->busy = busy_seconds();
    l->own = 0;
    if (getrusage(RUSAGE_SELF, &r) == 0)
        l->own = (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
                 (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

double dg_load_foreign(const dg_load *start)
{
    dg_load now;
    dg_load_start(&now);
    double wall = now.wall - start->wall;
    if (start->busy < 0 || now.busy < 0 || wall < 0.1) return -1;
    double foreign = (now.busy - start->busy - (now.own - start->own)) / wall;
    return foreign > 0 ? foreign : 0;
}
