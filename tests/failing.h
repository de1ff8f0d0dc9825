/* Makes system calls and allocations fail, by the functions of tests/preload/faults.c. A test calls arm(), then the
 * tested function, then disarm(). DG_FAILING is 0 with a sanitizer, because the sanitizer defines malloc(). Include
 * this file first. */
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DG_FAILING 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DG_FAILING 0
#endif
#endif
#ifndef DG_FAILING
#define DG_FAILING 1
#endif

#if DG_FAILING
#undef _FORTIFY_SOURCE /* _FORTIFY_SOURCE renames functions that this file replaces */
#include <link.h>
#include <time.h>

#include "core/base/err.h"
#include "preload/faults.c" /* this program needs all functions of faults.c */
#include "test.h"

/* Replaces the C library's nanosleep, so that retries do not wait. */
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)wanted, (void)left;
    return 0;
}

/* Counts calls of a kind from now on, and makes the k-th call fail. With `more`, all later calls fail, too. */
static void arm(int kind, long k, bool more)
{
    for (int i = 0; i < COUNTERS; i++) atomic_store(&calls[i], 0);
    how = FAIL;
    counter = kind;
    first = k;
    last = more ? __LONG_MAX__ : k;
}

/* Stops failures. Returns true if a call has failed since arm(). */
static bool disarm(void)
{
    const bool there = counter >= 0 && atomic_load(&calls[counter]) >= first;
    how = NOTHING;
    counter = -1;
    return there;
}

static int note_library(struct dl_phdr_info *library, size_t size, void *name)
{
    (void)size;
    if (!strstr(library->dlpi_name, name)) return 0;
    for (int i = 0; i < library->dlpi_phnum; i++) {
        const uintptr_t from = library->dlpi_addr + library->dlpi_phdr[i].p_vaddr;
        if (library->dlpi_phdr[i].p_type != PT_LOAD) continue;
        if (!library_from) library_from = from;
        library_to = from + library->dlpi_phdr[i].p_memsz;
    }
    return 1;
}

/* Lets calls of OpenMP's runtime succeed, because the runtime ends the program if an allocation fails. */
__attribute__((unused)) static void spare_openmp(void) { dl_iterate_phdr(note_library, (void *)(uintptr_t) "omp.so"); }

/* For each k, calls before(), act() and after(). In act(), the k-th call of a kind fails. after() gets act's result.
 * Returns the number of failed calls. */
__attribute__((unused)) static long each_of(const char *what, int kind, bool more, void (*before)(void),
                                            dg_err (*act)(void), void (*after)(dg_err))
{
    long failures = 0;
    bool there = true;
    for (long k = 1; there && k < 1000; k++) {
        const int wrong = dg_test_failed_;
        before();
        arm(kind, k, more);
        const dg_err e = act();
        there = disarm();
        failures += there;
        after(e);
        if (dg_test_failed_ > wrong) printf("    %s: %s %ld%s\n", what, kinds[kind].name, k, more ? "+" : "");
    }
    return failures;
}

/* Lets each call of each kind in act() fail, once alone and once with all later calls. */
__attribute__((unused)) static long each_call(const char *what, void (*before)(void), dg_err (*act)(void),
                                              void (*after)(dg_err))
{
    long failures = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (int more = 0; more < 2; more++) failures += each_of(what, kind, more, before, act, after);
    return failures;
}
#else
#include "test.h"

static inline int dg_test_without_failing(void)
{
    dg_test_skip("allocations are the sanitizer's");
    return dg_test_report();
}
#endif
