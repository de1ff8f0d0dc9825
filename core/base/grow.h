/* Arrays that double when they are full. */
#pragma once

#include <stdlib.h>

/* Returns the array with room for more than n elements of `each` bytes, or NULL if memory runs out; then the old array
 * stays valid. *room is the number of elements that fit. */
static inline void *dg_grow(void *array, long n, int *room, size_t each)
{
    if (n < *room) return array;
    const int more = *room ? 2 * *room : 64;
    void *grown = realloc(array, (size_t)more * each);
    if (grown) *room = more;
    return grown;
}
