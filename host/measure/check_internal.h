/* The memory of an operand, for check.c and check_fused.c. */
#pragma once

#include "core/plan/limits.h"
#include "host/measure/check.h"

void *dg_check_memory(const dg_job *job, const dg_row *r);
size_t dg_check_bytes(const dg_op *op, int operand, const dg_row *r);
