/* Injects the faults that words of the environment variable SIM request (sim.h). */
#include "api.h"

#include <unistd.h>

namespace sim {

/* A fault in the `at`-th launch or kernel of `op`, counted from 1. It is never freed, because threads may outlive
 * main. */
struct planned {
    char op[64];
    long at;
    int error;
    std::atomic<long> seen;

    bool now(const char *name) { return at && !strcmp(op, name) && ++seen == at; }
};
static planned in_kernel, at_launch;
static char awaited[256];

static void tell_calls() { fprintf(stderr, "sim: %ld calls\nsim: %ld graphs\n", calls(), graph_launches); }

bool fault_word(const char *w)
{
    long at;
    int number, error;
    if (sscanf(w, "fault=%63[^:]:%ld:%d", in_kernel.op, &in_kernel.at, &in_kernel.error) == 3) return true;
    if (sscanf(w, "refuse=%63[^:]:%ld:%d", at_launch.op, &at_launch.at, &at_launch.error) == 3) return true;
    if (sscanf(w, "wait=%255s", awaited) == 1) return true;
    if (sscanf(w, "fail=%ld:%d", &at, &error) == 2) fail_call(at, (cudaError_t)error);
    else if (sscanf(w, "trouble=%d", &error) == 1) device.trouble = (cudaError_t)error;
    else if (sscanf(w, "driver=%d", &device.driver) == 1) return true;
    else if (sscanf(w, "devices=%d", &device.count) == 1) return true;
    else if (sscanf(w, "sm=%d", &number) == 1) device.major = number / 10, device.minor = number % 10;
    else if (sscanf(w, "memory=%d", &number) == 1) device.memory = (size_t)number << 10;
    else if (!strcmp(w, "calls")) atexit(tell_calls);
    else return false;
    return true;
}

void wait_for_file()
{
    for (int i = 0; *awaited && i < 2000 && access(awaited, F_OK); i++) usleep(10000);
}

void fault_in(const grid &g)
{
    if (in_kernel.now(g.op.c_str())) device_error = in_kernel.error;
}

cudaError_t fault_at_launch(const char *op) { return at_launch.now(op) ? (cudaError_t)at_launch.error : cudaSuccess; }

} // namespace sim
