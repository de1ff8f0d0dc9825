/* Inside the lockstep check: an operand on the host, and its limits. */
#ifndef DG_CHECK_INTERNAL_H
#define DG_CHECK_INTERNAL_H

#include "core/plan/limits.h"
#include "host/measure/check.h"

/* Where a row of job lies, and how much of what lies there an op uses. */
void *dg_check_memory(const dg_job *job, const dg_row *r);
size_t dg_check_bytes(const dg_op *op, int operand, const dg_row *r);

#endif
