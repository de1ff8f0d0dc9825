/* Errors. A function that can fail returns dg_err; the text of this thread's last failure is in dg_message(). The
 * values are the program's exit codes (docs/reference.md and the man page).
 *   if (n < 1) return dg_fail(DG_USAGE, "{batch} %d: must be at least 1", n);
 * {batch} in a format, also of a warning, is a setting, printed as its user knows it: "batch", in the program
 * "--batch".
 *
 * User mistakes are returned and never abort. A message says what is wrong, where (file, line, op) and what to do,
 * without a trailing newline or a leading "error:". */
#ifndef DG_ERR_H
#define DG_ERR_H

#include <stdbool.h>

typedef enum {
    DG_OK = 0,
    DG_FAILED = 1, /* ran, but without the requested result */
    DG_USAGE = 2,  /* command line, configuration or model file */
    DG_DATA = 3,
    DG_IO = 4,
    DG_DEVICE = 5,
    DG_NUMBERS = 6, /* NaN or Inf while training */
    DG_LOCKED = 7,
    DG_COLLAPSED = 8 /* {stop-on-collapse} */
    /* 128 + n: stopped by signal n after saving: 129, 130, 143, and 138, 140, 152 of batch systems (stop.h) */
} dg_err;

/* text (a string literal), with "[key] " before it if dg_message_keys(). Tests of the command line compare messages by
 * key, so that wording can change: key is kebab-case, unique, and named by a test (tests/cli/keys.sh). */
#define DG_MSG(key, text) (dg_message_keys() ? "[" key "] " text : text)
/* True if the environment variable DCGAN_MESSAGE_KEYS is 1. */
bool dg_message_keys(void);

/* Limit of a message with its final NUL; longer ones are cut. */
enum { DG_MESSAGE_BYTES = 4096 };

/* Stores the message for this thread with control characters made visible; errno is preserved. */
void dg_set_message(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* dg_fail(dg_err code, const char *format, ...): stores the message and returns code. A macro, so that analysers of
 * single files see that the result is not DG_OK. */
#define dg_fail(code, ...) (dg_set_message(__VA_ARGS__), (dg_err)(code))

/* Copies text to out (size bytes with the final NUL) with its {batch} as the user knows it. Returns out. */
char *dg_named_settings(char *out, unsigned long size, const char *text);

/* Prefix of setting names: "" by default, "--" in the program; static text. */
void dg_set_setting_prefix(const char *prefix);

/* Prepends "context: " to the stored message; returns code, also if it is DG_OK. */
dg_err dg_context(dg_err code, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* This thread's last message, or "". Valid until its next dg_set_message. */
const char *dg_message(void);

/* Reports something that the user should know and that stops nothing. */
void dg_warn(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* Sets the handler of warnings (without newline) for the process, before threads may warn; NULL, the default, drops
 * them. */
typedef void dg_on_warning(void *context, const char *text);
void dg_set_warnings(dg_on_warning *f, void *context);

/* Copies text to out (size bytes with the final NUL) with control bytes, invalid UTF-8 and bidirectional controls as
 * \xNN, so that a file name cannot control a terminal. Returns out. */
char *dg_printable(char *out, unsigned long size, const char *text);
/* Bytes of the character at text that dg_printable copies; 0: it writes \xNN. */
int dg_printable_bytes(const char *text);
/* Bytes of the UTF-8 sequence at text and its code point (RFC 3629); 0: invalid. */
int dg_utf8(const char *text, unsigned *code);

#endif
