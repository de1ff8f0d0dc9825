#include "host/files/safetensors.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file_io.h"
#include "host/files/safetensors_internal.h"

static dg_err check_text(const char *path, const char *what, const char *text)
{
    unsigned code;
    for (const char *s = text; *s;) {
        const int n = dg_utf8(s, &code);
        if (!n) return dg_fail(DG_IO, "%s: %s \"%.80s\" is not UTF-8", path, what, text);
        s += n;
    }
    return DG_OK;
}

static dg_err check(const char *path, const dg_st_tensor *tensor, int tensors, const dg_st_meta *meta, int metas)
{
    if (tensors < 1 || tensors > DG_ST_TENSORS_MAX)
        return dg_fail(DG_IO, "%s: %d tensors: must be 1 to %d", path, tensors, DG_ST_TENSORS_MAX);
    for (int i = 0; i < tensors; i++) {
        const dg_st_tensor *t = &tensor[i];
        const char *why = dg_st_bad_name(t->name, true);
        uint64_t size = dg_type_bytes(t->type);
        if (!why && t->rank > DG_ST_RANK_MAX) why = "too many dimensions";
        for (int d = 0; !why && d < t->rank; d++)
            if (t->dim[d] < 1 || __builtin_mul_overflow(size, (uint64_t)t->dim[d], &size)) why = "invalid shape";
        if (!why && size != t->bytes) why = "bytes do not match type and shape";
        for (int k = 0; !why && k < i; k++)
            if (!strcmp(tensor[k].name, t->name)) why = "duplicate";
        if (!why && !strcmp(t->name, "__metadata__")) why = "reserved name";
        if (why) return dg_fail(DG_IO, "%s: tensor %s: %s", path, t->name, why);
    }
    for (int i = 0; i < metas; i++) {
        dg_err e = check_text(path, "metadata key", meta[i].key);
        if (!e) e = check_text(path, meta[i].key, meta[i].value);
        if (e) return e;
        bool twice = false;
        for (int k = 0; k < i; k++) twice |= !strcmp(meta[k].key, meta[i].key);
        if (twice || !strncmp(meta[i].key, DG_ST_CRC, sizeof DG_ST_CRC - 1))
            return dg_fail(DG_IO, "%s: metadata %s: %s", path, meta[i].key,
                           twice ? "duplicate" : "reserved for checksums");
    }
    return DG_OK;
}

static bool add_meta(cJSON *root, const dg_st_tensor *const *order, int tensors, const dg_st_meta *meta, int metas,
                     bool checked)
{
    if (metas == 0 && !checked) return true;
    cJSON *m = cJSON_AddObjectToObject(root, "__metadata__");
    bool ok = m && (!checked || cJSON_AddStringToObject(m, DG_ST_CRC, "00000000"));
    for (int i = 0; i < metas && ok; i++) ok = cJSON_AddStringToObject(m, meta[i].key, meta[i].value) != NULL;
    for (int i = 0; i < tensors && ok && checked; i++) {
        char key[sizeof DG_ST_CRC + sizeof order[i]->name], digits[9];
        snprintf(key, sizeof key, DG_ST_CRC ".%s", order[i]->name);
        snprintf(digits, sizeof digits, "%08x", dg_st_crc(order[i]->data, order[i]->bytes));
        ok = cJSON_AddStringToObject(m, key, digits) != NULL;
    }
    return ok;
}

static bool add_tensor(cJSON *root, const dg_st_tensor *t, size_t offset)
{
    cJSON *o = cJSON_AddObjectToObject(root, t->name);
    bool ok = o && cJSON_AddStringToObject(o, "dtype", dg_st_type_name[t->type]);
    cJSON *shape = ok ? cJSON_AddArrayToObject(o, "shape") : NULL;
    ok = shape != NULL;
    for (int d = 0; d < t->rank && ok; d++) ok = cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)t->dim[d]));
    cJSON *offsets = ok ? cJSON_AddArrayToObject(o, "data_offsets") : NULL;
    return offsets && cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)offset)) &&
           cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)(offset + t->bytes)));
}

/* Make length field and header, padded with spaces to a multiple of 8 bytes. Returns NULL without memory. */
static char *make_header(const dg_st_tensor *const *order, int tensors, const dg_st_meta *meta, int metas, bool checked,
                         size_t *bytes)
{
    cJSON *root = cJSON_CreateObject();
    char *text = NULL, *out = NULL;
    bool ok = root && add_meta(root, order, tensors, meta, metas, checked);
    size_t offset = 0;
    for (int i = 0; i < tensors && ok; i++) {
        ok = add_tensor(root, order[i], offset);
        offset += order[i]->bytes;
    }
    if (ok) text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    if (text) {
        size_t n = strlen(text), length = (n + 7) & ~(size_t)7;
        *bytes = 8 + length;
        out = malloc(*bytes + 1);
        if (out) {
            for (int i = 0; i < 8; i++) out[i] = (char)(length >> 8 * i & 255);
            memcpy(out + 8, text, n);
            memset(out + 8 + n, ' ', length - n);
            out[*bytes] = 0;
        }
    }
    cJSON_free(text);
    if (out && checked) {
        char digits[9], *at = out + (dg_st_find_digits(out + 8, *bytes - 8) - out);
        snprintf(digits, sizeof digits, "%08x", dg_st_header_crc(out, *bytes, at));
        memcpy(at, digits, 8);
    }
    return out;
}

dg_err dg_st_write(const char *path, const dg_st_tensor *tensor, int tensors, const dg_st_meta *meta, int metas,
                   bool checked)
{
    return dg_st_write_in(NULL, path, tensor, tensors, meta, metas, checked);
}

dg_err dg_st_write_in(const dg_directory *dir, const char *path, const dg_st_tensor *tensor, int tensors,
                      const dg_st_meta *meta, int metas, bool checked)
{
    dg_err e = check(path, tensor, tensors, meta, metas);
    if (e) return e;
    /* Store wide types first: PyTorch maps the file into memory, so each tensor must be aligned to its type. */
    const dg_st_tensor **order = malloc((size_t)tensors * sizeof(const dg_st_tensor *));
    dg_chunk *piece = malloc(((size_t)tensors + 1) * sizeof *piece);
    char *header = NULL;
    size_t bytes = 0;
    int n = 0;
    for (size_t width = 8; width && order; width /= 2)
        for (int i = 0; i < tensors; i++)
            if (dg_type_bytes(tensor[i].type) == width) order[n++] = &tensor[i];
    if (order && piece) header = make_header(order, tensors, meta, metas, checked, &bytes);
    if (!header) {
        e = dg_fail(DG_DEVICE, "%s: out of memory", path);
    } else if (bytes - 8 > DG_ST_HEADER_MAX) {
        e = dg_fail(DG_IO, "%s: header of %zu bytes; the limit is 1 MiB", path, bytes - 8);
    } else {
        piece[0] = (dg_chunk){header, bytes};
        for (int i = 0; i < tensors; i++) piece[i + 1] = (dg_chunk){order[i]->data, order[i]->bytes};
        e = dg_write_atomic_in(dir, path, piece, tensors + 1);
    }
    free(header);
    free(piece);
    free(order);
    return e;
}
