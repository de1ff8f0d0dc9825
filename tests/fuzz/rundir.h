/* Makes a run directory from an input, which is a sequence of entries. An entry is a header and the bytes of a file. */
#ifndef DG_FUZZ_RUNDIR_H
#define DG_FUZZ_RUNDIR_H

#include <stdint.h>
#include <stddef.h>

/* Recreates the directories fuzz_folder()/a and /b; "b" stays empty unless an entry belongs to it. A file outside of
 * both directories is the target of symbolic links. */
void fuzz_rundir(const uint8_t *data, size_t size);

/* Checks the file outside of the run directories: it is unchanged and has one hard link, and no file of a run contains
 * its bytes. */
void fuzz_rundir_holds(void);

/* Mutates one entry (its bytes, name or kind), or swaps, repeats or removes entries. */
size_t fuzz_mutate_rundir(uint8_t *data, size_t size, size_t most, unsigned seed);

#endif
