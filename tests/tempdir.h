/* Makes a directory for a test's files in $TMPDIR, /dev/shm (where fsync costs nothing) or /tmp. The test removes it
 * at its end. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char temp_dir[512];

__attribute__((unused)) static void temp_make(const char *name)
{
    const char *base = getenv("TMPDIR");
    if (!base || !*base) base = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    snprintf(temp_dir, sizeof temp_dir, "%s/dcgan-%s-XXXXXX", base, name);
    if (!mkdtemp(temp_dir)) {
        perror(temp_dir);
        exit(1);
    }
}

__attribute__((unused)) static int temp_remove_one(const char *path, const struct stat *s, int flag, struct FTW *f)
{
    (void)s, (void)flag, (void)f;
    return remove(path);
}
__attribute__((unused)) static void temp_remove(const char *path)
{
    nftw(path, temp_remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Formats text like printf. The text stays valid for 15 more calls of this thread. */
__attribute__((format(printf, 1, 2), unused)) static char *temp_text(const char *format, ...)
{
    static __thread char buffer[16][8192];
    static __thread int next;
    char *out = buffer[next++ & 15];
    va_list ap;
    va_start(ap, format);
    vsnprintf(out, sizeof buffer[0], format, ap);
    va_end(ap);
    return out;
}

/* Returns the path temp_dir/name, which stays valid for 15 more calls of temp_text or temp_path. */
__attribute__((unused)) static const char *temp_path(const char *name) { return temp_text("%s/%s", temp_dir, name); }

/* Returns the number of files in a directory whose names contain `part`. */
__attribute__((unused)) static int temp_count(const char *dir, const char *part)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) n += strstr(e->d_name, part) != NULL;
    if (d) closedir(d);
    return n;
}

/* Returns a file's content with a NUL appended, or NULL if the file does not exist. */
__attribute__((unused)) static char *temp_slurp(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *data = (char *)malloc((size_t)n + 1);
    size_t got = data ? fread(data, 1, (size_t)n, f) : 0;
    fclose(f);
    if (data) data[got] = 0;
    if (bytes) *bytes = got;
    return data;
}

__attribute__((unused)) static bool same_file(const char *a, const char *b)
{
    size_t n, m;
    char *x = temp_slurp(a, &n), *y = temp_slurp(b, &m);
    const bool same = x && y && n == m && !memcmp(x, y, n);
    free(x);
    free(y);
    return same;
}

/* True if the file's content is `expected`, or if expected is NULL and the file does not exist. */
__attribute__((unused)) static bool temp_holds(const char *path, const char *expected)
{
    char *text = temp_slurp(path, NULL);
    const bool same = text ? expected && !strcmp(text, expected) : !expected;
    if (!same) printf("%s holds %s\n", path, text ? text : "(not there)");
    free(text);
    return same;
}

__attribute__((unused)) static void temp_put(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, bytes, f) != bytes) perror(path);
    if (f) fclose(f);
}

__attribute__((unused)) static void temp_copy(const char *file, const char *name)
{
    size_t n;
    char *bytes = temp_slurp(file, &n);
    temp_put(temp_path(name), bytes, n);
    free(bytes);
}

/* Like DG_TESTS of test.h, but creates and removes temp_dir. */
#define DG_TESTS_IN(name, ...) DG_TESTS_BETWEEN(temp_make(name), temp_remove(temp_dir), __VA_ARGS__)
