/* Runs a fuzz target without libFuzzer on stored inputs and on mutations of each. Arguments are input files. Without
 * arguments, fuzz_NAME reads corpus/NAME and found/NAME. A failed check aborts. */
#include "fuzz.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 1 << 20, MUTANTS = 16 };

#pragma weak LLVMFuzzerCustomMutator

static unsigned state = 1;
static char input[4096];

static void on_signal(int signal_number)
{
    static const char says[] = ", or a mutant of it, ends the program\n";
    if (write(2, input, strlen(input)) < 0 || write(2, says, sizeof says - 1) < 0) _exit(1);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Replaces libFuzzer's function: changes, inserts or removes one byte. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
{
    const size_t at = size ? fuzz_random(&state, (unsigned)size) : 0;
    switch (fuzz_random(&state, 4)) {
    case 0:
        if (size >= most) break;
        memmove(data + at + 1, data + at, size - at);
        data[at] = (uint8_t)fuzz_random(&state, 256);
        return size + 1;
    case 1:
        if (size < 2) break;
        memmove(data + at, data + at + 1, size - at - 1);
        return size - 1;
    case 2:
        if (size) data[at] ^= (uint8_t)(1u << fuzz_random(&state, 8));
        return size;
    }
    if (size) data[at] = (uint8_t)fuzz_random(&state, 256);
    return size;
}

static void try_bytes(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact) exit(1);
    if (size) memcpy(exact, data, size);
    (void)LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static bool try_file(const char *path)
{
    static uint8_t data[LARGEST], mutant[2 * LARGEST];
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return false;
    }
    const size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    snprintf(input, sizeof input, "%s", path);
    try_bytes(data, size);
    for (int i = 0; i < MUTANTS; i++) {
        memcpy(mutant, data, size);
        const size_t most = size + 4096;
        const size_t now = LLVMFuzzerCustomMutator
                               ? LLVMFuzzerCustomMutator(mutant, size, most, fuzz_random(&state, 1u << 30))
                               : LLVMFuzzerMutate(mutant, size, most);
        if (now > most) return false;
        try_bytes(mutant, now);
    }
    return true;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* Runs the target on each file of a folder. Returns the number of files, or -1 after a failure. */
static int try_folder(const char *below, const char *name)
{
    char path[4096];
    struct dirent **entry;
    snprintf(path, sizeof path, "tests/fuzz/%s/%s", below, name);
    const int n = scandir(path, &entry, NULL, by_name);
    int tried = 0;
    bool good = true;
    for (int i = 0; i < n; i++) {
        if (entry[i]->d_name[0] != '.' && good) {
            snprintf(path, sizeof path, "tests/fuzz/%s/%s/%s", below, name, entry[i]->d_name);
            good = try_file(path);
            tried++;
        }
        free(entry[i]);
    }
    if (n >= 0) free(entry);
    return good ? tried : -1;
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    const int fatal[] = {SIGABRT, SIGSEGV, SIGFPE};
    for (int i = 0; i < 3; i++) { /* keep the signal handlers of sanitizers, because they print more */
        struct sigaction old;
        if (!sigaction(fatal[i], NULL, &old) && old.sa_handler == SIG_DFL) signal(fatal[i], on_signal);
    }
    for (int i = 1; i < argc; i++)
        if (!try_file(argv[i])) return 1;
    if (argc > 1) return 0;
    if (!strncmp(name, "fuzz_", 5)) name += 5;
    const int kept = try_folder("corpus", name), found = kept < 0 ? -1 : try_folder("found", name);
    if (kept < 1 || found < 0) {
        fprintf(stderr, "tests/fuzz/corpus/%s: no inputs, or one that failed (run from the root)\n", name);
        return 1;
    }
    fprintf(stderr, "%s: %d inputs of the corpus, %d that were found, %d mutants of each\n", name, kept, found,
            MUTANTS);
    return 0;
}
