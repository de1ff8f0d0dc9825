/* For `make coverage`: child processes that end by _exit() write their coverage counts, except where
 * tests/preload/faults.c fails their allocations. A file size limit may lose counts, but does not change the exit
 * code. */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void __gcov_dump(void); /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): gcc's name */

/* Runs before gcc's destructor, which writes the coverage counts. */
__attribute__((destructor)) static void forget_limit(void) { (void)signal(SIGXFSZ, SIG_IGN); }

_Noreturn void _exit(int code) /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
{
    forget_limit();
    if (!getenv("FAULT")) __gcov_dump();
    for (;;) syscall(SYS_exit_group, code);
}
