/* Registers the descriptions of all ops (dg_op_info), for tests that open no backend. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
#include "kernels/ops/ops.h"
#ifdef __cplusplus
}
#endif

__attribute__((constructor)) static void use_all_ops(void) { dg_ops_use(dg_op_table); }
