#include "host/files/json_text.h"

#include <cjson/cJSON.h>

#include "host/files/json.h"

/* Write one character, as \uXXXX if it is not printable. Returns how many bytes of s the character has. */
static int put_character(FILE *to, const char *s)
{
    unsigned code;
    int n = dg_printable_bytes(s);
    if (n) {
        (void)fwrite(s, 1, (size_t)n, to);
        return n;
    }
    n = dg_utf8(s, &code);
    fprintf(to, "\\u%04x", n ? code : 0xfffdu);
    return n ? n : 1;
}

void dg_json_text(FILE *to, const char *text)
{
    fputc('"', to);
    while (*text) {
        if (*text == '"' || *text == '\\') fputc('\\', to);
        text += put_character(to, text);
    }
    fputc('"', to);
}

static _Thread_local unsigned long refused;

cJSON *dg_json_begin(void)
{
    refused = dg_json_refused();
    return cJSON_CreateObject();
}

dg_err dg_json_print(cJSON *json)
{
    char *text = dg_json_refused() == refused ? cJSON_Print(json) : NULL;
    cJSON_Delete(json);
    if (!text) return dg_fail(DG_DEVICE, "out of memory for the JSON text");
    /* Unprintable characters occur only inside strings, because cJSON writes only blanks between strings. */
    for (const char *s = text; *s;) {
        if (*s == '\n' || *s == '\t') putchar(*s++);
        else s += put_character(stdout, s);
    }
    putchar('\n');
    cJSON_free(text);
    return DG_OK;
}
