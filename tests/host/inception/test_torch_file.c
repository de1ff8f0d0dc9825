/* Tests the reader of torch.save's files on files that PyTorch 2.15 wrote, in both layouts, and on damaged files. */
#include <unistd.h>

#include "host/inception/torch_file.h"
#include "tempdir.h"
#include "test.h"

#define CORPUS "tests/fuzz/corpus/torch/"

static void check(const dg_torch *t, int i, const char *name, int rank, size_t values, float first, float last)
{
    if (!DG_CHECK(i < dg_torch_count(t))) return;
    const dg_st_tensor *x = dg_torch_at(t, i);
    const float *v = x->data;
    DG_CHECKF(!strcmp(x->name, name) && x->rank == rank && x->bytes == 4 * values && x->type == DG_F32, "%s", x->name);
    DG_CHECKF(v[0] == first && v[values - 1] == last, "%s: %g ... %g", name, (double)v[0], (double)v[values - 1]);
}

/* The tensor of integers is left out. The tensor "part" begins within its storage. */
static void test_layouts(void)
{
    static const char *const file[] = {CORPUS "legacy", CORPUS "zip"};
    for (int i = 0; i < 2; i++) {
        dg_torch *t;
        DG_CHECK(dg_torch_inside(file[i]));
        if (DG_WORKS(dg_torch_read(file[i], &t))) {
            DG_CHECK(dg_torch_count(t) == 4 && strlen(dg_torch_sha256(t)) == 64);
            check(t, 0, "Conv2d_1a_3x3.conv.weight", 4, 54, 0, 53 / 4.0f);
            check(t, 1, "fc.bias", 1, 2, 1.5f, -2);
            check(t, 2, "part", 1, 3, 2, 4);
            check(t, 3, "turned", 2, 6, 0, 5);
        }
        dg_torch_free(t);
    }
    DG_CHECK(!dg_torch_inside("tests/golden/inception.safetensors") && !dg_torch_inside("tests"));
}

static void refused(const char *path, const char *words)
{
    dg_torch *t;
    DG_REFUSED(dg_torch_read(path, &t), DG_IO, words);
    DG_CHECKF(strstr(dg_message(), path), "%s", dg_message());
    dg_torch_free(t);
}

static const char *put(const void *data, size_t bytes)
{
    const char *path = temp_path("file.pth");
    FILE *f = fopen(path, "wb");
    DG_CHECK(f && fwrite(data, 1, bytes, f) == bytes && !fclose(f));
    return path;
}

static void *contents(const char *path, size_t *bytes)
{
    void *data;
    DG_WORKS(dg_read_file(path, 1 << 20, &data, bytes));
    return data;
}

/* Every beginning of a file is refused, and no byte that changes makes the reader crash. */
static void test_damage(void)
{
    static const char *const file[] = {CORPUS "legacy", CORPUS "zip"};
    for (int i = 0; i < 2; i++) {
        size_t bytes;
        unsigned char *data = contents(file[i], &bytes);
        for (size_t n = 0; n < bytes; n += DG_TEST_SANITIZED ? 13 : 5) {
            dg_torch *t;
            DG_CHECKF(dg_torch_read(put(data, n), &t) == DG_IO, "%zu of %zu bytes of %s", n, bytes, file[i]);
            dg_torch_free(t);
        }
        for (size_t n = 0; n < bytes; n += DG_TEST_SANITIZED ? 29 : 7) {
            dg_torch *t;
            data[n] ^= 0x55;
            const dg_err e = dg_torch_read(put(data, bytes), &t);
            DG_CHECK(!e || e == DG_IO);
            dg_torch_free(t);
            data[n] ^= 0x55;
        }
        free(data);
    }
}

#define MAGIC "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
#define OLD MAGIC "\x80\x02M\xe9\x03.\x80\x02}."
#define REFUSED(text, words) refused(put(text, sizeof text - 1), words)

static void test_hostile(void)
{
    REFUSED(OLD "\x80\x02"
                "cos\nsystem\nX\x02\0\0\0id\x85R.",
            "it calls os.system, which dcgan never runs");
    REFUSED(OLD "\x80\x02"
                "ctorch\nload\n)R.",
            "torch.load");
    REFUSED(OLD "\x80\x02"
                "R.",
            "stack is empty");
    REFUSED(OLD "\x80\x02(t0.", "operation 0x30");
    REFUSED(OLD "\x80\x02h\x05.", "invalid memo");
    REFUSED(OLD "\x80\x02"
                "X\xff\xff\xff\xff.",
            "it ends at byte");
    REFUSED(OLD "\x80\x02}.\x80\x02}.", "no list of storages");
    REFUSED("\x80\x02\x8a\x0a"
            "0123456789.",
            "no magic number");
    REFUSED("PK\3\4", "zip");
    refused("tests/fuzz/corpus/torch/strided", "not contiguous");
    refused("no such file", "no such file");
}

DG_TESTS_BETWEEN(temp_make("torch"), temp_remove(temp_dir), test_layouts, test_damage, test_hostile)
