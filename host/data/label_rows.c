#include "host/data/label_rows.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/grow.h"
#include "core/base/plural.h"
#include "host/data/dataset_internal.h"
#include "host/files/json.h"

static dg_err no_memory(void) { return dg_fail(DG_DEVICE, "no memory for the labels"); }

char *dg_label_place(const dg_label_rows *r, int at, char out[DG_LABEL_PLACE])
{
    snprintf(out, DG_LABEL_PLACE, r->json ? "labels[%d]" : "line %d", at);
    return out;
}

static dg_err check_class(const char *class)
{
    if (!*class) return dg_fail(DG_DATA, "the class is empty");
    if (strlen(class) >= DG_CLASS_BYTES)
        return dg_fail(DG_DATA, "the class has more than %d bytes", DG_CLASS_BYTES - 1);
    for (const char *s = class; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 127) return dg_fail(DG_DATA, "the class has a control character");
    return DG_OK;
}

static dg_err add(dg_label_rows *r, const char *path, const char *class, int at)
{
    char place[DG_LABEL_PLACE];
    while (!strncmp(path, "./", 2)) path += 2;
    dg_err e = *path ? check_class(class) : dg_fail(DG_DATA, "the path is empty");
    if (!e && r->rows >= DG_FILES_MAX) e = dg_fail(DG_DATA, "more than %d rows", DG_FILES_MAX);
    if (e) return dg_context(e, "%s", dg_label_place(r, at, place));
    dg_label_row *more = dg_grow(r->row, r->rows, &r->room, sizeof *more);
    if (!more) return no_memory();
    r->row = more;
    r->row[r->rows++] = (dg_label_row){.path = path, .class = class, .at = at};
    return DG_OK;
}

static int by_path(const void *a, const void *b)
{
    const dg_label_row *x = a, *y = b;
    const int order = strcmp(x->path, y->path);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

static int path_of(const void *path, const void *row) { return strcmp(path, ((const dg_label_row *)row)->path); }

dg_label_row *dg_label_rows_find(const dg_label_rows *r, const char *path)
{
    return r->rows ? bsearch(path, r->row, (size_t)r->rows, sizeof *r->row, path_of) : NULL;
}

static dg_err sort(dg_label_rows *r)
{
    char name[1024], first[DG_LABEL_PLACE], second[DG_LABEL_PLACE];
    if (r->rows) qsort(r->row, (size_t)r->rows, sizeof *r->row, by_path);
    for (int i = 1; i < r->rows; i++)
        if (!strcmp(r->row[i - 1].path, r->row[i].path))
            return dg_fail(DG_DATA, "%s and %s both have the path %s", dg_label_place(r, r->row[i - 1].at, first),
                           dg_label_place(r, r->row[i].at, second), dg_printable(name, sizeof name, r->row[i].path));
    return DG_OK;
}

typedef struct {
    char *at; /* the text ends with NUL */
    int line;
} reader;

static dg_err unquote(reader *r, char **to)
{
    const int first = r->line;
    for (r->at++; *r->at; r->at++) {
        if (*r->at == '"' && *++r->at != '"') return DG_OK;
        r->line += *r->at == '\n';
        *(*to)++ = *r->at;
    }
    return dg_fail(DG_DATA, "line %d: a quoted field does not end", first);
}

/* Read a field in place. `*end` becomes the separator after the field, or NUL at the end of the text. */
static dg_err read_field(reader *r, char **out, char *end)
{
    char *to = *out = r->at;
    dg_err e = DG_OK;
    if (*r->at == '"') {
        e = unquote(r, &to);
        r->at += *r->at == '\r' && (r->at[1] == '\n' || !r->at[1]);
    } else {
        to = r->at += strcspn(r->at, ",\"\n");
        if (to > *out && to[-1] == '\r' && (*r->at == '\n' || !*r->at)) to--;
    }
    if (e) return e;
    *end = *r->at;
    if (*end && *end != ',' && *end != '\n')
        return dg_fail(DG_DATA, "line %d: quotes must enclose the whole field; inside of a field, write them twice",
                       r->line);
    *to = 0;
    r->at += *end != 0;
    return DG_OK;
}

static dg_err read_row(reader *r, dg_label_rows *out)
{
    char *field[2] = {NULL, NULL}, *more, end = 0;
    int n = 0;
    const int line = r->line;
    do {
        const dg_err e = read_field(r, n < 2 ? field + n : &more, &end);
        if (e) return e;
        n++;
    } while (end == ',');
    r->line += end == '\n';
    if (n == 1 && !*field[0]) return DG_OK;
    if (n != 2) return dg_fail(DG_DATA, "line %d: has %d field%s; a row has two fields, path,class", line, n, dg_s(n));
    return add(out, field[0], field[1], line);
}

dg_err dg_label_rows_csv(char *text, size_t bytes, dg_label_rows *out)
{
    *out = (dg_label_rows){.text = text};
    text[bytes] = 0;
    reader r = {.at = text, .line = 1};
    if (strlen(text) < bytes) return dg_fail(DG_DATA, "has a zero byte; save the file as UTF-8");
    if (!strncmp(text, "\xef\xbb\xbf", 3)) r.at += 3;
    dg_err e = DG_OK;
    while (*r.at && !e) e = read_row(&r, out);
    return e ? e : sort(out);
}

static const char *class_of(const cJSON *item, char number[12])
{
    if (cJSON_IsString(item)) return item->valuestring;
    const double x = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(x >= 0 && x <= INT32_MAX) || x != floor(x)) return NULL;
    snprintf(number, 12, "%d", (int)x);
    return number;
}

static dg_err take_list(const cJSON *list, dg_label_rows *out)
{
    const cJSON *row;
    int i = 0;
    if (!cJSON_IsArray(list)) return dg_fail(DG_DATA, "\"labels\" is not a list; rename the file if it has no labels");
    if (!(out->number = malloc(((size_t)cJSON_GetArraySize(list) + 1) * sizeof *out->number))) return no_memory();
    cJSON_ArrayForEach(row, list)
    {
        const cJSON *path = cJSON_IsArray(row) ? row->child : NULL, *class = path ? path->next : NULL;
        const char *name = class && !class->next ? class_of(class, out->number[i]) : NULL;
        if (!name || !cJSON_IsString(path))
            return dg_fail(DG_DATA, "labels[%d]: must be [\"path\", class], where class is a name or a whole number",
                           i);
        const dg_err e = add(out, path->valuestring, name, i++);
        if (e) return e;
    }
    return DG_OK;
}

dg_err dg_label_rows_json(char *text, size_t bytes, dg_label_rows *out)
{
    const unsigned long before = dg_json_refused();
    const char *end = text;
    *out = (dg_label_rows){.json = true, .text = text};
    text[bytes] = 0;
    out->root = cJSON_ParseWithLengthOpts(text, bytes, &end, 0);
    if (dg_json_refused() != before) return no_memory();
    if (out->root) end += strspn(end, " \t\r\n");
    if (!out->root || end < text + bytes) return dg_fail(DG_DATA, "byte %td: not valid JSON", end - text);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(out->root, "labels");
    out->absent = !list;
    out->none = cJSON_IsNull(list);
    const dg_err e = out->absent || out->none ? DG_OK : take_list(list, out);
    return e ? e : sort(out);
}

void dg_label_rows_free(dg_label_rows *r)
{
    cJSON_Delete(r->root);
    free(r->number);
    free(r->text);
    free(r->row);
    *r = (dg_label_rows){0};
}
