/* Makes a test case of any op at any shape from tests/kernels/ops, for tests that select the tuning. */
#include "kernels/ops/all_rows.h"

void dg_any_make(dg_op *op, dg_op *want)
{
    const dg_op_kind kind = op->kind;
    const op_row *r = rows[kind];
    int shape[2 * OP_NUMBERS], words = 0;
    for (const dg_shape_word *w = dg_op_info_of(kind)->shape; w->name; w++)
        shape[words++] = (int)dg_field_get(op, &w->field);
    /* the values for op_row.set come from the second row of the table of shapes */
    for (int i = words; i < OP_NUMBERS; i++) shape[i] = r->shapes[1][i];
    *op = op_make(r, kind, shape, r->usual);
    *want = op_own(op);
    dg_ref_run(want);
}

dg_op dg_any_own(const dg_op *op) { return op_own(op); }

bool dg_any_right(const dg_backend *b, const dg_op *got, const dg_op *want, const char *name)
{
    const int failed = dg_test_failed_;
    op_compare(b, rows[got->kind], got, want, name);
    return dg_test_failed_ == failed;
}
