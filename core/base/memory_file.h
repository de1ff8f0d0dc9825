/* A buffer that grows, and a memory stream that reports failed allocations, unlike open_memstream of glibc 2.36. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    char *text; /* malloc'd, with a final NUL; the caller frees it after dg_memory_close */
    size_t bytes, room;
    bool exhausted;
} dg_memory_file;

/* Appends n bytes. Returns false and sets m->exhausted if memory runs out. */
bool dg_memory_append(dg_memory_file *m, const void *data, size_t n);

/* Returns NULL if memory runs out. */
FILE *dg_memory_open(dg_memory_file *m);
/* Closes the stream `to`, which may be NULL. Returns false and sets m->text to NULL if memory ran out. */
bool dg_memory_close(FILE *to, dg_memory_file *m);
