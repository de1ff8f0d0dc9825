/* Tests that a build accepts its devices and refuses other devices and drivers with the right messages. */
#include "kernels/cuda/cuda_device.cuh"
#include "tests/test.h"

#include <string.h>

static void check_covers(void)
{
    /* assumes a build for all seven architectures, with PTX for sm_120 */
    static const struct {
        int major, minor;
        bool covered;
    } row[] = {{5, 2, false},  {6, 1, false}, {7, 0, false}, {7, 2, false}, {7, 5, true},  {8, 0, true},
               {8, 6, true},   {8, 7, true},  {8, 9, true},  {9, 0, true},  {10, 0, true}, {10, 3, true},
               {11, 0, false}, {12, 0, true}, {12, 1, true}, {13, 0, true}};
    for (const auto &r : row) DG_CHECKF(dg_cuda_covers(r.major, r.minor) == r.covered, "sm_%d%d", r.major, r.minor);
    DG_CHECKF(!strcmp(dg_cuda_built_for(),
                      "sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120 and GPUs newer than sm_120"),
              "%s", dg_cuda_built_for());
}

static void absence(int error, int driver, const char *words)
{
    char text[400];
    dg_cuda_absence(text, sizeof text, (cudaError_t)error, driver, 13020);
    DG_CHECKF(strstr(text, words), "%d: '%s' and not '%s'", error, text, words);
}

static void check_absence(void)
{
    absence(35, 0, "no NVIDIA driver is loaded on this machine");
    absence(35, 12080, "too old: it offers CUDA 12.8, this program needs 13.2; update the driver");
    absence(46, 13000, "exclusive use");
    absence(100, 13000, "no NVIDIA GPU is visible");
    absence(209, 13000, "no code for this GPU: it is built for sm_75, ");
    absence(222, 13000, "too old for the PTX");
    absence(803, 13000, "different versions; reboot");
    absence(804, 13000, "compatibility package");
    absence(999, 13000, "CUDA does not start: unknown error (cudaErrorUnknown, 999)");
}

/* Checks the line of a device in --list-devices and the message of --device cuda:0. */
static void check_device(int major, int minor, const char *why_not)
{
    dg_cuda_device d[4];
    const char *why;
    sim::device.major = major;
    sim::device.minor = minor;
    DG_CHECK(dg_cuda_devices(d, 4, &why) == sim::device.count);
    DG_CHECKF(d[0].usable == !*why_not && !strcmp(d[0].why_not, why_not), "sm_%d%d: '%s'", major, minor, d[0].why_not);
    dg_backend *b;
    dg_cuda_options o = {};
    o.real = DG_F32;
    const dg_err e = dg_cuda_open(&o, &b);
    DG_CHECK(e == (*why_not ? DG_DEVICE : DG_OK));
    DG_CHECKF(!*why_not || (strstr(dg_message(), "device cuda:0: Simulated GPU 0: ") && strstr(dg_message(), why_not)),
              "%s", dg_message());
    if (!e) b->close(b);
}

static void check_open(void)
{
    dg_backend *b;
    dg_cuda_options o = {};
    o.real = DG_F32;
    check_device(
        7, 0,
        "the device is sm_70, but this dcgan is built for sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120 and GPUs "
        "newer than sm_120");
    check_device(7, 5, "");
    check_device(13, 0, "");
    sim::device.count = 2;
    o.device = 2;
    DG_CHECK(dg_cuda_open(&o, &b) == DG_DEVICE && !b);
    DG_CHECKF(strstr(dg_message(), "device cuda:2: this machine has 2 CUDA devices, numbered from 0"), "%s",
              dg_message());
    sim::device.count = 0;
    o.device = 0;
    DG_CHECK(dg_cuda_open(&o, &b) == DG_DEVICE && !b);
    DG_CHECKF(
        !strcmp(dg_message(),
                "device cuda: no NVIDIA GPU is visible (see CUDA_VISIBLE_DEVICES and nvidia-smi); use device cpu"),
        "%s", dg_message());
    sim::device.count = 1;
    o.real = DG_U8;
    DG_CHECK(dg_cuda_open(&o, &b) == DG_USAGE && !b);
    DG_CHECKF(sim::live_allocations() == 0 && sim::live_handles() == 0, "%zu allocations, %zu handles are left",
              sim::live_allocations(), sim::live_handles());
}

DG_TESTS(check_covers, check_absence, check_open)
