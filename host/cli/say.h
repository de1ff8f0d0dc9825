/* What the program prints. */
#ifndef DG_SAY_H
#define DG_SAY_H

/* One line on stdout, made visible as messages are: what a line with a path or a text from a file goes
 * through. At most 32767 bytes of it. */
void dg_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From now on each warning is a line on stderr, "dcgan: warning: ...", and messages name options: --batch. */
void dg_speak_as_program(void);

#endif
