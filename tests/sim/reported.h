/* Checks the text and the source line of the simulator's reports. */
#pragma once

#include <atomic>
#include "tests/devtest.h"

static std::atomic<int> line_of[2]; /* source lines that a report must name */
#define HERE(n) line_of[n].store(__LINE__, std::memory_order_relaxed)

/* Checks that the last launch's report contains `words`, and clears the report. */
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
