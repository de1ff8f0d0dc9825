/* Tests outputs that are not regular files: descriptors, FIFOs, devices and links. */
#include "core/base/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tempdir.h"
#include "test.h"

static int number = -1; /* descriptor to which the path "-" refers */
static int asked;
static dg_err answer;
static const char *comes; /* file that another process creates just before the rename, or NULL */

static int descriptor(const char *path) { return strcmp(path, "-") ? -1 : number; }

static dg_err may_replace(int old, const char *path, const dg_chunk *piece, int pieces)
{
    char first = 0;
    asked++;
    DG_CHECK(read(old, &first, 1) == 1 && first == 'o' && *path && pieces == 2 && piece[0].bytes == 3);
    return answer ? dg_fail(answer, "refused") : DG_OK;
}

static const dg_output_rule rule = {descriptor, may_replace};
static const dg_chunk two[] = {{"abc", 3}, {"de", 2}};

static bool has(const char *path, const char *text)
{
    size_t n;
    char *data = temp_slurp(path, &n);
    const bool same = data && n == strlen(text) && !memcmp(data, text, n);
    free(data);
    return same;
}

static void *reader(void *path)
{
    static char got[10];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    for (ssize_t more; n < 9 && (more = read(fd, got + n, 9 - n)) > 0;) n += (size_t)more;
    got[n] = 0;
    close(fd);
    return got;
}

static void streams(void)
{
    int end[2];
    char got[10] = "";
    struct stat s;
    DG_CHECK(!pipe(end));
    number = end[1];
    DG_CHECK(!dg_write_atomic("-", two, 2) && read(end[0], got, 9) == 5 && !strcmp(got, "abcde"));
    close(end[0]); /* makes write() raise SIGPIPE, which must not end this process */
    DG_REFUSED(dg_write_atomic("-", two, 2), DG_IO, strerror(EPIPE));
    close(end[1]);
    DG_REFUSED(dg_write_atomic("-", two, 2), DG_IO, strerror(EBADF));

    pthread_t thread;
    void *text;
    const char *fifo = temp_path("fifo");
    DG_CHECK(!mkfifo(fifo, 0600) && !pthread_create(&thread, NULL, reader, (void *)(uintptr_t)fifo));
    DG_CHECK(!dg_write_atomic(fifo, two, 2));
    DG_CHECK(!pthread_join(thread, &text) && !strcmp(text, "abcde") && !lstat(fifo, &s) && S_ISFIFO(s.st_mode));
    DG_CHECK(!dg_write_atomic("/dev/null", two, 2) && !lstat("/dev/null", &s) && S_ISCHR(s.st_mode));
    DG_CHECK(!symlink("/dev/null", temp_path("null")) && !dg_write_atomic(temp_path("null"), two, 2));
    DG_CHECK(!lstat(temp_path("null"), &s) && S_ISLNK(s.st_mode));
    DG_REFUSED(dg_write_atomic("/dev/full", two, 2), DG_IO, strerror(ENOSPC));

    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%.100s", temp_path("socket"));
    if (fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof at))
        DG_REFUSED(dg_write_atomic(temp_path("socket"), two, 2), DG_IO, "is a socket");
    if (fd >= 0) close(fd);
    DG_REFUSED(dg_write_atomic(temp_dir, two, 2), DG_IO, "is a directory");
    if (!mknod(temp_path("block"), S_IFBLK | 0600, 0))
        DG_REFUSED(dg_write_atomic(temp_path("block"), two, 2), DG_IO, "is a block device");
}

static void links(void)
{
    struct stat s;
    DG_CHECK(!mkdir(temp_path("far"), 0700) && !symlink("far/file", temp_path("link")));
    DG_REFUSED(dg_write_atomic(temp_path("link"), two, 2), DG_IO, "cannot be followed");
    temp_put(temp_path("far/file"), "old", 3);
    DG_CHECK(!dg_write_atomic(temp_path("link"), two, 2) && has(temp_path("far/file"), "abcde"));
    DG_CHECK(!lstat(temp_path("link"), &s) && S_ISLNK(s.st_mode) && temp_count(temp_dir, "dcgan-tmp") == 0);
    DG_CHECK(!symlink("round", temp_path("round")));
    DG_REFUSED(dg_write_atomic(temp_path("round"), two, 2), DG_IO, strerror(ELOOP));
}

static void refusals(void)
{
    const char *file = temp_path("new");
    asked = 0;
    DG_CHECK(!dg_write_atomic(file, two, 2) && asked == 0 && has(file, "abcde"));
    temp_put(file, "old", 3);
    answer = DG_USAGE;
    DG_CHECK(dg_write_atomic(file, two, 2) == DG_USAGE && asked == 1 && has(file, "old"));
    DG_CHECK(temp_count(temp_dir, "dcgan-tmp") == 0);
    answer = DG_OK;
    DG_CHECK(!dg_write_atomic(file, two, 2) && asked == 2 && has(file, "abcde"));
    /* dg_write_atomic_in replaces a file without asking dg_output_rule */
    const int dir = open(temp_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const dg_directory place = {dir, -1, NULL};
    answer = DG_USAGE;
    DG_CHECK(!dg_write_atomic_in(&place, file, two, 1) && asked == 2 && has(file, "abc"));
    close(dir);
}

/* Simulates a process that creates the target file just before the rename. */
int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    if (comes) temp_put(comes, "other", 5);
    comes = NULL;
    return flags && !faccessat(b, to, F_OK, 0) ? (errno = EEXIST, -1) : renameat(a, from, b, to);
}

static void races(void)
{
    comes = temp_path("race");
    const char *file = comes;
    asked = 0;
    answer = DG_USAGE;
    DG_CHECK(dg_write_atomic(file, two, 2) == DG_USAGE && asked == 1 && !comes && has(file, "other"));
}

int main(void)
{
    temp_make("stream");
    DG_CHECK(dg_write_atomic("/dev/null", two, 2) == DG_IO);
    dg_set_output_rule(&rule);
    streams();
    links();
    refusals();
    races();
    dg_set_output_rule(NULL);
    temp_remove(temp_dir);
    return dg_test_report();
}
