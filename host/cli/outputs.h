/* The named outputs of a command, of every option that is marked as one in the option table: which are streams, and
 * which files they may replace. */
#ifndef DG_CLI_OUTPUTS_H
#define DG_CLI_OUTPUTS_H

#include <stdbool.h>
#include "host/options/options.h"

/* Before the command runs; closed: standard output was closed when the program began. Refuse outputs that cannot be,
 * and let outputs to standard output have it alone; what else is printed there goes to standard error from then on. o
 * must outlive all writing. */
dg_err dg_outputs_begin(const dg_options *o, bool closed);

/* Does the path stand for standard output: "-", /dev/stdout and the like? */
bool dg_to_stdout(const char *path);

/* The path for messages: "standard output", or as it is. */
const char *dg_output_name(const char *path);

/* DG_USAGE: the folder has a file of one of these names, which end with NULL, that may not be replaced. */
dg_err dg_outputs_check(const char *dir, const char *const *names);

#endif
