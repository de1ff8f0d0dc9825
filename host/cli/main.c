#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/group/group.h"
#include "host/cli/commands.h"
#include "host/cli/group/join.h"
#include "host/cli/outputs.h"
#include "host/options/option_table.h"
#include "core/base/limits.h"
#include "core/base/shell.h"
#include "core/base/omp_spin.h"
#include "kernels/ops/ops.h"

static int (*const command[DG_CMDS])(const dg_options *) = {
    [DG_CMD_TRAIN] = dg_cmd_train,
    [DG_CMD_GENERATE] = dg_cmd_generate,
    [DG_CMD_EXPORT] = dg_cmd_export,
    [DG_CMD_IMPORT] = dg_cmd_import,
    [DG_CMD_INFO] = dg_cmd_info,
    [DG_CMD_REPORT] = dg_cmd_report,
    [DG_CMD_INTERPOLATE] = dg_cmd_interpolate,
    [DG_CMD_FIND] = dg_cmd_find,
    [DG_CMD_DOCTOR] = dg_cmd_doctor,
    [DG_CMD_VERIFY] = dg_cmd_verify,
    [DG_CMD_CLASSIFY] = dg_cmd_classify,
    [DG_CMD_EVAL] = dg_cmd_eval,
    [DG_CMD_DATA] = dg_cmd_data,
    [DG_CMD_PLAN] = dg_cmd_plan,
    [DG_CMD_BATCH] = dg_cmd_batch,
    [DG_CMD_REPLAY] = dg_cmd_replay,
    [DG_CMD_CHECK] = dg_cmd_check,
    [DG_CMD_BENCH] = dg_cmd_bench,
    [DG_CMD_PROFILE] = dg_cmd_profile,
    [DG_CMD_TUNE] = dg_cmd_tune,
};

/* Open /dev/null for closed descriptors 0 to 2, so that no file gets their numbers. Returns true if stdout was
 * closed. */
static bool fill_standard_descriptors(void)
{
    bool closed = false;
    for (;;) {
        int fd = open("/dev/null", O_RDWR);
        closed |= fd == STDOUT_FILENO;
        if (fd < 0) return closed;
        if (fd > 2) {
            close(fd);
            return closed;
        }
    }
}

static int run(const dg_options *o)
{
    if (dg_group_rank(o->group)) return dg_cmd_follow(o);
    if (o->list_devices) return dg_cmd_list_devices(o);
    if (o->dry_run) return dg_cmd_plan(o);
    return command[o->command](o);
}

enum { STACK = 1 << 20 }; /* bytes; commands use at most 700,000 bytes of stack */

static __attribute__((noinline)) void touch_stack(void)
{
    volatile char lowest[STACK];
    lowest[0] = 0;
    (void)lowest[0];
}

/* Touch the stack at startup, because Linux ends a program whose stack cannot grow later. */
static dg_err reserve_stack(void)
{
    struct rlimit l;
    if (!getrlimit(RLIMIT_STACK, &l) && l.rlim_cur != RLIM_INFINITY && l.rlim_cur < (rlim_t)2 * STACK)
        return dg_fail(DG_DEVICE,
                       DG_MSG("small-stack",
                              "stack limit: too small (%lu kB, at least %d kB needed); use ulimit -s 8192"),
                       (unsigned long)l.rlim_cur / 1024, 2 * STACK / 1024);
    void *room = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return dg_fail(DG_DEVICE, "out of memory for %d kB of stack", STACK / 1024);
    munmap(room, STACK);
    touch_stack();
    return DG_OK;
}

static bool ends;

/* Print an error if a library called exit. OpenMP calls exit if it gets no memory or threads. */
static void ended_by_library(void)
{
    if (ends) return;
    fputs(
        DG_MSG("ended-by-library",
               "dcgan: a library ended the program, probably because memory or threads ran out; use a smaller --batch "
               "or --threads 1\n"),
        stderr);
    _exit(DG_DEVICE);
}

int main(int argc, char **argv)
{
    (void)atexit(ended_by_library); /* atexit cannot fail here, because the first 32 handlers need no memory */
    dg_omp_spin(argv);
    dg_limits_begin();
    dg_set_program(argv[0]);
    dg_speak_as_program();
    dg_ops_use(dg_op_table); /* the parser of tuning files needs the ops */
    const bool closed = fill_standard_descriptors();
    dg_options o = {0};
    bool done = true;
    int code = (int)reserve_stack();
    if (!code) code = (int)dg_options_parse(argc, argv, &o, &done);
    if (!done) code = (int)dg_join(&o, (dg_err)code, closed);
    if (!code && !done) code = run(&o);
    if (code > DG_OK && code <= DG_COLLAPSED && *dg_message()) fprintf(stderr, "dcgan: %s\n", dg_message());
    code = dg_leave(&o, code);
    dg_options_free(&o);
    if ((fflush(stdout) || ferror(stdout)) && !code) {
        fprintf(stderr, "dcgan: standard output: %s\n", strerror(errno));
        code = DG_IO;
    }
    ends = true;
    return code;
}
