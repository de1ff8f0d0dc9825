/* Tables of `dcgan bench` and `dcgan profile` on stdout. */
#ifndef DG_BENCH_PRINT_H
#define DG_BENCH_PRINT_H

#include "host/measure/bench.h"

void dg_bench_print_machine(const dg_machine *m, const char *device);
void dg_bench_print(const dg_machine *m, const dg_bench_model *r);
void dg_profile_print(const dg_machine *m, const dg_bench_model *r);

#endif
