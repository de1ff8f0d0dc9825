/* A signal that asks a command to stop. */
#ifndef DG_STOP_H
#define DG_STOP_H

#include <signal.h>

/* The last signal that asked us to stop, 0: none. */
extern volatile sig_atomic_t dg_stop_signal;

/* The first SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 or SIGXCPU sets dg_stop_signal. After it SIGINT, SIGTERM and
 * SIGHUP end the program at once; the others, with which batch systems announce the end of a job, are ignored. */
void dg_catch_signals(void);

/* What the first one says on stderr at once, a text that stays; NULL, as in the beginning: nothing. */
void dg_stop_says(const char *words);

#endif
