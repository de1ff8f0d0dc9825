/* Registers the dg_op_info row of each op, for tests that use these rows without opening a backend. */
#ifndef DG_TEST_ALL_OPS_H
#define DG_TEST_ALL_OPS_H

#ifdef __cplusplus
extern "C" {
#endif
#include "kernels/ops/ops.h"
#ifdef __cplusplus
}
#endif

__attribute__((constructor)) static void use_all_ops(void) { dg_ops_use(dg_op_table); }

#endif
