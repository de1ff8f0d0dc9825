/* A run directory from an input: a sequence of entries, each a head and the bytes of a file. */
#ifndef DG_FUZZ_RUNDIR_H
#define DG_FUZZ_RUNDIR_H

#include <stdint.h>
#include <stddef.h>

/* Recreates the directories fuzz_folder()/a and /b; "b" is empty unless an entry is for it. A file next to them,
 * outside of both runs, is the target of symbolic links. */
void fuzz_rundir(const uint8_t *data, size_t size);

/* Checks that this file has its bytes and one name, and that no file of the runs has its bytes. */
void fuzz_rundir_holds(void);

/* Mutates one entry: its bytes, name or kind; or swaps, repeats or removes entries. */
size_t fuzz_mutate_rundir(uint8_t *data, size_t size, size_t most, unsigned seed);

#endif
