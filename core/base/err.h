/* Errors. A function that can fail returns dg_err, and dg_message() returns the text of this thread's last error. The
 * values of dg_err are the program's exit codes (docs/reference.md and the man page).
 *   if (n < 1) return dg_fail(DG_USAGE, "{batch} %d: must be at least 1", n);
 * {batch} in the format of an error or warning names a setting. The program prints {batch} as "--batch", the library as
 * "batch".
 *
 * A user's mistake returns an error and never aborts the program. An error message says what is wrong, where (file,
 * line, op) and what to do. It has no trailing newline and no leading "error:". */
#pragma once

#include <stdbool.h>

typedef enum {
    DG_OK = 0,
    DG_FAILED = 1, /* a check failed, or any error without a specific code */
    DG_USAGE = 2,  /* error in the command line, configuration or model file */
    DG_DATA = 3,
    DG_IO = 4,
    DG_DEVICE = 5,
    DG_NUMBERS = 6, /* NaN or Inf while training */
    DG_LOCKED = 7,
    DG_COLLAPSED = 8 /* {stop-on-collapse} */
    /* 128 + n is the exit code if signal n stopped the training run (stop.h) */
} dg_err;

/* Yields the string literal `text`, with the prefix "[key] " if dg_message_keys() is true. Tests of the command line
 * compare messages by key, so that the wording can change. Each message key is kebab-case, unique, and used by a
 * test. */
#define DG_MSG(key, text) (dg_message_keys() ? "[" key "] " text : text)
/* True if the environment variable DCGAN_MESSAGE_KEYS is 1. */
bool dg_message_keys(void);

/* Size of a message with its final NUL. Longer messages are cut. */
enum { DG_MESSAGE_BYTES = 4096 };

/* Stores this thread's error message, with control characters escaped; errno is preserved. */
void dg_set_message(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* Stores the error message and returns `code`. A macro shows static analysers that the result is not DG_OK. */
#define dg_fail(code, ...) (dg_set_message(__VA_ARGS__), (dg_err)(code))

/* Copies text to out, at most `size` bytes including the NUL, with each {setting} replaced by the setting's printed
 * name. Returns out. */
char *dg_named_settings(char *out, unsigned long size, const char *text);

/* Sets the prefix of printed setting names (static text): "" by default, "--" in the program. */
void dg_set_setting_prefix(const char *prefix);

/* Prepends the formatted text and ": " to this thread's error message, unless code is DG_OK. Returns code. */
dg_err dg_context(dg_err code, const char *format, ...) __attribute__((format(printf, 2, 3), cold));

/* Returns this thread's last error message or "", valid until this thread's next dg_set_message. */
const char *dg_message(void);

void dg_warn(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

/* Sets the process's warning handler, before other threads start. A NULL handler (the default) drops warnings. The text
 * of a warning has no newline. */
typedef void dg_on_warning(void *context, const char *text);
void dg_set_warnings(dg_on_warning *f, void *context);

/* Copies text to out, at most `size` bytes including the NUL. Writes control bytes, invalid UTF-8 and bidirectional
 * controls as \xNN, so that a file name cannot control a terminal. Returns out. */
char *dg_printable(char *out, unsigned long size, const char *text);
/* Returns the length in bytes of the character at `text`, or 0 if dg_printable escapes the character. */
int dg_printable_bytes(const char *text);
/* Returns the length of the UTF-8 sequence at `text`, or 0 if the sequence is invalid (RFC 3629). Stores the code point
 * in *code. */
int dg_utf8(const char *text, unsigned *code);
