/* Compares `dcgan replay` with recorded PyTorch runs in tests/golden and, if they exist, larger recorded runs. */
#include <fcntl.h>
#include <unistd.h>

#include "core/base/file_io.h"
#include "host/cli/commands.h"
#include "child.h"
#include "tempdir.h"
#include "test.h"

static const char golden[] = "tests/golden/oracle16.safetensors";

/* Recorded by tools/pytorch/make_oracle.py --size 16 --ngf 4 --ndf 4 --latent 8 --batch 6 --count 20 --small from
 * images of `dcgan data --synthesize DIR --count 20 --size 16`. File names contain the value of --loss.
 * File gan-ralsgan-augment was recorded with --augment color,translation,cutout.
 * File gan-rpgan-r1-r2-augment was recorded with --norm-d none --r1 10 --r2 5 --augment.
 * File gan-hinge-r2-spectral was recorded with --norm-d spectral --r2 3.
 * File gan-bce-r1 was recorded with --norm-d none --r1 2.
 * File gan-spectral was recorded with --norm-d spectral for 100 steps.
 * File gan-schedule was recorded with the options of gan-rpgan-r1-r2-augment and --schedule 90 --lr-end 5e-5
 * --beta2-end 0.9 --r1-end 1 --r2-end 0.5 --ema-half-life 15 --augment-p 0.6. */
static const char *const gans[] = {"tests/golden/gan-lsgan.safetensors",
                                   "tests/golden/gan-hinge.safetensors",
                                   "tests/golden/gan-ralsgan-augment.safetensors",
                                   "tests/golden/gan-rpgan.safetensors",
                                   "tests/golden/gan-rpgan-r1-r2-augment.safetensors",
                                   "tests/golden/gan-hinge-r2-spectral.safetensors",
                                   "tests/golden/gan-bce-r1.safetensors",
                                   "tests/golden/gan-schedule.safetensors",
                                   "tests/golden/gan-spectral.safetensors"};

/* Runs `dcgan replay FILE` without output and returns its exit code. */
static int replay_conv(const char *file, bool fp64, double tol, long steps, int conv)
{
    char path[4096], device[] = "cpu", *operand[] = {path};
    snprintf(path, sizeof path, "%s", file);
    dg_options o = {.command = DG_CMD_REPLAY,
                    .operand = operand,
                    .operands = 1,
                    .device = device,
                    .precision = fp64 ? DG_PRECISION_FP64 : DG_PRECISION_FP32,
                    .tol = tol,
                    .steps = steps,
                    .conv = conv};
    fflush(stdout);
    int out = dup(1), null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null, 1);
    int code = dg_cmd_replay(&o);
    fflush(stdout);
    dup2(out, 1);
    close(out);
    close(null);
    return code;
}

static int replay(const char *file, bool fp64, double tol, long steps)
{
    return replay_conv(file, fp64, tol, steps, 0);
}

static void agrees_conv(const char *file, bool fp64, double tol, long steps, int conv)
{
    int code = replay_conv(file, fp64, tol, steps, conv);
    DG_CHECKF(code == 0, "%s in %s, conv %d: exit code %d: %s", file, fp64 ? "fp64" : "fp32", conv, code, dg_message());
}

static void agrees(const char *file, bool fp64, double tol, long steps)
{
    agrees_conv(file, fp64, tol, steps, 1);
    agrees_conv(file, fp64, tol, steps, 2);
}

static void notices_a_difference(void)
{
    void *data = NULL;
    size_t bytes = 0;
    char path[] = "/tmp/dcgan-replay-XXXXXX";
    int fd = mkstemp(path);
    DG_CHECK(fd >= 0 && dg_read_file(golden, 1 << 20, &data, &bytes) == DG_OK);
    ((unsigned char *)data)[bytes - 3] ^= 0x08; /* a middle mantissa bit of the last sample value */
    DG_CHECK(write(fd, data, bytes) == (ssize_t)bytes);
    close(fd);
    DG_CHECK(replay(path, true, 1e-9, 0) == DG_FAILED);
    DG_CHECK(strstr(dg_message(), "sample differs") != NULL);
    DG_CHECK(replay(path, true, 0, 0) == DG_OK); /* without --tol, a difference is not an error */
    DG_CHECK(truncate(path, (off_t)bytes - 1) == 0 && replay(path, true, 1e-9, 0) == DG_IO);
    unlink(path);
    free(data);
}

int main(void)
{
    static const char *const isa[] = {"base", "avx2", "avx512"};
    for (int i = 0; i < 3; i++) {
        dg_backend *b;
        setenv("DCGAN_ISA", isa[i], 1);
        if (dg_cpu_open(&(dg_cpu_options){.real = DG_F64}, &b) != DG_OK) {
            dg_test_skip(dg_message());
            continue;
        }
        b->close(b);
        agrees(golden, true, 1e-9, 0);
        agrees(golden, false, 1e-5, 1);
    }
    unsetenv("DCGAN_ISA");
    for (size_t i = 0; i < sizeof gans / sizeof *gans; i++) agrees(gans[i], true, 1e-9, 0);
    notices_a_difference();
    DG_CHECK(replay("models/dcgan32.cfg", true, 0, 0) == DG_IO);
    DG_CHECK(replay("no/such/file", true, 0, 0) == DG_IO);

    const char *shared = getenv("DCGAN_SHARED");
    static const char *const more[] = {"tiny", "short", "long"};
    for (int i = 0; i < 3; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/oracles/%s.safetensors", shared ? shared : "../shared", more[i]);
        if (access(path, R_OK)) {
            dg_test_skip(temp_text("%s is not there", path));
            continue;
        }
        /* in 100 steps, differences from PyTorch grow from 1e-16 to 0.9e-9 (direct) or 4e-9 (winograd), depending on
         * the instruction set */
        const bool longest = i == 2;
        if (longest && DG_SANITIZED) {
            dg_test_skip("100 steps are for a build without sanitizers");
            continue;
        }
        agrees_conv(path, true, longest ? 3e-9 : 1e-9, 0, 1);
        agrees_conv(path, true, longest ? 1e-8 : 1e-9, 0, 2);
    }
    return dg_test_report();
}
