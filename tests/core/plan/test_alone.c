/* Tests that core/ works without the other directories. The Makefile links this program with the objects of core/
 * only. */
#include <string.h>

#include "core/plan/plan.h"
#include "test.h"

static double flops(const dg_op *op) { return 3 * (double)op->u.act.n; }

static const dg_op_info row = {.operand = {DG_INPUT(act, x, n), DG_OUTPUT(act, y, n)}, .flops = flops};

static size_t no_scratch(dg_backend *b, const dg_op *op)
{
    (void)b, (void)op;
    return 0;
}

static const char *refuses_odd(dg_backend *b, dg_op *op)
{
    (void)b;
    return op->u.act.n % 2 ? "odd" : NULL;
}

/* Plans one op with n values. Returns the size of the arena in bytes, or 0 if dg_arena_place failed. */
static size_t planned(int n)
{
    dg_backend b = {.real = DG_F32, .scratch = no_scratch, .refuses = refuses_odd};
    dg_arena a = {0};
    dg_plan p, *all[] = {&p};
    DG_CHECK(dg_arena_begin(&a) == DG_OK);
    dg_plan_begin(&p, &a, "alone");
    const int x = dg_arena_row(&a, "x", DG_WORK, 0, DG_F32, (dg_shape){1, 1, 1, n}),
              y = dg_arena_row(&a, "y", DG_WORK, 0, DG_F32, (dg_shape){1, 1, 1, n});
    dg_op *op = dg_plan_add(&p, DG_OP_act, "act");
    op->u.act.n = n;
    dg_plan_operand(op, "x", x, 0);
    dg_plan_operand(op, "y", y, 0);
    DG_CHECK(dg_op_flops(op) == 3.0 * n);
    const size_t bytes = dg_arena_place(&a, all, 1, &b) == DG_OK ? a.bytes : 0;
    dg_plan_free(&p);
    dg_arena_free(&a, &b);
    return bytes;
}

int main(void)
{
    DG_CHECK(!dg_op_info_of(DG_OP_act)->flops);
    const dg_op_info *rows[DG_OP_KINDS];
    for (int k = 0; k < DG_OP_KINDS; k++) rows[k] = &row;
    dg_ops_use(rows);
    DG_CHECK(planned(66) == 2 * 512);
    DG_CHECK(planned(65) == 0 && strstr(dg_message(), "odd"));
    return dg_test_report();
}
