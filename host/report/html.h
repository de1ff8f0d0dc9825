/* Writes parts of a self-contained HTML page. The page's content security policy forbids network access. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include "core/base/err.h"
#include "core/base/file_io.h"

/* Unprintable bytes become \xNN (err.h). */
void dg_html_text(FILE *to, const char *text);

void dg_html_data(FILE *to, const char *type, const void *data, size_t bytes);

/* Write four significant digits, or a dash for NaN. */
void dg_html_number(FILE *to, double v);
void dg_html_json(FILE *to, double v);

void dg_html_row(FILE *to, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

void dg_html_begin(FILE *to, const char *title, const char *subtitle);
void dg_html_end(FILE *to);

/* Write a page atomically (file_io.h). dir NULL: the directory of path. */
dg_err dg_html_page(const dg_directory *dir, const char *path, dg_err (*write)(FILE *to, const void *context),
                    const void *context);
