/* Reads the EXIF orientation from a TIFF block: header, then directories of 12-byte entries (TIFF 6.0, section 2). */
#include "host/image/image_internal.h"

#include <string.h>

typedef struct {
    const uint8_t *at;
    size_t bytes;
    bool big;
} tiff_block;

/* Read a number of n = 2 or 4 bytes. Returns 0 outside of the TIFF block. Every caller rejects 0. */
static uint32_t number(const tiff_block *t, size_t offset, int n)
{
    if (offset > t->bytes || t->bytes - offset < (size_t)n) return 0;
    uint32_t v = 0;
    for (int i = 0; i < n; i++) v = v << 8 | t->at[offset + (size_t)(t->big ? i : n - 1 - i)];
    return v;
}

int dg_exif_orientation(const uint8_t *tiff, size_t bytes)
{
    enum { ORIENTATION = 0x0112, SHORT = 3, LONG = 4 };
    tiff_block t = {tiff, bytes, false};
    if (bytes < 8) return 1;
    if (!memcmp(tiff, "MM\0*", 4)) t.big = true;
    else if (memcmp(tiff, "II*\0", 4) != 0) return 1;

    size_t directory = number(&t, 4, 4); /* the loop below reads at most 65,535 entries */
    uint32_t entries = number(&t, directory, 2);
    for (uint32_t i = 0; i < entries; i++) {
        size_t entry = directory + 2 + 12 * (size_t)i;
        if (entry > bytes || bytes - entry < 12) return 1;
        if (number(&t, entry, 2) != ORIENTATION) continue;
        uint32_t type = number(&t, entry + 2, 2), count = number(&t, entry + 4, 4);
        if (count != 1 || (type != SHORT && type != LONG)) return 1;
        uint32_t value = number(&t, entry + 8, type == SHORT ? 2 : 4);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}
