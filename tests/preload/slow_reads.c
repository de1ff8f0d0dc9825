/* Makes each read of a part of a file take 20 ms, as on a slow disk. With SLOW_READS=N, reads after the first N fail.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "next.h"

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    NEXT(ssize_t, "pread", int, void *, size_t, off_t)
    static atomic_int reads;
    const char *most = getenv("SLOW_READS");
    if (most && atomic_fetch_add(&reads, 1) >= atoi(most)) {
        errno = EIO;
        return -1;
    }
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    return real(fd, to, n, at);
}
