#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "host/net/recipe.h"

const dg_recipe *fuzz_log(const uint8_t **data, size_t *size, char **csv)
{
    char header[DG_LOG_LINE] = "";
    const dg_recipe *r = NULL;
    const unsigned how = *size ? **data : 0;
    if (*size) ++*data, --*size;
    for (unsigned i = 0; i <= how / 4 % 4 && dg_recipe_at((int)i); i++) r = dg_recipe_at((int)i);
    const int judged[] = {-1, 0, how & 64 ? DG_LOGGED : DG_LOGGED_ALWAYS, DG_LOGGED_BEFORE_KID};
    if (how % 4) dg_log_header_judged(header, r, judged[how % 4]);
    const uint8_t *nul = *size ? memchr(*data, 0, *size) : NULL;
    const size_t n = nul ? (size_t)(nul - *data) : *size, head = strlen(header);
    *csv = malloc(head + n + 1);
    if (!*csv) exit(1);
    memcpy(*csv, header, head);
    memcpy(*csv + head, *data, n);
    (*csv)[head + n] = 0;
    *data += n + (nul != NULL);
    *size -= n + (nul != NULL);
    return r;
}
