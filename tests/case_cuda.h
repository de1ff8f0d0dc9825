/* Functions of case_cuda.cu in addition to those of tests/reference.h. */
#ifndef DG_CASE_CUDA_H
#define DG_CASE_CUDA_H

extern "C" {
#include "tests/reference.h"
#include "core/tune/tune.h"
}

/* From now on dg_case_run runs every op so, whatever the backend would choose; nullptr: as it chooses. offset: operands
 * begin one value off 16 bytes. */
void dg_case_as(const dg_tune *tune, bool offset);

/* The GPU that rows are checked for. */
extern const dg_gpu dg_case_gpu;

#endif
