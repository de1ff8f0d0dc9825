/* Images of a folder as one array in memory: (count, size, size, channels) uint8. */
#ifndef DG_DATASET_H
#define DG_DATASET_H

#include <signal.h>
#include "core/base/file_io.h"
#include "host/image/image.h"

typedef struct {
    const char *dir;
    int size, channels;
    dg_fit fit;
    dg_resize resize;
    dg_decode_options decode;
    int threads;
    bool strict;          /* the first bad image is an error */
    bool skip_unreadable; /* a folder that cannot be read is a warning; false: an error */
    bool list_first;      /* that error comes after the dataset was read, from dg_dataset_judge, to list it before */
    bool take_made;       /* single images that dcgan made, too; its grids and curves never */
    int least;            /* fewer good images than this is DG_DATA; 0: no check */
    int limit;            /* use only the first `limit` images in order, bad ones counted; 0: all; with classes to learn
                           * so many of each part, of all classes alike */
    bool fixed_shape;     /* the model keeps its size and channels, so that no advice is about others */
    bool labelled;        /* for a classifier: classes and the test part; false: the training part's images alone */
    const char *test;  /* a folder with the test part, or a share of each class such as "0.5", "0" being none; NULL: the
                        * test part that the source has */
    bool any_part;     /* a source that has a test part alone: these are the images; false: DG_DATA */
    uint64_t seed;     /* of the images that a share takes */
    const char *cache; /* cache file, NULL: none. Keyed by content (path, size, mtime of every file) and settings */
    const char *skipped; /* where to write skipped.txt, NULL: nowhere; not written when nothing was skipped */
    const dg_directory *skipped_dir; /* its directory, where it is skipped.txt; NULL: the path names it */
    uint64_t known; /* fingerprint of the images that the list there is about, which others leave alone unless some
                     * could not be read; 0: of any */
    void (*progress)(void *context, long done, long total); /* may be NULL; called from one thread */
    void *context;
    volatile sig_atomic_t *stop;         /* may be NULL; non-zero stops loading with DG_FAILED */
    bool (*cancelled)(void *cancel_arg); /* so does true, for any thread that asks; may be NULL */
    void *cancel_arg;
} dg_dataset_options;

enum { DG_PATH_BYTES = 4096 }; /* of a path below dir, at most */

typedef struct {
    char *name; /* path below dir, as the file system has it */
    char *reason;
    bool bad;    /* an image that could not be used; false: just another file */
    bool unread; /* it could not be read this time; another time it may be */
    int folder;  /* errno of a folder, or of what may be one, that was not read: an unknown number of files; or 0 */
} dg_skip;

typedef struct {
    int count, size, channels;
    uint8_t *pixels;     /* (count, size, size, channels) */
    char **name;         /* path below dir of each, in bytewise order */
    int *width, *height; /* as in the file, after orientation */
    uint8_t *kind;       /* dg_kind of each file */
    uint8_t *did;        /* what decoding did to each: bits 1u << dg_did */
    dg_skip *skip;
    int skips;
    int made, hidden;     /* left out: images that dcgan made (made.h); hidden files and folders */
    uint64_t fingerprint; /* of the pixels in order, with `labelled` of labels and parts, too: changes when they do */
    bool cached;          /* came from the cache file */
    int train;            /* images 0 to train - 1 are for training, the others for testing */
    int usable;           /* images that were good: those that are here, and those that were left out all the same */
    int aside;            /* without `labelled`: images of the test part, which are not here */
    int32_t *label;       /* class of each; NULL: there are none */
    int classes;          /* 0, or at least 2 */
    char **class_name;
    char *unclassified; /* why there are no classes though there are folders or labels; NULL: images alone */
} dg_dataset;

/* Takes a folder of IDX files (MNIST; gzipped or not), of CIFAR-10's or CIFAR-100's .bin files, or of images, told by
 * what is in it. A damaged IDX or .bin file is DG_DATA with the byte where it is wrong.
 *
 * Images: where each lies in a direct subfolder, these are the classes, in bytewise order; where the direct
 * subfolders are train/ and test/ (beside them valid/, which is left out; without test/ it is the test part) with
 * class folders below, these are the parts. Recursive; order is bytewise by path. Symbolic links to files are followed,
 * to directories not; anything that is neither a regular file nor a directory is skipped with a reason; files that are
 * no images are skipped (counted as bad only when their name ends like an image). More than 10% (or 1,000) bad
 * images, or fewer good ones to train on than `least`, is DG_DATA with a summary by reason. What dcgan made and what
 * is hidden is left out and counted, no more. A file that cannot be read is tried again; a warning tells of those that
 * are skipped for it. */
dg_err dg_dataset_load(const dg_dataset_options *o, dg_dataset *out);
/* Everything but the rules and skipped.txt. */
dg_err dg_dataset_read(const dg_dataset_options *o, dg_dataset *out);
/* The rules: strict, at most 10% or 1,000 bad, at least `least`. */
dg_err dg_dataset_judge(const dg_dataset_options *o, const dg_dataset *d);
/* "PNG: cut off after N bytes (9), JPEG: ... (3)": what was skipped, by reason, most frequent first. Returns out. */
char *dg_skip_summary(const dg_dataset *d, bool bad_only, int most, char *out, size_t size);
/* Could some files not be read this time? */
bool dg_dataset_unread(const dg_dataset *d);
/* Is what was skipped of these images listed in o->skipped? */
bool dg_dataset_listed(const dg_dataset_options *o, const dg_dataset *d);
/* "12 images that dcgan made and 1 hidden file or folder"; "" when nothing was left out. Returns out. */
char *dg_left_out(const dg_dataset *d, char *out, size_t size);
void dg_dataset_free(dg_dataset *d);
/* Of the option `test`: the number that it is, or -1: it is a folder. */
double dg_test_share(const char *test);
/* Why it has no classes, in words. */
const char *dg_dataset_unclassified(const dg_dataset *d);
/* DG_DATA: the folder has not the classes, so many, that this model tells apart. */
dg_err dg_dataset_check_classes(const dg_dataset *d, const char *dir, const char *model, int classes);
/* Of the channels of the images for training, from 0 to 1. */
void dg_dataset_statistics(const dg_dataset *d, double mean[4], double std[4]);
uint64_t dg_dataset_fingerprint(const dg_dataset *d, int threads); /* threads 0: all */

#endif
