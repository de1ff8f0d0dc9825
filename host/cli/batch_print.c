/* `dcgan batch`: tables. */
#include <stdio.h>
#include <string.h>

#include "host/cli/batch_print.h"
#include "host/cli/say.h"

#define NOTABLE 0.05 /* what other programs add to a step */

void dg_batch_print_head(const dg_batch_bench *b)
{
    const dg_backend *d = b->backend;
    dg_say("%s, %s on %s: %d pictures", b->model->name, dg_precision_name(d->real, d->math), d->name, b->data->train);
    if (strstr(d->name, "Simulated")) dg_say("This GPU is simulated: the times below mean nothing.");
    printf("\n");
}

static bool known(const dg_batch_row *row, int rows, size_t member)
{
    for (int i = 0; i < rows; i++)
        if (*(const double *)(const void *)((const char *)&row[i] + member) >= 0) return true;
    return false;
}

static void percent(double value) { value >= 0 ? printf(" %7.1f%%", value) : printf(" %8s", "-"); }

static void gain(const dg_batch_row *before, const dg_batch_row *now)
{
    if (!before) printf(" %7s", "-");
    else printf(" %+6.1f%%", 100 * (dg_batch_rate(now) / dg_batch_rate(before) - 1));
}

void dg_batch_print_rows(const dg_batch_bench *b, const dg_search_limits *l, const dg_batch_row *row, int rows,
                         int chosen)
{
    const bool nvml = known(row, rows, offsetof(dg_batch_row, utilisation)),
               waits = known(row, rows, offsetof(dg_batch_row, waits)), peak = b->machine.all > 0;
    printf("  %6s %9s %10s %7s %9s %9s %7s %8s", "batch", "ms/step", "pictures/s", "gain", "epoch", "memory", "steps",
           "busy");
    printf("%s%s%s\n", peak ? "  of peak" : "", nvml ? "     NVML" : "", waits ? "    waits" : "");
    for (int i = 0; i < rows; i++) {
        const dg_batch_row *r = &row[i];
        printf("%c %6d %9.4g %10.1f", i == chosen ? '*' : ' ', r->batch, r->ms, dg_batch_rate(r));
        gain(i ? &row[i - 1] : NULL, r);
        printf(" %7.4g s %6.1f MB %7d", dg_batch_epoch(l, r), (double)r->memory / 1e6, dg_batch_updates(l, r->batch));
        percent(r->busy);
        if (peak) percent(r->of_peak);
        if (nvml) percent(r->utilisation);
        if (waits) percent(r->waits);
        printf("\n");
    }
}

/* How much longer than ms/step the median is, at most. */
static double disturbed(const dg_batch_row *row, int rows, int *batch)
{
    double most = 0;
    for (int i = 0; i < rows; i++) {
        const double longer = row[i].median / row[i].ms - 1;
        if (longer <= most) continue;
        most = longer;
        *batch = row[i].batch;
    }
    return most;
}

void dg_batch_print_notes(const dg_batch_bench *b, const dg_batch_row *row, int rows)
{
    int batch = 0;
    const double longer = disturbed(row, rows, &batch);
    if (longer > NOTABLE)
        printf("ms/step: a tenth of the steps are faster. The median of all is up to %.0f%% longer (batch %d).\n",
               100 * longer, batch);
    const double slowed = dg_batch_slowed(row, rows);
    if (slowed > NOTABLE)
        printf("Multiply-adds alone, timed around each size, were up to %.0f%% slower at times.\n", 100 * slowed);
    if (known(row, rows, offsetof(dg_batch_row, utilisation)))
        printf("NVML: its \"utilisation\", which counts all time in which any kernel ran, however small.\n");
    if (known(row, rows, offsetof(dg_batch_row, waits)))
        printf("waits: the part of a step that waits for pictures, which pass through two windows of the memory.\n");
    if (b->machine.foreign > 0.1 && b->backend->threads)
        printf("Other programs used %.2f cores meanwhile. Times on an idle machine may be shorter.\n",
               b->machine.foreign);
}

void dg_rule_print_head(const dg_batch_rule *r)
{
    printf("  %6s %6s %9s %9s  %s\n", "round", "batch", "ms/step", "epoch",
           r->kind == DG_RULE_USAGE ? "usage" : "gain");
}

void dg_rule_print_round(const dg_batch_rule *r)
{
    const int n = r->rounds - 1;
    const dg_rule_round *now = &r->round[n];
    printf("  %6d %6d %9.4g %7.4g s %6.2f%%\n", n, now->batch, now->ms, now->epoch,
           r->kind == DG_RULE_USAGE ? now->usage : 100 * now->gain);
    (void)fflush(stdout);
}

void dg_rule_sentence(const dg_batch_rule *r, char *out, size_t size)
{
    const char *name = dg_batch_rule_name[r->kind];
    const int n = r->rounds - 1;
    if (n < 0) {
        snprintf(out, size, "%s: %d, which it begins with, cannot be.", name, r->batch);
        return;
    }
    const dg_rule_round *last = &r->round[n];
    const double gained = 100 * last->gain;
    int at = snprintf(out, size, "%s: %d in round %d: an epoch takes %.4g s, %.1f%% %s than at %d", name, last->batch,
                      n, last->epoch, gained < 0 ? -gained : gained, gained < 0 ? "more" : "less", r->round[0].batch);
    if (r->end == DG_RULE_CANNOT && (size_t)at < size)
        at += snprintf(out + at, size - (size_t)at, "; it wants %d next, which cannot be", r->batch);
    if (r->end == DG_RULE_ALL_ROUNDS && (size_t)at < size)
        at += snprintf(out + at, size - (size_t)at, "; it never came to rest");
    if ((size_t)at < size) snprintf(out + at, size - (size_t)at, ".");
}
