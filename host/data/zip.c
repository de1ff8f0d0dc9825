/* Reads zip files by libzip, with callbacks that distinguish I/O errors from damaged zip files. */
#include "host/data/zip.h"
#include "core/base/file_io.h"
#include "core/base/plural.h"
#include "host/data/dataset_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

static dg_err refused(const char *path, const char *what)
{
    return dg_fail(dg_errno_kind(errno) == DG_DEVICE ? DG_DEVICE : DG_IO, "%s: cannot be %s: %s", path, what,
                   strerror(errno));
}

static dg_err open_regular(const char *path, int *fd, struct stat *s)
{
    do *fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    while (*fd < 0 && errno == EINTR);
    if (*fd < 0) return refused(path, "opened");
    const dg_err e = fstat(*fd, s) ? refused(path, "accessed") : DG_OK;
    if (e) close(*fd);
    return e;
}

dg_err dg_zip_look(const char *path, bool *zip)
{
    char head[4] = "";
    struct stat s;
    int fd;
    *zip = false;
    dg_err e = open_regular(path, &fd, &s);
    if (e) return e;
    const ssize_t n = S_ISREG(s.st_mode) ? dg_read_some(fd, head, sizeof head) : 0;
    if (n < 0) e = refused(path, "read");
    close(fd);
    *zip = n == sizeof head && (!memcmp(head, "PK\3\4", 4) || !memcmp(head, "PK\5\6", 4));
    return e;
}

bool dg_zip_inside(const char *path)
{
    bool zip;
    return !dg_zip_look(path, &zip) && zip;
}

enum { NAME_MOST = 4096, FILES_MOST = 16 << 20, RATIO_MOST = 200 };
static const uint64_t ALL_MOST = (uint64_t)64 << 30, RATIO_FREE = (uint64_t)1 << 30;

struct dg_zip {
    const char *path;
    int fd;
    uint64_t bytes, at;
    int failed; /* errno of the last read call, -1 if the file became shorter, or 0 */
    zip_error_t error;
    zip_t *zip;
    pthread_mutex_t mutex; /* libzip is not thread-safe */
    dg_zip_file *file;
    long files, left_out;
};

static zip_int64_t read_some(dg_zip *z, void *to, uint64_t n)
{
    if (z->at >= z->bytes) return 0;
    if (n > z->bytes - z->at) n = z->bytes - z->at; /* the file may have grown */
    ssize_t got;
    do got = pread(z->fd, to, (size_t)n, (off_t)z->at);
    while (got < 0 && errno == EINTR);
    if (got <= 0) {
        z->failed = got ? errno : -1;
        zip_error_set(&z->error, ZIP_ER_READ, got ? errno : 0);
        return -1;
    }
    z->at += (uint64_t)got;
    return got;
}

static zip_int64_t seek(dg_zip *z, void *data, uint64_t n)
{
    const zip_int64_t to = zip_source_seek_compute_offset(z->at, z->bytes, data, n, &z->error);
    if (to < 0) return -1;
    z->at = (uint64_t)to;
    return 0;
}

static zip_int64_t describe(const dg_zip *z, zip_stat_t *s)
{
    zip_stat_init(s);
    s->size = z->bytes;
    s->valid = ZIP_STAT_SIZE;
    return sizeof *s;
}

static zip_int64_t serve(void *state, void *data, zip_uint64_t n, zip_source_cmd_t command)
{
    dg_zip *z = state;
    switch (command) {
    case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
                                              ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
                                              ZIP_SOURCE_SUPPORTS, -1);
    case ZIP_SOURCE_OPEN: z->at = 0; return 0;
    case ZIP_SOURCE_READ: return read_some(z, data, n);
    case ZIP_SOURCE_SEEK: return seek(z, data, n);
    case ZIP_SOURCE_TELL: return (zip_int64_t)z->at;
    case ZIP_SOURCE_STAT: return describe(z, data);
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&z->error, data, n);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE: return 0;
    default: zip_error_set(&z->error, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
}

/* Returns the error of a failed libzip call. The caller must set errno to 0 before the libzip call, because libzip
 * does not report ENOMEM. */
static dg_err failed(const dg_zip *z, zip_error_t *error)
{
    if ((z->failed ? z->failed : errno) == ENOMEM) return dg_fail(DG_DEVICE, "no memory to read the zip file");
    if (z->failed < 0) return dg_fail(DG_IO, "the zip file became shorter while it was read");
    if (z->failed) return dg_fail(DG_IO, "the zip file cannot be read: %s", strerror(z->failed));
    switch (zip_error_code_zip(error)) {
    case ZIP_ER_MEMORY: return dg_fail(DG_DEVICE, "no memory to unpack the zip file");
    case ZIP_ER_NOPASSWD:
    case ZIP_ER_WRONGPASSWD:
    case ZIP_ER_ENCRNOTSUPP: return dg_fail(DG_DATA, "has a password: unzip the file and give the folder");
    case ZIP_ER_COMPNOTSUPP:
    case ZIP_ER_OPNOTSUPP:
    case ZIP_ER_MULTIDISK:
        return dg_fail(DG_DATA, "not supported by libzip (%s): unzip the file and give the folder",
                       zip_error_strerror(error));
    default: return dg_fail(DG_DATA, "damaged zip file (%s)", zip_error_strerror(error));
    }
}

/* Copy a path to out without empty components and ".". Returns false for a path that leaves the root or is too long. */
static bool stays_inside(const char *name, char out[NAME_MOST])
{
    size_t n = 0;
    if (!*name || *name == '/' || strlen(name) >= NAME_MOST) return false;
    for (const char *s = name; *s; s += strcspn(s, "/"), s += *s == '/') {
        const size_t part = strcspn(s, "/");
        if (part == 2 && !memcmp(s, "..", 2)) return false;
        if (!part || (part == 1 && *s == '.')) continue;
        if (n) out[n++] = '/';
        memcpy(out + n, s, part);
        n += part;
    }
    out[n] = 0;
    return n > 0;
}

static dg_err no_memory(void) { return dg_fail(DG_DEVICE, "no memory for the list of files in the zip file"); }

static dg_err limit(const zip_stat_t *s, uint64_t bytes, uint64_t *packed, uint64_t *unpacked)
{
    const uint64_t counted = bytes < ALL_MOST / RATIO_MOST ? bytes : ALL_MOST / RATIO_MOST;
    const uint64_t out_most = RATIO_MOST * counted + RATIO_FREE;
    if (s->comp_size > bytes - *packed)
        return dg_fail(DG_DATA, "the entries need more than the %llu bytes of the zip file (damaged or overlapping)",
                       (unsigned long long)bytes);
    *packed += s->comp_size;
    const uint64_t most = out_most < ALL_MOST ? out_most : ALL_MOST;
    if (s->size > most - *unpacked)
        return dg_fail(DG_DATA,
                       "the %llu bytes of the zip file unpack to more than the limit of %llu bytes: unzip the file and "
                       "give the folder",
                       (unsigned long long)bytes, (unsigned long long)most);
    *unpacked += s->size;
    return DG_OK;
}

static dg_err take(dg_zip *z, uint64_t i, uint64_t *packed, uint64_t *unpacked)
{
    char inside[NAME_MOST];
    zip_stat_t s;
    errno = 0;
    if (zip_stat_index(z->zip, i, ZIP_FL_ENC_RAW, &s)) return failed(z, zip_get_error(z->zip));
    const dg_err e = limit(&s, z->bytes, packed, unpacked);
    if (e) return e;
    const bool good = stays_inside(s.name, inside);
    if (good && s.name[strlen(s.name) - 1] == '/') return DG_OK;
    if (!good) return z->left_out++, DG_OK;
    dg_zip_file *f = z->file + z->files;
    *f = (dg_zip_file){strdup(inside), i, s.size, (int64_t)s.mtime};
    if (!f->name) return no_memory();
    z->files++;
    return DG_OK;
}

static int by_name(const void *a, const void *b)
{
    const dg_zip_file *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static int by_name_alone(const void *name, const void *file) { return strcmp(name, ((const dg_zip_file *)file)->name); }

const dg_zip_file *dg_zip_find(const dg_zip *z, const char *name)
{
    return bsearch(name, z->file, (size_t)z->files, sizeof *z->file, by_name_alone);
}

static bool below_a_file(const dg_zip *z, const char *name)
{
    char folder[NAME_MOST];
    bool found = false;
    memcpy(folder, name, strlen(name) + 1);
    int depth = 0;
    for (char *s = folder; !found && depth < 64 && (s = strchr(s, '/')); *s++ = '/', depth++) {
        *s = 0;
        found = dg_zip_find(z, folder) != NULL;
    }
    return found;
}

static void drop_doubles(dg_zip *z)
{
    long n = 0;
    qsort(z->file, (size_t)z->files, sizeof *z->file, by_name);
    for (long i = 0; i < z->files; i++) {
        if (n && !strcmp(z->file[n - 1].name, z->file[i].name)) free(z->file[i].name);
        else z->file[n++] = z->file[i];
    }
    z->left_out += z->files - n;
    z->files = n;
    for (long i = 0; i < z->files; i++)
        if (below_a_file(z, z->file[i].name)) z->file[i].index = UINT64_MAX;
    n = 0;
    for (long i = 0; i < z->files; i++) {
        if (z->file[i].index == UINT64_MAX) free(z->file[i].name);
        else z->file[n++] = z->file[i];
    }
    z->left_out += z->files - n;
    z->files = n;
}

static dg_err list(dg_zip *z)
{
    const zip_int64_t n = zip_get_num_entries(z->zip, 0);
    uint64_t packed = 0, unpacked = 0;
    if (n > FILES_MOST) return dg_fail(DG_DATA, "more than %d files", FILES_MOST);
    if (!(z->file = malloc((n > 0 ? (size_t)n : 1) * sizeof *z->file))) return no_memory();
    dg_err e = DG_OK;
    for (zip_int64_t i = 0; i < n && !e; i++) e = take(z, (uint64_t)i, &packed, &unpacked);
    if (e) return e;
    drop_doubles(z);
    if (z->left_out)
        dg_warn("%ld file%s of %s left out: the name points outside the archive, is too long, or is a duplicate",
                z->left_out, dg_s(z->left_out), z->path);
    return DG_OK;
}

static dg_err open_zip(dg_zip *z)
{
    zip_error_t error;
    zip_error_init(&error);
    errno = 0;
    zip_source_t *source = zip_source_function_create(serve, z, &error);
    if (source && !(z->zip = zip_open_from_source(source, ZIP_RDONLY, &error))) zip_source_free(source);
    const dg_err e = z->zip ? DG_OK : failed(z, &error);
    zip_error_fini(&error);
    return e;
}

dg_err dg_zip_open(const char *path, dg_zip **out)
{
    dg_zip *z = *out = calloc(1, sizeof *z);
    if (!z) return dg_fail(DG_DEVICE, "%s: no memory to open this zip file", path);
    z->path = path;
    z->fd = -1;
    zip_error_init(&z->error);
    pthread_mutex_init(&z->mutex, NULL);
    struct stat s;
    dg_err e = open_regular(path, &z->fd, &s);
    if (!e) {
        z->bytes = (uint64_t)s.st_size;
        e = open_zip(z);
        if (!e) e = list(z);
        dg_context(e, "%s", path);
    } else {
        z->fd = -1;
    }
    if (!e) return DG_OK;
    dg_zip_close(z);
    *out = NULL;
    return e;
}

void dg_zip_close(dg_zip *z)
{
    if (!z) return;
    if (z->zip) zip_discard(z->zip);
    if (z->fd >= 0) close(z->fd);
    for (long i = 0; i < z->files; i++) free(z->file[i].name);
    free(z->file);
    zip_error_fini(&z->error);
    pthread_mutex_destroy(&z->mutex);
    free(z);
}

const dg_zip_file *dg_zip_files(const dg_zip *z, long *n)
{
    *n = z->files;
    return z->file;
}

bool dg_zip_has_folder(const dg_zip *z, const char *name)
{
    const size_t bytes = strlen(name);
    bool found = false;
    for (long i = 0; i < z->files && !found; i++)
        found = !strncasecmp(z->file[i].name, name, bytes) && z->file[i].name[bytes] == '/';
    return found;
}

/* Unpack n bytes. If `whole` is set, read to the end of the file, so that libzip compares the checksum. */
static dg_err unpack(dg_zip *z, zip_file_t *from, uint8_t *to, size_t n, bool whole)
{
    uint8_t more;
    size_t got = 0;
    zip_int64_t now = 1;
    while (got < n && (now = zip_fread(from, to + got, n - got)) > 0) got += (size_t)now;
    if (now > 0 && whole) now = zip_fread(from, &more, 1);
    if (now < 0 || z->failed) return failed(z, zip_file_get_error(from));
    if (got < n || (whole && now > 0)) return dg_fail(DG_DATA, "damaged zip file (wrong size of a file)");
    return DG_OK;
}

dg_err dg_zip_read(dg_zip *z, const dg_zip_file *file, uint8_t *to, size_t n, int *error)
{
    pthread_mutex_lock(&z->mutex);
    z->failed = 0;
    zip_error_clear(z->zip);
    errno = 0;
    zip_file_t *from = zip_fopen_index(z->zip, file->index, 0);
    dg_err e = from ? unpack(z, from, to, n, n == file->bytes) : failed(z, zip_get_error(z->zip));
    if (from) zip_fclose(from);
    *error = z->failed;
    pthread_mutex_unlock(&z->mutex);
    return e;
}
