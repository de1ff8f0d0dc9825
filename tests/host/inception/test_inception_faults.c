/* Reads and writes files of weights and moments while one call fails, alone or with all later calls. A reader returns
 * an error or the right values; a writer leaves no temporary file. */
#include "failing.h"

#include "test.h"

#if DG_FAILING
#include "host/inception/fid.h"
#include "host/inception/torch_file.h"
#include "tempdir.h"

static const char *path;
static dg_torch *torch;
static dg_fid_set moments;

static void nothing(void) {}

static dg_err read_torch(void) { return dg_torch_read(path, &torch); }

static void is_torch(dg_err e)
{
    DG_CHECKF(e ? *dg_message() != 0
                : dg_torch_count(torch) == 4 && ((const float *)dg_torch_at(torch, 2)->data)[2] == 4,
              "returned %d", (int)e);
    dg_torch_free(torch);
}

static dg_err read_moments(void) { return dg_moments_read(path, 3, "unknown 1, pytorch-fid", &moments); }

static void are_moments(dg_err e)
{
    DG_CHECKF(e ? *dg_message() != 0 : moments.mean[2] == 2.5 && moments.cov[8] == 4 && moments.images == 7,
              "returned %d", (int)e);
    dg_fid_set_free(&moments);
}

static dg_err write_moments(void)
{
    double values[] = {-1, .5, 2.5, 1, .25, 0, .25, 2, .5, 0, .5, 4};
    return dg_moments_write(path, "unknown 1, pytorch-fid",
                            &(dg_fid_set){.images = 7, .d = 3, .mean = values, .cov = values + 3});
}

static void is_written(dg_err e)
{
    DG_CHECKF(!e || *dg_message(), "returned %d", (int)e);
    if (!e && DG_WORKS(read_moments())) are_moments(DG_OK);
    DG_CHECK(temp_count(temp_dir, "tmp") == 0);
}

int main(void)
{
    static const char *const layout[] = {"legacy", "zip"};
    long failures = 0;
    temp_make("inception-faults");
    for (int i = 0; i < 2; i++) {
        path = temp_text("tests/fuzz/corpus/torch/%s", layout[i]);
        failures += each_call(layout[i], nothing, read_torch, is_torch);
    }
    path = "tests/fuzz/corpus/moments/dcgan";
    failures += each_call("moments", nothing, read_moments, are_moments);
    path = temp_path("moments.npz");
    failures += each_call("writing moments", nothing, write_moments, is_written);
    temp_remove(temp_dir);
    DG_CHECKF(failures > 100, "%ld calls failed", failures);
    return dg_test_report();
}
#else
int main(void) { return dg_test_without_failing(); }
#endif
