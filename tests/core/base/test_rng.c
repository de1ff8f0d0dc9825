/* Compares Philox with its authors' test vectors, and normal numbers with values computed in double. */
#include "core/base/rng.h"
#include "test.h"

/* Test vectors of Random123 (tests/kat_vectors, philox4x32-10): counter, key, result. */
static const struct {
    uint32_t counter[4], key[2], word[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void check_philox(void)
{
    for (int i = 0; i < 3; i++) {
        uint32_t got[4];
        const uint32_t *c = known[i].counter, *k = known[i].key;
        dg_philox(got, k[0] | (uint64_t)k[1] << 32, c[2] | (uint64_t)c[3] << 32, c[0] | (uint64_t)c[1] << 32);
        DG_CHECKF(memcmp(got, known[i].word, sizeof got) == 0, "vector %d: %08x %08x %08x %08x", i, got[0], got[1],
                  got[2], got[3]);
    }
    DG_CHECK(dg_subsequence(DG_STREAM_NOISE, 5) == 0x0100000000000005u);
}

/* Compares dg_normal4 with the Box-Muller formula of curand_normal4 in double. */
static void check_normals(void)
{
    const double pi = 3.14159265358979323846;
    double worst = 0;
    for (uint64_t i = 0; i <= 20000; i++) {
        /* The first random word of block 46107513 is 6, which gives a normal number far from 0. */
        uint64_t block = i < 20000 ? i : 46107513;
        uint32_t word[4];
        float got[4];
        dg_philox(word, 99, dg_subsequence(DG_STREAM_INIT, 3), block);
        dg_normal4(got, 99, dg_subsequence(DG_STREAM_INIT, 3), block);
        for (int k = 0; k < 4; k++) {
            double u = (word[k & 2] + 0.5) * 0x1p-32, v = (word[k | 1] + 0.5) * 0x1p-32 * 2 * pi;
            double want = sqrt(-2 * log(u)) * (k & 1 ? cos(v) : sin(v));
            double e = fabs((double)got[k] - want);
            if (!(e <= worst)) worst = e;
        }
    }
    DG_CHECKF(worst < 4e-6, "normals are %g off", worst);
}

static void check_permutations(void)
{
    static int32_t p[5000], q[5000];
    static unsigned char seen[5000];
    static const int sizes[] = {0, 1, 2, 3, 64, 1000, 5000};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        int n = sizes[k], good = 1, fixed = 0;
        memset(p, -1, sizeof p);
        dg_permutation(p, n, 1, 2);
        memset(seen, 0, sizeof seen);
        for (int i = 0; i < n; i++) good &= p[i] >= 0 && p[i] < n && !seen[p[i]]++;
        for (int i = 0; i < n; i++) fixed += p[i] == i;
        DG_CHECKF(good, "not a permutation of %d", n);
        DG_CHECK(n == 5000 || p[n] == -1);
        if (n >= 64) DG_CHECKF(fixed < 10, "%d of %d stay in place", fixed, n);
        dg_permutation(q, n, 1, 2);
        DG_CHECK(memcmp(p, q, (size_t)n * sizeof *p) == 0);
        dg_permutation(q, n, 1, 3);
        DG_CHECK(n < 64 || memcmp(p, q, (size_t)n * sizeof *p) != 0);
        dg_permutation(q, n, 2, 2);
        DG_CHECK(n < 64 || memcmp(p, q, (size_t)n * sizeof *p) != 0);
    }
    /* A chi-squared test checks that all 24 orders of four items are equally frequent. With 23 degrees of freedom,
     * the statistic exceeds 70 with a probability of about 1e-6. */
    enum { RUNS = 48000 };
    int count[256] = {0}, orders = 0;
    double chi = 0;
    for (uint64_t epoch = 0; epoch < RUNS; epoch++) {
        dg_permutation(p, 4, 11, epoch);
        count[p[0] | p[1] << 2 | p[2] << 4 | p[3] << 6]++;
    }
    for (int i = 0; i < 256; i++) {
        if (!count[i]) continue;
        orders++;
        chi += pow(count[i] - RUNS / 24.0, 2) / (RUNS / 24.0);
    }
    DG_CHECKF(orders == 24 && chi < 70, "%d orders of four, chi squared %g", orders, chi);
}

static void check_bytes(void)
{
    uint8_t all[37], part[37];
    uint32_t word[4];
    dg_random_bytes(all, sizeof all, 5, 9);
    for (size_t n = 0; n <= sizeof all; n++) {
        memset(part, 0xa5, sizeof part);
        dg_random_bytes(part, n, 5, 9);
        DG_CHECKF(!memcmp(part, all, n) && (n == sizeof all || part[n] == 0xa5), "%zu bytes", n);
    }
    for (uint64_t block = 0; block < 3; block++) {
        dg_philox(word, 5, 9, block);
        DG_CHECK(!memcmp(all + 16 * block, word, block < 2 ? 16 : sizeof all - 32));
    }
}

/* The random numbers must stay the same in all versions, so that old training runs can be resumed. */
static void check_frozen(void)
{
    int32_t p[10];
    float z[4];
    dg_permutation(p, 10, 1, 0);
    static const int32_t want[10] = {6, 7, 2, 4, 0, 9, 1, 3, 5, 8};
    DG_CHECKF(memcmp(p, want, sizeof p) == 0, "%d, %d, %d, %d, %d, %d, %d, %d, %d, %d", p[0], p[1], p[2], p[3], p[4],
              p[5], p[6], p[7], p[8], p[9]);
    dg_normal4(z, 1, dg_subsequence(DG_STREAM_SAMPLE, 0), 0);
    static const float normal[4] = {-0.274232507f, 2.16895437f, -0.259285659f, 0.288690418f};
    for (int i = 0; i < 4; i++) DG_CHECKF(fabsf(z[i] - normal[i]) <= 4e-7f, "normal %d is %.9g", i, (double)z[i]);
}

DG_TESTS(check_philox, check_normals, check_permutations, check_bytes, check_frozen)
