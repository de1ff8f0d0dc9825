#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/err.h"
#include "tempdir.h"

_Noreturn void fuzz_broken(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: does not hold: %s (last message: %s)\n", file, line, what, dg_message());
    abort();
}

const char *fuzz_file(int number, const void *data, size_t size)
{
    static char path[FUZZ_FILES][32];
    static int fd[FUZZ_FILES];
    if (!*path[number]) {
        fd[number] = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path[number], sizeof path[number], "/proc/self/fd/%d", fd[number]);
    }
    const char *from = data;
    bool good = ftruncate(fd[number], 0) == 0 && lseek(fd[number], 0, SEEK_SET) == 0;
    while (good && size) {
        const ssize_t n = write(fd[number], from, size);
        good = n > 0;
        if (good) from += n, size -= (size_t)n;
    }
    if (!good) {
        perror("a file in memory");
        exit(1);
    }
    return path[number];
}

static void remove_folder(void) { temp_remove(temp_dir); }

const char *fuzz_folder(void)
{
    if (!*temp_dir) {
        if (!getenv("TMPDIR") && access("/dev/shm", W_OK) == 0) setenv("TMPDIR", "/dev/shm", 0);
        temp_make("fuzz");
        atexit(remove_folder);
    }
    return temp_dir;
}

char *fuzz_text(const void *data, size_t size)
{
    const size_t n = size ? strnlen(data, size) : 0;
    char *text = malloc(n + 1);
    if (!text) exit(1);
    if (n) memcpy(text, data, n);
    text[n] = 0;
    return text;
}

unsigned fuzz_random(unsigned *state, unsigned below)
{
    *state = *state * 1664525 + 1013904223;
    return (unsigned)((uint64_t)(*state >> 1) * below >> 31);
}

size_t fuzz_mutate_part(uint8_t *data, size_t size, size_t at, size_t n, size_t most)
{
    const size_t rest = size - at - n, room = n + (most - size);
    uint8_t *part = room ? malloc(room) : NULL;
    if (!part) return size;
    memcpy(part, data + at, n);
    const size_t now = LLVMFuzzerMutate(part, n, room);
    memmove(data + at + now, data + at + n, rest);
    memcpy(data + at, part, now);
    free(part);
    return at + now + rest;
}
