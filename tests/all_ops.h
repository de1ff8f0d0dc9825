/* Included by tests that use the rows of ops without opening a backend. */
#ifndef DG_TEST_ALL_OPS_H
#define DG_TEST_ALL_OPS_H

#include "kernels/ops/ops.h"

__attribute__((constructor)) static void use_all_ops(void) { dg_ops_use(dg_op_table); }

#endif
