#include "core/base/image_size.h"

#include <stdio.h>
#include <string.h>

const char *dg_size_text(dg_size s, char out[DG_SIZE_TEXT])
{
    if (dg_is_square(s)) snprintf(out, DG_SIZE_TEXT, "%d", s.W);
    else snprintf(out, DG_SIZE_TEXT, "%dx%d", s.W, s.H);
    return out;
}

/* Parse 1 to 4 digits. Returns the text after them, or NULL. */
static const char *side(const char *text, int *out)
{
    const size_t n = strspn(text, "0123456789");
    if (n < 1 || n > 4) return NULL;
    *out = 0;
    for (size_t i = 0; i < n; i++) *out = 10 * *out + (text[i] - '0');
    return text + n;
}

const char *dg_size_parse(const char *text, dg_size *out)
{
    const char *end = side(text, &out->W);
    if (end) out->H = out->W;
    return end && *end == 'x' ? side(end + 1, &out->H) : end;
}
