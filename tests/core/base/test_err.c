/* Tests option names, contexts and control characters in error messages. */
#include "core/base/err.h"
#include "test.h"

#include <stdlib.h>

static void is(const char *want) { DG_CHECKF(!strcmp(dg_message(), want), "\"%s\", not \"%s\"", dg_message(), want); }

static void say(const char *text)
{
    DG_CHECK(dg_fail(DG_USAGE, "{batch} %d of %s: {drop-last}, {device cuda:%d}, {5}, {, }", 4, text, 1) == DG_USAGE);
}

static void keep(void *context, const char *text) { strcpy(context, text); }

int main(void)
{
    char warning[100] = "";
    say("a{batch}");
    is("batch 4 of a{batch}: drop-last, device cuda:1, {5}, {, }");
    DG_CHECK(dg_context(DG_IO, "{out} %s", "x{y}") == DG_IO);
    is("out x{y}: batch 4 of a{batch}: drop-last, device cuda:1, {5}, {, }");
    dg_set_setting_prefix("--");
    say("\033[2J");
    is("--batch 4 of \\x1b[2J: --drop-last, --device cuda:1, {5}, {, }");
    dg_warn("no handler");
    dg_set_warnings(keep, warning);
    dg_warn("{lr} %g\n", 0.5);
    dg_set_warnings(NULL, NULL);
    dg_warn("no handler");
    DG_CHECKF(!strcmp(warning, "--lr 0.5\\x0a"), "the warning was \"%s\"", warning);
    is("--batch 4 of \\x1b[2J: --drop-last, --device cuda:1, {5}, {, }"); /* dg_warn does not change the last error */
    setenv("DCGAN_MESSAGE_KEYS", "1", 1);
    DG_CHECK(dg_fail(DG_USAGE, DG_MSG("a-key", "{lr} %d"), 2) == DG_USAGE);
    is("[a-key] --lr 2");
    DG_CHECK(dg_context(DG_USAGE, DG_MSG("of-context", "%s"), "file") == DG_USAGE);
    is("[of-context] file: [a-key] --lr 2");
    unsetenv("DCGAN_MESSAGE_KEYS");
    DG_CHECK(dg_fail(DG_USAGE, DG_MSG("a-key", "{lr} %d"), 2) == DG_USAGE);
    is("--lr 2");
    return dg_test_report();
}
