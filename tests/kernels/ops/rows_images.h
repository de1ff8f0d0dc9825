/* Test cases for ops on images (gather, to_u8) and for the step counter (advance). */
#include "core/base/rng.h"
#include "op_rows.h"
#include "tests/gather_signed.h"

/* N, H, W, C, number of records, cursor, step */
static op_shape gather_shapes[] = {
    {1, 1, 1, 1, 1, 0, 0},     {3, 1, 1, 3, 5, 2, 1},    {4, 3, 5, 1, 9, 0, 2},   {5, 5, 3, 3, 9, 4, 3},
    {7, 16, 16, 3, 11, 1, 4},  {8, 7, 31, 3, 20, 12, 5}, {2, 33, 17, 1, 3, 1, 6}, {64, 8, 8, 3, 70, 3, 1000000007},
    {6, 2, 128, 3, 40, 30, 8}, {9, 4, 4, 4, 9, 0, 1},    {3, 5, 7, 4, 6, 2, 9},   {5, 16, 1, 3, 7, 1, 2},
    {4, 3, 40, 3, 6, 1, 3},
};

/* Types of image input, and places of a record's label. */
enum { SIGNED, STANDARD, PREPARED, INPUTS };
enum { NO_LABELS, LABELS, LABELS_ASIDE, LABELLINGS };

/* Returns dataset records of random bytes or, for prepared images, of small numbers in the backend's type. */
static uint8_t *records_of(const dg_gather_args *a, int rows)
{
    const size_t n = (size_t)rows * (size_t)a->record, count = (size_t)a->H * (size_t)a->W * (size_t)a->C;
    uint8_t *data = (uint8_t *)dg_case_numbers(n / sizeof(double) + 1, 1, 0);
    for (size_t i = 0; i < n; i++) data[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t i = 0; i < (size_t)rows * count && a->prepared; i++) {
        uint8_t *to = data + i / count * (size_t)a->record;
        const double wide = (double)(i * 2654435761u >> 7 & 0xfffff) / 8191 - 60;
        const float narrow = (float)wide;
        if (op_type == DG_F64) memcpy(to + i % count * sizeof wide, &wide, sizeof wide);
        else memcpy(to + i % count * sizeof narrow, &narrow, sizeof narrow);
    }
    return data;
}

static void gather_set(dg_op *op, int variation)
{
    dg_gather_args *a = &op->u.gather;
    const int first = 3 * (variation % 2), cursor = op_more[1], last = cursor + first + a->N,
              rows = op_more[0] > last ? op_more[0] : last;
    const int input = variation / 2 % INPUTS;
    int labels = variation / 2 / INPUTS;
    /* The reference infers the image type from a record's size. Therefore records with labels must not be too small. */
    if (input == PREPARED && labels == LABELS_ASIDE && a->H * a->W * a->C < 5) labels = NO_LABELS;
    a->flip = variation % 2;
    a->first = first;
    gather_signed(a);
    for (int c = 0; c < DG_CHANNELS_MAX && input == STANDARD; c++) {
        a->dev[c] = (double)(float)(58.4 + 3.1 * c);
        a->shift[c] = (double)(float)(2.1 - 0.7 * c);
    }
    a->prepared = input == PREPARED;
    a->record = dg_gather_record(a, op_type, labels != NO_LABELS);
    if (labels != LABELS) op_point(op, "label", NULL);
    int32_t *perm = (int32_t *)(void *)dg_case_numbers((size_t)rows, 1, 0);
    dg_permutation(perm, rows, 5, (uint64_t)rows);
    perm[cursor + first] = rows - 1;
    a->perm = perm;
    a->data = records_of(a, rows);
    op_state.step = (uint64_t)op_more[2];
    op_state.cursor = cursor;
}

static op_bound gather_bound(const dg_op *want, const char *result, double eps)
{
    (void)result;
    return want->u.gather.prepared ? (op_bound){0, 0} : (op_bound){2 * eps, 2 * eps};
}

static dg_op signed_images(const uint8_t *data, int N, int H, int W, int C)
{
    dg_op op = {.kind = DG_OP_gather, .u.gather = {.N = N, .H = H, .W = W, .C = C, .data = data}};
    op_state = (dg_step_state){.seed = 77, .step = 1};
    op_add_operands(&op);
    op_point(&op, "label", NULL);
    gather_signed(&op.u.gather);
    op.u.gather.perm = memset(dg_case_numbers((size_t)N, 1, 0), 0, (size_t)N * sizeof(double));
    return op;
}

/* Checks that gather and to_u8 convert every byte value exactly to a real and back. */
static void check_bytes(dg_backend *b)
{
    uint8_t bytes[256 * 3], back[256 * 3];
    for (int i = 0; i < 256 * 3; i++) bytes[i] = (uint8_t)(i / 3);
    dg_op op = signed_images(bytes, 1, 16, 16, 3), out = {.kind = DG_OP_to_u8};
    op_run(b, &op);
    for (int i = 0; i < 256 * 3; i++) {
        const float narrow = (float)bytes[i] / 127.5f - 1;
        const double want = b->real == DG_F64 ? bytes[i] / 127.5 - 1 : (double)narrow,
                     got = ((double *)op.u.gather.x)[i];
        DG_CHECKF(!memcmp(&got, &want, sizeof got), "%s: %d becomes %a, not %a", b->name, bytes[i], got, want);
    }
    out.u.to_u8 = (dg_to_u8_args){.out = back, .x = op.u.gather.x, .n = 256 * 3};
    op_run(b, &out);
    DG_CHECK(memcmp(bytes, back, sizeof back) == 0);
}

/* Checks that about half of the images are mirrored, and different images in another step. */
static void check_flips(dg_backend *b)
{
    enum { N = 400 };
    static const uint8_t data[2] = {0, 255};
    int count[2] = {0}, both = 0;
    double *x[2];
    for (int s = 0; s < 2; s++) {
        dg_op op = signed_images(data, N, 1, 2, 1);
        op.u.gather.flip = 1;
        op_state.step += (uint64_t)s;
        x[s] = op.u.gather.x;
        op_run(b, &op);
        for (int i = 0; i < N; i++) {
            DG_CHECK(x[s][2 * i] == -x[s][2 * i + 1] && fabs(x[s][2 * i]) == 1);
            count[s] += x[s][2 * i] > 0;
        }
    }
    const double sigma = sqrt(N) / 2;
    for (int i = 0; i < N; i++) both += x[0][2 * i] > 0 && x[1][2 * i] > 0;
    DG_CHECKF(fabs(count[0] - N / 2.0) < 5 * sigma && fabs(count[1] - N / 2.0) < 5 * sigma &&
                  fabs(both - N / 4.0) < 5 * sigma,
              "%d and %d of %d mirrored, %d in both steps", count[0], count[1], N, both);
}

static void check_gather(dg_backend *b)
{
    check_bytes(b);
    check_flips(b);
}

static const op_row row_gather = {.variations = 2 * INPUTS * LABELLINGS,
                                  .usual = 1 + 2 * INPUTS * LABELS,
                                  OP_SHAPES(gather_shapes),
                                  .threads = {{64, 8, 8, 3, 70, 3, 9}, {64, 8, 8, 3, 70, 3, 9}},
                                  .set = gather_set,
                                  .bound = gather_bound,
                                  .more = check_gather};

/* ---- to_u8, advance ---- */

static op_shape to_u8_shapes[] = {{1}, {2}, {15}, {17}, {31}, {100}, {1000}, {4097}, {10001}};

static void to_u8_set(dg_op *op, int variation)
{
    (void)variation;
    op_fill(op, "x", 1.2, 0);
}

/* Checks that to_u8 rounds halves up, clamps values to 0 .. 255, and converts NaN to black. */
static void check_to_u8(dg_backend *b)
{
    enum { SPECIAL = 8 }; /* x = 0 gives 127.5, the only exact half */
    static const double in[SPECIAL] = {NAN, INFINITY, -INFINITY, 1.5, -1.5, 1, -1, 0};
    static const uint8_t out[SPECIAL] = {0, 255, 0, 255, 0, 255, 0, 128};
    uint8_t got[SPECIAL];
    dg_op op = {.kind = DG_OP_to_u8};
    op.u.to_u8 = (dg_to_u8_args){.out = got, .x = dg_case_copy(in, SPECIAL), .n = SPECIAL};
    op_run(b, &op);
    for (int i = 0; i < SPECIAL; i++) DG_CHECKF(got[i] == out[i], "%s: to_u8(%g) = %d", b->name, in[i], got[i]);
}

static const op_row row_to_u8 = {OP_SHAPES(to_u8_shapes), .threads = {{60011}, {3011}}, .set = to_u8_set,
                                 .more = check_to_u8};

static op_shape advance_shapes[] = {{64}, {1}};

static void advance_set(dg_op *op, int variation)
{
    (void)op, (void)variation;
    op_state = (dg_step_state){.seed = 3, .step = 0xffffffffu, .cursor = 60, .lr = {1, 2}};
}

static const op_row row_advance = {OP_SHAPES(advance_shapes), .threads = {{64}, {64}}, .set = advance_set};
