/* The steps of loading a folder of images. */
#ifndef DG_DATASET_INTERNAL_H
#define DG_DATASET_INTERNAL_H

#include "core/base/file_io.h"
#include "host/data/dataset.h"
#include "host/data/zip.h"

#include <stdatomic.h>
#include <sys/types.h>

enum { DG_FILES_MAX = 16 << 20, DG_DEPTH_MAX = 64 };

/* An open folder or a zip file. */
typedef struct {
    int fd; /* -1: a zip file */
    dg_zip *zip;
} dg_folder;

typedef struct {
    char *name;
    int64_t bytes, seconds, nanoseconds;
    bool aside; /* the file is not part of the dataset: not an image, or made by dcgan */
} dg_file;

typedef struct {
    dg_file *file;
    long files, file_room;
    dg_skip *skip;
    long skips, skip_room;
    int hidden;
} dg_scan;

/* List every regular file below the open folder, following links to files. Other entries are added to out->skip.
 * `without`: n paths of files to leave out (the cache, skipped.txt); entries may be NULL. */
dg_err dg_scan_folder(const dg_folder *folder, const char *dir, const char *const *without, int n, dg_scan *out);
void dg_scan_free(dg_scan *s);
/* Add a copy of name and reason to s->skip. `how` has DG_SKIP_ flags; an image's file name also sets DG_SKIP_BAD. */
enum { DG_SKIP_BAD = 1, DG_SKIP_UNREAD = 2 };
dg_err dg_scan_skip_folder(dg_scan *s, const char *name, int error, const char *reason);
dg_err dg_scan_skip(dg_scan *s, const char *name, int how, const char *reason);
bool dg_named_like_a_image(const char *name);
void dg_scan_sort_skips(dg_scan *s);

/* Number of files that temporary errors made unreadable. After too many such files, reading is no longer retried. */
typedef atomic_int dg_lost;
/* True if attempt `tries` (from 0) failed with an errno after which a retry may succeed. Sleeps before the retry. */
bool dg_try_again(dg_lost *lost, int error, int tries);

/* Read the first `room` bytes of a file (dg_file_head) or all of it (dg_file_whole). Reads regular files only, never
 * blocks. DG_DATA: corrupt file, to be skipped. DG_IO: the file may be readable later; in a folder, it is skipped; in a
 * zip file, this is an error, because all files may be unreadable. DG_DEVICE: out of descriptors or memory. */
dg_err dg_file_head(const dg_folder *folder, const char *name, dg_lost *lost, uint8_t *head, size_t room,
                    size_t *bytes);
dg_err dg_file_whole(const dg_folder *folder, const char *name, dg_lost *lost, size_t limit, uint8_t **data,
                     size_t *bytes);

dg_err dg_is_there(const dg_folder *folder, const char *name, bool *there);

/* Read images, labels and test part. A dataset with a single class keeps its labels. Unknown out->fingerprint: 0. */
dg_err dg_source_read(const dg_dataset_options *o, dg_dataset *out);
dg_err dg_folder_read(const dg_dataset_options *o, const dg_folder *folder, dg_dataset *out);
dg_err dg_open_folder(const char *dir, dg_folder *out);
void dg_close_folder(dg_folder *folder);
int dg_dataset_threads(const dg_dataset_options *o);
dg_err dg_dataset_pixels(const dg_dataset_options *o, long images, uint8_t **out);
dg_err dg_dataset_lists(dg_dataset *out, long images);
/* True if skipped.txt must list the skipped files of d; false: the list of an earlier load stays. */
bool dg_dataset_lists_skips(const dg_dataset_options *o, const dg_dataset *d);

/* Names for the folder of the test part next to train/, in order of preference; NULL-terminated. */
extern const char *const dg_test_names[];
/* Set labels and parts from the folders of the images. Returns DG_OK for a dataset without folders. */
dg_err dg_label_by_folder(const dg_dataset_options *o, dg_dataset *d);
/* Mark `limit` of n images: the first of every class, then the second of every class, and so on. label NULL: mark the
 * first `limit` images. Returns the number of marked images, -1: no memory. */
int dg_mark_evenly(const int32_t *label, int n, int classes, int limit, uint8_t *mark);
dg_err dg_dataset_first(dg_dataset *d, int limit);
/* Set the test part. dg_dataset_divide follows the options; dg_dataset_add_test adds the images of folder o->test. */
dg_err dg_dataset_divide(const dg_dataset_options *o, dg_dataset *d);
dg_err dg_dataset_add_test(const dg_dataset_options *o, dg_dataset *d);
/* Keep only images order[0 ... n - 1], in this order. The first `train` images are the training part. order has
 * d->count entries: the first n are read, the others are overwritten. */
dg_err dg_dataset_arrange(dg_dataset *d, int32_t *order, int n, int train);
dg_err dg_dataset_keep_test(dg_dataset *d);
/* Returns the error code for an errno. DG_DEVICE: descriptors or memory; DG_IO: disk or network; DG_DATA: path. */
dg_err dg_errno_kind(int error);
/* Return an error that names the first unreadable folder, or DG_OK without such a folder or with o->skip_unreadable. */
dg_err dg_check_folders(const dg_dataset_options *o, const dg_skip *skip, long skips);
/* With o->skip_unreadable: print a warning for each unreadable folder, and one warning for all links to folders. */
void dg_warn_folders(const dg_dataset_options *o, const dg_skip *skip, long skips);
char *dg_bad_advice(const dg_dataset *d, char *out, size_t size);
#define DG_LINK_TO_FOLDER "a symbolic link to a folder (these are not followed)"

uint64_t dg_hash(uint64_t h, const void *data, size_t bytes); /* FNV-1a; start with DG_HASH */
#define DG_HASH 0xcbf29ce484222325u

/* Hashes of the settings and of each file's name, size and mtime. `files` includes all files of the scan and is known
 * before a file is opened. `images` excludes files marked `aside`, such as files of a run. */
typedef struct {
    uint64_t files, images;
} dg_cache_keys;
uint64_t dg_cache_key(const dg_dataset_options *o, const dg_scan *s, bool images);
/* Fill *out from the cache file if this file is intact and has one of these keys; key 0 never matches. */
typedef enum { DG_CACHE_TAKEN, DG_CACHE_OTHER, DG_CACHE_USELESS } dg_cache_found;
dg_cache_found dg_cache_read(const dg_dataset_options *o, dg_cache_keys keys, dg_dataset *out);
/* Write the cache. A failure only prints a warning, because the images are in memory. */
void dg_cache_write(const dg_dataset_options *o, dg_cache_keys keys, const dg_dataset *d);

#endif
