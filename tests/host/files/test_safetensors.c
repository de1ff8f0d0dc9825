/* Tests that the reader accepts only valid safetensors files. */
#include "host/files/safetensors.h"
#include "damage.h"
#include "test.h"

#include <cjson/cJSON.h>
#include <stdint.h>
#include <zlib.h>

/* Writes a safetensors file to `out`: length field, header, and n data bytes 0, 1, 2, ... Returns its size. */
static size_t raw(unsigned char *out, const char *header, size_t n)
{
    size_t h = strlen(header);
    for (int i = 0; i < 8; i++) out[i] = (unsigned char)(h >> 8 * i & 255);
    memcpy(out + 8, header, h);
    for (size_t i = 0; i < n; i++) out[8 + h + i] = (unsigned char)i;
    return 8 + h + n;
}

static dg_err read_it(const void *data, size_t n)
{
    dg_st *st;
    const dg_err e = dg_st_parse(data, n, "hostile", 0, &st);
    for (int k = 0; !e && k < dg_st_count(st); k++) DG_CHECK(((uintptr_t)dg_st_at(st, k)->data & 7) == 0);
    DG_CHECK(!e || (!st && !strncmp(dg_message(), "hostile: ", 9)));
    if (!e) dg_st_free(st);
    return e;
}

/* Checks that a file is refused with a reason that contains `why`, or accepted if `why` is NULL. */
static void reads(const void *data, size_t n, const char *why)
{
    check_refusals(&(refusal){why, data, n, 0}, 1, read_it, DG_IO, NULL, 0);
}

#define T(dtype, shape, offsets) "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

/* Cases from the attack list and the negative unit tests of the safetensors project. */
static const struct {
    const char *header;
    size_t data;
    const char *why;
} cases[] = {
    {"{\"a\":" T("F32", "[2]", "[0,8]") "}", 8, NULL},
    {"{\"a\":" T("F32", "[2]", "[0,8]") "}   \n\t\r ", 8, NULL},
    {" {\"a\":" T("F32", "[2]", "[0,8]") "}", 8, "begin with {"},
    {"\xef\xbb\xbf{\"a\":" T("F32", "[2]", "[0,8]") "}", 8, "begin with {"},
    {"{ \"a\" : { \"dtype\" : \"I64\" , \"shape\" : [ ] , \"data_offsets\" : [ 0 , 8 ] } }", 8, NULL},
    {"{\"b\":" T("U8", "[3]", "[8,11]") ",\"a\":" T("F64", "[1]", "[0,8]") "}", 11, NULL}, /* any order of tensors */
    {"{\"__metadata__\":{},\"a\":" T("U8", "[1]", "[0,1]") "}", 1, NULL},
    {"{\"__metadata__\":{\"k\":\"\\u00e9\\n\\\"\xc3\xa9\"},\"a\":" T("U8", "[1]", "[0,1]") "}", 1, NULL},
    {"{\"a\":" T("U8", "[1,1,1,1,1,1,1,1]", "[0,1]") "}", 1, NULL},
    {"", 0, "begin with {"},
    {"{}", 0, "no tensors"},
    {"{}", 8, "no tensors"},
    {"[]", 0, "begin with {"},
    {"{", 0, "unclosed"},
    {"}", 0, "begin with {"},
    {"{}}", 0, "bracket"},
    {"{}[", 0, "unclosed"},
    {"{\"a\":" T("F32", "[2]", "[0,8]") "} x", 8, "neither text nor"},
    {"{\"a\":" T("F32", "[2]", "[0,8]") "} {}", 8, "after its end"},
    {"{\"a\":" T("F32", "[2]", "[0,8]") ",}", 8, "not JSON"},
    {"{\"a\":" T("F32", "[2]", "[0,8]") "", 8, "unclosed"},
    {"{\"a\" " T("F32", "[2]", "[0,8]") "}", 8, "not JSON"},
    {"{\"a\":" T("F32", "[2]", "[0,8]") "}", 9, "1 bytes after"},
    {"{\"a\":" T("F32", "[2]", "[0,8]") "}", 7, "outside the file"},
    {"{\"a\":" T("F32", "[2]", "[8,0]") "}", 8, "outside the file"},
    {"{\"a\":" T("F32", "[2]", "[0,9007199254740993]") "}", 8, "two whole numbers"},
    {"{\"a\":" T("F32", "[2]", "[0,9007199254740991]") "}", 8, "outside the file"},
    {"{\"a\":" T("F32", "[2]", "[0,18446744073709551624]") "}", 8, "too long"},
    {"{\"a\":" T("F32", "[2]", "[1,9]") "}", 9, "unused bytes"},
    {"{\"a\":" T("F32", "[2]", "[0,8]") ",\"b\":" T("U8", "[8]", "[9,17]") "}", 17, "unused bytes"},
    {"{\"a\":" T("F32", "[2]", "[0,8]") ",\"b\":" T("U8", "[8]", "[4,12]") "}", 12, "overlaps"},
    {"{\"a\":" T("F32", "[2]", "[0,8]") ",\"b\":" T("U8", "[8]", "[0,8]") "}", 8, "overlaps"},
    {"{\"a\":" T("F32", "[3]", "[0,8]") "}", 8, "need 12"},
    {"{\"a\":" T("F64", "[2]", "[0,8]") "}", 8, "need 16"},
    {"{\"a\":" T("F32", "[0]", "[0,0]") "}", 0, NULL},
    {"{\"a\":" T("F32", "[2,0]", "[0,0]") "}", 0, NULL},
    {"{\"a\":" T("F32", "[0]", "[4,4]") ",\"b\":" T("F32", "[2]", "[0,8]") "}", 8, "overlaps"},
    {"{\"b\":" T("F32", "[1]", "[4,8]") ",\"z\":" T("F32", "[0]", "[4,4]") ",\"a\":" T("F32", "[1]", "[0,4]") "}", 8,
     NULL},
    {"{\"a\":" T("F32", "[99999999999,0]", "[0,0]") "}", 0, NULL},
    {"{\"u\":" T("U8", "[1]", "[0,1]") ",\"a\":" T("F32", "[1]", "[1,5]") "}", 5, NULL}, /* unaligned */
    {"{\"__metadata__\":null,\"a\":" T("F32", "[2]", "[0,8]") "}", 8, NULL},
    {"{\"a\":" T("F32", "[2]", "[0,8]") ",\"__metadata__\":{\"k\":\"v\"}}", 8, NULL},
    {"{\"a\":nul}", 8, "neither text nor"},
    {"{\"a\":null}", 8, "tensor a"},
    {"{\"__metadata__\":{\"k\":null},\"a\":" T("F32", "[2]", "[0,8]") "}", 8, "\"k\""},
    {"{\"a\":" T("F16", "[3]", "[0,8]") "}", 8, "need 6"},
    {"{\"a\":" T("F16", "[3]", "[0,6]") ",\"b\":" T("BF16", "[1]", "[6,8]") "}", 8, NULL},
    {"{\"a\":" T("F8_E4M3", "[8]", "[0,8]") "}", 8,
     "tensor a: its dtype is F8_E4M3 (F64, F32, F16, BF16, I64, I32 and"},
    {"{\"a\":" T("BOOL", "[8]", "[0,8]") "}", 8, "write it as F32"},
    {"{\"a\":" T("F32", "[-2]", "[0,8]") "}", 8, "neither text nor"},
    {"{\"a\":" T("F32", "[2.0]", "[0,8]") "}", 8, "neither text nor"},
    {"{\"a\":" T("F32", "[2e0]", "[0,8]") "}", 8, "neither text nor"},
    {"{\"a\":" T("F32", "[02]", "[0,8]") "}", 8, "too long"},
    {"{\"a\":" T("F32", "[null]", "[0,8]") "}", 8, "dimension"},
    {"{\"a\":" T("F32", "[\"2\"]", "[0,8]") "}", 8, "dimension"},
    {"{\"a\":" T("F32", "[[2]]", "[0,8]") "}", 8, "too deep"},
    {"{\"a\":" T("F32", "2", "[0,8]") "}", 8, "no shape"},
    {"{\"a\":" T("F32", "[4294967296,4294967296]", "[0,8]") "}", 8, "larger than any file"},
    /* The product of the dimensions wraps to 0. */
    {"{\"a\":" T("F32", "[2147483648,2147483648]", "[0,0]") "}", 8, "larger than any file"},
    {"{\"a\":" T("F32", "[4503599627370497,4096]", "[0,0]") "}", 8, "larger than any file"},
    {"{\"a\":" T("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") "}", 1, "more than 8 dimensions"},
    {"{\"a\":" T("F16", "[4]", "[0,8]") "}", 8, NULL},
    {"{\"a\":" T("BF16", "[4]", "[0,8]") "}", 8, NULL},
    {"{\"a\":" T("f32", "[2]", "[0,8]") "}", 8, "dtype is f32"},
    {"{\"a\":{\"dtype\":7,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "no dtype"},
    {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "no dtype"},
    {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8, "no shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "data_offsets"},
    {"{\"a\":" T("F32", "[2]", "[0]") "}", 8, "data_offsets"},
    {"{\"a\":" T("F32", "[2]", "[0,8,8]") "}", 8, "data_offsets"},
    {"{\"a\":" T("F32", "[2]", "{\"x\":0,\"y\":8}") "}", 8, "data_offsets"},
    {"{\"a\":" T("F32", "[2]", "[0,9007199254740992]") "}", 8, "data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "duplicate"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"data_offsets\":[0,8]}}", 8, "duplicate"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1}}", 8, NULL},
    {"{\"a\":{\"Dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "no dtype"},
    {"{\"a\":[0,8]}", 8, "tensor a"},
    {"{\"a\":\"b\"}", 8, "tensor a"},
    {"{\"a\":true}", 8, "neither text nor"},
    {"{\"a\":" T("F32", "[1]", "[0,4]") ",\"a\":" T("F32", "[1]", "[4,8]") "}", 8, "duplicate tensor a"},
    {"{\"a\":" T("F32", "[1]", "[0,4]") ",\"\\u0061\":" T("F32", "[1]", "[4,8]") "}", 8, "duplicate tensor a"},
    {"{\"../../x:0\":" T("F32", "[2]", "[0,8]") "}", 8, NULL},
    {"{\"a \u00e9\":" T("F32", "[2]", "[0,8]") "}", 8, NULL},
    {"{\"\":" T("F32", "[2]", "[0,8]") "}", 8, "empty name"},
    {"{\"\\u001b[2J\":" T("F32", "[2]", "[0,8]") "}", 8, "control character"},
    {"{\"a\\u0000b\":" T("F32", "[2]", "[0,8]") "}", 8, "NUL"},
    {"{\"a\\ud800\":" T("F32", "[2]", "[0,8]") "}", 8, "not JSON"},
    {"{\"\xff\":" T("F32", "[2]", "[0,8]") "}", 8, "UTF-8"},
    {"{\"\xc0\xaf\":" T("F32", "[2]", "[0,8]") "}", 8, "UTF-8"},
    {"{\"\xed\xa0\x80\":" T("F32", "[2]", "[0,8]") "}", 8, "UTF-8"},
    {"{\"\xc3", 8, "UTF-8"},
    {"{\"a\n\":" T("F32", "[2]", "[0,8]") "}", 8, "control character"},
    {"{\"a", 8, "unterminated"},
    {"{\"a\\", 8, "unterminated"},
    {"{\"__metadata__\":{\"k\":7},\"a\":" T("U8", "[1]", "[0,1]") "}", 1, "\"k\""},
    {"{\"__metadata__\":[],\"a\":" T("U8", "[1]", "[0,1]") "}", 1, "__metadata__"},
    {"{\"__metadata__\":{\"k\":{}},\"a\":" T("U8", "[1]", "[0,1]") "}", 1, "\"k\""},
    {"{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"},\"a\":" T("U8", "[1]", "[0,1]") "}", 1,
     "duplicate metadata key \"k\""},
    {"{\"__metadata__\":{\"k\":\"1\",\"z\":\"\",\"k\":\"2\"},\"a\":" T("U8", "[1]", "[0,1]") "}", 1,
     "duplicate metadata key \"k\""},
    {"{\"__metadata__\":{},\"__metadata__\":{},\"a\":" T("U8", "[1]", "[0,1]") "}", 1, "duplicate"},
    {"{\"__metadata__\":{\"crc32\":\"00000000\"},\"a\":" T("U8", "[1]", "[0,1]") "}", 1, "header is damaged"},
    {"{\"__metadata__\":{\"crc32.a\":\"00000000\"},\"a\":" T("U8", "[1]", "[0,1]") "}", 1, "header is damaged"},
    {"{\"__metadata__\":{\"crc32\":\"0000\"},\"a\":" T("U8", "[1]", "[0,1]") "}", 1, "header is damaged"},
    {"{\"__metadata__\":{\"crc32x\":\"0\"},\"a\":" T("U8", "[1]", "[0,1]") "}", 1, "header is damaged"},
};

static void test_hand_list(void)
{
    unsigned char file[2048];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t n = raw(file, cases[i].header, cases[i].data);
        const int wrong = dg_test_failed_;
        reads(file, n, cases[i].why);
        dg_st *st;
        if (!cases[i].why) DG_REFUSED(dg_st_parse(file, n, "good", DG_ST_CHECKED, &st), DG_IO, "checksums");
        if (dg_test_failed_ > wrong) printf("  case %zu: %s\n", i, cases[i].header);
    }
}

static void test_lengths(void)
{
    static const uint64_t length[] = {0,          7,          1,          1u << 20,      (1u << 20) + 1,
                                      1ull << 32, 1ull << 63, UINT64_MAX, UINT64_MAX - 7};
    unsigned char file[256];
    size_t n = raw(file, "{\"a\":" T("F32", "[2]", "[0,8]") "}", 8);
    for (size_t i = 0; i < sizeof length / sizeof length[0]; i++) {
        for (int b = 0; b < 8; b++) file[b] = (unsigned char)(length[i] >> 8 * b & 255);
        reads(file, n, "");
    }
    for (size_t h = n - 8; h < n + 3; h++) {
        file[0] = (unsigned char)h;
        memset(file + 1, 0, 7);
        reads(file, n, h > n - 8 ? "cut off" : "");
    }
    for (size_t short_file = 0; short_file < 8; short_file++) reads(file, short_file, " bytes");
    reads("", 0, " bytes");
}

static void test_limits(void)
{
    const size_t most = 1 << 20;
    unsigned char *file = malloc(8 + most + 16 + 8);
    char *header = malloc(most + 16);
    dg_st *st;
    for (size_t n = most - 8; n <= most + 8; n += 8) {
        memset(header, ' ', n);
        memcpy(header, "{\"a\":" T("F32", "[2]", "[0,8]") "}", strlen("{\"a\":" T("F32", "[2]", "[0,8]") "}"));
        header[n] = 0;
        dg_err e = dg_st_parse(file, raw(file, header, 8), "limit", 0, &st);
        DG_CHECKF(n <= most ? e == DG_OK : e == DG_IO && strstr(dg_message(), "limit 1,048,576"), "header of %zu", n);
        dg_st_free(st);
    }
    for (int n = 126; n <= 129; n++) {
        char name[130];
        memset(name, 'n', (size_t)n);
        name[n] = 0;
        sprintf(header, "{\"%s\":" T("F32", "[2]", "[0,8]") "}", name);
        dg_err e = dg_st_parse(file, raw(file, header, 8), "limit", 0, &st);
        DG_CHECKF(n <= 127 ? e == DG_OK && dg_st_find(st, name) : e == DG_IO && strstr(dg_message(), "127"),
                  "name of %d", n);
        dg_st_free(st);
    }
    free(header);
    free(file);
}

static void test_missing_checksum(void)
{
    const char *const tensor_crc[] = {",\"crc32.a\":\"d202ef8d\"", "", ",\"crc32.b\":\"d202ef8d\"",
                                      ",\"crc32.a\":\"D202EF8D\""};
    for (int i = 0; i < 4; i++) {
        unsigned char file[512];
        char header[300];
        sprintf(header, "{\"__metadata__\":{\"crc32\":\"00000000\"%s},\"a\":" T("U8", "[1]", "[0,1]") "}",
                tensor_crc[i]);
        size_t n = raw(file, header, 1);
        sprintf(header, "%08lx", crc32(0, file, (uInt)n - 1));
        memcpy((char *)memmem(file, n, "00000000", 8), header, 8);
        reads(file, n, !i ? NULL : i == 3 ? "data is damaged" : "checksum");
    }
}

static size_t now, peak;
static void *counted_malloc(size_t n)
{
    size_t *p = malloc(n + 16);
    if (!p) return NULL;
    *p = n;
    now += n;
    if (now > peak) peak = now;
    return p + 2;
}
static void counted_free(void *p)
{
    if (!p) return;
    now -= ((size_t *)p)[-2];
    free((size_t *)p - 2);
}
static void test_memory(void)
{
    const char *const unit[] = {"[", "{\"a\":", "1,", "\"k\":\"\",", "[],", "\\u0061", "\"\","};
    const char *const starts[] = {"{\"", "{\"a\":\"\",", "["};
    const size_t most = 1 << 20;
    unsigned char *file = malloc(8 + most + 1);
    char *header = malloc(most + 1);
    cJSON_Hooks hooks = {counted_malloc, counted_free};
    cJSON_InitHooks(&hooks);
    for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++)
        for (int start = 0; start < 3; start++) {
            size_t n = (size_t)sprintf(header, "{\"__metadata__\":%s", starts[start]);
            while (n + strlen(unit[i]) < most - 64) n += (size_t)sprintf(header + n, "%s", unit[i]);
            if (start == 2) sprintf(header + n, "0]}");
            dg_st *st;
            DG_CHECK(dg_st_parse(file, raw(file, header, 0), "big", 0, &st) == DG_IO);
        }
    /* The largest accepted header. */
    size_t n = (size_t)sprintf(header, "{\"__metadata__\":{\"x\":\"\"");
    for (int i = 0; i < 4096; i++) n += (size_t)sprintf(header + n, ",\"k%d\":\"v\"", i);
    n += (size_t)sprintf(header + n, "}");
    for (int i = 0; i < 4096; i++)
        n += (size_t)sprintf(header + n, ",\"t%d\":" T("U8", "[1,1,1,1,1,1,1,1]", "[%d,%d]"), i, i, i + 1);
    sprintf(header + n, "}");
    unsigned char *whole = malloc(8 + n + 1 + 4096);
    dg_st *st;
    DG_CHECKF(dg_st_parse(whole, raw(whole, header, 4096), "full", 0, &st) == DG_OK && dg_st_count(st) == 4096, "%s",
              dg_message());
    int wrong = 0;
    for (int i = 0; st && i < 4096; i++) {
        char name[16];
        sprintf(name, "t%d", i);
        const dg_st_tensor *t = dg_st_find(st, name);
        wrong += !t || ((uintptr_t)t->data & 7) || *(const unsigned char *)t->data != (i & 255);
    }
    DG_CHECKF(wrong == 0, "%d of 4096 one-byte tensors wrong after alignment", wrong);
    dg_st_free(st);
    DG_CHECKF(peak > 100000 && peak < 8u << 20, "parsing took %zu bytes", peak);
    DG_CHECKF(now == 0, "%zu bytes leaked", now);
    memcpy(header + n, ",\"more\":", 8);
    sprintf(header + n + 8, T("U8", "[1]", "[4096,4097]") "}");
    DG_REFUSED(dg_st_parse(file, raw(file, header, 0), "4097", 0, &st), DG_IO, "4097 tensors");
    cJSON_InitHooks(NULL);
    free(whole);
    free(header);
    free(file);
}

DG_TESTS(test_hand_list, test_lengths, test_limits, test_missing_checksum, test_memory)
