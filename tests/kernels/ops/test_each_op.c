/* Compares all ops with the reference. Each op has one op_row (rows_*.h). It runs on every backend at odd sizes, in
 * place, with NaN and with several numbers of threads. Gradients are compared with finite differences. Linked with
 * tests/case_cuda.cu the program is cuda_each_op, which tests CUDA. The arguments are names of the ops to test. */
#include "all_rows.h"

/* Maximum number of values of an operand, indexed by dg_case_slowness(). */
static const int64_t most[] = {INT64_MAX, 15000, 1100};

static int variations_of(const op_row *r) { return r->variations ? r->variations : 1; }

/* True if shape s runs with this variation. The simulator runs about three variations per shape, and a sanitizer runs
 * one variation. */
static bool has_variation(const op_row *r, int s, int variation)
{
    const int variations = variations_of(r), every = variations <= 4 || !dg_case_slowness() ? 1 : (variations + 2) / 3;
    const bool turns = r->turns || dg_case_slowness() == 2;
    return turns ? variation == s % variations : (s + variation) % every == 0;
}

static void check_shape(dg_backend *b, dg_op_kind kind, const int *shape, int variation)
{
    const op_row *r = rows[kind];
    const dg_op op = op_make(r, kind, shape, variation);
    int64_t values = 0;
    for (int k = 0; dg_op_info_of(kind)->operand[k].name; k++)
        if (op_is_real(&dg_op_info_of(kind)->operand[k]) && values < dg_operand_count(&op, k))
            values = dg_operand_count(&op, k);
    dg_case_free();
    if (values > most[dg_case_slowness()]) return;
    op_check(b, r, kind, shape, variation, -1);
    for (int k = 0; r->same[k][0]; k++) op_check(b, r, kind, shape, variation, k);
    const bool any_nan = !r->nan_untested || strcmp(r->nan_untested, "all") != 0;
    if (values >= 8 && values <= 400 && any_nan) op_check_nan(b, r, kind, shape, variation);
    const int differences = r->gradient.variations ? r->gradient.variations : variations_of(r);
    /* finite differences run the same kernels again, so a sanitizer finds nothing new */
    const bool fast = !dg_case_slowness() && !DG_TEST_SANITIZED;
    if (r->gradient.of[0][0] && variation < differences && b->real == DG_F64 && fast)
        op_check_differences(b, r, kind, shape, variation);
}

static void check_op(dg_backend *b, dg_op_kind kind)
{
    const op_row *r = rows[kind];
    DG_CHECKF(r->count > 0, "%s has no shapes", dg_op_kind_name(kind));
    for (int s = 0; s < r->count; s++)
        for (int v = 0; v < variations_of(r); v++)
            if (has_variation(r, s, v)) check_shape(b, kind, r->shapes[s], v);
    if (r->more) r->more(b);
    dg_case_free();
}

static bool is_wanted(const char *name, char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) return true;
    return !count;
}

int main(int argc, char **argv)
{
    dg_backend *b;
    for (int k = 0; k < DG_OP_KINDS; k++) {
        const dg_op_kind kind = (dg_op_kind)k;
        if (!is_wanted(dg_op_kind_name(kind), argv + 1, argc - 1)) continue;
        for (int i = 0; dg_case_open(i, 2, &b); i++) {
            op_type = b->real;
            check_op(b, kind);
            b->close(b);
        }
        for (int v = 0; v < variations_of(rows[k]); v++)
            if (v == rows[k]->usual || !dg_case_slowness()) op_check_threads(rows[k], kind, v);
    }
    return dg_test_report();
}
