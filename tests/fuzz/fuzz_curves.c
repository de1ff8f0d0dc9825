/* libFuzzer: curves of any log, of one run and of several runs (`dcgan curves`). */
#include "fuzz.h"
#include "host/run/log_curves.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "host/cli/commands.h"
#include "host/figure/images.h"

static void draw_run(const dg_recipe *r, const char *csv)
{
    long rows, bad;
    size_t header;
    dg_image im;
    char *text = strdup(csv);
    const dg_recipe *of = dg_log_recipe(text, &header);
    dg_log_row *row = dg_log_rows_in(text, of ? header : 0, of ? of : r, &rows, &bad);
    if (dg_curves(of ? of : r, row, rows, "fuzz", &im) == DG_OK) {
        FUZZ_HOLDS(im.W == 900 && im.H > 300 && im.pixels);
        dg_image_free(&im);
    } else {
        FUZZ_HOLDS(*dg_message());
    }
    free(row);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *csv, out[600];
    const dg_recipe *r = fuzz_log(&data, &size, &csv);
    draw_run(r, csv);
    /* the input after the NUL is a second log */
    char *operand[] = {(char *)(uintptr_t)fuzz_file(0, csv, strlen(csv)),
                       (char *)(uintptr_t)fuzz_file(1, size ? data : (const uint8_t *)csv, size ? size : strlen(csv))};
    snprintf(out, sizeof out, "%s/curves.png", fuzz_folder());
    const dg_options o = {.command = DG_CMD_CURVES, .operand = operand, .operands = 2, .out = out, .quiet = true};
    const int code = dg_cmd_curves(&o);
    FUZZ_HOLDS(code == DG_OK || code == DG_USAGE || code == DG_FAILED);
    free(csv);
    return 0;
}
