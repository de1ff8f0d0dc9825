/* Compares the cost model with times that were measured on an H100 on 2026-11-22. The constants WAVE_CLOCKS and
 * UPDATE_CLOCKS (core/tune/machine_known.c) were fitted to the times of check_fitted. The times of check_predicted were
 * not used for the fit. */
#include "core/tune/cost.h"

#include <string.h>

#include "measured.h"
#include "test.h"

enum { MAX_PARTS = 8 };
#define COUNT(rows) (int)(sizeof(rows) / sizeof *(rows))

static bool is_dw(const measured_launch *l) { return strcmp(l->kernel, "dw") == 0; }

/* Returns the time in us of the launch that starts at *l, and moves *l to the next launch. */
static double launch_us(const measured_launch **l, const measured_launch *end)
{
    dg_counted row[MAX_PARTS];
    dg_cost_part part[MAX_PARTS];
    dg_machine m;
    dg_cost c;
    int n = 0;
    const bool dw = is_dw(*l);
    do {
        const measured_launch *r = (*l)++;
        row[n] = (dg_counted){.threads = r->threads, .resident = r->resident, .longest = {r->instructions}};
        row[n].block[DG_COUNT_instructions] = r->instructions;
        row[n].block[DG_COUNT_l1] = r->l1;
        row[n].block[DG_COUNT_products] = r->products;
        row[n].block[DG_COUNT_l2] = r->l2;
        part[n] = (dg_cost_part){.blocks = r->blocks, .counted = &row[n]};
        snprintf(part[n].kind, sizeof part[n].kind, "%s ", r->kernel);
        n++;
    } while (dw && *l < end && n < MAX_PARTS && is_dw(*l));
    if (!DG_CHECK(!dg_machine_find("h100", DG_F32, &m) && dg_cost_of(part, n, 0, &m, &c))) return 0;
    return c.us;
}

static double step_us(const measured_launch *l, int rows)
{
    double us = 0;
    for (const measured_launch *end = l + rows; l < end;) us += launch_us(&l, end);
    return us;
}

/* Returns the time of D's weight update: its weight gradients, and Adam, which follows. */
static double update_us(const measured_launch *l, int rows)
{
    const measured_launch *end = l + rows;
    while (l < end && !is_dw(l)) l++;
    const double gradients = launch_us(&l, end);
    return gradients + launch_us(&l, end);
}

static void near(const char *what, double us, double measured, double limit)
{
    printf("%s: model %.1f, measured %.1f (%+.0f%%)\n", what, us, measured, 100 * (us / measured - 1));
    DG_CHECKF(fabs(us / measured - 1) <= limit, "%s: %g, measured %g", what, us, measured);
}

/* The measured times are without weight updates. D's update was measured (125 and 608 us), and G's update was estimated
 * from the same rate (80 and 350 us). */
static void check_fitted(void)
{
    near("w1 without updates, us", step_us(w1_41b125b, COUNT(w1_41b125b)), 814 - 125 - 80, 0.05);
    near("w2 without updates, us", step_us(w2_41b125b, COUNT(w2_41b125b)), 3050 - 608 - 350, 0.05);
    near("D's update of w1, us", update_us(w1_688a723, COUNT(w1_688a723)), 125, 0.05);
}

/* ncu: the multiprocessors were busy for 36,500 cycles of a forward convolution. A multiprocessor is not busy before
 * its first block begins and after its last block ends, which the once-part contains. */
static void check_forward(void)
{
    dg_machine m;
    if (!DG_CHECK(!dg_machine_find("h100", DG_F32, &m))) return;
    const measured_launch *l = w1_41b125b;
    while (strcmp(l->kernel, "fwd mma_bf16 128x64") != 0) l++;
    const measured_launch *next = l;
    const double us = launch_us(&next, l + 1) - m.costs.after_us;
    near("a forward convolution, cycles", (us - m.costs.wave_us) * m.costs.ghz * 1e3, 36500, 0.15);
    printf("with its once-part: %.0f cycles\n", us * m.costs.ghz * 1e3);
}

static void check_predicted(void)
{
    near("w1 at 688a723, us", step_us(w1_688a723, COUNT(w1_688a723)), 747, 0.15);
    near("w2 at 688a723, us", step_us(w2_688a723, COUNT(w2_688a723)), 2970, 0.15);
    near("D's update of w2, us", update_us(w2_688a723, COUNT(w2_688a723)), 608, 0.25);
}

DG_TESTS(check_fitted, check_forward, check_predicted)
