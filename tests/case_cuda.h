/* Functions of case_cuda.cu in addition to those of tests/reference.h. */
#ifndef DG_CASE_CUDA_H
#define DG_CASE_CUDA_H

extern "C" {
#include "tests/reference.h"
#include "core/tune/tune.h"
}

/* After this call dg_case_run runs every op with this tuning (nullptr: the tuning that the backend chooses). If
 * `offset` is true, operands start one value after a multiple of 16 bytes. */
void dg_case_as(const dg_tune *tune, bool offset);

/* The tuning of every op is checked against the limits of this GPU. */
extern const dg_gpu dg_case_gpu;

#endif
