/* The batch sizes of `dcgan batch --sweep`. */
#ifndef DG_SWEEP_RANGE_H
#define DG_SWEEP_RANGE_H

#include <stdbool.h>

enum { DG_LARGEST_BATCH = 65536 };

typedef struct {
    int first, last, step; /* step 0: the sizes that the search of `batch` tries */
} dg_sweep_range;

/* Parses "10-500:10" or "8-512". False: another form. */
bool dg_sweep_parse(const char *text, dg_sweep_range *out);

#endif
