/* Conversion of safetensors files of other programs: name prefixes of wrappers, 16-bit values. */
#include "host/files/safetensors_internal.h"

#include <stdint.h>
#include <string.h>

/* True if the component of n bytes at `name` is one of these words (NULL-terminated). */
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
    bool leading = true, named = false; /* leading: nothing was copied yet; named: the network's name was copied */
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

/* Convert IEEE 754 binary16 to the bits of binary32. */
static uint32_t from_half(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t exponent = h >> 10 & 31, fraction = h & 1023;
    if (exponent == 31) return sign | 0x7f800000 | fraction << 13;
    if (exponent) return sign | (exponent + 112) << 23 | fraction << 13;
    if (!fraction) return sign;
    for (exponent = 113; !(fraction & 1024); exponent--) fraction <<= 1; /* subnormal: fraction 2^-24 */
    return sign | exponent << 23 | (fraction & 1023) << 13;
}

void dg_st_widen(void *values, size_t n, dg_st_narrow from)
{
    char *to = values;
    const char *source = to + 2 * n;
    for (size_t i = 0; i < n; i++) { /* in place, because float i ends before 16-bit value i + 1 */
        uint16_t narrow;
        memcpy(&narrow, source + 2 * i, sizeof narrow);
        const uint32_t wide = from == DG_ST_HALF ? from_half(narrow) : (uint32_t)narrow << 16;
        memcpy(to + 4 * i, &wide, sizeof wide);
    }
}
