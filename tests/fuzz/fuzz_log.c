/* libFuzzer: log.csv and log.jsonl. Writing and reading must not change a log row. The last input byte selects the step
 * from which both logs are resumed. */
#include "fuzz.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file_io.h"
#include "host/run/log.h"

static dg_rundir run;

static void put_file(const char *name, const void *data, size_t size)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    FILE *f = fopen(path, "wb");
    FUZZ_HOLDS(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

static char *get_file(const char *name, size_t *bytes)
{
    char path[600];
    void *text;
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    FUZZ_HOLDS(dg_read_file(path, 1 << 24, &text, bytes) == DG_OK);
    return text;
}

static void row_again(const dg_recipe *r, const dg_log_row *row)
{
    char text[3][DG_LOG_LINE], json[DG_LOG_LINE];
    dg_log_row again = *row;
    for (int i = 0; i < 3; i++) { /* only the first write may round a value */
        const int n = dg_log_csv(text[i], r, &again);
        FUZZ_HOLDS(n > 0 && n < DG_LOG_LINE && (size_t)n == strlen(text[i]) && text[i][n - 1] == '\n');
        text[i][n - 1] = 0;
        FUZZ_HOLDS(dg_log_parse(text[i], r, &again) && again.step == row->step && again.epoch == row->epoch);
    }
    FUZZ_HOLDS(!strcmp(text[1], text[2]));
    const int n = dg_log_json(json, r, row, "step");
    cJSON *o = cJSON_Parse(json);
    FUZZ_HOLDS(n < DG_LOG_LINE && cJSON_IsObject(o) && cJSON_IsNumber(cJSON_GetObjectItem(o, "step")));
    cJSON_Delete(o);
}

static void read_rows(const dg_recipe *r, const char *csv)
{
    long rows, bad;
    size_t header;
    char *text = strdup(csv);
    const dg_recipe *of = dg_log_recipe(text, &header);
    (void)dg_log_is_empty(text);
    if (!of) header = 0, of = r;
    dg_log_row *row = dg_log_rows_in(text, header, of, &rows, &bad);
    for (long i = 0; i < rows; i++) row_again(of, &row[i]);
    free(row);
    free(text);
}

static dg_log *resume(const dg_recipe *r, uint64_t step, long *rows)
{
    dg_log *l;
    if (dg_log_open(&run, r, step, &l)) return NULL;
    const dg_log_row *row = dg_log_rows(l, rows);
    for (long i = 0; i < *rows; i++) FUZZ_HOLDS(row[i].step <= step && (i == 0 || row[i].step > row[i - 1].step));
    return l;
}

static void cut(const dg_recipe *r, uint64_t step)
{
    long rows, again;
    dg_log *l = resume(r, step, &rows);
    if (!l) {
        FUZZ_HOLDS(strstr(dg_message(), "log."));
        return;
    }
    FUZZ_HOLDS(dg_log_close(l) == DG_OK);
    size_t bytes[4];
    char *text[4] = {get_file("log.csv", &bytes[0]), get_file("log.jsonl", &bytes[1])};
    FUZZ_HOLDS((l = resume(r, step, &again)) && again == rows && dg_log_close(l) == DG_OK);
    text[2] = get_file("log.csv", &bytes[2]);
    text[3] = get_file("log.jsonl", &bytes[3]);
    for (int i = 0; i < 2; i++) {
        FUZZ_HOLDS(bytes[i] == bytes[i + 2] && !memcmp(text[i], text[i + 2], bytes[i]));
        FUZZ_HOLDS(!bytes[i] || text[i][bytes[i] - 1] == '\n');
    }
    for (int i = 0; i < 4; i++) free(text[i]);
    dg_log_row next = {.step = step + 1, .epoch = 1};
    FUZZ_HOLDS((l = resume(r, step, &again)));
    if (again) next.epoch = dg_log_rows(l, &again)[again - 1].epoch;
    FUZZ_HOLDS(dg_log_step(l, &next) == DG_OK && dg_log_close(l) == DG_OK);
    FUZZ_HOLDS((l = resume(r, step + 1, &again)) && again == rows + 1 && dg_log_close(l) == DG_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *csv;
    const uint64_t step = 1 + (size ? data[size - 1] % 64u : 0);
    if (size) size--;
    const dg_recipe *r = fuzz_log(&data, &size, &csv);
    if (!*run.path) {
        snprintf(run.path, sizeof run.path, "%s", fuzz_folder());
        run.fd = open(run.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        run.lock = -1;
    }
    read_rows(r, csv);
    put_file("log.csv", csv, strlen(csv));
    put_file("log.jsonl", data, size);
    cut(r, step);
    free(csv);
    return 0;
}
