/* Position of a run. Steps are launched before the metrics of earlier steps are read. */
#ifndef DG_POSITION_H
#define DG_POSITION_H

#include <stdint.h>

typedef struct {
    uint64_t step;  /* steps: over all sessions */
    uint64_t epoch; /* finished */
    uint64_t batch; /* steps done in the current epoch */
} dg_position;

static inline void dg_position_add(dg_position *p, uint64_t steps)
{
    p->step += steps;
    p->batch += steps;
}

static inline void dg_position_end_epoch(dg_position *p)
{
    p->epoch++;
    p->batch = 0;
}

#endif
