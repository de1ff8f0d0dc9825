/* Tests that a shell or Python reads quoted words back unchanged, and that no byte controls the terminal. */
#include "core/base/shell.h"

#include <stdbool.h>
#include <unistd.h>

#include "core/base/err.h"
#include "tempdir.h"
#include "test.h"

enum { WORDS = 600, LONGEST = 40 };

static unsigned long long state = 77;
static char word[WORDS][LONGEST + 1];

static unsigned below(unsigned n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % n;
}

static void make_words(void)
{
    static const char likely[] = "'\"\\$`!#~*?[]{}();&|<> \t\n\r\x1b\x7f\xc2\x9b\xe2\x80\xae\xff-=abf0189zZ";
    for (unsigned i = 0; i < WORDS; i++) {
        const unsigned n = 1 + below(LONGEST);
        if (i < 255) snprintf(word[i], sizeof word[i], "%c", (char)(i + 1));
        else if (i < 400) snprintf(word[i], sizeof word[i], "1a%cf0", (char)(i < 300 ? i - 254 : below(255) + 1));
        else
            for (unsigned k = 0; k < n; k++)
                word[i][k] = (char)(i % 2 ? likely[below(sizeof likely - 1)] : (int)(1 + below(255)));
    }
    word[WORDS - 1][0] = 0;
}

static bool is_shown_as_it_is(const char *s)
{
    char shown[4 * DG_SHELL_ROOM];
    return strcmp(dg_printable(shown, sizeof shown, s), s) == 0;
}

static void check_words(const char *command, const char *before, const char *behind,
                        char *(*quote)(char *, size_t, const char *), bool plain_alone)
{
    char back[LONGEST + 2], quoted[DG_SHELL_ROOM];
    const char *path = temp_path("words");
    FILE *to = fopen(path, "w");
    DG_CHECK(to != NULL);
    if (!to) return;
    for (int i = 0; i < WORDS; i++) {
        quote(quoted, sizeof quoted, word[i]);
        DG_CHECKF(is_shown_as_it_is(quoted), "word %d is raw: %s", i, quoted);
        if (!plain_alone || *quoted != '$') fprintf(to, "%s%s%s\n", before, quoted, behind);
    }
    fclose(to);
    FILE *from = popen(temp_text("%s %s", command, path), "r");
    for (int i = 0; from && i < WORDS; i++) {
        size_t n = 0;
        if (plain_alone && *quote(quoted, sizeof quoted, word[i]) == '$') continue;
        for (int c; n < sizeof back - 1 && (c = fgetc(from)) > 0;) back[n++] = (char)c;
        back[n] = 0;
        if (!DG_CHECKF(strcmp(back, word[i]) == 0, "%s: word %d, %s, came back as %s", command, i,
                       quote(quoted, sizeof quoted, word[i]), back))
            break;
    }
    DG_CHECK(from && pclose(from) == 0);
    unlink(path);
}

static void test_short_room(void)
{
    char out[12];
    DG_CHECK(strcmp(dg_shell_quote(out, sizeof out, "12345678901"), "12345678901") == 0);
    DG_CHECK(strcmp(dg_shell_quote(out, sizeof out, "123456789012"), "WORD") == 0);
    DG_CHECK(strcmp(dg_shell_quote(out, sizeof out, "a'b c d"), "WORD") == 0);
    DG_CHECK(strcmp(dg_shell_path(out, sizeof out, "-x"), "./-x") == 0 &&
             strcmp(dg_shell_path(out, sizeof out, "- x"), "./'- x'") == 0);
    DG_CHECK(strcmp(dg_shell_quote(out, sizeof out, ""), "''") == 0 &&
             strcmp(dg_shell_quote(out, sizeof out, "-q"), "-q") == 0);
}

static void test_program(void)
{
    DG_CHECK(strcmp(dg_program(), "dcgan") == 0);
    dg_set_program(NULL);
    dg_set_program("");
    DG_CHECK(strcmp(dg_program(), "dcgan") == 0);
    dg_set_program("./my programs/dcgan");
    DG_CHECK(strcmp(dg_program(), "'./my programs/dcgan'") == 0);
}

/* Tests that characters are escaped if they change the writing direction, end a line or move the cursor. */
static void test_printable(void)
{
    static const char *const never[] = {
        "\x1b",         "\x7f",         "\xc2\x85",         "\xc2\x9b",     "\xd8\x9c",        "\xe2\x80\x8e",
        "\xe2\x80\x8f", "\xe2\x80\xa8", "\xe2\x80\xae",     "\xe2\x81\xa6", "\xe2\x81\xa9",    "\xff",
        "\xc0\x80",     "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x80",     "\xf0\x8f\xbf\xbf"};
    static const char *const always[] = {
        "a", "~", "\xc2\xa0", "\xc3\xa4", "\xe2\x80\x93", "\xe2\x81\xa5", "\xf0\x9f\x90\xb1", "\xf4\x8f\xbf\xbf"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        DG_CHECKF(dg_printable_bytes(never[i]) == 0, "%zu should be escaped", i);
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        DG_CHECKF(dg_printable_bytes(always[i]) == (int)strlen(always[i]), "%zu should be as it is", i);
}

int main(void)
{
    temp_make("shell");
    make_words();
    check_words("sh", "printf '%s\\0' ", "", dg_shell_quote, true);
    if (system("bash -c true 2> /dev/null") == 0) check_words("bash", "printf '%s\\0' ", "", dg_shell_quote, false);
    else dg_test_skip("no bash");
    if (system("python3 -c pass 2> /dev/null") == 0)
        check_words("python3 -X utf8", "import os; os.write(1, os.fsencode(", ") + b'\\0')", dg_python_quote, false);
    else dg_test_skip("no python3");
    test_short_room();
    test_program();
    test_printable();
    temp_remove(temp_dir);
    return dg_test_report();
}
