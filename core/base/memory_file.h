/* A memory stream that reports failed allocations, unlike open_memstream of glibc 2.36. */
#ifndef DG_MEMORY_FILE_H
#define DG_MEMORY_FILE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    char *text; /* malloc'd, with a final NUL; the caller frees it after dg_memory_close */
    size_t bytes, room;
    bool exhausted;
} dg_memory_file;

/* Returns NULL if memory runs out. */
FILE *dg_memory_open(dg_memory_file *m);
/* Closes the stream `to`, which may be NULL. Returns false and sets m->text to NULL if memory ran out. */
bool dg_memory_close(FILE *to, dg_memory_file *m);

#endif
