/* libFuzzer: command line and environment. Input lines DCGAN_NAME=VALUE set environment variables, and other lines
 * are arguments. */
#include "fuzz.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/options/option_table.h"

enum { WORDS = 64 };

static bool set_variable(char *word)
{
    char *equals = strchr(word, '=');
    if (strncmp(word, "DCGAN_", 6) != 0 || !equals) return false;
    for (const char *c = word; c < equals; c++)
        if (!isupper((unsigned char)*c) && *c != '_') return false;
    *equals = 0;
    FUZZ_HOLDS(setenv(word, equals + 1, 1) == 0);
    return true;
}

static void parse(int argc, char **argv)
{
    dg_options o, back = {.command = DG_CMD_TRAIN};
    bool done;
    const dg_err e = dg_options_parse(argc, argv, &o, &done);
    FUZZ_HOLDS(!e || *dg_message());
    if (!e && o.resolved) {
        FUZZ_HOLDS(dg_options_presets(&back) == DG_OK);
        FUZZ_HOLDS(dg_config_parse(o.resolved, "resolved", &back) == DG_OK);
        FUZZ_HOLDS(back.batch == o.batch && back.seed == o.seed && back.epochs == o.epochs);
    }
    dg_options_free(&back);
    dg_options_free(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool quiet;
    char *argv[WORDS + 2] = {strdup("dcgan")}, *unset[WORDS];
    int argc = 1, variables = 0;
    if (!quiet) quiet = freopen("/dev/null", "w", stdout) != NULL; /* help goes to stdout */
    for (size_t at = 0; at < size && argc + variables <= WORDS;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        const size_t n = end ? (size_t)(end - data) - at : size - at;
        char *word = fuzz_text(data + at, n);
        if (set_variable(word)) unset[variables++] = word;
        else argv[argc++] = word;
        at += n + 1;
    }
    char *words[WORDS + 2];
    memcpy(words, argv, sizeof words); /* getopt permutes argv */
    if (argc > 1) parse(argc, argv);   /* without arguments, help goes to stderr */
    for (int i = 0; i < argc; i++) free(words[i]);
    for (int i = 0; i < variables; i++) {
        unsetenv(unset[i]);
        free(unset[i]);
    }
    return 0;
}
