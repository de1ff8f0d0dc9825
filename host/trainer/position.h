/* Where a run stands. Steps are given to the device ahead of those whose metrics have been read. */
#ifndef DG_POSITION_H
#define DG_POSITION_H

#include <stdint.h>

typedef struct {
    uint64_t step;  /* steps done, over all sessions */
    uint64_t epoch; /* epochs finished */
    uint64_t batch; /* steps done in the epoch under way */
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
