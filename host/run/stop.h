/* Signals that stop a command. */
#pragma once

#include <signal.h>

/* number of the first stop signal; 0: none */
extern volatile sig_atomic_t dg_stop_signal;

/* SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGXCPU set dg_stop_signal. A second SIGINT, SIGTERM or SIGHUP ends the
 * program. SIGUSR1, SIGUSR2 and SIGXCPU have no effect after a first signal. */
void dg_catch_signals(void);

/* Set the text to print on the first signal. `words` is not copied; NULL: no text. */
void dg_stop_says(const char *words);
