#include "host/run/log_text.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The columns behind epoch and step. loss_d, the sum, is computed; the others are a member of the row. */
enum { SUM = -1, RATE = -2, SECONDS = -3 };
static const struct {
    const char *name;
    int value;
} column[] = {{"loss_d", SUM},
              {"loss_d_real", DG_LOSS_D_REAL},
              {"loss_d_fake", DG_LOSS_D_FAKE},
              {"loss_g", DG_LOSS_G},
              {"d_x", DG_D_X},
              {"d_gz1", DG_D_GZ1},
              {"d_gz2", DG_D_GZ2},
              {"img_s", RATE},
              {"seconds", SECONDS}};
enum { COLUMNS = sizeof column / sizeof column[0] };

const char dg_log_header[] = "epoch,step,loss_d,loss_d_real,loss_d_fake,loss_g,d_x,d_gz1,d_gz2,img_s,seconds\n";

/* Programs that embed this may have set a locale whose decimal point is a comma. */
static locale_t c_locale;
static void make_c_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }
static locale_t enter_c(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    return uselocale(c_locale);
}

static double value_of(const dg_log_row *row, int which)
{
    switch (which) {
    case SUM: return row->value[DG_LOSS_D_REAL] + row->value[DG_LOSS_D_FAKE];
    case RATE: return row->images_per_second;
    case SECONDS: return row->seconds;
    default: return row->value[which];
    }
}

int dg_log_csv(char out[DG_LOG_LINE], const dg_log_row *row)
{
    locale_t before = enter_c();
    int n = snprintf(out, DG_LOG_LINE, "%ju,%ju", (uintmax_t)row->epoch, (uintmax_t)row->step);
    for (int i = 0; i < COLUMNS; i++) {
        double v = value_of(row, column[i].value);
        out[n++] = ',';
        if (!isnan(v)) n += snprintf(out + n, (size_t)(DG_LOG_LINE - n), "%.9g", v);
    }
    out[n++] = '\n';
    out[n] = 0;
    uselocale(before);
    return n;
}

int dg_log_json(char out[DG_LOG_LINE], const dg_log_row *row, const char *kind)
{
    locale_t before = enter_c();
    int n = snprintf(out, DG_LOG_LINE, "{\"kind\":\"%s\",\"epoch\":%ju,\"step\":%ju", kind, (uintmax_t)row->epoch,
                     (uintmax_t)row->step);
    for (int i = 0; i < COLUMNS; i++) {
        double v = value_of(row, column[i].value);
        /* JSON has neither NaN nor infinity. */
        if (isfinite(v)) n += snprintf(out + n, (size_t)(DG_LOG_LINE - n), ",\"%s\":%.9g", column[i].name, v);
        else n += snprintf(out + n, (size_t)(DG_LOG_LINE - n), ",\"%s\":null", column[i].name);
    }
    n += snprintf(out + n, (size_t)(DG_LOG_LINE - n), "}\n");
    uselocale(before);
    return n;
}

/* A whole number up to `end`. */
static bool parse_whole(const char **at, char end, uint64_t *out)
{
    char *stop;
    errno = 0;
    if (**at < '0' || **at > '9') return false;
    *out = strtoull(*at, &stop, 10);
    if (errno || *stop != end) return false;
    *at = stop + 1;
    return true;
}

bool dg_log_parse(const char *line, dg_log_row *row)
{
    memset(row, 0, sizeof *row);
    if (!parse_whole(&line, ',', &row->epoch) || !parse_whole(&line, ',', &row->step)) return false;
    locale_t before = enter_c();
    bool ok = true;
    for (int i = 0; i < COLUMNS && ok; i++) {
        char *stop = (char *)line, end = i == COLUMNS - 1 ? 0 : ',';
        double v = *line == end ? NAN : strtod(line, &stop);
        ok = *stop == end && *line != ' ';
        line = stop + 1;
        if (column[i].value == RATE) row->images_per_second = v;
        else if (column[i].value == SECONDS) row->seconds = v;
        else if (column[i].value != SUM) row->value[column[i].value] = v;
    }
    uselocale(before);
    return ok;
}
