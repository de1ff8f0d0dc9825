#include "core/base/memory_file.h"

#include <stdlib.h>
#include <string.h>

static bool make_room(dg_memory_file *m, size_t n)
{
    if (m->room - m->bytes > n) return true;
    const size_t room = 2 * (m->bytes + n) + 256;
    char *more = realloc(m->text, room);
    m->exhausted |= !more;
    if (!more) return false;
    m->text = more;
    m->room = room;
    return true;
}

bool dg_memory_append(dg_memory_file *m, const void *data, size_t n)
{
    if (!make_room(m, n)) return false;
    memcpy(m->text + m->bytes, data, n);
    m->bytes += n;
    return true;
}

static ssize_t append(void *context, const char *data, size_t n)
{
    dg_memory_file *m = context;
    return !m->exhausted && dg_memory_append(m, data, n) ? (ssize_t)n : 0;
}

FILE *dg_memory_open(dg_memory_file *m)
{
    *m = (dg_memory_file){0};
    return fopencookie(m, "w", (cookie_io_functions_t){.write = append});
}

bool dg_memory_close(FILE *to, dg_memory_file *m)
{
    const bool whole = to && fclose(to) == 0 && !m->exhausted && make_room(m, 0);
    if (whole) {
        m->text[m->bytes] = 0;
        return true;
    }
    free(m->text);
    m->text = NULL;
    return false;
}
