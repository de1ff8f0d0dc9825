/* Signals that stop a command. */
#ifndef DG_STOP_H
#define DG_STOP_H

#include <signal.h>

/* Number of the first stop signal received; 0: none. */
extern volatile sig_atomic_t dg_stop_signal;

/* SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGXCPU set dg_stop_signal. A second SIGINT, SIGTERM or SIGHUP ends the
 * program. After the first signal, the signals SIGUSR1, SIGUSR2 and SIGXCPU are ignored. */
void dg_catch_signals(void);

/* Text to print on the first signal, not copied; NULL (initial): none. */
void dg_stop_says(const char *words);

#endif
