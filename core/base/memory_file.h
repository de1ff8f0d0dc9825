/* A stream into memory that says when there is none. open_memstream's does not in glibc 2.36: what a print found no
 * room for is missing from the text, and neither ferror nor fclose tells. */
#ifndef DG_MEMORY_FILE_H
#define DG_MEMORY_FILE_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    char *text; /* malloc'd, the caller's once it is closed; with one NUL byte behind it */
    size_t bytes, room;
    bool exhausted;
} dg_memory_file;

/* NULL: no memory. */
FILE *dg_memory_open(dg_memory_file *m);
/* true: m->text is all that was printed; false: there was no memory for it, and m->text is NULL. to may be NULL. */
bool dg_memory_close(FILE *to, dg_memory_file *m);

#endif
