/* Internal functions for loading a folder of images. */
#pragma once

#include "core/base/file_io.h"
#include "host/data/dataset.h"
#include "host/data/zip.h"

#include <stdatomic.h>
#include <sys/types.h>

enum { DG_FILES_MAX = 16 << 20, DG_DEPTH_MAX = 64 };

typedef struct {
    int fd; /* descriptor of the folder, or -1 for a zip file */
    dg_zip *zip;
} dg_folder;

typedef struct {
    char *name;
    int64_t bytes, seconds, nanoseconds;
    bool aside; /* true if the file is not an image or was made by dcgan */
} dg_file;

typedef struct {
    dg_file *file;
    long files;
    int file_room;
    dg_skip *skip;
    long skips;
    int skip_room;
    int hidden;
} dg_scan;

/* List all regular files below the open folder, and links to regular files. Other entries are added to out->skip.
 * `without` has n paths of files to leave out, such as the cache file, or is NULL. */
dg_err dg_scan_folder(const dg_folder *folder, const char *dir, const char *const *without, int n, dg_scan *out);
void dg_scan_free(dg_scan *s);
/* Add a skipped file to s->skip, with copies of name and reason. Names of images always get the flag DG_SKIP_BAD. */
enum { DG_SKIP_BAD = 1, DG_SKIP_UNREAD = 2 };
dg_err dg_scan_skip_folder(dg_scan *s, const char *name, int error, const char *reason);
dg_err dg_scan_skip(dg_scan *s, const char *name, int how, const char *reason);
bool dg_named_like_a_image(const char *name);
void dg_scan_sort_skips(dg_scan *s);

/* Number of files that stayed unreadable after retries. If too many files stay unreadable, no further file is
 * retried. */
typedef atomic_int dg_lost;
/* Called after a failed read. Returns false if a retry is useless, otherwise sleeps and returns true. `tries` is the
 * number of retries so far. */
bool dg_try_again(dg_lost *lost, int error, int tries);

/* Read at most `room` bytes from the start of a regular file, or the whole file. Neither call blocks. DG_DATA means
 * that the file is corrupt and is skipped. DG_IO means that the file may be readable later. In a zip file, DG_IO ends
 * the loading, because all files may be unreadable. DG_DEVICE: out of descriptors or memory. */
dg_err dg_file_head(const dg_folder *folder, const char *name, dg_lost *lost, uint8_t *head, size_t room,
                    size_t *bytes);
dg_err dg_file_whole(const dg_folder *folder, const char *name, dg_lost *lost, size_t limit, uint8_t **data,
                     size_t *bytes);

dg_err dg_is_there(const dg_folder *folder, const char *name, bool *there);

/* Read the folders of o->dir, which may be several (host/data/dirs.h), like dg_source_read. */
dg_err dg_dirs_read(const dg_dataset_options *o, dg_dataset *out);
/* Append the images and skipped files of t to d, in memory. Their names get the path o->dir. */
dg_err dg_dataset_join(const dg_dataset_options *o, dg_dataset *d, dg_dataset *t);
int dg_dataset_class_named(const dg_dataset *d, const char *name); /* index of the class, or -1 */
/* Read training images, test images and labels. If out->fingerprint stays 0, the caller must compute it. */
dg_err dg_source_read(const dg_dataset_options *o, dg_dataset *out);
dg_err dg_folder_read(const dg_dataset_options *o, const dg_folder *folder, dg_dataset *out);
dg_err dg_open_folder(const char *dir, dg_folder *out);
void dg_close_folder(dg_folder *folder);
int dg_dataset_threads(const dg_dataset_options *o);
/* True if so many images stay in a file, because they are too large for memory. */
bool dg_dataset_stays(const dg_dataset_options *o, long images);
dg_err dg_dataset_pixels(const dg_dataset_options *o, long images, uint8_t **out);
dg_err dg_dataset_lists(dg_dataset *out, long images);
/* Returns the hash of an image, and sets DG_GREY in *did. */
uint64_t dg_image_note(const uint8_t *pixels, size_t bytes, int channels, uint8_t *did);
/* Do so for all images of a dataset in memory without hashes. */
dg_err dg_dataset_note(dg_dataset *d, int threads);
/* True if skipped.txt must be rewritten with the skipped files of d. */
bool dg_dataset_lists_skips(const dg_dataset_options *o, const dg_dataset *d);

/* NULL-terminated names of folders for test images, in order of preference. */
extern const char *const dg_test_names[];
/* Set labels, training set and test set from the folders of the images, if there are folders. */
dg_err dg_label_by_folder(const dg_dataset_options *o, dg_dataset *d);
/* class: the class of each image. The folders train/ and test/ still have the training and test images if no image is
 * outside of them. Classes that are numbers are sorted as numbers. */
dg_err dg_label_by_names(const dg_dataset_options *o, dg_dataset *d, const char *const *class);
/* Set the labels from labels.csv or dataset.json. *found is false if the folder has neither file. An invalid file sets
 * d->unclassified. */
dg_err dg_label_by_file(const dg_dataset_options *o, const dg_folder *folder, dg_dataset *d, bool *found);
/* Store the reason why the dataset has no classes. */
dg_err dg_dataset_unclassify(dg_dataset *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Mark `limit` of n images: the first image of each class, then the second image of each class, and so on. If label is
 * NULL, the first `limit` images are marked. Returns the number of marked images, or -1 without memory. */
int dg_mark_evenly(const int32_t *label, int n, int classes, int limit, uint8_t *mark);
dg_err dg_dataset_first(dg_dataset *d, int limit);
/* Choose test images by the options o. */
dg_err dg_dataset_divide(const dg_dataset_options *o, dg_dataset *d);
dg_err dg_dataset_add_test(const dg_dataset_options *o, dg_dataset *d);
/* Keep only the images order[0 ... n - 1], in this order. The first `train` images become the training images.
 * `order` has d->count entries, and entries from n on are overwritten. */
dg_err dg_dataset_arrange(dg_dataset *d, int32_t *order, int n, int train);
dg_err dg_dataset_keep_test(dg_dataset *d);
/* Convert an errno to DG_DEVICE (descriptors or memory), DG_IO (disk or network) or DG_DATA (path). */
dg_err dg_errno_kind(int error);
/* Return an error for the first unreadable folder, unless o->skip_unreadable is set. */
dg_err dg_check_folders(const dg_dataset_options *o, const dg_skip *skip, long skips);
/* Warn once about all symbolic links to folders and, if o->skip_unreadable is set, about each unreadable folder. */
void dg_warn_folders(const dg_dataset_options *o, const dg_skip *skip, long skips);
/* Returns DG_DATA for a file that is not a dataset, with the command that unpacks it if it is an archive. */
dg_err dg_not_a_folder(const char *path);
/* Write the command that unpacks the first archive among the skipped files to out, or "". Returns out. */
char *dg_unpack_advice(const char *dir, const dg_dataset *d, char *out, size_t size);
char *dg_bad_advice(const dg_dataset *d, char *out, size_t size);
#define DG_LINK_TO_FOLDER "a symbolic link to a folder (these are not followed)"

uint64_t dg_hash(uint64_t h, const void *data, size_t bytes); /* h: DG_HASH or the previous FNV-1a hash */
/* Add labels, class names and the number of training images to the hash h. */
uint64_t dg_hash_labels(uint64_t h, const dg_dataset *d);
#define DG_HASH 0xcbf29ce484222325u

/* The cache keys are hashes of the settings and of each file's name, size and mtime. The key `files` covers all
 * files of the folder, so that no file must be opened. The key `images` covers only images that dcgan did not make. */
typedef struct {
    uint64_t files, images;
} dg_cache_keys;
uint64_t dg_cache_key(const dg_dataset_options *o, const dg_scan *s, bool images);
/* Fill *out from the cache file, or from the option `other_file`, if the file is intact and has one of the keys. The
 * key 0 never matches; keys = NULL: any. Images that are too large for memory stay in the file. */
typedef enum { DG_CACHE_TAKEN, DG_CACHE_OTHER, DG_CACHE_USELESS } dg_cache_found;
dg_cache_found dg_cache_read(const dg_dataset_options *o, const dg_cache_keys *keys, dg_dataset *out);
/* Errors are only warnings, because the decoded images are in memory. */
void dg_cache_write(const dg_dataset_options *o, dg_cache_keys keys, const dg_dataset *d);

/* A cache into which images are decoded. named: at o->cache, otherwise a temporary file without a name. Several threads
 * may put images at the same time. dg_cache_end writes the lists of d, gives the file its name if `keep` is true, and
 * sets d->file. Call dg_cache_close after each of them, also after errors. */
typedef struct dg_cache_file dg_cache_file;
dg_err dg_cache_begin(const dg_dataset_options *o, bool named, long slots, dg_cache_file **out);
dg_err dg_cache_put(dg_cache_file *f, long slot, const uint8_t *pixels);
dg_err dg_cache_end(dg_cache_file *f, dg_cache_keys keys, bool keep, dg_dataset *d);
void dg_cache_close(dg_cache_file *f);
/* Load the images of d->file into memory. Closes the file unless o->keep_file is set. */
dg_err dg_cache_load(const dg_dataset_options *o, dg_dataset *d);
