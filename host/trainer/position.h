/* Position of a run: the steps launched so far. The metrics of the last steps may still be unread. */
#pragma once

#include <stdint.h>

typedef struct {
    uint64_t step;  /* steps over all sessions */
    uint64_t epoch; /* number of finished epochs */
    uint64_t batch; /* steps done in the current epoch */
    int64_t more;   /* number of images to add in dg_position_images after a change of dataset or batch size */
} dg_position;

/* Returns the number of images that a run has trained on. `used` is the number of images per epoch. */
static inline int64_t dg_position_images(const dg_position *p, int used, int batch)
{
    return (int64_t)(p->epoch * (uint64_t)used + p->batch * (uint64_t)batch) + p->more;
}

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
