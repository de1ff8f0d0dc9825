/* The steps of loading a folder of images. */
#ifndef DG_DATASET_INTERNAL_H
#define DG_DATASET_INTERNAL_H

#include "core/base/file_io.h"
#include "host/data/dataset.h"
#include "host/data/zip.h"

#include <stdatomic.h>
#include <sys/types.h>

enum { DG_FILES_MAX = 16 << 20, DG_DEPTH_MAX = 64 };

/* An open folder, or a zip file in the place of one. */
typedef struct {
    int fd;      /* of the folder; -1: a zip file */
    dg_zip *zip; /* NULL: a folder */
} dg_folder;

typedef struct {
    char *name;                          /* below the folder */
    int64_t bytes, seconds, nanoseconds; /* size and time of last change */
    bool aside;                          /* neither an image nor named like one, or made by us: nothing depends on it */
} dg_file;

typedef struct {
    dg_file *file; /* in bytewise order of names */
    long files, file_room;
    dg_skip *skip;
    long skips, skip_room;
    int hidden; /* names that begin with a dot, passed over */
} dg_scan;

/* Every regular file below the open folder, links to files followed; everything else is in skip. `without` are
 * paths of our own files, which may lie in the folder and are no part of it; NULL entries are none. */
dg_err dg_scan_folder(const dg_folder *folder, const char *dir, const char *const *without, int n, dg_scan *out);
void dg_scan_free(dg_scan *s);
/* name and reason are copied; bad is decided by the name unless `how` says so already. */
enum { DG_SKIP_BAD = 1, DG_SKIP_UNREAD = 2 };
dg_err dg_scan_skip_folder(dg_scan *s, const char *name, int error, const char *reason);
dg_err dg_scan_skip(dg_scan *s, const char *name, int how, const char *reason);
bool dg_named_like_a_image(const char *name);
void dg_scan_sort_skips(dg_scan *s); /* by name, as the files are */

/* How many files could not be read for an error that may pass: after some, the others are not waited for. */
typedef atomic_int dg_lost;
/* The call number `tries` (from 0) ended with this errno: true, after a pause, when it is worth another try. */
bool dg_try_again(dg_lost *lost, int error, int tries);

/* First bytes (at most `room`) of the file, or the whole of it: never blocks, never reads what is no regular file.
 * DG_DATA: skip the file, it is no good. DG_IO: skip it, it may be readable another time; of a zip file it is an error,
 * because all of its files may be lost. DG_DEVICE: this process is out of descriptors or memory. */
dg_err dg_file_head(const dg_folder *folder, const char *name, dg_lost *lost, uint8_t *head, size_t room,
                    size_t *bytes);
dg_err dg_file_whole(const dg_folder *folder, const char *name, dg_lost *lost, size_t limit, uint8_t **data,
                     size_t *bytes);

/* Whether the folder has a file of this name. */
dg_err dg_is_there(const dg_folder *folder, const char *name, bool *there);

/* The images of the source that the folder is, with the labels and the test part that it has; a class of its own is
 * not too few yet. fingerprint 0: not known yet. */
dg_err dg_source_read(const dg_dataset_options *o, dg_dataset *out);
/* The images of the open folder and those below it, in bytewise order. */
dg_err dg_folder_read(const dg_dataset_options *o, const dg_folder *folder, dg_dataset *out);
dg_err dg_open_folder(const char *dir, dg_folder *out);
void dg_close_folder(dg_folder *folder);
/* How many threads; room for images, and for what is known of them. */
int dg_dataset_threads(const dg_dataset_options *o);
dg_err dg_dataset_pixels(const dg_dataset_options *o, long images, uint8_t **out);
dg_err dg_dataset_lists(dg_dataset *out, long images);
/* True if o->skipped is to list these images; otherwise the list of an earlier load stays. */
bool dg_dataset_lists_skips(const dg_dataset_options *o, const dg_dataset *d);

/* Names of the folder with the test part beside train/, the first that is there; ends with NULL. */
extern const char *const dg_test_names[];
/* Labels and parts of images by the folders that they lie in; DG_OK where there are none. */
dg_err dg_label_by_folder(const dg_dataset_options *o, dg_dataset *d);
/* Mark `limit` of n images: of every class the first, then of every class the second ...; label NULL: the first ones.
 * Returns how many, -1: no memory. */
int dg_mark_evenly(const int32_t *label, int n, int classes, int limit, uint8_t *mark);
/* Of each part the first `limit`, of each class as many where there are classes. */
dg_err dg_dataset_first(dg_dataset *d, int limit);
/* The test part as the options want it; the images of the folder o->test as this part. */
dg_err dg_dataset_divide(const dg_dataset_options *o, dg_dataset *d);
dg_err dg_dataset_add_test(const dg_dataset_options *o, dg_dataset *d);
/* Keep images order[0] ... order[n - 1], in this order; the first `train` of them are for training. order has room
 * for d->count, and what is behind n is used up. */
dg_err dg_dataset_arrange(dg_dataset *d, int32_t *order, int n, int train);
dg_err dg_dataset_keep_test(dg_dataset *d);
/* The exit code for a system call that ended with this errno: DG_DEVICE for descriptors and memory, DG_IO for the
 * disk or the network, DG_DATA for what is wrong with the folder itself. */
dg_err dg_errno_kind(int error);
/* An error that names the first folder that could not be read, unless o->skip_unreadable. */
dg_err dg_check_folders(const dg_dataset_options *o, const dg_skip *skip, long skips);
/* With o->skip_unreadable a warning for each of these folders; one for all links to folders. */
void dg_warn_folders(const dg_dataset_options *o, const dg_skip *skip, long skips);
/* What to do about the bad images, by the causes in their reasons. Returns out. */
char *dg_bad_advice(const dg_dataset *d, char *out, size_t size);
/* The reason that the scan gives for a symbolic link to a folder. */
#define DG_LINK_TO_FOLDER "a symbolic link to a folder (these are not followed)"

uint64_t dg_hash(uint64_t h, const void *data, size_t bytes); /* FNV-1a; start with DG_HASH */
#define DG_HASH 0xcbf29ce484222325u

/* Of everything that the result depends on: settings, and name, size and time of each file. `files` is of all that
 * was found, and known before any is opened; `images` leaves out what is aside, such as the files of a run. */
typedef struct {
    uint64_t files, images;
} dg_cache_keys;
uint64_t dg_cache_key(const dg_dataset_options *o, const dg_scan *s, bool images);
/* Fill out from the cache file if it is whole and has one of these keys, 0 being none. */
typedef enum { DG_CACHE_TAKEN, DG_CACHE_OTHER, DG_CACHE_USELESS } dg_cache_found;
dg_cache_found dg_cache_read(const dg_dataset_options *o, dg_cache_keys keys, dg_dataset *out);
/* A failure is a warning: the images are there all the same. */
void dg_cache_write(const dg_dataset_options *o, dg_cache_keys keys, const dg_dataset *d);

#endif
