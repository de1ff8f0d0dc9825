/* Functions that case_cuda.cu offers in addition to tests/reference.h. */
#ifndef DG_CASE_CUDA_H
#define DG_CASE_CUDA_H

extern "C" {
#include "tests/reference.h"
#include "core/tune/tune.h"
}

/* Sets the tuning with which dg_case_run runs every op (nullptr: the tuning that the backend chooses). If `offset` is
 * true, operands start one value after a multiple of 16 bytes. */
void dg_case_as(const dg_tune *tune, bool offset);

/* The GPU whose limits dg_case_run applies to the tuning of every op. */
extern const dg_gpu dg_case_gpu;

#endif
