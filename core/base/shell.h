/* Commands to copy from messages: the program by the name it was called by, and names of files quoted for a shell.
 *
 *     char q[DG_SHELL_ROOM];
 *     dg_fail(DG_USAGE, "... go on with it: %s --resume --out %s", dg_program(), dg_shell_path(q, sizeof q, dir));
 *
 * What is plain stays as it is, the rest stands in '...'. A name with bytes that must not reach a terminal (control
 * characters, invalid UTF-8, what turns the direction of writing: see dg_printable) stands in $'...', as bash, zsh, ksh
 * and POSIX 2024 have it: $'a\x1bb'. */
#ifndef DG_SHELL_H
#define DG_SHELL_H

#include <stddef.h>

/* Enough for any path that the system opens, the final NUL included. */
enum { DG_SHELL_ROOM = 4 * 4096 + 16 };

/* text as one word of a command; WORD when out (size bytes) has no room for all of it. Returns out. */
char *dg_shell_quote(char *out, size_t size, const char *text);

/* The same for the name of a file: one that begins with a dash gets ./ in front, so that it is no option. */
char *dg_shell_path(char *out, size_t size, const char *path);

/* text as a string of Python, quotes included; bytes that are no UTF-8 as os.fsdecode has them. Returns out. */
char *dg_python_quote(char *out, size_t size, const char *text);

/* How the program was called, as a word of a command. "dcgan" until main has said otherwise. */
const char *dg_program(void);
void dg_set_program(const char *argv0);

#endif
