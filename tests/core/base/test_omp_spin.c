/* Tests that a program restarts itself exactly once, with GOMP_SPINCOUNT set. */
#include "core/base/omp_spin.h"

#include <sys/wait.h>
#include <unistd.h>
#include "test.h"

/* Runs this program again with OMP_WAIT_POLICY and GOMP_SPINCOUNT. Returns 42 if the program restarts itself with
 * all arguments. */
static int child(const char *program, const char *policy, const char *spins)
{
    pid_t pid = fork();
    if (pid == 0) {
        char name[4096], again[] = "again", empty[] = "";
        char *argv[] = {name, again, empty, NULL};
        snprintf(name, sizeof name, "%s", program);
        unsetenv("OMP_WAIT_POLICY");
        unsetenv("GOMP_SPINCOUNT");
        if (policy) setenv("OMP_WAIT_POLICY", policy, 1);
        if (spins) setenv("GOMP_SPINCOUNT", spins, 1);
        dg_omp_spin(argv);
        _exit(getenv("GOMP_SPINCOUNT") && !spins ? 1 : 7);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        const char *spins = getenv("GOMP_SPINCOUNT");
        dg_omp_spin(argv);
        return argc == 3 && !strcmp(argv[1], "again") && !*argv[2] && spins && atoi(spins) > 0 ? 42 : 43;
    }
    int code = child(argv[0], NULL, NULL);
    DG_CHECKF(code == 42, "without settings: %d", code);
    code = child(argv[0], "active", NULL);
    DG_CHECKF(code == 7, "with OMP_WAIT_POLICY: %d", code);
    code = child(argv[0], NULL, "100");
    DG_CHECKF(code == 7, "with GOMP_SPINCOUNT: %d", code);
    code = child("other-name", NULL, NULL);
    DG_CHECKF(code == 42, "with another argv[0]: %d", code);
    return dg_test_report();
}
