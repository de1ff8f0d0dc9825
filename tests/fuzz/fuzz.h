/* Helpers of the fuzz targets. A target is a file fuzz_NAME.c with LLVMFuzzerTestOneInput and, if random bytes would
 * fail at a checksum, LLVMFuzzerCustomMutator; `make fuzz` links a target to libFuzzer, `make check` to driver.c. */
#ifndef DG_FUZZ_H
#define DG_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/* Checks a condition that holds for every input; if it fails, the process ends and libFuzzer keeps the input. */
#define FUZZ_HOLDS(x) ((x) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #x))
_Noreturn void fuzz_broken(const char *file, int line, const char *what);

/* Writes these bytes to a regular file in memory and returns its path, which is valid until the next call with this
 * number (0 to FUZZ_FILES - 1). */
enum { FUZZ_FILES = 4 };
const char *fuzz_file(int number, const void *data, size_t size);

/* Path of a folder that is empty at first and is removed when this process ends. */
const char *fuzz_folder(void);

/* Returns the bytes up to a NUL, malloc'd with the exact size, so that a sanitizer detects reads past the end. */
char *fuzz_text(const void *data, size_t size);

/* Returns the next random number of a mutator, less than `below`; *state starts as the seed. */
unsigned fuzz_random(unsigned *state, unsigned below);

/* Mutates only the n bytes at data[at]; the input may grow to `most` bytes; returns the new size of the input. */
size_t fuzz_mutate_part(uint8_t *data, size_t size, size_t at, size_t n, size_t most);

/* Mutates a safetensors file: bytes, parts of the header, values of tensors; corrects length field and checksums. */
size_t fuzz_mutate_safetensors(uint8_t *data, size_t size, size_t most, unsigned seed);

#endif
