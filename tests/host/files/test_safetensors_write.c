/* Tests that safetensors files written by dcgan can be read back, and are refused after any damage. */
#include "host/files/safetensors_internal.h"
#include "damage.h"
#include "tempdir.h"
#include "test.h"

#include <cjson/cJSON.h>
#include <stdint.h>

static const float f32[3] = {1.5f, -0.0f, 3e-45f};
static const double f64[2] = {0.1, 1e308};
static const unsigned char u8[5] = {1, 2, 3, 4, 255};
static const int32_t i32[1] = {-7};
static const int64_t i64[1] = {INT64_MIN};
static const dg_st_tensor tensors[] = {
    {"u8", DG_U8, 1, {5}, u8, 5},
    {"G.main.0.weight", DG_F32, 4, {3, 1, 1, 1}, f32, 12},
    {"f64", DG_F64, 2, {1, 2}, f64, 16},
    {"i32", DG_I32, 1, {1}, i32, 4},
    {"num_batches_tracked", DG_I64, 0, {0}, i64, 8},
};
static const dg_st_meta metas[] = {{"format", "test"}, {"text", "a \"b\"\n\\ \x01 \xe7\x8c\xab"}, {"empty", ""}};

static void test_round_trip(void)
{
    for (int checked = 0; checked < 2; checked++) {
        const char *path = temp_path("a.safetensors"), *again = temp_path("b.safetensors");
        DG_CHECK(dg_st_write(path, tensors, 5, metas, 3, checked) == DG_OK);
        DG_CHECK(dg_st_write(again, tensors, 5, metas, 3, checked) == DG_OK);
        char *a = temp_slurp(path, NULL);
        DG_CHECK(same_file(path, again) && (unsigned char)a[0] % 8 == 0); /* the header's length is a multiple of 8 */
        free(a);
        dg_st *st;
        dg_err e = dg_st_read(path, checked ? DG_ST_CHECKED : 0, &st);
        DG_WORKS(e);
        if (e) continue;
        DG_CHECK(dg_st_count(st) == 5);
        for (int i = 0; i < 5; i++) {
            const dg_st_tensor *t = dg_st_find(st, tensors[i].name);
            DG_CHECK(t && t->type == tensors[i].type && t->rank == tensors[i].rank && t->bytes == tensors[i].bytes);
            DG_CHECK(t && !memcmp(t->data, tensors[i].data, t->bytes) && ((uintptr_t)t->data & 7) == 0);
            for (int d = 0; t && d < t->rank; d++) DG_CHECK(t->dim[d] == tensors[i].dim[d]);
        }
        DG_CHECK(!dg_st_find(st, "none") && !dg_st_get(st, "none"));
        for (int i = 0; i < 3; i++) {
            const char *v = dg_st_get(st, metas[i].key);
            DG_CHECKF(v && !strcmp(v, metas[i].value), "metadata %s", metas[i].key);
        }
        DG_CHECK(dg_st_meta_count(st) == (checked ? 3 + 1 + 5 : 3));
        DG_CHECK(!!dg_st_get(st, "crc32") == checked);
        DG_CHECK(strcmp(dg_st_meta_at(st, checked).key, "format") == 0);
        dg_st_free(st);
        if (!checked) DG_REFUSED(dg_st_read(path, DG_ST_CHECKED, &st), DG_IO, "checksums");
    }
    /* tensors in the file are aligned to their types, because PyTorch requires this */
    size_t n;
    char *a = temp_slurp(temp_path("a.safetensors"), &n);
    cJSON *root = cJSON_ParseWithLength(a + 8, (size_t)(unsigned char)a[0] + 256u * (unsigned char)a[1]);
    DG_CHECK(root != NULL);
    for (int i = 0; i < 5; i++) {
        const cJSON *o = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(root, tensors[i].name),
                                                          "data_offsets");
        DG_CHECK(o && o->child->valueint % (int)dg_type_bytes(tensors[i].type) == 0);
    }
    cJSON_Delete(root);
    free(a);
}

static void refused(const dg_st_tensor *t, int n, const dg_st_meta *meta, int m, const char *why)
{
    const char *path = temp_path("never.safetensors");
    DG_CHECKF(dg_st_write(path, t, n, meta, m, true) == DG_IO && strstr(dg_message(), why) && access(path, F_OK),
              "%s: %s", why, dg_message());
}

static void test_write_refuses(void)
{
    const char *path = temp_path("never.safetensors");
    dg_st_tensor t[2] = {tensors[0], tensors[0]};
    refused(t, 2, NULL, 0, "duplicate");
    refused(t, 0, NULL, 0, "");
    t[0].bytes = 4;
    refused(t, 1, NULL, 0, "match");
    snprintf(t[1].name, sizeof t[1].name, "a/b");
    refused(t + 1, 1, NULL, 0, "a/b");
    snprintf(t[1].name, sizeof t[1].name, "__metadata__");
    refused(t + 1, 1, NULL, 0, "");
    static const struct {
        int rank;
        int64_t dim[2];
        const char *why;
    } shape[] = {{9, {1, 1}, "too many dimensions"},
                 {1, {0, 1}, "invalid shape"},
                 {2, {1, -1}, "invalid shape"},
                 {2, {INT64_MAX, 8}, "invalid shape"}};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        dg_st_tensor odd = tensors[0];
        odd.rank = shape[i].rank;
        memcpy(odd.dim, shape[i].dim, sizeof shape[i].dim);
        refused(&odd, 1, NULL, 0, shape[i].why);
    }
    refused(t, DG_ST_TENSORS_MAX + 1, NULL, 0, "4097 tensors");
    const dg_st_meta odd_key = {"\xff", "v"};
    refused(tensors, 1, &odd_key, 1, "UTF-8");
    const dg_st_meta bad[] = {{"k", "\xff"}, {"crc32", "x"}, {"k", "v"}, {"k", "w"}};
    refused(tensors, 1, bad, 1, "UTF-8");
    refused(tensors, 1, bad + 1, 1, "checksums");
    refused(tensors, 1, bad + 2, 2, "duplicate");
    char *large = malloc((1 << 20) + 1);
    memset(large, 'x', 1 << 20);
    large[1 << 20] = 0;
    const dg_st_meta huge = {"k", large};
    refused(tensors, 1, &huge, 1, "1 MiB");
    free(large);
    dg_st *st;
    DG_CHECK(dg_st_read(path, 0, &st) == DG_IO && !st && strstr(dg_message(), path));
}

static int flags;
static dg_err read_it(const void *data, size_t n)
{
    dg_st *st;
    const dg_err e = dg_st_parse(data, n, "tiny", flags, &st);
    if (!e) dg_st_free(st);
    DG_CHECK(!e || !strncmp(dg_message(), "tiny: ", 6));
    return e;
}

/* Truncated files, longer files and files with a flipped bit must be refused. */
static void test_every_damage(void)
{
    const char *path = temp_path("tiny.safetensors");
    DG_CHECK(dg_st_write(path, tensors, 5, metas, 3, true) == DG_OK);
    size_t n;
    char *file = temp_slurp(path, &n);
    for (flags = 0; flags <= DG_ST_CHECKED; flags++) {
        DG_CHECK(!read_it(file, n));
        const accepted a = damage(file, n, n, read_it, DG_IO);
        DG_CHECKF(!a.cuts && !a.flips, "%ld truncations and %ld flipped bits accepted", a.cuts, a.flips);
        for (int c = 0; c < 256; c++) {
            file[n] = (char)c;
            DG_CHECKF(read_copy(read_it, file, n + 1) == DG_IO, "byte %d after the end: accepted", c);
        }
    }
    free(file);
}

DG_TESTS_IN("safetensors_write", test_round_trip, test_write_refuses, test_every_damage)
