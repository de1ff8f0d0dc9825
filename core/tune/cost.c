/* Computes times from counts of launches. */
#include "core/tune/cost.h"

#include <math.h>
#include <string.h>

static double issued(double warps, const dg_machine *m)
{
    return m->costs.issued[(int)fmin(fmax(floor(warps + 0.5), 1), 4) - 1];
}

/* Returns the number of leading words that two names of block kinds have in common, plus 100 for equal names. */
static int common(const char *a, const char *b)
{
    int words = 0;
    while (*a && *b) {
        const size_t n = strcspn(a, " "), k = strcspn(b, " ");
        if (n != k || memcmp(a, b, n) != 0) break;
        words++;
        a += n + (a[n] == ' ');
        b += k + (b[k] == ' ');
    }
    return words + (!*a && !*b ? 100 : 0);
}

const dg_counted *dg_counted_find(const char *kind, bool *near)
{
    const dg_counted *best = NULL;
    int most = 2;
    for (const dg_counted *c = dg_counts; c->kind; c++) {
        const int n = common(kind, c->kind);
        if (n <= most) continue;
        most = n;
        best = c;
    }
    if (best && most < 100) *near = true;
    return best;
}

const char *dg_limit_name(dg_limit l)
{
    static const char *const name[DG_LIMITS] = {"issue", "pipe", "l1", "tensor", "block", "l2", "memory"};
    return name[l];
}

/* Data-centre GPUs have one fp64 lane per two fp32 lanes. Other GPUs have two fp64 lanes per multiprocessor. */
static bool has_fp64(const dg_machine *m) { return m->arch == 80 || m->arch == 90 || m->arch == 100; }

static double ghz(const dg_machine *m)
{
    return m->costs.ghz > 0 ? m->costs.ghz : m->all / (2.0 * m->units * dg_arch_lanes(m->arch));
}

static int resident(const dg_counted *c, const dg_machine *m)
{
    const int threads = dg_arch_threads(m->arch);
    return c->resident * c->threads > threads ? threads / c->threads : c->resident;
}

/* Times in us. Those from `issue` to `tensor` are of the multiprocessor with the most blocks. */
typedef struct {
    double issue, pipe, l1, tensor, block, l2, memory;
} times;

static times times_of(const double *sum, double longest, double share, double bytes, const dg_machine *m)
{
    const double us = 1e-3 / ghz(m), narrow = 128.0 / dg_arch_lanes(m->arch), rare = has_fp64(m) ? 1 : 32;
    const double wide[] = {sum[DG_COUNT_alu], sum[DG_COUNT_fma] * narrow, sum[DG_COUNT_xu], sum[DG_COUNT_f64] * rare};
    times t = {.issue = sum[DG_COUNT_instructions] / 4 * share * us,
               .l1 = sum[DG_COUNT_l1] * share * us,
               .block = longest / 4 * us};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) t.pipe = fmax(t.pipe, wide[i] * share * us);
    if (m->bf16 > 0) t.tensor = sum[DG_COUNT_products] * share * 2 * m->units / m->bf16 * 1e-3;
    if (m->cache > 0) t.l2 = sum[DG_COUNT_l2] / m->cache * 1e-3;
    if (m->triad > 0) t.memory = fmax(bytes - m->cache_mb * 1e6, 0) / m->triad * 1e-3;
    return t;
}

static double largest(const double *v, int n, int *which)
{
    *which = 0;
    for (int i = 1; i < n; i++)
        if (v[i] > v[*which]) *which = i;
    return v[*which];
}

bool dg_cost_of(const dg_cost_part *part, int parts, double bytes, const dg_machine *m, dg_cost *out)
{
    double sum[DG_COUNT_KINDS] = {0}, longest = 0;
    const dg_counted *c = NULL;
    *out = (dg_cost){.launch_us = m->costs.after_us};
    for (int i = 0; i < parts; i++) {
        const dg_cost_part *p = &part[i];
        c = p->counted ? p->counted : dg_counted_find(p->kind, &out->near);
        if (!c) return false;
        for (int k = 0; k < DG_COUNT_KINDS; k++)
            sum[k] += p->blocks * (c->block[k] + p->steps * c->step[k] + p->rest * c->rest[k]);
        longest = fmax(longest,
                       c->longest[0] + p->most * c->longest[1] + p->rest * c->longest[2] + p->merged * c->longest[3]);
        out->blocks += p->blocks;
    }
    if (!c || !m->units) return false;
    const double busiest = ceil(out->blocks / m->units);
    const times t = times_of(sum, longest, busiest / out->blocks, bytes, m);
    const double all[DG_LIMITS] = {t.issue, t.pipe, t.l1, t.tensor, t.block, t.l2, t.memory};
    const double ipc = issued(fmin(resident(c, m), busiest) * c->threads / 128, m);
    int which;
    out->bound_us = largest(all, DG_LIMITS, &which);
    out->limit = (dg_limit)which;
    out->arithmetic_us = fmax(fmax(fmax(t.issue, t.block) / ipc, t.l1 / m->costs.l1),
                              fmax(t.pipe, t.tensor / m->costs.tensor));
    out->memory_us = fmax(t.l2 / m->costs.l2, t.memory);
    out->us = out->launch_us + fmax(out->arithmetic_us, out->memory_us);
    return true;
}

double dg_block_ns(const dg_counted *c, double steps, const dg_machine *m)
{
    const int n = resident(c, m);
    return n * (c->longest[0] + steps * c->longest[1]) / 4 / issued(n * c->threads / 128.0, m) / ghz(m);
}
