/* Shared by check.c and check_fused.c: memory of an operand. */
#ifndef DG_CHECK_INTERNAL_H
#define DG_CHECK_INTERNAL_H

#include "core/plan/limits.h"
#include "host/measure/check.h"

/* Return the address of an arena row, and the number of bytes that an op uses from this address on. */
void *dg_check_memory(const dg_job *job, const dg_row *r);
size_t dg_check_bytes(const dg_op *op, int operand, const dg_row *r);

#endif
