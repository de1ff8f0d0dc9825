/* For `make coverage`: processes that call _exit() write coverage counts unless the environment variable FAULT makes
 * calls fail that this needs. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void __gcov_dump(void);

/* Undoes limits of a test that could prevent gcc's destructor from writing coverage counts: of the size of files, and
 * of the number of open files. */
__attribute__((destructor)) static void forget_limits(void)
{
    struct rlimit l;
    (void)signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &l)) return;
    l.rlim_cur = l.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &l);
}

_Noreturn void _exit(int code)
{
    const char *fault = getenv("FAULT");
    forget_limits();
    if (!fault || strstr(fault, ":thread:")) __gcov_dump();
    for (;;) syscall(SYS_exit_group, code);
}
