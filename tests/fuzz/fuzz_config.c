/* libFuzzer: config.ini. Options that are read, written and read again must have the same values and text. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host/options/option_table.h"

static dg_err read_text(const char *text, dg_options *o)
{
    *o = (dg_options){.command = DG_CMD_TRAIN};
    const dg_err e = dg_options_presets(o);
    return e ? e : dg_config_parse(text, "fuzz", o);
}

/* Compares options except the values of paths, which config.ini stores as absolute paths. */
static void compare(const dg_options *a, const dg_options *b)
{
    static const char *const paths[] = {"model", "data", "cache", "tuning", "test"};
    char x[DG_CONFIG_VALUE], y[DG_CONFIG_VALUE];
    for (const dg_option *t = dg_option_table; t->name; t++) {
        bool path = false;
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) path |= !strcmp(t->name, paths[i]);
        if (!(t->flags & DG_OPT_SAVED)) continue;
        dg_option_get(a, t, x, sizeof x);
        dg_option_get(b, t, y, sizeof y);
        FUZZ_HOLDS(path ? !*x == !*y : !strcmp(x, y));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *argv[] = {"dcgan", NULL}, *text = fuzz_text(data, size);
    dg_options first, second;
    const dg_err e = read_text(text, &first);
    if (e) {
        FUZZ_HOLDS(e == DG_USAGE && !strncmp(dg_message(), "fuzz:", 5));
    } else {
        char *written = dg_config_text(&first, 1, argv);
        FUZZ_HOLDS(written && read_text(written, &second) == DG_OK);
        compare(&first, &second);
        char *again = dg_config_text(&second, 1, argv);
        FUZZ_HOLDS(again && !strcmp(written, again));
        free(again);
        free(written);
        dg_options_free(&second);
    }
    dg_options_free(&first);
    free(text);
    return 0;
}
