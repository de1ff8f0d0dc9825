/* Pieces of a page that is one file and asks no network for anything: its policy forbids it to. */
#ifndef DG_HTML_H
#define DG_HTML_H

#include <stdint.h>
#include <stdio.h>
#include "core/base/err.h"
#include "core/base/file_io.h"

/* Text between tags or in quotes: what would be HTML is escaped, what must not reach a screen is \xNN (err.h). */
void dg_html_text(FILE *to, const char *text);

/* "data:TYPE;base64,..." */
void dg_html_data(FILE *to, const char *type, const void *data, size_t bytes);

/* A number as people read it: four digits, and a dash for what is not there. */
void dg_html_number(FILE *to, double v);
/* The same for a script: null for what is no number. */
void dg_html_json(FILE *to, double v);

/* A row of a table of two columns. */
void dg_html_row(FILE *to, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* All up to the first section, and all behind the last one. */
void dg_html_begin(FILE *to, const char *title, const char *subtitle);
void dg_html_end(FILE *to);

/* A page that write(to, context) fills, whole or not at all into this directory (file_io.h); dir = NULL: the one that
 * the path names. */
dg_err dg_html_page(const dg_directory *dir, const char *path, dg_err (*write)(FILE *to, const void *context),
                    const void *context);

#endif
