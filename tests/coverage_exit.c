/* For `make coverage`: child processes that call _exit() write their coverage counts, unless tests/preload/faults.c is
 * active (FAULT). Under a file size limit, counts may be lost, but the exit code is unchanged. */
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
