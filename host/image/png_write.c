#include "host/image/encode.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "core/base/file_io.h"
#include "core/base/bytes.h"
#include "core/base/memory_file.h"

/* Limits for texts in PNG files: file size, total size of all texts, number of texts. */
enum { FILE_LIMIT = 64 << 20, TEXT_LIMIT = 1 << 20, TEXTS_LIMIT = 64 };

typedef struct {
    dg_memory_file file;
    char reason[200];
} memory;

static void append(png_structp png, png_bytep data, size_t bytes)
{
    memory *m = png_get_io_ptr(png);
    if (!dg_memory_append(&m->file, data, bytes)) png_error(png, "out of memory");
}

static png_voidp allocate(png_structp png, png_alloc_size_t bytes)
{
    memory *m = png_get_mem_ptr(png);
    void *p = malloc(bytes);
    m->file.exhausted |= !p;
    return p;
}

static void release(png_structp png, png_voidp p)
{
    (void)png;
    free(p);
}

static void no_flush(png_structp png) { (void)png; }

static void on_error(png_structp png, png_const_charp reason)
{
    memory *m = png_get_error_ptr(png);
    strncpy(m->reason, reason, sizeof m->reason - 1);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp reason)
{
    (void)png;
    (void)reason; /* libpng warns only about chunks that dcgan does not write */
}

static bool is_ascii(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s >= 0x80) return false;
    return true;
}

/* All libpng calls that may longjmp are in this function, because a longjmp makes local variables undefined. */
static bool write_all(png_structp png, png_infop info, const dg_image *im, png_text *chunk, int texts)
{
    if (setjmp(png_jmpbuf(png))) return false;
    png_set_compression_level(png, 2);
    /* Paeth filters alone take half the time of the default filters, for 5% more bytes */
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_PAETH);
    png_set_IHDR(png, info, (png_uint_32)im->W, (png_uint_32)im->H, 8,
                 im->C == 1   ? PNG_COLOR_TYPE_GRAY
                 : im->C == 3 ? PNG_COLOR_TYPE_RGB
                              : PNG_COLOR_TYPE_RGB_ALPHA,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (texts) png_set_text(png, info, chunk, texts);
    png_write_info(png, info);
    for (int y = 0; y < im->H; y++) png_write_row(png, im->pixels + (size_t)y * (size_t)im->W * (size_t)im->C);
    png_write_end(png, info);
    return true;
}

dg_err dg_png_encode(const dg_image *im, const dg_text *text, int texts, void **data, size_t *bytes)
{
    if (im->W < 1 || im->H < 1 || (im->C != 1 && im->C != 3 && im->C != 4))
        return dg_fail(DG_FAILED, "PNG: cannot write %d x %d pixels of %d channels", im->W, im->H, im->C);
    if (texts > TEXTS_LIMIT)
        return dg_fail(DG_FAILED, "PNG: %d text chunks; at most %d are supported", texts, TEXTS_LIMIT);
    png_text chunk[TEXTS_LIMIT];
    memset(chunk, 0, sizeof chunk);
    for (int i = 0; i < texts; i++) {
        size_t key = strlen(text[i].key), value = strlen(text[i].value);
        if (key < 1 || key > 79 || value >= TEXT_LIMIT - 100)
            return dg_fail(DG_FAILED,
                           "PNG: text \"%s\": the key must have 1 to 79 bytes, and the value less than 1 MiB",
                           text[i].key);
        /* A tEXt chunk is Latin-1, so UTF-8 texts such as folder names need an iTXt chunk. */
        bool plain = is_ascii(text[i].value);
        chunk[i].compression = plain ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE;
        chunk[i].key = (char *)(uintptr_t)text[i].key; /* libpng does not write to `key`, although the type is char * */
        chunk[i].text = (char *)(uintptr_t)text[i].value;
        chunk[i].text_length = plain ? value : 0;
        chunk[i].itxt_length = plain ? 0 : value;
    }
    memory m = {0};
    png_structp png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &m, on_error, on_warning, &m, allocate, release);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool ok = info != NULL;
    if (ok) {
        png_set_write_fn(png, &m, append, no_flush);
        ok = write_all(png, info, im, chunk, texts);
    }
    png_destroy_write_struct(&png, &info);
    if (!ok) {
        free(m.file.text);
        return m.file.exhausted ? dg_fail(DG_DEVICE, "PNG: out of memory") : dg_fail(DG_FAILED, "PNG: %s", m.reason);
    }
    *data = m.file.text;
    *bytes = m.file.bytes;
    return DG_OK;
}

dg_err dg_png_write(const char *path, const dg_image *im, const dg_text *text, int texts)
{
    return dg_png_write_in(NULL, path, im, text, texts);
}

dg_err dg_png_write_in(const dg_directory *dir, const char *path, const dg_image *im, const dg_text *text, int texts)
{
    void *data;
    size_t bytes;
    dg_err e = dg_png_encode(im, text, texts, &data, &bytes);
    if (e) return dg_context(e, "%s", path);
    e = dg_write_atomic_in(dir, path, &(dg_chunk){data, bytes}, 1);
    free(data);
    return e;
}

typedef struct {
    const unsigned char *key, *value;
    size_t key_bytes, value_bytes;
    bool latin1;
} found;

static const char *split(const unsigned char *p, size_t n, bool international, found *out)
{
    const unsigned char *end = p + n, *zero = memchr(p, 0, n);
    if (!zero || zero == p || zero - p > 79) return "text without a keyword of 1 to 79 bytes";
    out->key = p;
    out->key_bytes = (size_t)(zero - p);
    p = zero + 1;
    if (international) {
        if (end - p < 2 || p[0] != 0) return "compressed iTXt, not written by dcgan";
        p += 2;
        for (int i = 0; i < 2; i++) {
            zero = memchr(p, 0, (size_t)(end - p));
            if (!zero) return "iTXt: cut off";
            p = zero + 1;
        }
    }
    if (memchr(p, 0, (size_t)(end - p))) return "text with a NUL byte";
    out->value = p;
    out->value_bytes = (size_t)(end - p);
    out->latin1 = !international;
    return NULL;
}

static char *copy(char *out, const unsigned char *s, size_t n, bool latin1)
{
    for (size_t i = 0; i < n; i++)
        if (latin1 && s[i] >= 0x80) {
            *out++ = (char)(0xc0 | s[i] >> 6);
            *out++ = (char)(0x80 | (s[i] & 0x3f));
        } else {
            *out++ = (char)s[i];
        }
    *out++ = 0;
    return out;
}

static const char *walk(const unsigned char *p, size_t bytes, found *list, int *count, int *W, int *H)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (bytes < 8 || memcmp(p, signature, 8) != 0) return "not a PNG file";
    const unsigned char *end = p + bytes;
    p += 8;
    size_t total = 0;
    for (bool first = true;; first = false) {
        if (end - p < 12) return "cut off";
        size_t n = dg_big_endian(p);
        if (n > (size_t)(end - p) - 12) return "chunk longer than the file";
        const unsigned char *type = p + 4, *body = p + 8;
        if (crc32(crc32(0, NULL, 0), type, (uInt)n + 4) != dg_big_endian(body + n)) return "CRC error";
        if (first) {
            if (memcmp(type, "IHDR", 4) != 0 || n != 13) return "does not start with IHDR";
            uint32_t w = dg_big_endian(body), h = dg_big_endian(body + 4);
            if (w < 1 || h < 1 || w > 0x7fffffff || h > 0x7fffffff) return "invalid size";
            *W = (int)w;
            *H = (int)h;
        } else if (memcmp(type, "tEXt", 4) == 0 || memcmp(type, "iTXt", 4) == 0) {
            total += n;
            if (*count == TEXTS_LIMIT || total > TEXT_LIMIT) return "more than 64 texts or 1 MiB of text";
            const char *wrong = split(body, n, type[0] == 'i', &list[*count]);
            if (wrong) return wrong;
            ++*count;
        } else if (memcmp(type, "IEND", 4) == 0) {
            return n ? "IEND with content" : NULL;
        }
        p = body + n + 4;
    }
}

dg_err dg_png_texts(const char *path, dg_text **text, int *texts, int *W, int *H)
{
    void *data;
    size_t bytes;
    dg_err e = dg_read_file(path, FILE_LIMIT, &data, &bytes);
    if (e) return e;
    found list[TEXTS_LIMIT];
    int count = 0;
    const char *wrong = walk(data, bytes, list, &count, W, H);
    if (wrong) {
        free(data);
        return dg_fail(DG_DATA, "%s: PNG: %s", path, wrong);
    }
    size_t need = (size_t)(count ? count : 1) * sizeof(dg_text);
    for (int i = 0; i < count; i++) need += 2 * (list[i].key_bytes + list[i].value_bytes) + 2;
    dg_text *out = malloc(need);
    if (!out) {
        free(data);
        return dg_fail(DG_DEVICE, "%s: out of memory", path);
    }
    char *at = (char *)(out + (count ? count : 1));
    for (int i = 0; i < count; i++) {
        out[i].key = at;
        at = copy(at, list[i].key, list[i].key_bytes, true);
        out[i].value = at;
        at = copy(at, list[i].value, list[i].value_bytes, list[i].latin1);
    }
    free(data);
    *text = out;
    *texts = count;
    return DG_OK;
}
