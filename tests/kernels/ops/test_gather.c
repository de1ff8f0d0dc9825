/* Images in and out: gather, to_u8, and the step counter. */
#include "reference.h"
#include "core/base/rng.h"
#include "gather_signed.h"
#include "test.h"

static const struct {
    int N, H, W, C, rows, cursor;
    uint64_t step;
} shapes[] = {
    {1, 1, 1, 1, 1, 0, 0},     {3, 1, 1, 3, 5, 2, 1},    {4, 3, 5, 1, 9, 0, 2},   {5, 5, 3, 3, 9, 4, 3},
    {7, 16, 16, 3, 11, 1, 4},  {8, 7, 31, 3, 20, 12, 5}, {2, 33, 17, 1, 3, 1, 6}, {64, 8, 8, 3, 70, 3, 1000000007},
    {6, 2, 128, 3, 40, 30, 8}, {9, 4, 4, 4, 9, 0, 1},    {3, 5, 7, 4, 6, 2, 9},   {5, 16, 1, 3, 7, 1, 2},
    {4, 3, 40, 3, 6, 1, 3},
};

static dg_step_state state = {.seed = 77};

/* What images become, and what a record has besides. */
typedef enum { SIGNED, STANDARD, PREPARED, INPUTS } input;
typedef enum { NO_LABELS, LABELS, LABELS_ASIDE, LABELLINGS } labelling;
static const char *const input_name[] = {"signed", "standard", "prepared"};
static const char *const labelling_name[] = {"no labels", "labels", "labels left aside"};

/* Any bytes; where images are prepared their values are small numbers of b's type. */
static uint8_t *records_of(const dg_backend *b, const dg_gather_args *a, int rows)
{
    const size_t n = (size_t)rows * (size_t)a->record, count = (size_t)a->H * (size_t)a->W * (size_t)a->C;
    uint8_t *data = malloc(n);
    if (!data) exit(1);
    for (size_t i = 0; i < n; i++) data[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t i = 0; i < (size_t)rows * count && a->prepared; i++) {
        uint8_t *to = data + i / count * (size_t)a->record;
        const double wide = (double)(i * 2654435761u >> 7 & 0xfffff) / 8191 - 60;
        const float narrow = (float)wide;
        if (b->real == DG_F64) memcpy(to + i % count * sizeof wide, &wide, sizeof wide);
        else memcpy(to + i % count * sizeof narrow, &narrow, sizeof narrow);
    }
    return data;
}

/* Another scale for each channel. */
static void standard(dg_gather_args *a)
{
    for (int c = 0; c < DG_CHANNELS_MAX; c++) {
        a->dev[c] = (double)(float)(58.4 + 3.1 * c);
        a->shift[c] = (double)(float)(2.1 - 0.7 * c);
    }
}

static bool same_labels(const dg_gather_args *a, const dg_gather_args *b)
{
    return !a->label || !memcmp(a->label, b->label, (size_t)a->N * sizeof *a->label);
}

static void check_gather(dg_backend *b, size_t k, int flip, input in, labelling labels)
{
    const int N = shapes[k].N, rows = shapes[k].rows;
    const size_t image = (size_t)shapes[k].H * (size_t)shapes[k].W * (size_t)shapes[k].C, n = (size_t)N * image;
    /* the plain loops take the type from the size of a record, which then has little else */
    if (in == PREPARED && labels == LABELS_ASIDE && image < 5) return;
    int32_t *perm = malloc((size_t)rows * sizeof *perm);
    if (!perm) exit(1);
    dg_permutation(perm, rows, 5, k);
    perm[shapes[k].cursor] = rows - 1; /* the last row is read */
    state.step = shapes[k].step;
    state.cursor = shapes[k].cursor;
    dg_op op = {.name = "gather", .kind = DG_OP_gather}, want;
    dg_gather_args *a = &op.u.gather;
    *a = (dg_gather_args){
        .perm = perm, .state = &state, .N = N, .H = shapes[k].H, .W = shapes[k].W, .C = shapes[k].C, .flip = flip};
    gather_signed(a);
    if (in == STANDARD) standard(a);
    a->prepared = in == PREPARED;
    a->record = dg_gather_record(a, b->real, labels != NO_LABELS);
    uint8_t *data = records_of(b, a, rows);
    a->data = data;
    a->x = dg_case_numbers(n, 1, 0);
    if (labels == LABELS) a->label = (int32_t *)(void *)dg_case_numbers((size_t)N, 1, 0);
    want = op;
    want.u.gather.x = dg_case_copy(a->x, n);
    if (a->label) want.u.gather.label = (int32_t *)(void *)dg_case_numbers((size_t)N, 1, 0);
    dg_ref_run(&want);
    const char *wrong = dg_case_run(b, &op);
    DG_CHECKF(!wrong, "%s: shape %zu: %s", b->name, k, wrong ? wrong : "");
    const double e = dg_case_error(a->x, want.u.gather.x, n, 1);
    DG_CHECKF(e <= (in == PREPARED ? 0 : 2 * dg_case_eps(b)), "%s: shape %zu flip %d %s %s: %g", b->name, k, flip,
              input_name[in], labelling_name[labels], e);
    DG_CHECKF(same_labels(a, &want.u.gather), "%s: shape %zu flip %d %s: labels", b->name, k, flip, input_name[in]);
    free(data);
    free(perm);
}

/* A GAN's images are what they were before there were scales: every byte, to the bit. */
static void check_signed(dg_backend *b)
{
    static int32_t perm[1] = {0};
    uint8_t bytes[256 * 3];
    for (int i = 0; i < 256 * 3; i++) bytes[i] = (uint8_t)(i / 3);
    state.cursor = 0;
    dg_op op = {.kind = DG_OP_gather};
    op.u.gather = (dg_gather_args){.x = dg_case_numbers(256 * 3, 1, 0),
                                   .data = bytes,
                                   .perm = perm,
                                   .state = &state,
                                   .N = 1,
                                   .H = 16,
                                   .W = 16,
                                   .C = 3};
    gather_signed(&op.u.gather);
    DG_CHECK(!dg_case_run(b, &op));
    for (int i = 0; i < 256 * 3; i++) {
        const float narrow = (float)bytes[i] / 127.5f - 1;
        const double want = b->real == DG_F64 ? bytes[i] / 127.5 - 1 : (double)narrow,
                     got = ((double *)op.u.gather.x)[i];
        DG_CHECKF(!memcmp(&got, &want, sizeof got), "%s: %d becomes %a, not %a", b->name, bytes[i], got, want);
    }
}

/* About half are mirrored, and other halves in another step. */
static void check_flips(dg_backend *b)
{
    enum { MOST = 1000 };
    const int N = dg_case_slowness() == 2 ? 200 : MOST;
    const double sigma = sqrt(N) / 2; /* of a count of halves */
    static uint8_t data[2] = {0, 255};
    static int32_t perm[MOST];
    int count[2] = {0}, both = 0;
    double *x[2];
    state.cursor = 0;
    for (int s = 0; s < 2; s++) {
        dg_op op = {.kind = DG_OP_gather};
        x[s] = dg_case_numbers(2 * MOST, 1, 0);
        state.step = (uint64_t)s + 1;
        op.u.gather = (dg_gather_args){
            .x = x[s], .data = data, .perm = perm, .state = &state, .N = N, .H = 1, .W = 2, .C = 1, .flip = 1};
        gather_signed(&op.u.gather);
        DG_CHECK(!dg_case_run(b, &op));
        for (int i = 0; i < N; i++) {
            DG_CHECK(x[s][2 * i] == -x[s][2 * i + 1] && fabs(x[s][2 * i]) == 1);
            count[s] += x[s][2 * i] > 0;
        }
    }
    for (int i = 0; i < N; i++) both += x[0][2 * i] > 0 && x[1][2 * i] > 0;
    DG_CHECKF(fabs(count[0] - N / 2.0) < 5 * sigma && fabs(count[1] - N / 2.0) < 5 * sigma &&
                  fabs(both - N / 4.0) < 5 * sigma,
              "%d and %d of %d mirrored, %d in both steps", count[0], count[1], N, both);
}

/* Every byte survives the way in and out; halves go up, the ends are clamped, NaN is black. */
static void check_to_u8(dg_backend *b)
{
    static const int64_t sizes[] = {1, 2, 15, 17, 31, 100, 4096, 4097, 10001};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        size_t n = (size_t)sizes[k];
        if (dg_case_slowness() == 2 && n > 1000) break;
        uint8_t *got = malloc(n), *ref = malloc(n);
        if (!got || !ref) exit(1);
        dg_op op = {.kind = DG_OP_to_u8};
        op.u.to_u8 = (dg_to_u8_args){.out = got, .x = dg_case_numbers(n, 1.2, 0), .n = sizes[k]};
        dg_op want = op;
        want.u.to_u8.out = ref;
        dg_ref_run(&want);
        const char *wrong = dg_case_run(b, &op);
        DG_CHECKF(!wrong && memcmp(got, ref, n) == 0, "%s: to_u8 of %zu: %s", b->name, n, wrong ? wrong : "values");
        free(got);
        free(ref);
    }
    enum { SPECIAL = 8 }; /* 0 is the one half that is exact */
    static const double in[SPECIAL] = {NAN, INFINITY, -INFINITY, 1.5, -1.5, 1, -1, 0};
    static const uint8_t out[SPECIAL] = {0, 255, 0, 255, 0, 255, 0, 128};
    uint8_t got[SPECIAL], bytes[256], back[256];
    dg_op op = {.kind = DG_OP_to_u8};
    op.u.to_u8 = (dg_to_u8_args){.out = got, .x = dg_case_copy(in, SPECIAL), .n = SPECIAL};
    DG_CHECK(!dg_case_run(b, &op));
    for (int i = 0; i < SPECIAL; i++) DG_CHECKF(got[i] == out[i], "%s: to_u8(%g) = %d", b->name, in[i], got[i]);

    static int32_t perm[1] = {0};
    state.cursor = 0;
    for (int i = 0; i < 256; i++) bytes[i] = (uint8_t)i;
    dg_op in_op = {.kind = DG_OP_gather};
    in_op.u.gather = (dg_gather_args){.x = dg_case_numbers(256, 1, 0),
                                      .data = bytes,
                                      .perm = perm,
                                      .state = &state,
                                      .N = 1,
                                      .H = 16,
                                      .W = 16,
                                      .C = 1};
    gather_signed(&in_op.u.gather);
    DG_CHECK(!dg_case_run(b, &in_op));
    op.u.to_u8 = (dg_to_u8_args){.out = back, .x = in_op.u.gather.x, .n = 256};
    DG_CHECK(!dg_case_run(b, &op));
    DG_CHECK(memcmp(bytes, back, 256) == 0);
}

static void check_advance(dg_backend *b)
{
    dg_op op = {.kind = DG_OP_advance};
    dg_step_state s = {.seed = 3, .step = 0xffffffffu, .cursor = 60, .lr = {1, 2}};
    op.u.advance = (dg_advance_args){.state = &s, .batch = 64};
    DG_CHECK(!dg_case_run(b, &op));
    DG_CHECK(s.step == 0x100000000u && s.cursor == 124 && s.seed == 3 && s.lr[0] == 1 && s.lr[1] == 2);
}

int main(void)
{
    dg_backend *b;
    for (int i = 0; dg_case_open(i, 1 + i % 3, &b); i++) {
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
            if (dg_case_slowness() == 2 && shapes[k].N * shapes[k].H * shapes[k].W * shapes[k].C > 500) continue;
            for (int each = 0; each < 2 * INPUTS * LABELLINGS; each++)
                check_gather(b, k, each % 2, each / 2 % INPUTS, each / 2 / INPUTS);
            dg_case_free();
        }
        check_signed(b);
        check_flips(b);
        check_to_u8(b);
        check_advance(b);
        dg_case_free();
        b->close(b);
    }
    return dg_test_report();
}
