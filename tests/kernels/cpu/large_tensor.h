/* Makes tensors that are larger than the memory that a test may use. Only the two ends of a tensor have private pages.
 * Between the ends, an input maps the zero page, and an output maps one range of memory repeatedly. The pages before
 * and after a tensor are inaccessible. */
#pragma once

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

enum { PIECE = 4 << 20, PAGE = 4096 };
static const size_t GUARD = (size_t)8 << 30; /* catches an access whose index is wrong by 2^32 */

typedef struct {
    char *map, *data;
    size_t mapped;
} tensor;

static size_t pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static void lacks(const char *what)
{
    dg_test_skip(what);
    exit(dg_test_report());
}

static void place(char *at, size_t bytes, int file)
{
    const int of = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED | MAP_POPULATE;
    if (mmap(at, bytes, PROT_READ | PROT_WRITE, of | MAP_FIXED | MAP_NORESERVE, file, 0) == MAP_FAILED)
        lacks("this machine maps no tensors of that size");
}

/* Makes a tensor of zeros, in which `end` bytes at each end have private pages. */
static tensor tensor_of(size_t bytes, size_t end, bool written)
{
    const size_t own = pages(end) + PAGE, all = pages(bytes);
    tensor t = {.mapped = all + 2 * GUARD};
    t.map = mmap(NULL, t.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (t.map == MAP_FAILED) lacks("this machine has no room for tensors of that size among its addresses");
    t.data = t.map + GUARD;
    place(t.data, all, -1);
    (void)madvise(t.data, all, MADV_HUGEPAGE);
    if (!written || all <= 2 * own + PIECE) return t;
    const int file = memfd_create("tensor", 0);
    if (file < 0 || ftruncate(file, PIECE)) lacks("this machine has no files in memory");
    for (size_t at = own; at < all - own; at += PIECE)
        place(t.data + at, all - own - at < PIECE ? all - own - at : PIECE, file);
    close(file);
    return t;
}

static void tensor_free(tensor t)
{
    if (t.map) munmap(t.map, t.mapped);
}
