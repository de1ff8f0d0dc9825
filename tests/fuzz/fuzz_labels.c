/* libFuzzer: label files. The first byte selects labels.csv or dataset.json. Rows written as CSV and read again must
 * not change. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host/data/label_rows.h"

static char *copy(const void *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) exit(1);
    if (size) memcpy(text, data, size);
    return text;
}

static char *put_field(char *to, const char *text)
{
    *to++ = '"';
    for (; *text; *to++ = *text++)
        if (*text == '"') *to++ = '"';
    *to++ = '"';
    return to;
}

static void read_again(const dg_label_rows *r)
{
    size_t bytes = 1;
    for (int i = 0; i < r->rows; i++) bytes += 2 * (strlen(r->row[i].path) + strlen(r->row[i].class)) + 6;
    char *text = malloc(bytes), *to = text;
    if (!text) exit(1);
    for (int i = 0; i < r->rows; i++) {
        to = put_field(to, r->row[i].path);
        *to++ = ',';
        to = put_field(to, r->row[i].class);
        *to++ = '\n';
    }
    dg_label_rows again;
    FUZZ_HOLDS(!dg_label_rows_csv(text, (size_t)(to - text), &again) && again.rows == r->rows);
    for (int i = 0; i < r->rows; i++)
        FUZZ_HOLDS(!strcmp(r->row[i].path, again.row[i].path) && !strcmp(r->row[i].class, again.row[i].class));
    dg_label_rows_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    const bool json = *data & 1;
    dg_label_rows r;
    char *text = copy(data + 1, size - 1);
    const dg_err e = json ? dg_label_rows_json(text, size - 1, &r) : dg_label_rows_csv(text, size - 1, &r);
    FUZZ_HOLDS(e == DG_OK || (e == DG_DATA && *dg_message()));
    if (!e) {
        for (int i = 0; i < r.rows; i++) {
            FUZZ_HOLDS(*r.row[i].path && *r.row[i].class && strlen(r.row[i].class) < DG_CLASS_BYTES);
            FUZZ_HOLDS(dg_label_rows_find(&r, r.row[i].path) == r.row + i);
        }
        read_again(&r);
    }
    dg_label_rows_free(&r);
    return 0;
}
