/* libFuzzer: all readers of a run directory from an untrusted source: reports, also of log.csv alone, the progress GIF,
 * the doctor and `dcgan info`. */
#include "fuzz.h"

#include <stdio.h>

#include "host/cli/commands.h"

FUZZ_MUTATOR(fuzz_mutate_rundir)

static void holds(int code) { FUZZ_HOLDS(code == DG_OK || (code > DG_OK && code <= DG_IO && *dg_message())); }

static void ignore(void *context, const char *text) { FUZZ_HOLDS(!context && *text); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char a[600], b[600], log[600], html[600], gif[600];
    if (!*a) {
        snprintf(a, sizeof a, "%s/a", fuzz_folder());
        snprintf(b, sizeof b, "%s/b", fuzz_folder());
        snprintf(log, sizeof log, "%s/b/log.csv", fuzz_folder());
        snprintf(html, sizeof html, "%s/out.html", fuzz_folder());
        snprintf(gif, sizeof gif, "%s/out.gif", fuzz_folder());
        dg_set_warnings(ignore, NULL);
        FUZZ_HOLDS(freopen("/dev/null", "w", stdout));
    }
    fuzz_rundir(data, size);
    char *run[] = {a, b};
    dg_options o = {.operand = run, .operands = 1, .out = html, .quiet = true, .scale = 1};
    holds(dg_cmd_info(&o));
    o.json = true;
    holds(dg_cmd_doctor(&o));
    o.json = false;
    holds(dg_cmd_doctor(&o));
    o.gif = gif;
    holds(dg_cmd_report(&o));
    o.gif = NULL;
    o.operands = 2;
    holds(dg_cmd_report(&o));
    run[1] = log;
    holds(dg_cmd_report(&o));
    fuzz_rundir_holds();
    return 0;
}
