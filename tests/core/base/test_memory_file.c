/* Tests streams into memory (dg_memory_open). */
#include "core/base/memory_file.h"

#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "test.h"

enum { LINES = 70001 };

static void holds_all(void)
{
    dg_memory_file m;
    FILE *to = dg_memory_open(&m);
    if (!DG_CHECK(to != NULL)) return;
    size_t bytes = 0;
    for (int i = 0; i < LINES; i++) bytes += (size_t)fprintf(to, "%d\n", i);
    DG_CHECK(dg_memory_close(to, &m));
    if (!DG_CHECK(m.text != NULL)) return;
    DG_CHECK(m.bytes == bytes && strlen(m.text) == bytes);
    const char *at = m.text;
    char *end;
    int wrong = 0;
    for (int i = 0; i < LINES; i++, at = end + 1) wrong += strtol(at, &end, 10) != i || *end != '\n';
    DG_CHECK(wrong == 0);
    free(m.text);
}

static void holds_nothing(void)
{
    dg_memory_file m;
    FILE *to = dg_memory_open(&m);
    DG_CHECK(dg_memory_close(to, &m));
    DG_CHECK(m.bytes == 0 && m.text && !*m.text);
    free(m.text);
    DG_CHECK(!dg_memory_close(NULL, &(dg_memory_file){0}));
}

/* Prints more bytes than memory can hold. Returns 0 if the stream reports the error and frees its memory. */
static int print_too_much(void *nothing, char *message)
{
    (void)nothing, (void)message;
    dg_memory_file m;
    FILE *to = dg_memory_open(&m);
    for (int i = 0; to && i < 64; i++)
        for (int k = 0; k < 1 << 20; k++) fputc('a' + i % 26, to);
    return dg_memory_close(to, &m) || m.text;
}

int main(void)
{
    holds_all();
    holds_nothing();
    if (!DG_SANITIZED) DG_CHECK(in_child(print_too_much, NULL, (size_t)32 << 20).code == 0);
    return dg_test_report();
}
