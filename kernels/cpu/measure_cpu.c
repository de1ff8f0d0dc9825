/* Measures the CPU's limits: multiply-adds, memory and cache bandwidth, and the cost of a parallel loop. */
#include <omp.h>
#include <unistd.h>

#include "kernels/cpu/cpu.h"
#include "core/base/clock.h"
#include "core/tune/machine.h"

static void keep_best(double *best, double value)
{
    if (value > *best) *best = value;
}

/* Returns GFLOP/s. The measurement takes a few milliseconds, so interrupts rarely disturb it. */
static double fma_burst(const dg_cpu_table *table, int threads)
{
    double flops = 0, first = 0, last = 0, sink = 0;
    const int64_t loops = 500000;
#pragma omp parallel num_threads(threads) reduction(+ : flops, sink)
    {
        double mine;
        table->fma(1000, &mine);
        sink += mine;
#pragma omp barrier
#pragma omp master
        first = dg_clock();
        flops = table->fma(loops, &mine);
        sink += mine;
#pragma omp barrier
#pragma omp master
        last = dg_clock();
    }
    return sink > 0 && last > first ? flops / (last - first) * 1e-9 : 0;
}

static double fma_rate(const dg_cpu_table *table, int threads)
{
    double best = 0;
    for (int i = 0; i < 8; i++) keep_best(&best, fma_burst(table, threads));
    return best;
}

static long cache_size(int level3)
{
    long bytes = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    bytes = sysconf(level3 ? _SC_LEVEL3_CACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
#else
    (void)level3;
#endif
    return bytes > 0 ? bytes : 0;
}

static size_t array_bytes(void)
{
    const size_t bytes = 4 * (size_t)cache_size(1), least = (size_t)64 << 20, most = (size_t)128 << 20;
    return bytes < least ? least : bytes > most ? most : bytes;
}

/* Excludes the last-level cache, because other programs or virtual machines share it. */
static double cache_bytes(int threads) { return (double)cache_size(0) * threads; }

static double cached_triad(const dg_cpu_table *table, void **array, size_t bytes, size_t element)
{
    const int64_t n = (int64_t)(bytes / 6 / element) / 4096 * 4096;
    if (n == 0) return 0;
    double best = 0;
    for (int i = 0; i < 50; i++) {
        const double t0 = dg_clock();
        table->triad(array[0], array[1], array[2], n);
        keep_best(&best, 3 * (double)n * (double)element / (dg_clock() - t0) * 1e-9);
    }
    return best;
}

static double fork_join_us(void)
{
    enum { LOOPS = 200 };
    double best = 0;
    for (int round = 0; round < 5; round++) {
        const double t0 = dg_clock();
        for (int i = 0; i < LOOPS; i++) {
#pragma omp parallel
            __asm__ volatile("" ::: "memory");
        }
        const double us = (dg_clock() - t0) * 1e6 / LOOPS;
        if (round == 0 || us < best) best = us;
    }
    return best;
}

static void memory(dg_machine *m, const dg_cpu_table *table, void **array, size_t bytes, size_t element)
{
    const int64_t n = (int64_t)(bytes / element) / 4096 * 4096;
    const double t0 = dg_clock();
    table->triad(array[0], array[1], array[2], n);
    const double t1 = dg_clock(), sum = table->read(array[1], n), t2 = dg_clock();
    keep_best(&m->triad, 3 * (double)bytes / (t1 - t0) * 1e-9);
    if (sum == 0) keep_best(&m->read, (double)bytes / (t2 - t1) * 1e-9);
}

dg_err dg_cpu_measure(dg_backend *b, const dg_cpu_table *table, dg_machine *m, int rounds)
{
    omp_set_num_threads(b->threads);
    keep_best(&m->all, fma_rate(table, b->threads));
    if (!rounds) return DG_OK;
    const size_t bytes = array_bytes(), element = dg_type_bytes(b->real);
    void *array[3] = {NULL, NULL, NULL};
    dg_err e = DG_OK;
    for (int i = 0; i < 3 && !e; i++) e = b->alloc(b, bytes, &array[i]);
    m->units = b->threads;
    m->array_mb = (double)bytes / 1e6;
    m->cache_mb = cache_bytes(b->threads) / 1e6;
    for (int i = 0; i < rounds && !e; i++) {
        keep_best(&m->one, fma_rate(table, 1));
        memory(m, table, array, bytes, element);
        keep_best(&m->cache, cached_triad(table, array, (size_t)(m->cache_mb * 1e6), element));
        keep_best(&m->all, fma_rate(table, b->threads));
        const double us = fork_join_us();
        if (i == 0 || us < m->launch_us) m->launch_us = us;
    }
    for (int i = 0; i < 3; i++)
        if (array[i]) b->release(b, array[i]);
    return e;
}
