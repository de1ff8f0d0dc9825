#include "host/net/schedule.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

/* end 0: the value does not change */
static double between(double start, double end, double c) { return end > 0 && c < 1 ? end + (start - end) * c : start; }

void dg_schedule_step(const dg_job_options *o, double images, int batch, dg_step_state *s)
{
    const double c = o->schedule > 0 ? (1 + cos(PI * fmin(1, images / o->schedule))) / 2 : 1,
                 risen = o->schedule > 0 ? 1 - c : 1, half_life = o->ema_half_life * risen;
    for (int i = 0; i < DG_NETS_MAX; i++) s->lr[i] = between(s->lr[i], s->lr[i] * o->lr_end, c);
    s->beta2 = between(o->beta2, o->beta2_end, c);
    s->penalty[0] = between(o->r1, o->r1_end, c);
    s->penalty[1] = between(o->r2, o->r2_end, c);
    s->ema = o->ema_half_life > 0 ? half_life > 0 ? exp2(-batch / half_life) : 0 : o->ema;
    s->augment = o->augment_p * risen;
}
