/* Decodes every file of public corpora of damaged images, without crashes and within 256 MB and 5 s. The test is
 * skipped unless the corpora are in a folder next to the checkout. */
#include "decoding.h"

#include <ftw.h>
#include <sys/stat.h>

enum { MOST = 256 * 1000 * 1000 };

static struct {
    int files, taken, refused, fitted;
    double seconds, slowest;
    long largest;
    char slow[300], large[300];
} sum;

static int decode_and_fit(void *context, char *message)
{
    const blob *b = context;
    dg_image im, small;
    dg_err e = dg_image_decode(b->data, b->bytes, &(dg_decode_options){.exif = true, .alpha = DG_ALPHA_WHITE}, &im);
    if (e) {
        snprintf(message, 256, "%s", dg_message());
        return (int)e;
    }
    e = dg_image_fit(&im, dg_square(64), DG_FIT_CROP, DG_RESIZE_BILINEAR, &small);
    dg_image_free(&im);
    dg_image_free(&small);
    return (int)e;
}

static int one_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)ftw;
    blob b;
    if (type != FTW_F || !S_ISREG(st->st_mode)) return 0;
    if (!DG_CHECKF(!blob_load(&b, path), "%s", path)) return 0;
    child_result r = in_child(decode_and_fit, &b, MOST);
    blob_free(&b);
    sum.files++;
    sum.taken += r.code == DG_OK;
    sum.refused += r.code == DG_DATA;
    sum.seconds += r.seconds;
    if (r.seconds > sum.slowest) sum.slowest = r.seconds, snprintf(sum.slow, sizeof sum.slow, "%s", path);
    if (r.kilobytes > sum.largest) sum.largest = r.kilobytes, snprintf(sum.large, sizeof sum.large, "%s", path);
    DG_CHECKF(r.code == DG_OK || (r.code == DG_DATA && *r.message), "%s: %d %s", path, r.code, r.message);
    if (!DG_SANITIZED)
        DG_CHECKF(r.seconds < 5 && r.kilobytes < MOST / 1024, "%s: %.1f s, %ld KiB", path, r.seconds, r.kilobytes);
    return 0;
}

int main(void)
{
    if (access(in_corpora("."), R_OK)) {
        dg_test_skip("no corpora of damaged images next to the checkout");
        return dg_test_report();
    }
    DG_CHECK(!nftw(in_corpora("."), one_file, 16, FTW_PHYS));
    printf("%d files: %d decoded, %d refused; %.1f s of CPU, most for one %.2f s (%s), %ld MiB (%s)\n", sum.files,
           sum.taken, sum.refused, sum.seconds, sum.slowest, sum.slow, sum.largest >> 10, sum.large);
    DG_CHECK(sum.files == sum.taken + sum.refused && sum.taken >= 150 && sum.refused > 0);
    return dg_test_report();
}
