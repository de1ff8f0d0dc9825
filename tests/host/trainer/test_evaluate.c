/* Tests which mistakes worst.png shows, and which files of a test are removed when a run is rewound. */
#include "host/trainer/evaluate.h"

#include "host/image/encode.h"
#include "tempdir.h"
#include "test.h"

enum { MISTAKES = 45, SHOWN = 40, SIDE = 4, BYTES_OF_IMAGE = 3 * SIDE * SIDE };

static dg_rundir run;

static char *worst(const dg_evaluation *v, const dg_dataset *d, size_t *bytes)
{
    DG_WORKS(dg_evaluation_write(v, d, &run, 7));
    DG_CHECK(dg_rundir_has(&run, "confusion.csv") && !dg_rundir_has(&run, "confusion.png"));
    return temp_slurp(temp_path("run/worst.png"), bytes);
}

/* worst.png shows the 40 most confident mistakes, in any order of the test images. */
static void most_confident(void)
{
    static uint8_t pixels[MISTAKES * BYTES_OF_IMAGE];
    static char *name[] = {"a", "b"};
    int32_t label[MISTAKES] = {0};
    long is[2] = {MISTAKES, 0}, right[2] = {0};
    unsigned long long state = 5;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(127.5 + 127 * dg_test_random(&state));
    const dg_dataset d = {.size = dg_square(SIDE), .channels = 3, .pixels = pixels, .label = label, .class_name = name};
    for (int falling = 0; falling < 2; falling++) {
        int said[MISTAKES];
        double share[MISTAKES];
        for (int i = 0; i < MISTAKES; i++) {
            said[i] = 1;
            share[i] = 0.5 + 0.01 * (falling ? MISTAKES - i : i);
        }
        const dg_evaluation v = {.classes = 2, .n = MISTAKES, .is = is, .right = right, .said = said, .share = share};
        size_t bytes = 0, want_bytes = 0;
        char *all = worst(&v, &d, &bytes);
        for (int i = 0; i < MISTAKES - SHOWN; i++) said[falling ? MISTAKES - 1 - i : i] = 0;
        char *want = worst(&v, &d, &want_bytes);
        DG_CHECK(all && want && bytes == want_bytes && !memcmp(all, want, bytes));
        said[falling ? 0 : MISTAKES - 1] = 0;
        free(want);
        want = worst(&v, &d, &want_bytes);
        DG_CHECK(all && want && (bytes != want_bytes || memcmp(all, want, bytes) != 0));
        free(all);
        free(want);
    }
}

static void png_of(const char *name, const char *epoch)
{
    uint8_t pixel[3] = {1, 2, 3};
    DG_WORKS(
        dg_png_write(temp_path(temp_text("run/%s", name)), &(dg_image){1, 1, 3, pixel}, &(dg_text){"Epoch", epoch}, 1));
}

static int warnings;
static void count_warning(void *context, const char *text)
{
    (void)context;
    warnings += strstr(text, "confusion.csv is of a later epoch, but removing it failed") != NULL;
}

static void cut(void)
{
    static const struct {
        const char *confusion, *worst; /* epochs, or NULL for a damaged file */
        bool removed;
    } row[] = {{"7", "7", false}, {"8", "7", true}, {"7", "8", true}, {NULL, "7", false}, {NULL, "8", true}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        png_of("worst.png", row[i].worst);
        if (row[i].confusion) png_of("confusion.png", row[i].confusion);
        else temp_put(temp_path("run/confusion.png"), "\x89PNG", 4);
        dg_evaluation_cut(&run, 7);
        DG_CHECKF(dg_rundir_has(&run, "worst.png") != row[i].removed &&
                      dg_rundir_has(&run, "confusion.png") != row[i].removed,
                  "row %zu", i);
    }
    unlink(temp_path("run/confusion.csv"));
    mkdir(temp_path("run/confusion.csv"), 0777);
    png_of("worst.png", "8");
    dg_set_warnings(count_warning, NULL);
    dg_evaluation_cut(&run, 7);
    dg_set_warnings(NULL, NULL);
    DG_CHECK(warnings == 1 && !dg_rundir_has(&run, "worst.png"));
}

static void open_run(void) { DG_WORKS(dg_rundir_open(temp_path("run"), false, &run)); }
static void close_run(void) { dg_rundir_close(&run); }

DG_TESTS_IN("evaluate", open_run, most_confident, cut, close_run)
