/* Computes times from counts of launches. */
#include "core/tune/cost.h"

#include <math.h>
#include <string.h>

/* Returns the instructions per clock of a scheduler with `warps` warps. More than four warps add as much as the fourth
 * warp on average. */
static double issued(double warps, const dg_machine *m)
{
    const double *at = m->costs.issued;
    return warps > 4 ? fmin(at[3] * warps / 4, 1) : at[(int)fmax(floor(warps + 0.5), 1) - 1];
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
    const double us = 1e-3 / dg_machine_ghz(m), narrow = 128.0 / dg_arch_lanes(m->arch), rare = has_fp64(m) ? 1 : 32;
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

/* The times at which the multiprocessors become free, in ascending order. */
enum { SLOTS = 1024 };
typedef struct {
    double at[SLOTS + 1];
    int count[SLOTS + 1], n;
} free_slots;

static void insert(free_slots *f, double at, int count)
{
    int i = f->n;
    while (i > 0 && f->at[i - 1] >= at) i--;
    if (i < f->n && f->at[i] <= at) {
        f->count[i] += count;
        return;
    }
    for (int k = f->n++; k > i; k--) f->at[k] = f->at[k - 1], f->count[k] = f->count[k - 1];
    f->at[i] = at;
    f->count[i] = count;
}

double dg_cost_makespan(const dg_cost_run *run, int runs, int slots)
{
    free_slots f = {.at = {0}, .count = {slots < SLOTS ? slots : SLOTS}, .n = 1};
    for (int i = 0; i < runs; i++) {
        for (int left = run[i].blocks; left > 0;) {
            const int taken = left < f.count[0] ? left : f.count[0];
            const double until = f.at[0] + run[i].each;
            left -= taken;
            f.count[0] -= taken;
            if (!f.count[0]) {
                f.n--;
                memmove(f.at, f.at + 1, (size_t)f.n * sizeof *f.at);
                memmove(f.count, f.count + 1, (size_t)f.n * sizeof *f.count);
            }
            insert(&f, until, taken);
        }
    }
    return f.at[f.n - 1];
}

static bool is_update(const dg_cost_part *p) { return strncmp(p->kind, "dw ", 3) == 0; }

static double longest_of(const dg_cost_part *p, const dg_counted *c)
{
    return c->longest[0] + p->most * c->longest[1] + p->rest * c->longest[2] + p->merged * c->longest[3];
}

/* Returns the time in us of a weight gradient's block, if the block's warps have their schedulers for themselves. */
static double alone_us(const dg_counted *c, double instructions, const dg_machine *m)
{
    return m->costs.wave_us +
           m->costs.update * instructions / 4 / issued(c->threads / 128.0, m) / dg_machine_ghz(m) * 1e-3;
}

/* Returns the time in us in which all blocks of a fused update run. */
static double update_us(const dg_cost_part *part, int parts, const dg_machine *m)
{
    dg_cost_run run[DG_COST_PARTS];
    int resident_blocks = 1;
    for (int i = 0; i < parts; i++) {
        bool near;
        const dg_counted *c = part[i].counted ? part[i].counted : dg_counted_find(part[i].kind, &near);
        resident_blocks = resident(c, m);
        run[i] = (dg_cost_run){alone_us(c, longest_of(&part[i], c), m), (int)part[i].blocks};
    }
    return dg_cost_makespan(run, parts, m->units * resident_blocks);
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
        longest = fmax(longest, longest_of(p, c));
        out->blocks += p->blocks;
    }
    if (!c || !m->units) return false;
    const double busiest = ceil(out->blocks / m->units);
    const times t = times_of(sum, longest, busiest / out->blocks, bytes, m);
    const double all[DG_LIMITS] = {t.issue, t.pipe, t.l1, t.tensor, t.block, t.l2, t.memory};
    const double placed = ceil(out->blocks / dg_machine_cluster_units(m->units, part->cluster)),
                 more = placed / busiest;
    const int together = resident(c, m);
    const double ipc = issued(fmin(together, placed) * c->threads / 128, m);
    int which;
    out->waves = ceil(placed / together);
    out->instructions = fmax(out->waves * sum[DG_COUNT_instructions] / out->blocks, longest) * 32 / c->threads;
    out->bound_us = largest(all, DG_LIMITS, &which);
    out->limit = (dg_limit)which;
    double warps = out->waves * m->costs.wave_us + more * t.issue / ipc;
    if (is_update(part)) warps = update_us(part, parts, m);
    if (part->joined > 0) warps += out->waves * part->joined / m->costs.join / dg_machine_ghz(m) * 1e-3;
    out->arithmetic_us = fmax(warps, more * fmax(t.l1 / m->costs.l1, fmax(t.pipe, t.tensor / m->costs.tensor)));
    out->memory_us = fmax(t.l2 / m->costs.l2, t.memory);
    out->us = out->launch_us + fmax(out->arithmetic_us, out->memory_us);
    return true;
}

double dg_block_ns(const dg_counted *c, double steps, const dg_machine *m)
{
    return 1e3 * alone_us(c, c->longest[0] + steps * c->longest[1], m);
}
