/* Runs the program dcgan in tests, and reads its output. */
#pragma once

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs a program with arguments (ended by NULL) and stores its output in text. Returns the exit code, or -1 if the
 * program was killed or not started. */
static inline int dg_test_run(const char *program, const char *const *words, char *text, size_t size)
{
    const char *argv[16] = {program};
    int pipes[2], status = -1, n = 1;
    while (*words) argv[n++] = *words++;
    memset(text, 0, size);
    if (pipe(pipes)) return -1;
    const pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(pipes[1], 1);
        (void)close(pipes[0]);
        (void)execv(program, (char *const *)(void *)argv);
        _exit(127);
    }
    (void)close(pipes[1]);
    size_t got = 0;
    for (ssize_t more = 1; more > 0 && got + 1 < size; got += more > 0 ? (size_t)more : 0)
        more = read(pipes[0], text + got, size - 1 - got);
    (void)close(pipes[0]);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Returns number `name` of a JSON object, or NaN if the number is missing. */
static inline double dg_test_number(const cJSON *j, const char *name)
{
    const cJSON *n = cJSON_GetObjectItem(j, name);
    return cJSON_IsNumber(n) ? n->valuedouble : NAN;
}
