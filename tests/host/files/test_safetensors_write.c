/* The container as we write it: it comes back, and no damage to it passes. */
#include "host/files/safetensors_internal.h"
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
        size_t n, m;
        char *a = temp_slurp(path, &n), *b = temp_slurp(again, &m);
        DG_CHECK(n == m && !memcmp(a, b, n));
        DG_CHECK((unsigned char)a[0] % 8 == 0); /* data begins at a multiple of 8 */
        free(a);
        free(b);
        dg_st *st;
        dg_err e = dg_st_read(path, checked ? DG_ST_CHECKED : 0, &st);
        DG_CHECKF(e == DG_OK, "%s", dg_message());
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
        if (!checked) DG_CHECK(dg_st_read(path, DG_ST_CHECKED, &st) == DG_IO && strstr(dg_message(), "checksums"));
    }
    /* In the file every tensor is aligned to its type, whatever the order given: PyTorch needs it. */
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

static void test_write_refuses(void)
{
    const char *path = temp_path("never.safetensors");
    dg_st_tensor t[2] = {tensors[0], tensors[0]};
    DG_CHECK(dg_st_write(path, t, 2, NULL, 0, true) == DG_IO && strstr(dg_message(), "twice"));
    DG_CHECK(dg_st_write(path, t, 0, NULL, 0, true) == DG_IO);
    t[0].bytes = 4;
    DG_CHECK(dg_st_write(path, t, 1, NULL, 0, true) == DG_IO && strstr(dg_message(), "match"));
    snprintf(t[1].name, sizeof t[1].name, "a/b");
    DG_CHECK(dg_st_write(path, t + 1, 1, NULL, 0, true) == DG_IO && strstr(dg_message(), "names may"));
    snprintf(t[1].name, sizeof t[1].name, "__metadata__");
    DG_CHECK(dg_st_write(path, t + 1, 1, NULL, 0, true) == DG_IO);
    static const struct {
        int rank;
        int64_t dim[2];
        const char *why;
    } shape[] = {{9, {1, 1}, "too many dimensions"},
                 {1, {0, 1}, "impossible shape"},
                 {2, {1, -1}, "impossible shape"},
                 {2, {INT64_MAX, 8}, "impossible shape"}};
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        dg_st_tensor odd = tensors[0];
        odd.rank = shape[i].rank;
        memcpy(odd.dim, shape[i].dim, sizeof shape[i].dim);
        DG_CHECKF(dg_st_write(path, &odd, 1, NULL, 0, true) == DG_IO && strstr(dg_message(), shape[i].why), "%zu: %s",
                  i, dg_message());
    }
    DG_CHECK(dg_st_write(path, t, DG_ST_TENSORS_MAX + 1, NULL, 0, true) == DG_IO && strstr(dg_message(), "holds 1 to"));
    const dg_st_meta odd_key = {"\xff", "v"};
    DG_CHECK(dg_st_write(path, tensors, 1, &odd_key, 1, true) == DG_IO && strstr(dg_message(), "UTF-8"));
    const dg_st_meta bad[] = {{"k", "\xff"}, {"crc32", "x"}, {"k", "v"}, {"k", "w"}};
    DG_CHECK(dg_st_write(path, tensors, 1, bad, 1, true) == DG_IO && strstr(dg_message(), "UTF-8"));
    DG_CHECK(dg_st_write(path, tensors, 1, bad + 1, 1, true) == DG_IO && strstr(dg_message(), "checksums"));
    DG_CHECK(dg_st_write(path, tensors, 1, bad + 2, 2, true) == DG_IO && strstr(dg_message(), "twice"));
    char *large = malloc((1 << 20) + 1);
    memset(large, 'x', 1 << 20);
    large[1 << 20] = 0;
    const dg_st_meta huge = {"k", large};
    DG_CHECK(dg_st_write(path, tensors, 1, &huge, 1, true) == DG_IO && strstr(dg_message(), "1 MiB"));
    free(large);
    DG_CHECK(access(path, F_OK) != 0);
    dg_st *st;
    DG_CHECK(dg_st_read(path, 0, &st) == DG_IO && !st && strstr(dg_message(), path));
}

/* Every truncation, every longer file and every single-bit flip of a file of ours is refused, also where the
 * caller does not ask for checksums. */
static void test_every_damage(void)
{
    const char *path = temp_path("tiny.safetensors");
    DG_CHECK(dg_st_write(path, tensors, 5, metas, 3, true) == DG_OK);
    size_t n;
    unsigned char *file = (unsigned char *)temp_slurp(path, &n);
    dg_st *st;
    DG_CHECK(dg_st_parse(file, n, "tiny", DG_ST_CHECKED, &st) == DG_OK);
    dg_st_free(st);
    long accepted = 0, silent = 0;
    for (int flags = 0; flags <= DG_ST_CHECKED; flags++) {
        for (size_t k = 0; k < n; k++) {
            dg_set_message("nothing");
            if (dg_st_parse(file, k, "tiny", flags, &st) == DG_OK) accepted++, dg_st_free(st);
            silent += strncmp(dg_message(), "tiny: ", 6) != 0;
        }
        for (size_t bit = 0; bit < 8 * n; bit++) {
            file[bit / 8] ^= (unsigned char)(1u << bit % 8);
            dg_set_message("nothing");
            if (dg_st_parse(file, n, "tiny", flags, &st) == DG_OK) {
                printf("  accepted: bit %zu of byte %zu\n", bit % 8, bit / 8);
                accepted++, dg_st_free(st);
            }
            silent += strncmp(dg_message(), "tiny: ", 6) != 0;
            file[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        unsigned char *longer = malloc(n + 1);
        memcpy(longer, file, n);
        for (int c = 0; c < 256; c++) {
            longer[n] = (unsigned char)c;
            if (dg_st_parse(longer, n + 1, "tiny", flags, &st) == DG_OK) accepted++, dg_st_free(st);
        }
        free(longer);
    }
    DG_CHECKF(accepted == 0 && silent == 0, "%zu bytes: %ld damaged files accepted, %ld without a reason", n, accepted,
              silent);
    free(file);
}

int main(void)
{
    temp_make("safetensors_write");
    test_round_trip();
    test_write_refuses();
    test_every_damage();
    temp_remove(temp_dir);
    return dg_test_report();
}
