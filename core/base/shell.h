/* Shell commands in messages, for the user to copy: the program's calling name and quoted file names.
 *   char q[DG_SHELL_ROOM];
 *   dg_fail(DG_USAGE, "... resume it: %s --resume --out %s", dg_program(), dg_shell_path(q, sizeof q, dir));
 * Text without special characters is unchanged; other text is quoted as '...'. Text with control bytes (dg_printable)
 * is quoted as $'a\x1bb', for bash, zsh, ksh and POSIX 2024 shells. */
#pragma once

#include <stddef.h>

/* Size of a buffer for any quoted path with the final NUL. */
enum { DG_SHELL_ROOM = 4 * 4096 + 16 };

/* Writes `text` to out as one word of a shell command, or "WORD" if out (size bytes) is too small. Returns out. */
char *dg_shell_quote(char *out, size_t size, const char *text);

/* Like dg_shell_quote, but adds ./ before a leading dash, so that the file name is not an option. */
char *dg_shell_path(char *out, size_t size, const char *path);

/* Writes `text` to out as a quoted Python string, with bytes that are not UTF-8 as in os.fsdecode. Returns out. */
char *dg_python_quote(char *out, size_t size, const char *text);

/* Returns the program's name, quoted for a shell command. The name is "dcgan" until main sets it. */
const char *dg_program(void);
void dg_set_program(const char *argv0);
