/* Makes run directories from fuzz inputs. An entry of an input has a header of 5 bytes (name, number, kind, and a
 * length of two bytes), followed by the bytes of a file. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "fuzz.h"
#include "host/net/recipe.h"
#include "host/rundir/log_text.h"
#include "tempdir.h"

enum { HEAD = 5, ENTRIES = 48, NAME = 128, BODY = 1 << 16 };
enum { REGULAR, LOG, SEALED, LINK, FOLDER, FIFO, KINDS };
enum { NUMBERS = 16, OF_B = 128 };

/* File names. %u is replaced by the entry's number. With "", the first line of the entry's data is the name. */
static const char *const names[] = {"config.ini",
                                    "log.csv",
                                    "log.jsonl",
                                    "session.json",
                                    "events.out.tfevents.run",
                                    "epoch-%04u.png",
                                    "confusion.csv",
                                    "confusion.png",
                                    "worst.png",
                                    "reals.png",
                                    "nearest.png",
                                    "checkpoint.safetensors",
                                    "checkpoint-%04u.safetensors",
                                    "best.safetensors",
                                    "checkpoint-best.safetensors",
                                    "later-than-%04u/going-back",
                                    "later-than-%04u/checkpoint.safetensors",
                                    "later-than-%04u",
                                    "curves.png",
                                    ""};
enum { NAMES = sizeof names / sizeof *names };

static const char *const targets[] = {"../secret", "log.csv", "..", "checkpoint.safetensors", "missing"};
static const char secret[] = "of no run: 8b1f3c\n";

typedef struct {
    uint8_t *at;
    size_t bytes;
} entry;

static int split(uint8_t *data, size_t size, entry *out)
{
    int n = 0;
    for (size_t at = 0; size - at >= HEAD && n < ENTRIES; n++) {
        const size_t says = data[at + 3] | (size_t)data[at + 4] << 8, left = size - at - HEAD;
        out[n] = (entry){data + at, says < left ? says : left};
        at += HEAD + out[n].bytes;
    }
    return n;
}

static void seal_png(uint8_t *p, size_t n)
{
    for (size_t at = 8; n - at >= 12 && at < n;) {
        const size_t says = (size_t)p[at] << 24 | (size_t)p[at + 1] << 16 | (size_t)p[at + 2] << 8 | p[at + 3];
        if (says > n - at - 12) return;
        const uint32_t crc = (uint32_t)crc32(0, p + at + 4, (uInt)says + 4);
        for (int i = 0; i < 4; i++) p[at + 8 + says + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
        at += 12 + says;
    }
}

static void put(int dir, const char *name, const void *data, size_t size)
{
    const int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0) return; /* an earlier entry made a folder, link or FIFO of this name */
    FUZZ_HOLDS(write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static void put_log(int dir, const char *name, unsigned number, const uint8_t *body, size_t bytes)
{
    static char text[DG_LOG_LINE + BODY];
    const dg_recipe *r = dg_recipe_at((int)(number / 2));
    if (!r) r = dg_recipe_at(0);
    const int n = dg_log_header_judged(text, r, number % 3 == 2 ? DG_LOGGED_BEFORE_KID : number % 3 ? DG_LOGGED : 0);
    memcpy(text + n, body, bytes);
    put(dir, name, text, (size_t)n + bytes);
}

/* Reads a file name from the first line of an entry's data. Returns false if the line is not a valid name. */
static bool free_name(char out[NAME], const uint8_t **body, size_t *bytes)
{
    const uint8_t *end = *bytes ? memchr(*body, '\n', *bytes) : NULL;
    const size_t n = end ? (size_t)(end - *body) : 0;
    if (!n || n >= NAME || memchr(*body, '/', n) || memchr(*body, 0, n)) return false;
    memcpy(out, *body, n);
    out[n] = 0;
    *body += n + 1;
    *bytes -= n + 1;
    return strcmp(out, ".") && strcmp(out, "..");
}

static void make(int dir, const entry *e)
{
    char name[NAME];
    static uint8_t sealed[BODY];
    const unsigned number = e->at[1] % NUMBERS;
    const uint8_t *body = e->at + HEAD;
    size_t bytes = e->bytes;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(name, sizeof name, names[e->at[0] % NAMES], number);
#pragma GCC diagnostic pop
    if (!*name && !free_name(name, &body, &bytes)) return;
    char *slash = strchr(name, '/');
    if (slash) {
        struct stat s;
        *slash = 0;
        (void)mkdirat(dir, name, 0700);
        const bool folder = fstatat(dir, name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(s.st_mode);
        *slash = '/';
        if (!folder) return;
    }
    switch (e->at[2] % KINDS) {
    case REGULAR: put(dir, name, body, bytes); break;
    case LOG: put_log(dir, name, number, body, bytes); break;
    case SEALED:
        memcpy(sealed, body, bytes);
        seal_png(sealed, bytes);
        put(dir, name, sealed, bytes);
        break;
    case LINK:
        if (symlinkat(targets[number % (sizeof targets / sizeof *targets)], dir, name)) break; /* the name exists */
        break;
    case FOLDER: (void)mkdirat(dir, name, 0700); break;
    case FIFO: (void)mkfifoat(dir, name, 0600); break;
    }
}

static int made_again(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    temp_remove(path);
    FUZZ_HOLDS(mkdir(path, 0700) == 0);
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    FUZZ_HOLDS(fd >= 0);
    return fd;
}

void fuzz_rundir(const uint8_t *data, size_t size)
{
    entry e[ENTRIES];
    static uint8_t copy[ENTRIES * (HEAD + BODY)];
    char path[600];
    if (size > sizeof copy) size = sizeof copy;
    if (size) memcpy(copy, data, size);
    const int n = split(copy, size, e), dir[2] = {made_again("a"), made_again("b")};
    for (int i = 0; i < n; i++) make(dir[e[i].at[1] >= OF_B], &e[i]);
    for (int i = 0; i < 2; i++) close(dir[i]);
    snprintf(path, sizeof path, "%s/secret", fuzz_folder());
    if (access(path, F_OK)) temp_put(path, secret, strlen(secret));
}

static int look(const char *path, const struct stat *s, int flag, struct FTW *f)
{
    char text[sizeof secret];
    (void)f;
    if (flag != FTW_F || !S_ISREG(s->st_mode) || (size_t)s->st_size != strlen(secret)) return 0;
    FILE *file = fopen(path, "rb");
    const size_t n = file ? fread(text, 1, sizeof text, file) : 0;
    if (file) fclose(file);
    /* uses CRC-32, because libFuzzer would copy operands of memcmp into its inputs */
    return n == strlen(secret) && crc32(0, (const Bytef *)text, (uInt)n) == crc32(0, (const Bytef *)secret, (uInt)n);
}

void fuzz_rundir_holds(void)
{
    char path[600];
    struct stat s;
    snprintf(path, sizeof path, "%s/secret", fuzz_folder());
    FUZZ_HOLDS(lstat(path, &s) == 0 && S_ISREG(s.st_mode) && s.st_nlink == 1);
    FUZZ_HOLDS(look(path, &s, FTW_F, NULL) == 1);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%c", fuzz_folder(), 'a' + i);
        FUZZ_HOLDS(nftw(path, look, 8, FTW_PHYS) == 0);
    }
}

/* Removes an entry, repeats it with another number, or changes its header. */
static size_t mix(uint8_t *data, size_t size, size_t most, const entry *e, int n, unsigned *random)
{
    const entry *a = &e[fuzz_random(random, (unsigned)n)];
    const size_t all = HEAD + a->bytes, at = (size_t)(a->at - data), rest = size - at - all;
    switch (fuzz_random(random, 3)) {
    case 0: memmove(a->at, a->at + all, rest); return size - all;
    case 1:
        if (all > most - size) return size;
        memmove(a->at + all, a->at, all + rest);
        a->at[all + 1] = (uint8_t)fuzz_random(random, NUMBERS);
        return size + all;
    }
    a->at[fuzz_random(random, 3)] = (uint8_t)fuzz_random(random, 256);
    return size;
}

size_t fuzz_mutate_rundir(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    entry e[ENTRIES];
    unsigned random = seed;
    const int n = split(data, size, e);
    if (!n || !fuzz_random(&random, 16)) return LLVMFuzzerMutate(data, size, most);
    if (!fuzz_random(&random, 4)) return mix(data, size, most, e, n, &random);
    const entry *a = &e[fuzz_random(&random, (unsigned)n)];
    const size_t at = (size_t)(a->at - data) + HEAD, now = fuzz_mutate_part(data, size, at, a->bytes, most);
    const size_t bytes = a->bytes + now - size;
    a->at[3] = (uint8_t)bytes;
    a->at[4] = (uint8_t)(bytes >> 8);
    return now;
}
