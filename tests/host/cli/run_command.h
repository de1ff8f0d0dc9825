/* Runs commands of dcgan in this process, and makes the datasets and models that they read. */
#pragma once

#include "host/cli/commands.h"
#include "command_line.h"
#include "tempdir.h"
#include "test.h"

static int (*const commands[DG_CMDS])(const dg_options *) = {
    [DG_CMD_TRAIN] = dg_cmd_train,   [DG_CMD_GENERATE] = dg_cmd_generate, [DG_CMD_INTERPOLATE] = dg_cmd_interpolate,
    [DG_CMD_FIND] = dg_cmd_find,     [DG_CMD_CLASSIFY] = dg_cmd_classify, [DG_CMD_EVAL] = dg_cmd_eval,
    [DG_CMD_DATA] = dg_cmd_data,     [DG_CMD_BATCH] = dg_cmd_batch,       [DG_CMD_REPLAY] = dg_cmd_replay,
    [DG_CMD_CHECK] = dg_cmd_check,   [DG_CMD_BENCH] = dg_cmd_bench,       [DG_CMD_PROFILE] = dg_cmd_profile,
    [DG_CMD_PLAN] = dg_cmd_plan,     [DG_CMD_TUNE] = dg_cmd_tune,         [DG_CMD_INFO] = dg_cmd_info,
    [DG_CMD_EXPORT] = dg_cmd_export, [DG_CMD_IMPORT] = dg_cmd_import,     [DG_CMD_REPORT] = dg_cmd_report,
    [DG_CMD_DOCTOR] = dg_cmd_doctor, [DG_CMD_VERIFY] = dg_cmd_verify,
};

/* Runs `dcgan LINE` and returns its exit code. */
static int run_command(const char *line)
{
    dg_options o;
    dg_err code = parse_line(line, &o);
    if (!code) code = (dg_err)commands[o.command](&o);
    dg_options_free(&o);
    return (int)code;
}

static int standard_out;
static void output_to(int file)
{
    fflush(stdout);
    dup2(file, 1);
}

/* Enters a new directory that holds models and an oracle. Returns false if that is impossible. */
static bool enter_directory(const char *name, const char *device)
{
    temp_make(name);
    temp_copy("tests/tiny.cfg", "tiny.cfg");
    temp_copy("tests/penalty.cfg", "penalty.cfg");
    temp_copy("tests/oracles/adagrad-dropout.cfg", "dropout.cfg");
    temp_copy("tests/golden/oracle16.safetensors", "oracle");
    standard_out = dup(1);
    return !chdir(temp_dir) && !setenv("DCGAN_DEVICE", device, 1) && !setenv("DCGAN_THREADS", "1", 1);
}

static int leave_directory(void)
{
    if (chdir("/")) return 1;
    temp_remove(temp_dir);
    return dg_test_report();
}

/* Makes datasets and runs, by a function that runs a command. */
static void make_inputs(int (*dcgan)(const char *line), const char *const *more)
{
    static const char *const datasets[] = {"cats --count 9", "many --count 32", "shapes --classes 4 --count 16"};
    for (size_t i = 0; i < sizeof datasets / sizeof *datasets; i++) {
        const char *line = temp_text("data --size 16 --synthesize %s", datasets[i]);
        DG_CHECKF(dcgan(line) == 0, "%s: %s", line, dg_message());
    }
    for (; *more; more++) DG_CHECKF(dcgan(*more) == 0, "%s: %s", *more, dg_message());
}
