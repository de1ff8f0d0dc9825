/* A library for LD_PRELOAD whose calls fail on purpose, to see that a program says so and ends well.
 *
 *     LD_PRELOAD=faults.so FAULT=memory:7 dcgan info FILE       the 7th allocation finds no memory
 *     LD_PRELOAD=faults.so FAULT=memory:7+ dcgan info FILE      and none behind it does
 *     LD_PRELOAD=faults.so FAULT=thread:2 dcgan bench           the 2nd thread cannot be started
 *     LD_PRELOAD=faults.so FAULT_COUNT=FILE dcgan info FILE     "memory 123" and "thread 4": how many calls there are
 *
 * Counting begins with main(): what libraries do while they are loaded is theirs. A call of another kind is a row in
 * `kinds` and a function that asks fails(). */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEMORY, THREAD, KINDS };
static const char *const kinds[KINDS] = {"memory", "thread"};
static atomic_long calls[KINDS];
static long first[KINDS], last[KINDS]; /* of those that fail; 0: none do */
static atomic_bool counting;

static bool fails(int kind)
{
    if (!atomic_load(&counting)) return false;
    const long n = atomic_fetch_add(&calls[kind], 1) + 1;
    return n >= first[kind] && n <= last[kind];
}

/* The function that this library stands in front of. */
static void *next(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (!f) _exit(126);
    return f;
}
#define NEXT(type, name, ...)                        \
    static type (*real)(__VA_ARGS__);                \
    if (!real) {                                     \
        void *found_ = next(name);                   \
        memcpy((void *)&real, &found_, sizeof real); \
    }

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t bytes)
{
    NEXT(void *, "malloc", size_t)
    return fails(MEMORY) ? no_memory() : real(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    NEXT(void *, "calloc", size_t, size_t)
    return fails(MEMORY) ? no_memory() : real(n, bytes);
}

void *realloc(void *old, size_t bytes)
{
    NEXT(void *, "realloc", void *, size_t)
    return fails(MEMORY) ? no_memory() : real(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    NEXT(void *, "aligned_alloc", size_t, size_t)
    return fails(MEMORY) ? no_memory() : real(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    NEXT(int, "posix_memalign", void **, size_t, size_t)
    return fails(MEMORY) ? ENOMEM : real(out, alignment, bytes);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    NEXT(int, "pthread_create", pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)
    return fails(THREAD) ? EAGAIN : real(thread, attributes, start, argument);
}

static void write_counts(void)
{
    const char *path = getenv("FAULT_COUNT");
    atomic_store(&counting, false);
    FILE *f = path ? fopen(path, "w") : NULL;
    for (int i = 0; i < KINDS && f; i++) fprintf(f, "%s %ld\n", kinds[i], atomic_load(&calls[i]));
    if (f) fclose(f);
}

/* "memory:7" or "memory:7+". */
static void read_fault(const char *fault)
{
    for (int i = 0; fault && i < KINDS; i++) {
        const size_t n = strlen(kinds[i]);
        if (strncmp(fault, kinds[i], n) != 0 || fault[n] != ':') continue;
        char *end;
        first[i] = last[i] = strtol(fault + n + 1, &end, 10);
        if (*end == '+') last[i] = __LONG_MAX__;
        return;
    }
    if (fault) _exit(126);
}

static int (*program)(int, char **, char **);

static int counted_main(int argc, char **argv, char **environment)
{
    read_fault(getenv("FAULT"));
    if (getenv("FAULT_COUNT")) atexit(write_counts);
    atomic_store(&counting, true);
    return program(argc, argv, environment);
}

/* Through which the C library comes to main(). */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the name is the C library's */
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*ld_fini)(void), void *stack);
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*ld_fini)(void), void *stack)
{
    NEXT(int, "__libc_start_main", int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
         void (*)(void), void *)
    program = main;
    return real(counted_main, argc, argv, init, fini, ld_fini, stack);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
