/* Declares the functions of case_cuda.cu that are not in tests/reference.h. */
#pragma once

extern "C" {
#include "tests/reference.h"
#include "core/tune/tune.h"
}

/* Sets the tuning of every op that dg_case_run runs. If `tune` is nullptr, the backend chooses the tuning. If
 * `offset` is true, operands start one value after a 16-byte boundary. */
void dg_case_as(const dg_tune *tune, bool offset);

/* dg_case_run checks the tuning of each op against the limits of this GPU. */
extern const dg_gpu dg_case_gpu;
