/* A folder for one test, removed with all its content. */
#ifndef DG_TEMP_FOLDER_H
#define DG_TEMP_FOLDER_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* out: 256 bytes. Without TMPDIR the folder is in /dev/shm if it exists, where fsync costs nothing. */
__attribute__((unused)) static void temp_make(char *out)
{
    const char *base = getenv("TMPDIR");
    if (!base || !*base) base = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    snprintf(out, 256, "%s/dcgan-test-XXXXXX", base);
    if (!mkdtemp(out)) {
        perror(out);
        exit(1);
    }
}

/* Uses descriptors, because paths may be longer than the system accepts. */
static void temp_remove_at(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (d) {
        for (const struct dirent *e; (e = readdir(d));)
            if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlinkat(fd, e->d_name, 0))
                temp_remove_at(fd, e->d_name);
        closedir(d);
    }
    unlinkat(parent, name, AT_REMOVEDIR);
}

__attribute__((unused)) static void temp_remove(const char *path) { temp_remove_at(AT_FDCWD, path); }

#endif
