/* Evidence for predicted times: which constants of the cost model were measured, and how wrong the last prediction of
 * the same kind was that was later compared with a measurement. */
#pragma once

#include "core/tune/machine.h"

enum { DG_COMPARED = 2 };
typedef struct {
    const char *model;
    int batch;
    double predicted_ms, measured_ms;
} dg_compared;

/* Each text lists constants and where their values come from. NULL: there are none of this kind. */
typedef struct {
    const char *measured, *fitted, *published, *assumed;
    const char *where;                 /* machine, precision and date of the comparison */
    dg_compared compared[DG_COMPARED]; /* unused rows have model NULL */
} dg_evidence;

const dg_evidence *dg_evidence_of(const dg_machine *m);
