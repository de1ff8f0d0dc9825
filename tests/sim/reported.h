/* Checks what the simulator reports, and the source line in its report. */
#ifndef REPORTED_H
#define REPORTED_H

#include <atomic>
#include "tests/devtest.h"

static std::atomic<int> line_of[2]; /* source lines of the statements that the report may have to name */
#define HERE(n) line_of[n].store(__LINE__, std::memory_order_relaxed)

/* Checks that the launch reports these words. Then clears the error. */
static void reported(const char *what, const char *words, const char *file, int line)
{
    char place[300];
    snprintf(place, sizeof place, "%s:%d: ", file, line);
    cudaError_t e = cudaDeviceSynchronize();
    DG_CHECKF(strstr(sim::error(), words), "%s: no \"%s\" in \"%s\"", what, words, sim::error());
    if (line) DG_CHECKF(strstr(sim::error(), place), "%s: no \"%s\" in \"%s\"", what, place, sim::error());
    DG_CHECKF(e == cudaErrorLaunchFailure || e == cudaErrorIllegalAddress, "%s: %s", what, cudaGetErrorName(e));
    DG_CHECKF(cudaPeekAtLastError() == e && cudaDeviceSynchronize() == e, "%s: the error is sticky", what);
    (void)dev_take_fault();
    sim::clear();
    DG_CHECK(cudaDeviceSynchronize() == cudaSuccess && !*sim::error());
}
#define REPORTED(words, line, ...)                     \
    do {                                               \
        __VA_ARGS__;                                   \
        (void)cudaDeviceSynchronize();                 \
        reported(#__VA_ARGS__, words, __FILE__, line); \
    } while (0)

#endif
