/* The test framework. A test program checks with DG_CHECK and DG_NEAR, and ends with `return dg_test_report();` or
 * DG_TESTS. The exit code is 0 if all checks passed, 1 if a check failed, and 77 if the test was skipped. */
#pragma once

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Slow tests use fewer cases with AddressSanitizer. */
#ifdef __SANITIZE_ADDRESS__
enum { DG_TEST_SANITIZED = 1 };
#else
enum { DG_TEST_SANITIZED = 0 };
#endif

static int dg_test_passed_, dg_test_failed_, dg_test_skipped_;

/* Checks a condition and returns it. Prints the message only if the condition is false. */
__attribute__((format(printf, 4, 5), unused)) static int dg_test_fact_(int ok, const char *file, int line,
                                                                       const char *format, ...)
{
    if (ok) {
        dg_test_passed_++;
        return 1;
    }
    dg_test_failed_++;
    printf("%s:%d: FAILED: ", file, line);
    va_list ap;
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
    return 0;
}
#define DG_CHECK(cond) dg_test_fact_(!!(cond), __FILE__, __LINE__, "%s", #cond)
#define DG_CHECKF(cond, ...) dg_test_fact_(!!(cond), __FILE__, __LINE__, __VA_ARGS__)
/* Checks that |a - b| <= tol, and fails if a or b is NaN. */
#define DG_NEAR(a, b, tol)                                                                                        \
    dg_test_fact_(fabs((double)(a) - (double)(b)) <= (tol), __FILE__, __LINE__, "%s = %.17g, not %s = %.17g", #a, \
                  (double)(a), #b, (double)(b))

__attribute__((unused)) static void dg_test_skip(const char *why)
{
    dg_test_skipped_++;
    printf("SKIP: %s\n", why);
}

__attribute__((unused)) static int dg_test_report(void)
{
    printf("%d passed, %d failed, %d skipped\n", dg_test_passed_, dg_test_failed_, dg_test_skipped_);
    if (dg_test_failed_) return 1;
    return dg_test_passed_ ? 0 : 77;
}

/* Returns a deterministic number in (-1, 1), never exactly 0. */
__attribute__((unused)) static double dg_test_random(unsigned long long *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return ((double)(*state >> 33) + 0.5) / 1073741824.0 - 1.0;
}

/* DG_WORKS checks that a call returns DG_OK. DG_REFUSED checks that it returns `code` with `words` in its message. */
#define DG_WORKS(call) DG_CHECKF(!(call), "%s: %s", #call, dg_message())
#define DG_REFUSED(call, code, words)                                                                            \
    DG_CHECKF((call) == (code) && strstr(dg_message(), words), "%s should say \"%s\", not \"%s\"", #call, words, \
              dg_message())

/* Defines main(), which runs `begin`, the listed test functions in order, and `end`. */
#define DG_TESTS_BETWEEN(begin, end, ...)                                  \
    int main(void)                                                         \
    {                                                                      \
        void (*const test[])(void) = {__VA_ARGS__};                        \
        begin;                                                             \
        for (size_t i = 0; i < sizeof test / sizeof *test; i++) test[i](); \
        end;                                                               \
        return dg_test_report();                                           \
    }
#define DG_TESTS(...) DG_TESTS_BETWEEN((void)0, (void)0, __VA_ARGS__)
