/* Tests that `dcgan data --synthesize` draws the same images on every machine, repeats no image, and overwrites no
 * other file. */
#include "host/data/dataset.h"
#include "host/data/synthesize/synthesize.h"

#include <omp.h>
#include <zlib.h>
#include "tempdir.h"
#include "test.h"

static unsigned long checksum(int size, uint64_t seed, int i)
{
    static uint8_t pixels[256 * 256 * 3 + 16];
    size_t n = (size_t)size * (size_t)size * 3;
    memset(pixels + n, 0xa5, 16);
    dg_synthesize_one(pixels, dg_square(size), seed, i);
    for (int k = 0; k < 16; k++)
        if (!DG_CHECKF(pixels[n + (size_t)k] == 0xa5, "size %d writes beyond its end", size)) break;
    return crc32(0, pixels, (uInt)n);
}

/* Compares checksums of drawn images. Published datasets must not change. */
static void images_are_what_they_were(void)
{
    static const struct {
        int size;
        uint64_t seed;
        int number;
        unsigned long crc;
    } golden[] = {{64, 1, 0, 0xbcf023e2}, {64, 1, 1, 0x5c623cac},   {64, 1, 999, 0x7f399041},
                  {16, 1, 0, 0xe2ce3b6d}, {256, 42, 3, 0x643f0772}, {37, 18446744073709551615u, 12345, 0xb5d09d24}};
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        unsigned long crc = checksum(golden[i].size, golden[i].seed, golden[i].number);
        DG_CHECKF(crc == golden[i].crc, "{%d, %lu, %d, 0x%08lx}", golden[i].size, (unsigned long)golden[i].seed,
                  golden[i].number, crc);
    }
}

static void images_differ(void)
{
    enum { N = 300 };
    static uint8_t pixels[N][32 * 32 * 3];
    double mean[32 * 32 * 3] = {0}, spread = 0, least = 1e9;
    for (int i = 0; i < N; i++) {
        dg_synthesize_one(pixels[i], dg_square(32), 1, i);
        for (int k = 0; k < 32 * 32 * 3; k++) mean[k] += pixels[i][k] / (double)N;
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 32 * 32 * 3; k++) spread += (pixels[i][k] - mean[k]) * (pixels[i][k] - mean[k]);
    spread = sqrt(spread / (N * 32.0 * 32 * 3));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) {
            double sum = 0;
            for (int k = 0; k < 32 * 32 * 3; k++) sum += abs(pixels[i][k] - pixels[j][k]);
            if (sum / (32 * 32 * 3) < least) least = sum / (32 * 32 * 3);
        }
    DG_CHECKF(spread > 35 && spread < 90, "standard deviation of a pixel is %g", spread);
    DG_CHECKF(least > 8, "two images differ by only %g on average", least);
    DG_CHECK(checksum(32, 1, 5) != checksum(32, 2, 5));
}

/* Compares a small cat with a large cat that is scaled down. */
static void sizes_agree(void)
{
    static uint8_t large[256 * 256 * 3], small[32 * 32 * 3];
    for (int i = 0; i < 20; i++) {
        dg_synthesize_one(large, dg_square(256), 7, i);
        dg_synthesize_one(small, dg_square(32), 7, i);
        double off = 0;
        for (int y = 0; y < 32; y++)
            for (int x = 0; x < 32; x++)
                for (int c = 0; c < 3; c++) {
                    int sum = 0;
                    for (int k = 0; k < 64; k++) sum += large[((y * 8 + k / 8) * 256 + x * 8 + k % 8) * 3 + c];
                    off += fabs(sum / 64.0 - small[(y * 32 + x) * 3 + c]);
                }
        off /= 32 * 32 * 3;
        DG_CHECKF(off < 4, "cat %d differs by %g between 32 and 256 pixels", i, off);
    }
    for (int size = 16; size <= 256; size += 17) checksum(size, 3, size);
}

static int count_files(const char *dir) { return temp_count(dir, "") - 2; }

/* Compares checksums of drawn shapes. Classes must differ by shape, not by mean colour or brightness. */
static void shapes_are_what_they_were(void)
{
    enum { N = 60, SIZE = 24, BYTES = SIZE * SIZE * 3 };
    static uint8_t pixels[2][DG_SHAPES][N][BYTES + 16];
    static const unsigned long golden[DG_SHAPES] = {0x6f7c08f2, 0x9b9a2aba, 0x85eb894e, 0xf51165f9, 0x831c98b9,
                                                    0x85396a19, 0xd80db8fe, 0x3ed1c8b2, 0x17142cc4, 0x523726a7};
    double mean[DG_SHAPES][3] = {{0}}, off[DG_SHAPES];
    for (int c = 0; c < DG_SHAPES; c++) {
        unsigned long crc = crc32(0, NULL, 0);
        for (int i = 0; i < 2 * N; i++) {
            uint8_t *p = pixels[i / N][c][i % N];
            memset(p + BYTES, 0xa5, 16);
            dg_shape_draw(p, dg_square(SIZE), 1, c, i);
            for (int k = 0; k < 16; k++) DG_CHECK(p[BYTES + k] == 0xa5);
            crc = crc32(crc, p, BYTES);
            for (int k = 0; k < BYTES && i < N; k++) mean[c][k % 3] += p[k] / (double)(N * SIZE * SIZE);
        }
        DG_CHECKF(crc == golden[c], "0x%08lx, /* %s */", crc, dg_shape_name[c]);
        DG_CHECKF(memcmp(pixels[0][c][0], pixels[0][(c + 1) % DG_SHAPES][0], BYTES), "%s", dg_shape_name[c]);
    }
    int right = 0;
    for (int t = 0; t < DG_SHAPES * N; t++) {
        double colour[3] = {0};
        int best = 0;
        for (int k = 0; k < BYTES; k++)
            colour[k % 3] += pixels[1][t % DG_SHAPES][t / DG_SHAPES][k] / (double)(SIZE * SIZE);
        for (int c = 0; c < DG_SHAPES; c++) {
            off[c] = 0;
            for (int k = 0; k < 3; k++) off[c] += (colour[k] - mean[c][k]) * (colour[k] - mean[c][k]);
            if (off[c] < off[best]) best = c;
        }
        right += best == t % DG_SHAPES;
    }
    DG_CHECKF(right < DG_SHAPES * N / 4, "mean colour tells %d of %d", right, DG_SHAPES * N);
}

static void classes_have_folders(void)
{
    char path[800];
    const char *dir = temp_path("shapes");
    DG_WORKS(dg_synthesize(dir, 25, dg_square(16), 9, DG_SHAPES));
    for (int c = 0; c < DG_SHAPES; c++) {
        snprintf(path, sizeof path, "%s/%s", dir, dg_shape_name[c]);
        DG_CHECKF(count_files(path) == (c < 5 ? 3 : 2), "%s has %d", path, count_files(path));
    }
    DG_CHECK(!dg_synthesize(dir, 30, dg_square(16), 9, DG_SHAPES));
    DG_REFUSED(dg_synthesize(dir, 30, dg_square(16), 8, DG_SHAPES), DG_USAGE, "disc-00000.png");
    DG_CHECK(dg_synthesize(dir, 30, dg_square(16), 9, 5) == DG_USAGE && *dg_message());
    DG_CHECK(dg_synthesize(dir, 30, dg_square(16), 9, 11) == DG_USAGE &&
             dg_synthesize(dir, 30, dg_square(16), 9, 1) == DG_USAGE);
    temp_put(temp_path("shapes/star/mine.png"), "", 0);
    DG_REFUSED(dg_synthesize(dir, 30, dg_square(16), 9, DG_SHAPES), DG_USAGE, "mine.png");
}

static void files_are_written_once(void)
{
    char other[600], a[700], b[700];
    const char *deep = temp_path("new/folder/");
    snprintf(other, sizeof other, "%s", temp_path("other"));
    omp_set_num_threads(1);
    DG_WORKS(dg_synthesize(deep, 30, dg_square(16), 9, 0));
    omp_set_num_threads(3);
    DG_WORKS(dg_synthesize(other, 30, dg_square(16), 9, 0));
    DG_CHECK(count_files(deep) == 30);
    for (int i = 0; i < 30; i++) {
        char name[40];
        snprintf(name, sizeof name, "/cat-%05d.png", i);
        snprintf(a, sizeof a, "%s%s", other, name);
        snprintf(b, sizeof b, "%s%s", deep, name);
        DG_CHECKF(same_file(a, b), "%s depends on the number of threads", name);
    }
    struct stat before, after;
    snprintf(a, sizeof a, "%s/cat-00007.png", other);
    DG_CHECK(stat(a, &before) == 0);
    DG_CHECK(dg_synthesize(other, 32, dg_square(16), 9, 0) == DG_OK);
    DG_CHECK(stat(a, &after) == 0 && before.st_ino == after.st_ino);
    DG_CHECK(count_files(other) == 32);
    for (int i = 0; i < 50; i++) { /* for any order of threads, the message names the first existing file */
        DG_CHECK(dg_synthesize(other, 40, dg_square(16), 10, 0) == DG_USAGE);
        DG_CHECKF(strstr(dg_message(), "cat-00000.png"), "message: %s", dg_message());
    }
    DG_CHECK(count_files(other) == 32);
    DG_CHECK(truncate(a, 100) == 0);
    DG_CHECK(dg_synthesize(other, 32, dg_square(16), 9, 0) == DG_USAGE);
    DG_CHECKF(strstr(dg_message(), "cat-00007.png"), "message: %s", dg_message());
    DG_CHECK(stat(a, &after) == 0 && after.st_size == 100);
    DG_CHECK(unlink(a) == 0 && symlink("nowhere", a) == 0);
    DG_CHECK(dg_synthesize(other, 32, dg_square(16), 9, 0) == DG_USAGE);
    DG_CHECK(dg_synthesize(a, 1, dg_square(16), 9, 0) == DG_IO);
    DG_CHECK(dg_synthesize(temp_path("other/cat-00000.png"), 1, dg_square(16), 9, 0) ==
             DG_IO); /* the parent folder is a file */
}

static void nonsense_is_refused(void)
{
    const char *dir = temp_path("none");
    DG_CHECK(dg_synthesize(dir, 0, dg_square(64), 1, 0) == DG_USAGE);
    DG_CHECK(dg_synthesize(dir, 10, dg_square(15), 1, 0) == DG_USAGE);
    DG_CHECK(dg_synthesize(dir, 10, dg_square(257), 1, 0) == DG_USAGE);
    DG_CHECK(access(dir, F_OK) != 0);
}

DG_TESTS_IN("synthesize", images_are_what_they_were, images_differ, sizes_agree, files_are_written_once,
            shapes_are_what_they_were, classes_have_folders, nonsense_is_refused)
