/* Runs a function in a child process and measures its CPU time and memory. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DG_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DG_SANITIZED 1
#endif
#endif
#ifndef DG_SANITIZED
#define DG_SANITIZED 0 /* is 1 if a sanitizer distorts measurements of memory and time */
#endif

typedef struct {
    int code;       /* return value of work(), or minus the number of the signal that killed the child */
    double seconds; /* CPU time */
    long kilobytes; /* max growth of resident memory */
    char message[256];
} child_result;

enum { MAPPED, RESIDENT };

/* Returns the mapped or resident memory of this process, or 0 after an error. */
static long kilobytes_of(int kind)
{
    long pages[2];
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &pages[MAPPED], &pages[RESIDENT]) != 2) pages[kind] = 0;
    if (f) fclose(f);
    return pages[kind] * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Runs work() in a child process that may map at most `address_space` additional bytes; 0 means no limit. */
__attribute__((unused)) static child_result in_child(int (*work)(void *, char *message), void *context,
                                                     size_t address_space)
{
    typedef struct {
        long before;
        char message[256];
    } page;
    child_result r = {.code = -1};
    page *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return r;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (address_space && !DG_SANITIZED) {
            const long mapped = kilobytes_of(MAPPED);
            const rlim_t most = (rlim_t)mapped * 1024 + address_space;
            if (!mapped || setrlimit(RLIMIT_AS, &(struct rlimit){most, most})) _exit(125);
        }
        shared->before = kilobytes_of(RESIDENT);
        _exit(work(context, shared->message));
    }
    int status = 0;
    struct rusage u = {0};
    if (pid > 0 && wait4(pid, &status, 0, &u) == pid) {
        r.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        r.seconds = (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
                    1e-6 * ((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec);
        r.kilobytes = u.ru_maxrss - shared->before;
        memcpy(r.message, shared->message, sizeof r.message);
        r.message[sizeof r.message - 1] = 0;
    }
    munmap(shared, sizeof *shared);
    return r;
}
