#include "host/report/html.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/build_info.h"
#include "core/base/memory_file.h"

/* contents of page.css and page.js (scripts/build/embed-text) */
extern const char *const dg_page_css[], *const dg_page_js[];

static void put_lines(FILE *to, const char *const *line)
{
    while (*line) fputs(*line++, to);
}

void dg_html_text(FILE *to, const char *text)
{
    while (*text) {
        const int n = dg_printable_bytes(text);
        if (n == 0) fprintf(to, "\\x%02x", (unsigned char)*text);
        else if (strchr("&<>\"'", *text)) fprintf(to, "&#%d;", *text);
        else (void)fwrite(text, 1, (size_t)n, to);
        text += n ? n : 1;
    }
}

void dg_html_data(FILE *to, const char *type, const void *data, size_t bytes)
{
    fprintf(to, "data:%s;base64,", type);
    dg_base64(to, data, bytes);
}

void dg_html_number(FILE *to, double v)
{
    if (isnan(v)) fputs("&ndash;", to);
    else fprintf(to, "%.4g", v);
}

void dg_html_json(FILE *to, double v)
{
    if (isfinite(v)) fprintf(to, "%.4g", v);
    else fputs("null", to);
}

void dg_html_row(FILE *to, const char *name, const char *format, ...)
{
    char value[1 << 14];
    va_list ap;
    va_start(ap, format);
    vsnprintf(value, sizeof value, format, ap);
    va_end(ap);
    fputs("<tr><th scope=\"row\">", to);
    dg_html_text(to, name);
    fputs("</th><td>", to);
    dg_html_text(to, value);
    fputs("</td></tr>\n", to);
}

void dg_html_begin(FILE *to, const char *title, const char *subtitle)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"generator\" content=\"",
          to);
    dg_html_text(to, dg_version);
    fputs("\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>",
          to);
    dg_html_text(to, title);
    fputs("</title>\n<style>\n", to);
    put_lines(to, dg_page_css);
    fputs("</style>\n</head>\n<body>\n<header>\n<h1>", to);
    dg_html_text(to, title);
    fputs("</h1>\n<p>", to);
    dg_html_text(to, subtitle);
    fputs("</p>\n</header>\n<main>\n", to);
}

void dg_html_end(FILE *to)
{
    fputs("</main>\n<footer><p>", to);
    dg_html_text(to, dg_version);
    fputs("</p></footer>\n<script>\n", to);
    put_lines(to, dg_page_js);
    fputs("</script>\n</body>\n</html>\n", to);
}

dg_err dg_html_page(const dg_directory *dir, const char *path, dg_err (*write)(FILE *to, const void *context),
                    const void *context)
{
    dg_memory_file m;
    FILE *to = dg_memory_open(&m);
    if (!to) return dg_fail(DG_DEVICE, "%s: out of memory", path);
    dg_err e = write(to, context);
    if (!dg_memory_close(to, &m) && !e) e = dg_fail(DG_DEVICE, "%s: out of memory", path);
    if (!e) e = dg_write_atomic_in(dir, path, &(dg_chunk){m.text, m.bytes}, 1);
    free(m.text);
    return e;
}
