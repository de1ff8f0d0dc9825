/* Tests that decoding stops at its time limit, with a simulated CPU clock. */
#include "decoding.h"

#include <time.h>

static double now, pace; /* simulated CPU time in seconds, and its increase per query */

int clock_gettime(clockid_t id, struct timespec *t)
{
    (void)id;
    now += pace;
    t->tv_sec = (time_t)now;
    t->tv_nsec = 0;
    return 0;
}

int main(void)
{
    static uint8_t gif[] = "GIF89a\1\0\1\0\200\0\0\0\0\0\377\377\377,\0\0\0\0\1\0\1\0\0\2\2D\1\0;";
    const struct {
        const char *format;
        blob b;
    } images[] = {{"PNG", png_noise(9, 70, 3)}, {"JPEG", jpeg_smooth(40, 70, 3)}, {"GIF", {gif, sizeof gif - 1, 0}}};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        dg_image im;
        const blob *b = &images[i].b;
        pace = 0;
        DG_CHECKF(dg_image_decode(b->data, b->bytes, &plain, &im) == DG_OK, "%s: %s", images[i].format, dg_message());
        dg_image_free(&im);
        pace = 6;
        refused(blob_of(b->data, b->bytes), "takes too long");
        free(b->room ? b->data : NULL);
    }
    return dg_test_report();
}
