/* Checks the output files of a command, which are the values of all options with the flag DG_OPT_OUTPUT. */
#pragma once

#include <stdbool.h>
#include "host/figure/video.h"
#include "host/options/options.h"

/* Check all outputs before the command runs. If an output is standard output, all other text goes to standard error.
 * `closed` is true if standard output was closed at startup. The options o must stay valid until the last write. */
dg_err dg_outputs_begin(const dg_options *o, bool closed);

/* True for "-", /dev/stdout and other names of standard output. */
bool dg_to_stdout(const char *path);

/* Returns "standard output" if dg_to_stdout(path) is true, otherwise path. */
const char *dg_output_name(const char *path);

/* Say what --raw has written. */
void dg_raw_say(const dg_options *o, const dg_video *v);

/* Returns DG_USAGE if dir has a file of `names` (NULL-terminated) that the command must not replace. */
dg_err dg_outputs_check(const char *dir, const char *const *names);
