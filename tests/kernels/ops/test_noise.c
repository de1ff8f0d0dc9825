/* z: the same normals on every instruction set, thread count and precision; on a GPU, whose logarithm, sine and cosine
 * are another library's, to a few roundings. */
#include "reference.h"
#include "core/base/rng.h"
#include "test.h"

static dg_step_state state = {.seed = 0x123456789abcdefull, .step = 41};

static dg_op noise_op(int64_t n, int stream)
{
    dg_op op = {.name = "noise", .kind = DG_OP_noise};
    op.u.noise = (dg_noise_args){
        .z = dg_case_numbers((size_t)n, 1, 0), .state = &state, .n = n, .stream = stream, .first_step = 7};
    return op;
}

static void check(dg_backend *b, int64_t n, int stream)
{
    dg_op op = noise_op(n, stream), want = op;
    want.u.noise.z = dg_case_copy(op.u.noise.z, (size_t)n);
    dg_ref_run(&want);
    const char *wrong = dg_case_run(b, &op);
    DG_CHECKF(!wrong, "%s: n %ld: %s", b->name, (long)n, wrong ? wrong : "");
    const double allowed = strncmp(b->name, "cpu", 3) == 0 ? 0 : 16 * 0x1p-24;
    const double *z = op.u.noise.z, *wanted = want.u.noise.z;
    int64_t bad = 0, at = 0;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(z[i] - wanted[i]) <= allowed * (fabs(wanted[i]) + 0.01)) && !bad++) at = i;
    DG_CHECKF(!bad, "%s: n %ld: %ld wrong, at %ld %.17g instead of %.17g", b->name, (long)n, (long)bad, (long)at, z[at],
              wanted[at]);
}

/* Moments of 200,000 normals; the bounds are five standard deviations of each estimate. */
static void check_moments(dg_backend *b)
{
    const int N = dg_case_slowness() == 2 ? 20000 : 200000;
    dg_op op = noise_op(N, DG_STREAM_NOISE);
    double *z = op.u.noise.z, m[5] = {0}, pair = 0;
    DG_CHECK(!dg_case_run(b, &op));
    for (int i = 0; i < N; i++)
        for (int k = 1; k <= 4; k++) m[k] += pow(z[i], k) / N;
    for (int i = 1; i < N; i++) pair += z[i] * z[i - 1] / N;
    DG_NEAR(m[1], 0, 5 / sqrt(N));
    DG_NEAR(m[2], 1, 5 * sqrt(2.0 / N));
    DG_NEAR(m[3], 0, 5 * sqrt(15.0 / N));
    DG_NEAR(m[4], 3, 5 * sqrt(96.0 / N));
    DG_NEAR(pair, 0, 5 / sqrt(N));
}

int main(void)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 100, 255, 257, 1001, 6400};
    static const int threads[] = {1, 2, 3, 7};
    dg_backend *b;
    for (int t = 0; t < 4; t++)
        for (int i = 0; dg_case_open(i, threads[t], &b); i++) {
            for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
                check(b, sizes[k], DG_STREAM_NOISE);
                check(b, sizes[k], DG_STREAM_SAMPLE);
            }
            if (t == 0 && i == 0) check_moments(b);
            dg_case_free();
            b->close(b);
        }

    /* a step later everything is new; another stream does not care about the step */
    DG_CHECK(dg_case_open(0, 1, &b));
    dg_op op = noise_op(64, DG_STREAM_NOISE), sample = noise_op(64, DG_STREAM_SAMPLE);
    DG_CHECK(!dg_case_run(b, &op) && !dg_case_run(b, &sample));
    double *z = dg_case_copy(op.u.noise.z, 64), *s = dg_case_copy(sample.u.noise.z, 64);
    state.step++;
    DG_CHECK(!dg_case_run(b, &op) && !dg_case_run(b, &sample));
    int same = 0;
    for (int i = 0; i < 64; i++) same += z[i] == ((double *)op.u.noise.z)[i];
    DG_CHECK(same == 0);
    DG_CHECK(memcmp(s, sample.u.noise.z, 64 * sizeof(double)) == 0);
    b->close(b);
    dg_case_free();
    return dg_test_report();
}
