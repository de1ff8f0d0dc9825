/* Helpers of libraries for LD_PRELOAD. */
#pragma once

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* NEXT(int, "close", int) declares `real`, a pointer to the C library's close(), which this library replaces. */
#define NEXT(type, name, ...)                        \
    static type (*real)(__VA_ARGS__);                \
    if (!real) {                                     \
        void *found_ = dlsym(RTLD_NEXT, name);       \
        if (!found_) _exit(126);                     \
        memcpy((void *)&real, &found_, sizeof real); \
    }

/* DG_BEFORE_MAIN(f) makes f() run just before main(), after the initialisation of libraries. */
#define DG_BEFORE_MAIN(f)                                                                                            \
    static int (*program_main)(int, char **, char **);                                                               \
    static int main_behind_it(int argc, char **argv, char **environment)                                             \
    {                                                                                                                \
        f();                                                                                                         \
        return program_main(argc, argv, environment);                                                                \
    }                                                                                                                \
    int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),             \
                          void (*fini)(void), void (*ld_fini)(void), void *stack);                                   \
    int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),             \
                          void (*fini)(void), void (*ld_fini)(void), void *stack)                                    \
    {                                                                                                                \
        NEXT(int, "__libc_start_main", int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), \
             void (*)(void), void *)                                                                                 \
        program_main = main;                                                                                         \
        return real(main_behind_it, argc, argv, init, fini, ld_fini, stack);                                         \
    }
