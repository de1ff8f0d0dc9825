/* Internals of the lockstep check: memory of an operand. */
#ifndef DG_CHECK_INTERNAL_H
#define DG_CHECK_INTERNAL_H

#include "core/plan/limits.h"
#include "host/measure/check.h"

/* dg_check_memory returns a row's address. dg_check_bytes returns how many bytes an op uses from that address on. */
void *dg_check_memory(const dg_job *job, const dg_row *r);
size_t dg_check_bytes(const dg_op *op, int operand, const dg_row *r);

#endif
