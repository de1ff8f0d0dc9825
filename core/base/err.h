/* Errors. A function that can fail returns dg_err; the text of the last failure of this thread is in
 * dg_message(). The values are the program's exit codes (design: one table, in docs/reference.md and the man page).
 *
 *     if (n < 1) return dg_fail(DG_USAGE, "{batch} %d: must be at least 1", n);
 *
 * {batch} in a format, also of a warning, is a setting as its user knows it: "batch", in the program "--batch".
 *
 * User mistakes are returned, never aborted on. A message says what is wrong, where (file, line, op) and what
 * to do; it has no trailing newline and no "error:" in front. */
#ifndef DG_ERR_H
#define DG_ERR_H

#include <stdbool.h>

typedef enum {
    DG_OK = 0,
    DG_FAILED = 1,   /* ran, but the result is not what was asked for */
    DG_USAGE = 2,    /* command line, configuration or model file */
    DG_DATA = 3,     /* images */
    DG_IO = 4,       /* reading or writing a file */
    DG_DEVICE = 5,   /* device, memory or threads */
    DG_NUMBERS = 6,  /* NaN or Inf while training */
    DG_LOCKED = 7,   /* run directory in use */
    DG_COLLAPSED = 8 /* {stop-on-collapse} */
    /* 128 + n: stopped by signal n after saving: 129, 130, 143, and 138, 140, 152 of batch systems (stop.h) */
} dg_err;

/* text, after "[key] " where dg_message_keys(). Both are string literals. The tests of the command line compare the
 * messages by key, so that the words may change: key is kebab-case, unique, and named by a test (tests/cli/keys.sh). */
#define DG_MSG(key, text) (dg_message_keys() ? "[" key "] " text : text)
/* The environment variable DCGAN_MESSAGE_KEYS is 1. */
bool dg_message_keys(void);

/* Room for a message with its final NUL; what is longer is cut. */
enum { DG_MESSAGE_BYTES = 4096 };

/* Store the message for this thread, control characters made visible. errno stays as it is. */
void dg_set_message(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* The same, and the value is code: dg_fail(dg_err code, const char *format, ...). A macro, so that analysers, which
 * look at one file at a time, know that a function that failed does not return DG_OK. */
#define dg_fail(code, ...) (dg_set_message(__VA_ARGS__), (dg_err)(code))

/* text with its {batch} in out (size bytes with the final NUL) as their user knows them. Returns out. */
char *dg_named_settings(char *out, unsigned long size, const char *text);

/* What stands before the names of settings: "", unless the program says "--". static text. */
void dg_set_setting_prefix(const char *prefix);

/* Put "context: " in front of the stored message; returns code unchanged, also when it is DG_OK. */
dg_err dg_context(dg_err code, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* The last message of this thread, "" if there was none. Valid until the next dg_set_message of this thread. */
const char *dg_message(void);

/* Something that whoever runs this should know, and that stops nothing. */
void dg_warn(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* What is done with warnings, each without a newline: NULL, as in the beginning: they are dropped. For the whole
 * process, and not changed while other threads may warn. */
typedef void dg_on_warning(void *context, const char *text);
void dg_set_warnings(dg_on_warning *f, void *context);

/* Copy text into out (size bytes with the final NUL) with control bytes, invalid UTF-8 and characters that turn the
 * direction of writing as \xNN, so that a file name cannot drive a terminal. Returns out. */
char *dg_printable(char *out, unsigned long size, const char *text);
/* Bytes of the character at text that it would copy, 0 where it would write \xNN. */
int dg_printable_bytes(const char *text);
/* Bytes of the UTF-8 sequence at text and what it stands for (RFC 3629); 0: there is none. */
int dg_utf8(const char *text, unsigned *code);

#endif
