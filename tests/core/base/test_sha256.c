/* Tests SHA-256 by the examples of FIPS 180-4, and by data in parts of every length. */
#include "core/base/sha256.h"
#include "test.h"

static void of(const char *text, const char *want)
{
    char got[DG_SHA256_TEXT];
    dg_sha256 s;
    dg_sha256_begin(&s);
    dg_sha256_add(&s, text, strlen(text));
    dg_sha256_end(&s, got);
    DG_CHECKF(!strcmp(got, want), "\"%s\": %s", text, got);
}

static void test_examples(void)
{
    of("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    of("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void test_parts(void)
{
    static const char want[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    char got[DG_SHA256_TEXT], data[1000];
    memset(data, 'a', sizeof data);
    for (size_t part = 1; part < 200; part += 9) { /* a million times "a" */
        dg_sha256 s;
        dg_sha256_begin(&s);
        for (size_t at = 0; at < 1000000; at += part)
            dg_sha256_add(&s, data, at + part > 1000000 ? 1000000 - at : part);
        dg_sha256_end(&s, got);
        DG_CHECKF(!strcmp(got, want), "parts of %zu: %s", part, got);
    }
}

DG_TESTS(test_examples, test_parts)
