/* Calls that fail within a test program: those of tests/preload/faults.c, which stand in front of the C library's here
 * as well. A test arms one of them, does something, disarms it, and looks at what is left. With sanitizers, in front of
 * whose allocations these would be, DG_FAILING is 0, and there is nothing here. Included before any other file. */
#ifndef DG_FAILING_H
#define DG_FAILING_H

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
#undef _FORTIFY_SOURCE /* which has other names for the same calls */
#include "preload/faults.c"

/* From now on the k-th call of this kind fails, and with `more` all behind it. */
static void arm(int kind, long k, bool more)
{
    for (int i = 0; i < COUNTERS; i++) atomic_store(&calls[i], 0);
    how = FAIL;
    counter = kind;
    first = k;
    last = more ? __LONG_MAX__ : k;
}

/* None fails any more. Was there such a call? */
static bool disarm(void)
{
    const bool there = counter >= 0 && atomic_load(&calls[counter]) >= first;
    how = NOTHING;
    counter = -1;
    return there;
}
#endif

#endif
