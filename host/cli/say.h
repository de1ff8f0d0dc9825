/* Output lines of the program. */
#ifndef DG_SAY_H
#define DG_SAY_H

/* Print a line on stdout with control characters escaped, at most 32767 bytes. */
void dg_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print warnings as "dcgan: warning: ..." on stderr, and print option names in messages in the form --batch. */
void dg_speak_as_program(void);

#endif
