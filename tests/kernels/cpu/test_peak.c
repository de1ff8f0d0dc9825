/* Tests how `dcgan bench` measures multiply-adds, triads and reads on a CPU, for each instruction set. */
#include "kernels/cpu/cpu.h"
#include "reference.h"
#include "test.h"

/* Checks that the measurement executes its multiply-adds, which bring each of its twelve sums to 1. */
static void check_peak(dg_backend *b)
{
    const dg_cpu_table *table = dg_cpu_table_of(b);
    double sink = 0, flops = table->fma(1000, &sink), lanes = flops / (2.0 * 12 * 1000);
    DG_CHECKF(fabs(sink - 12) < 1e-5, "%s: the chains end at %.9g", b->name, sink);
    DG_CHECKF(lanes * (double)dg_type_bytes(b->real) >= 16 && lanes * (double)dg_type_bytes(b->real) <= 64,
              "%s: %g lanes", b->name, lanes);
    enum { N = 3 * 4096 };
    static float a[N], l[N], r[N];
    static double a64[N], l64[N], r64[N];
    for (int i = 0; i < N; i++) {
        l[i] = (float)(l64[i] = i);
        r[i] = (float)(r64[i] = 2 * i + 6);
    }
    bool wide = b->real == DG_F64;
    table->triad(wide ? (void *)a64 : a, wide ? (void *)l64 : l, wide ? (void *)r64 : r, N);
    int wrong = 0;
    for (int i = 0; i < N; i++) wrong += (wide ? a64[i] : (double)a[i]) != 2 * i + 3;
    DG_CHECKF(wrong == 0, "%s: %d of %d triads", b->name, wrong, N);
    DG_CHECK(table->read(wide ? (void *)a64 : a, N) > 0);
    memset(a, 0, sizeof a);
    memset(a64, 0, sizeof a64);
    DG_CHECK(table->read(wide ? (void *)a64 : a, N) == 0);
}

int main(void)
{
    dg_backend *b;
    for (int i = 0; dg_case_open(i, 2, &b); i++) {
        check_peak(b);
        b->close(b);
    }
    return dg_test_report();
}
