/* For `make coverage`: child processes that call _exit() write coverage counts unless the environment variable FAULT
 * is set. */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void __gcov_dump(void); /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): gcc's name */

/* Ignores SIGXFSZ, which could end the process while gcc's destructor writes coverage counts. */
__attribute__((destructor)) static void forget_limit(void) { (void)signal(SIGXFSZ, SIG_IGN); }

_Noreturn void _exit(int code) /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
{
    forget_limit();
    if (!getenv("FAULT")) __gcov_dump();
    for (;;) syscall(SYS_exit_group, code);
}
