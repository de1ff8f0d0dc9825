#include "core/tune/tune_file.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file_io.h"
#include "core/base/grow.h"
#include "core/base/memory_file.h"
#include "core/tune/tune.h"

static dg_err no_memory(void) { return dg_fail(DG_DEVICE, "out of memory for a tuning file"); }

dg_err dg_tune_file_head(dg_tune_file *f, const char *text)
{
    const size_t had = f->head ? strlen(f->head) : 0, more = strlen(text);
    char *head = realloc(f->head, had + more + 4);
    if (!head) return no_memory();
    f->head = head;
    snprintf(head + had, more + 4, "; %s\n", text);
    return DG_OK;
}

/* Moves *at to the next word of a tuning row. Returns the word's length, or 0 at the colon. */
static size_t next_word(const char **at)
{
    *at += strspn(*at, " \t");
    return strcspn(*at, " \t:;");
}

/* True if two tuning rows have equal ops and shapes, whatever their spacing. */
static bool same_key(const char *a, const char *b)
{
    for (;;) {
        const size_t n = next_word(&a), m = next_word(&b);
        if (n != m || strncmp(a, b, n) != 0) return false;
        if (!n) return true;
        a += n;
        b += m;
    }
}

/* Returns the first number in the comment of a tuning row, such as 6.11 in "...; 6.11 us (...". */
static double measured(const char *text)
{
    const char *comment = strchr(text, ';');
    if (!comment) return INFINITY;
    char *rest;
    const double us = strtod(comment + 1, &rest);
    return us > 0 && strncmp(rest, " us", 3) == 0 ? us : INFINITY;
}

dg_err dg_tune_file_row(dg_tune_file *f, const char *section, const char *text)
{
    dg_tune_line line = {.us = measured(text)};
    snprintf(line.section, sizeof line.section, "%s", section);
    snprintf(line.text, sizeof line.text, "%s", text);
    for (int i = 0; i < f->lines; i++) {
        dg_tune_line *old = &f->line[i];
        if (strcmp(old->section, section) != 0 || !same_key(old->text, text)) continue;
        if (!(old->us < line.us)) *old = line;
        return DG_OK;
    }
    dg_tune_line *more = dg_grow(f->line, f->lines, &f->capacity, sizeof *more);
    if (!more) return no_memory();
    f->line = more;
    f->line[f->lines++] = line;
    return DG_OK;
}

static dg_err check_text(const char *text, const char *path)
{
    const dg_gpu any = {.shared = SIZE_MAX};
    dg_tune_table t = {0};
    const dg_err e = dg_tune_parse(&t, text, path, DG_F32, &any);
    dg_tune_free(&t);
    return e;
}

static dg_err take_line(dg_tune_file *f, char *line, char *section, size_t size)
{
    line += strspn(line, " \t\r\f\v");
    for (char *c = line; *c; c++)
        if (*c == '\t' || *c == '\r') *c = ' ';
    for (size_t n = strlen(line); n && line[n - 1] == ' '; n--) line[n - 1] = 0;
    if (*line == '[') {
        snprintf(section, size, "%.*s", (int)strcspn(line + 1, "]"), line + 1);
        return DG_OK;
    }
    if (*line == ';' || *line == '#') {
        line += 1 + strspn(line + 1, " ");
        return *section || !*line ? DG_OK : dg_tune_file_head(f, line);
    }
    return *line ? dg_tune_file_row(f, section, line) : DG_OK;
}

dg_err dg_tune_file_read(dg_tune_file *f, const char *path)
{
    enum { MOST = 256 << 10 };
    void *text;
    size_t bytes;
    dg_err e = dg_read_file(path, MOST, &text, &bytes);
    if (e) return e;
    char *next = text, section[32] = "";
    if (strlen(text) != bytes) e = dg_fail(DG_USAGE, "%s: not a text file", path);
    if (!e) e = check_text(text, path);
    const size_t blank = strspn(next, " \t\r\f\v");
    if (!e && strncmp(next + blank, "\xef\xbb\xbf", 3) == 0) next += blank + 3;
    while (!e && *next) {
        char *line = next;
        next += strcspn(next, "\n");
        if (*next) *next++ = 0;
        e = take_line(f, line, section, sizeof section);
    }
    free(text);
    return e;
}

static bool is_first(const dg_tune_file *f, int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(f->line[k].section, f->line[i].section) == 0) return false;
    return true;
}

static void print(const dg_tune_file *f, FILE *to)
{
    if (f->head) fputs(f->head, to);
    for (int all = 1; all >= 0; all--)
        for (int i = 0; i < f->lines; i++) {
            if ((*f->line[i].section == 0) != all || !is_first(f, i)) continue;
            if (!all) fprintf(to, "[%s]\n", f->line[i].section);
            for (int k = i; k < f->lines; k++)
                if (strcmp(f->line[k].section, f->line[i].section) == 0) fprintf(to, "%s\n", f->line[k].text);
        }
}

dg_err dg_tune_file_text(const dg_tune_file *f, char **out)
{
    dg_memory_file m;
    FILE *to = dg_memory_open(&m);
    if (to) print(f, to);
    const bool whole = dg_memory_close(to, &m);
    *out = m.text;
    return whole ? DG_OK : no_memory();
}

dg_err dg_tune_file_write(const dg_tune_file *f, const char *path)
{
    char *text;
    dg_err e = dg_tune_file_text(f, &text);
    if (!e) e = dg_write_atomic(path, &(dg_chunk){text, strlen(text)}, 1);
    free(text);
    return e;
}

void dg_tune_file_free(dg_tune_file *f)
{
    free(f->head);
    free(f->line);
    *f = (dg_tune_file){0};
}
