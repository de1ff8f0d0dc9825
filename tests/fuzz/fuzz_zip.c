/* libFuzzer: zip files in the place of a folder. Nothing is written but below the folder that is made for them, and
 * nothing of that stays. The mutator changes names, in the directory and before the data, and what is in a file. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/data/zip.h"

/* The names in the folder, without . and .. */
static int entries(const char *path)
{
    int n = -2;
    DIR *d = opendir(path);
    FUZZ_HOLDS(d);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char below[DG_ZIP_PATH]; /* FOLDER/tmp, so that "../x" and "../../x" would be seen */
    char folder[DG_ZIP_PATH] = "";
    if (!*below) {
        snprintf(below, sizeof below, "%s/tmp", fuzz_folder());
        FUZZ_HOLDS(mkdir(below, 0700) == 0 && setenv("TMPDIR", below, 1) == 0);
    }
    const char *path = fuzz_file(0, data, size);
    (void)dg_zip_inside(path);
    const dg_err e = dg_zip_unpack(path, folder);
    if (e) {
        FUZZ_HOLDS(!strncmp(dg_message(), path, strlen(path)));
    } else {
        FUZZ_HOLDS(!strncmp(folder, below, strlen(below)));
        dg_zip_remove(folder);
    }
    FUZZ_HOLDS(entries(below) == 0 && entries(fuzz_folder()) == 1);
    return 0;
}

static size_t little(const uint8_t *p, int bytes)
{
    size_t v = 0;
    while (bytes--) v = v << 8 | p[bytes];
    return v;
}

/* The name of the entry whose header begins at `at` gets other letters, here and in the header of its data. */
static void rename_entry(uint8_t *data, size_t size, size_t at, unsigned *random)
{
    static const char *const words[] = {"../", "/", "..", "a/", "./", "\\", "//", "\n"};
    const size_t n = little(data + at + 28, 2), local = little(data + at + 42, 4);
    if (n == 0 || n > size - at - 46 || local > size || size - local < 30 + n) return;
    const char *word = words[fuzz_random(random, 8)];
    const size_t length = strlen(word), to = fuzz_random(random, (unsigned)n);
    if (length > n - to) return;
    memcpy(data + at + 46 + to, word, length);
    memcpy(data + local + 30 + to, word, length);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    unsigned random = seed;
    size_t at[16];
    int n = 0;
    for (size_t i = 0; n < 16 && size >= 46 && i <= size - 46; i++)
        if (!memcmp(data + i, "PK\1\2", 4)) at[n++] = i;
    if (!n || fuzz_random(&random, 2)) return LLVMFuzzerMutate(data, size, most);
    rename_entry(data, size, at[fuzz_random(&random, (unsigned)n)], &random);
    return size;
}
