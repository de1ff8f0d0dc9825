/* A run directory from the bytes of an input: a sequence of entries, each a head and the bytes of a file. */
#ifndef DG_FUZZ_RUNDIR_H
#define DG_FUZZ_RUNDIR_H

#include <stdint.h>
#include <stddef.h>

/* Make the directories fuzz_folder()/a and /b anew; "b" is empty unless an entry is for it. A file next to them, which
 * no run owns, is the target of symbolic links. */
void fuzz_rundir(const uint8_t *data, size_t size);

/* The file outside of the runs has its bytes and one name, and no file of the runs has its bytes. */
void fuzz_rundir_holds(void);

/* Mutate one entry: its bytes, name or kind; or swap, repeat or remove entries. */
size_t fuzz_mutate_rundir(uint8_t *data, size_t size, size_t most, unsigned seed);

#endif
