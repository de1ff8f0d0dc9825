/* libFuzzer: tuning files. Writing and reading must not change an accepted tuning file or row. */
#include "fuzz.h"
#include "tests/all_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tune/tune.h"
#include "core/tune/tune_file.h"

static const dg_gpu gpu = {.arch = 90, .shared = 232448};

static int parts(const dg_tune *t) { return t->split > 1 ? t->split : 1; } /* tuning files omit the split if it is 1 */

static void rows_again(const dg_tune_table *t)
{
    char row[256], text[300];
    for (int i = 0; i < t->rows; i++) {
        const dg_tune *a = &t->row[i].tune;
        dg_tune_table again = {0};
        dg_tune_text(row, sizeof row, &t->row[i].key, a);
        if (strlen(row) > 190) continue; /* a tuning file limits the length of a line */
        if (t->row[i].arch) snprintf(text, sizeof text, "[sm_%d]\n%s\n", t->row[i].arch, row);
        else snprintf(text, sizeof text, "%s\n", row);
        FUZZ_HOLDS(dg_tune_parse(&again, text, "again", DG_F32, &gpu) == DG_OK && again.rows == 1);
        const dg_tune *b = &again.row[0].tune;
        FUZZ_HOLDS(a->variant == b->variant && a->block == b->block && a->tile_m == b->tile_m &&
                   a->tile_n == b->tile_n && a->stages == b->stages && parts(a) == parts(b));
        dg_tune_free(&again);
    }
}

static void file_again(const uint8_t *data, size_t size)
{
    dg_tune_file f = {0}, g = {0};
    char *once = NULL, *twice = NULL;
    if (dg_tune_file_read(&f, fuzz_file(0, data, size)) == DG_OK) {
        FUZZ_HOLDS(dg_tune_file_text(&f, &once) == DG_OK);
        FUZZ_HOLDS(dg_tune_file_read(&g, fuzz_file(1, once, strlen(once))) == DG_OK);
        FUZZ_HOLDS(dg_tune_file_text(&g, &twice) == DG_OK && !strcmp(once, twice));
    } else {
        FUZZ_HOLDS(*dg_message());
    }
    free(once);
    free(twice);
    dg_tune_file_free(&f);
    dg_tune_file_free(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    dg_tune_table t = {0};
    if (dg_tune_parse(&t, text, "fuzz", DG_F32, &gpu)) FUZZ_HOLDS(!strncmp(dg_message(), "fuzz:", 5));
    rows_again(&t);
    dg_tune_free(&t);
    free(text);
    file_again(data, size);
    return 0;
}
