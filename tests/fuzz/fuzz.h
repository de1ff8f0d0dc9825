/* Helpers of the fuzz targets. `make fuzz` links fuzz targets to libFuzzer, `make check` to driver.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/image/image.h"
#include "host/rundir/log_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
#define FUZZ_MUTATOR(mutate)                                                               \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) \
    {                                                                                      \
        return mutate(data, size, most, seed);                                             \
    }

/* Ends the process if a condition fails that must hold for every input. */
#define FUZZ_HOLDS(x) ((x) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #x))
_Noreturn void fuzz_broken(const char *file, int line, const char *what);

/* Writes data to a file in memory and returns its path. A second call with the same `number` replaces the file. */
enum { FUZZ_FILES = 4 };
const char *fuzz_file(int number, const void *data, size_t size);

/* Returns the path of a folder that is empty at first and is removed when the process exits. */
const char *fuzz_folder(void);

/* Copies the text up to a NUL to a malloc'd buffer of the exact size, so that a sanitizer detects reads past the
 * end. */
char *fuzz_text(const void *data, size_t size);

/* Returns a random number less than `below`. The first value of *state is the seed. */
unsigned fuzz_random(unsigned *state, unsigned below);

/* Mutates only the n bytes at data[at]. The input may grow to `most` bytes. Returns its new size. */
size_t fuzz_mutate_part(uint8_t *data, size_t size, size_t at, size_t n, size_t most);

/* Mutates a safetensors file and corrects its length field and checksums. */
size_t fuzz_mutate_safetensors(uint8_t *data, size_t size, size_t most, unsigned seed);

/* Decodes an image as a whole and row by row, and resizes it. Whole and row-by-row decoding must give equal pixels or
 * refuse the image. `how` selects options of the decoder. */
void fuzz_image(const uint8_t *data, size_t size, unsigned how);

/* Splits an input into the text of log.csv up to a NUL (*csv, malloc'd) and log.jsonl (*data, *size). The first byte
 * selects the returned recipe and the metrics in log.csv. */
const dg_recipe *fuzz_log(const uint8_t **data, size_t *size, char **csv);

/* Creates run directories "a" and "b" in fuzz_folder(). The input is a sequence of entries, each with a header and
 * the bytes of one file. Symbolic links may point to a file outside of the run directories. */
void fuzz_rundir(const uint8_t *data, size_t size);

/* Checks that the file outside of the run directories is unchanged and that no run contains a copy of it. */
void fuzz_rundir_holds(void);

size_t fuzz_mutate_rundir(uint8_t *data, size_t size, size_t most, unsigned seed);
