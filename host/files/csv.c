#include "host/files/csv.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/err.h"

static bool is_formula(const char *name)
{
    static const char *const first[] = {
        "=", "+", "-", "@", "'", "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};
    name += strspn(name, " ");
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (!strncmp(name, first[i], strlen(first[i]))) return true;
    return false;
}

void dg_csv_field(FILE *f, const char *name)
{
    const size_t n = strlen(name);
    const bool quoted = name[strcspn(name, ",;\"")] || (n && (name[0] == ' ' || name[n - 1] == ' '));
    if (quoted) fputc('"', f);
    if (is_formula(name)) fputc('\'', f);
    while (*name) {
        const int bytes = dg_printable_bytes(name);
        if (!bytes) fprintf(f, "\\x%02x", (unsigned char)*name);
        else if (*name == '"') fputs("\"\"", f);
        else (void)fwrite(name, 1, (size_t)bytes, f);
        name += bytes ? bytes : 1;
    }
    if (quoted) fputc('"', f);
}
