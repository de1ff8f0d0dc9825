#include "host/net/recipe.h"

#include <math.h>
#include <stdio.h>

double dg_metric_value(const dg_metric *m, const double value[DG_METRICS_MAX])
{
    return m->terms == 2 ? value[m->term[0]] + value[m->term[1]] : value[m->term[0]];
}

const char *dg_recipe_bad(const dg_recipe *r, const dg_metrics *m, char *out, size_t size)
{
    for (int i = 0; i < r->metrics; i++) {
        const dg_metric *k = &r->metric[i];
        const double v = dg_metric_value(k, m->value);
        if (k->bad == DG_NOT_FINITE && !isfinite(v))
            snprintf(out, size, "%s is %s", k->what, isnan(v) ? "NaN" : "infinite");
        else if (k->bad == DG_NOT_ZERO && v != 0) snprintf(out, size, "%.0f %s", v, k->what);
        else continue;
        return out;
    }
    return NULL;
}

void dg_epoch_add(dg_epoch_metrics *e, const dg_recipe *r, const double value[DG_METRICS_MAX])
{
    for (int i = 0; i < r->metrics; i++) {
        const dg_metric *k = &r->metric[i];
        if (k->terms == 1) e->sum.value[k->term[0]] = value[k->term[0]] + (k->over ? 0 : e->sum.value[k->term[0]]);
    }
    e->steps++;
}

dg_metrics dg_epoch_result(const dg_epoch_metrics *e, const dg_recipe *r)
{
    dg_metrics result = e->sum;
    for (int i = 0; i < r->metrics; i++) {
        const dg_metric *k = &r->metric[i];
        if (k->terms == 1 && k->over == DG_OVER_MEAN && e->steps) result.value[k->term[0]] /= e->steps;
    }
    return result;
}
