#include "host/cli/commands.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"

static void show(void *context, const char *text)
{
    (void)context;
    /* erase the progress line on the terminal before a warning */
    const char *term = getenv("TERM");
    bool terminal = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
    fprintf(stderr, "%sdcgan: warning: %s\n", terminal ? "\r\033[K" : "", text);
}

void dg_speak_as_program(void)
{
    dg_set_warnings(show, NULL);
    dg_set_setting_prefix("--");
}

void dg_say(const char *format, ...)
{
    char raw[1 << 15], shown[4 * sizeof raw]; /* on the stack, so that messages work without free heap memory */
    va_list ap;
    va_start(ap, format);
    vsnprintf(raw, sizeof raw, format, ap);
    va_end(ap);
    puts(dg_printable(shown, sizeof shown, raw));
}
