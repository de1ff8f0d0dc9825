#include "host/files/safetensors_internal.h"

#include <string.h>
#include <zlib.h>
#include <stdint.h>

const char *const dg_st_type_name[DG_TYPES] = {"F32", "F64", "U8", "I32", "I64"};

/* Like dg_utf8(), but for a text of `left` bytes without terminating NUL. */
static int utf8_bytes(const char *s, size_t left)
{
    char bytes[5] = "";
    unsigned code;
    memcpy(bytes, s, left < 4 ? left : 4);
    return dg_utf8(bytes, &code);
}

/* Scan a JSON string. Returns the string's length in bytes, including both quotes, or 0 with the fault in *why. */
static size_t scan_string(const char *s, size_t left, const char **why)
{
    for (size_t i = 1; i < left;) {
        if (s[i] == '"') return i + 1;
        if ((unsigned char)s[i] < 0x20) return *why = "control character in a string", 0;
        if (s[i] == '\\') {
            /* cJSON would truncate the string at \u0000 */
            if (left - i > 5 && !memcmp(s + i, "\\u0000", 6)) return *why = "NUL in a string", 0;
            i += 2;
            continue;
        }
        const int n = utf8_bytes(s + i, left - i);
        if (!n) return *why = "string is not UTF-8", 0;
        i += (size_t)n;
    }
    return *why = "unterminated string", 0;
}

const char *dg_st_scan(const char *header, size_t bytes)
{
    /* Max number of JSON values in a header: dtype, 8 dims and 2 offsets per tensor, and the metadata. */
    const long most = DG_ST_TENSORS_MAX * 16L + 2L * DG_ST_TENSORS_MAX;
    const char *why = NULL;
    long values = 0;
    int depth = 0;
    if (bytes == 0 || header[0] != '{') return "the header does not begin with {";
    for (size_t i = 0; i < bytes;) {
        size_t n = 1, left = bytes - i;
        switch (header[i]) {
        case '{':
        case '[':
            /* deepest valid nesting: header object, tensor object, shape array */
            if (++depth > 3) return "nested too deeply";
            break;
        case '}':
        case ']':
            if (--depth < 0) return "unmatched closing bracket";
            break;
        case ',':
            if (++values > most) return "too many values";
            break;
        case ':':
        case ' ':
        case '\t':
        case '\n':
        case '\r': break;
        case '"':
            n = scan_string(header + i, left, &why);
            if (!n) return why;
            break;
        case 'n': /* the parser later accepts null only for "__metadata__" */
            if (left < 4 || memcmp(header + i, "null", 4) != 0)
                return "a value that is neither text nor a whole number";
            n = 4;
            break;
        default:
            while (n <= left && header[i + n - 1] >= '0' && header[i + n - 1] <= '9') n++;
            n--;
            if (n == 0) return "a value that is neither text nor a whole number";
            if (n > 16 || (n > 1 && header[i] == '0')) return "a number that is too long";
        }
        i += n;
    }
    return depth ? "unclosed brackets" : NULL;
}

const char *dg_st_bad_name(const char *name, bool ours)
{
    size_t n = strlen(name);
    if (n == 0) return "empty name";
    if (n > 127) return "name longer than 127 bytes";
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f) return "control character in the name";
    if (ours && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") != n)
        return "allowed characters: A-Z a-z 0-9 . _ -";
    return NULL;
}

unsigned dg_st_crc(const void *data, size_t bytes) { return (unsigned)crc32_z(crc32_z(0, NULL, 0), data, bytes); }

unsigned dg_st_header_crc(const char *file, size_t bytes, const char *digits)
{
    unsigned long crc = crc32_z(0, NULL, 0);
    size_t before = (size_t)(digits - file);
    crc = crc32_z(crc, (const unsigned char *)file, before);
    crc = crc32_z(crc, (const unsigned char *)"00000000", 8);
    return (unsigned)crc32_z(crc, (const unsigned char *)digits + 8, bytes - before - 8);
}

const char *dg_st_find_digits(const char *header, size_t bytes)
{
    /* Quotes inside a JSON string are escaped, so `key` matches only a metadata key, not the text of a value. */
    static const char key[] = "\"" DG_ST_CRC "\":\"";
    const char *at = memmem(header, bytes, key, sizeof key - 1);
    if (!at || bytes - (size_t)(at - header) < sizeof key - 1 + 9) return NULL;
    at += sizeof key - 1;
    return at[8] == '"' ? at : NULL;
}

static bool is_one(const char *name, size_t n, const char *const *word)
{
    for (; *word; word++)
        if (strlen(*word) == n && !memcmp(name, *word, n)) return true;
    return false;
}

void dg_st_plain_name(const char *name, char *out)
{
    static const char *const anywhere[] = {"module", "_orig_mod", NULL},
                             *const first[] = {"model", "net", "state_dict", NULL},
                             *const generator[] = {"netG", "generator", "gen", NULL},
                             *const discriminator[] = {"netD", "discriminator", "disc", "critic", NULL};
    bool leading = true, named = false; /* leading: no component was copied yet; named: "G" or "D" was copied */
    for (const char *at = name, *dot; (dot = strchr(at, '.')); at = dot + 1) {
        const size_t n = (size_t)(dot - at);
        const bool G = !named && is_one(at, n, generator), D = !named && is_one(at, n, discriminator);
        name = dot + 1;
        if (is_one(at, n, anywhere) || (leading && is_one(at, n, first))) continue;
        if (leading && (G || D)) {
            *out++ = G ? 'G' : 'D';
            *out++ = '.';
            named = true;
            continue;
        }
        leading = false;
        memcpy(out, at, n + 1);
        out += n + 1;
    }
    memcpy(out, name, strlen(name) + 1);
}

dg_st_narrow dg_st_narrow_type(const char *dtype)
{
    return !strcmp(dtype, "F16") ? DG_ST_HALF : !strcmp(dtype, "BF16") ? DG_ST_BRAIN : DG_ST_SAME;
}

static uint32_t from_half(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 31) return sign | 0x7f800000 | fraction << 13;
    if (exponent) return sign | (exponent + 112) << 23 | fraction << 13;
    if (!fraction) return sign;
    for (exponent = 113; !(fraction & 1024); exponent--) fraction <<= 1; /* subnormal number: fraction * 2^-24 */
    return sign | exponent << 23 | (fraction & 1023) << 13;
}

void dg_st_widen(void *values, size_t n, dg_st_narrow from)
{
    char *to = values;
    const char *source = to + 2 * n;
    for (size_t i = 0; i < n; i++) { /* in place: writing float i does not overwrite the 16-bit value i + 1 */
        uint16_t narrow;
        memcpy(&narrow, source + 2 * i, sizeof narrow);
        const uint32_t wide = from == DG_ST_HALF ? from_half(narrow) : (uint32_t)narrow << 16;
        memcpy(to + 4 * i, &wide, sizeof wide);
    }
}
