/* Tests that only files with a mark of dcgan may be replaced. */
#include "host/files/replace.h"

#include <fcntl.h>

#include "core/base/build_info.h"
#include "core/base/memory_file.h"
#include "host/figure/images.h"
#include "host/files/csv.h"
#include "host/files/safetensors.h"
#include "tempdir.h"
#include "test.h"

static char path[600];

/* Returns which kind of dcgan file is at `path`. Sets *whole to the shortest length that reveals the kind. */
static dg_made kind_here(size_t *whole)
{
    size_t n;
    char *data = temp_slurp(path, &n);
    const dg_made kind = data ? dg_made_kind(data, n) : DG_MADE_BY_OTHERS;
    *whole = 0;
    for (size_t i = 1; data && i <= n && i < 3000; i++) {
        char *exact = malloc(i);
        memcpy(exact, data, i);
        const dg_made part = dg_made_kind(exact, i);
        free(exact);
        if (part == kind && !*whole) *whole = i;
        if (part != kind && *whole && kind != DG_MADE_BY_OTHERS) *whole = i + 1;
    }
    free(data);
    return kind;
}

static dg_made png(const dg_text *text, int n)
{
    uint8_t pixels[5 * 3 * 3] = {0};
    size_t whole;
    unlink(path);
    DG_CHECK(!dg_png_write(path, &(dg_image){5, 3, 3, pixels}, text, n));
    return kind_here(&whole);
}

static dg_made st(const dg_st_meta *meta, int n)
{
    const float value = 1;
    const dg_st_tensor t = {.name = "a", .type = DG_F32, .rank = 1, .dim = {1}, .data = &value, .bytes = 4};
    size_t whole;
    DG_CHECK(!dg_st_write(path, &t, 1, meta, n, true));
    return kind_here(&whole);
}

static void kinds(void)
{
    static const struct {
        dg_st_meta meta[3];
        dg_made kind;
    } row[] = {
        {{{"format", DG_Z_FORMAT}}, DG_MADE_Z},
        {{{"format", "dcgan-checkpoint-1"}, {"step", "0"}}, DG_MADE_IMPORT},
        {{{"format", "dcgan-checkpoint-1"}, {"step", "07"}}, DG_MADE_CHECKPOINT},
        {{{"format", "dcgan-checkpoint-1"}, {"step", "0"}, {"classes", "a\n\"b\\\n"}}, DG_MADE_IMPORT_CLASSIFIER},
        {{{"note", "\",\"format\":\"dcgan-z-1"}}, DG_MADE_BY_OTHERS}, /* metadata that resembles dcgan's mark */
        {{{"format", "pt"}}, DG_MADE_BY_OTHERS},
        {{{NULL, NULL}}, DG_MADE_BY_OTHERS},
    };
    const struct {
        dg_text text[2];
        dg_made kind;
    } image[] = {
        {{{"Software", dg_version}}, DG_MADE_IMAGE}, {{{"Software", dg_version}, {"Picture", "7"}}, DG_MADE_SAMPLE},
        {{{"Picture", "7"}}, DG_MADE_BY_OTHERS},     {{{"Software", "gimp, not dcgan "}}, DG_MADE_BY_OTHERS},
        {{{NULL, NULL}}, DG_MADE_BY_OTHERS},
    };
    size_t whole;
    snprintf(path, sizeof path, "%s", temp_path("file"));
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int n = 0;
        while (n < 3 && row[i].meta[n].key) n++;
        DG_CHECKF(st(row[i].meta, n) == row[i].kind, "row %zu", i);
    }
    for (size_t i = 0; i < sizeof image / sizeof *image; i++)
        DG_CHECKF(png(image[i].text, image[i].text[1].key   ? 2
                                     : image[i].text[0].key ? 1
                                                            : 0) == image[i].kind,
                  "image %zu", i);
    uint8_t frames[2 * 3 * 5 * 3] = {1, 2, 3, 200};
    DG_CHECK(!dg_gif_write(path, frames, 2, 5, 3, 1, 50) && kind_here(&whole) == DG_MADE_GIF && whole < 1024);
}

static void marks(void)
{
    static const struct {
        const char *text;
        dg_made kind;
    } row[] = {
        {"", DG_MADE_EMPTY},
        {"; dcgan tune: NVIDIA H200\n", DG_MADE_TUNING},
        {"; my rows\n; dcgan tune: NVIDIA H200\n", DG_MADE_BY_OTHERS},
        {"dcgan-cache-1\n", DG_MADE_CACHE},
        {"batch,ms\n", DG_MADE_BY_OTHERS},
        {"\010\007\022\005dcgan\032", DG_MADE_ONNX},
        {"\010\007\022\005torch\032", DG_MADE_BY_OTHERS},
        {"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"dcgan-generator\" "
         "content=\"dcgan 1\">",
         DG_MADE_HTML},
        {"/* A generator, written by dcgan 1.\n", DG_MADE_C},
        {"/* A generator, written by me */\n", DG_MADE_BY_OTHERS},
        {"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"generator\" "
         "content=\"dcgan 1\">",
         DG_MADE_PAGE},
        {"<!DOCTYPE html>\n<!-- <meta name=\"generator\" content=\"dcgan 1\"> -->", DG_MADE_BY_OTHERS},
        {"GIF89a\1\0\1\0\0\0\0", DG_MADE_BY_OTHERS},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        DG_CHECKF(dg_made_kind(row[i].text, strlen(row[i].text)) == row[i].kind, "row %zu", i);
    DG_CHECK(dg_made_kind("{}", 2) == DG_MADE_BY_OTHERS);
}

static bool reads_all(const char *of, const struct stat *s, dg_made kind)
{
    (void)of, (void)s;
    return kind == DG_MADE_IMAGE;
}

static const char *is_sheet(const char *of)
{
    (void)of;
    return "sheet";
}

static bool refused(dg_made kind, const char *why)
{
    return dg_may_replace(path, kind) == DG_USAGE && strstr(dg_message(), why);
}

static void rule(void)
{
    dg_replacing how = {.option = is_sheet};
    unlink(path);
    DG_CHECK(!dg_may_replace(path, DG_MADE_IMAGE));
    temp_put(path, "", 0);
    DG_CHECK(!dg_may_replace(path, DG_MADE_IMAGE));
    temp_put(path, "mine", 4);
    DG_CHECK(refused(DG_MADE_IMAGE, "choose another out"));
    dg_set_replacing(&how);
    DG_CHECK(refused(DG_MADE_EMPTY, "choose another sheet"));
    how.force = true;
    DG_CHECK(!dg_may_replace(path, DG_MADE_IMAGE));
    how.force = false;
    DG_CHECK(png((dg_text[]){{"Software", dg_version}, {"Picture", "7"}}, 2) == DG_MADE_SAMPLE);
    DG_CHECK(!dg_may_replace(path, DG_MADE_IMAGE) && !dg_may_replace(path, DG_MADE_EMPTY));
    DG_CHECK(refused(DG_MADE_PAGE, "a sample"));
    DG_CHECK(png((dg_text[]){{"Software", dg_version}}, 1) == DG_MADE_IMAGE);
    how.is_input = reads_all;
    DG_CHECK(refused(DG_MADE_IMAGE, "is read by this command"));
    how.is_input = NULL;
    const int old = open(path, O_RDONLY | O_CLOEXEC);
    size_t n;
    char *data = temp_slurp(path, &n);
    const dg_chunk piece[] = {{data, 30}, {NULL, 0}, {data + 30, n - 30}};
    DG_CHECK(!dg_may_replace_by(old, path, piece, 3));
    DG_CHECK(dg_may_replace_by(old, path, &(dg_chunk){"dcgan-cache-1\n", 14}, 1) == DG_USAGE);
    free(data);
    close(old);
    dg_set_replacing(NULL);
}

static void fields(void)
{
    static const struct {
        const char *name, *field;
    } row[] = {
        {"cat", "cat"},
        {"", ""},
        {"a b", "a b"},
        {" a", "\" a\""},
        {"a,b", "\"a,b\""},
        {"a;b", "\"a;b\""},
        {"say \"x\"", "\"say \"\"x\"\"\""},
        {"=1+2", "'=1+2"},
        {"+1", "'+1"},
        {"-1", "'-1"},
        {"@x", "'@x"},
        {"'x", "''x"},
        {"a=1", "a=1"},
        {"  =1", "\"'  =1\""},
        {"=A1,\"", "\"'=A1,\"\"\""},
        {"\t=1", "\\x09=1"},
        {"\r=1", "\\x0d=1"},
        {"a\nb", "a\\x0ab"},
        {"\x1b[2J", "\\x1b[2J"},
        {"\xff", "\\xff"},
        {"caf\xc3\xa9", "caf\xc3\xa9"},
        {"\xef\xbc\x9d"
         "1",
         "'\xef\xbc\x9d"
         "1"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        dg_memory_file m;
        FILE *f = dg_memory_open(&m);
        dg_csv_field(f, row[i].name);
        DG_CHECKF(dg_memory_close(f, &m) && !strcmp(m.text, row[i].field), "%s: %s", row[i].name, m.text);
        free(m.text);
    }
}

DG_TESTS_IN("replace", kinds, marks, rule, fields)
