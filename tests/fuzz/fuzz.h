/* What the targets of tests/fuzz share. A target is one file fuzz_NAME.c with LLVMFuzzerTestOneInput and, where random
 * bytes would hardly come past a checksum, LLVMFuzzerCustomMutator; `make fuzz` links it with libFuzzer, `make check`
 * with driver.c. */
#ifndef DG_FUZZ_H
#define DG_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/* What holds whatever the input is; otherwise the process ends, and libFuzzer keeps the input. */
#define FUZZ_HOLDS(x) ((x) ? (void)0 : fuzz_broken(__FILE__, __LINE__, #x))
_Noreturn void fuzz_broken(const char *file, int line, const char *what);

/* A regular file in memory with these bytes, for what is read by its path. Valid until the next call with this number,
 * 0 to FUZZ_FILES - 1. */
enum { FUZZ_FILES = 4 };
const char *fuzz_file(int number, const void *data, size_t size);

/* A folder of this process, empty at first and removed when it ends. */
const char *fuzz_folder(void);

/* The bytes as text, malloc'd and no longer than needed, so that a sanitizer sees who reads behind it; what is behind a
 * NUL is left out. */
char *fuzz_text(const void *data, size_t size);

/* Random numbers of a mutator, from its seed on. */
unsigned fuzz_random(unsigned *state, unsigned below);

/* Mutate the n bytes at data[at] and no others, where the input may grow to `most`; returns its new size. */
size_t fuzz_mutate_part(uint8_t *data, size_t size, size_t at, size_t n, size_t most);

/* Mutate a safetensors file: bytes, pieces of the header, values of tensors; length field and checksums are mended. */
size_t fuzz_mutate_safetensors(uint8_t *data, size_t size, size_t most, unsigned seed);

#endif
