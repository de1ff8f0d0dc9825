/* The images of a folder as one array in memory: (count, size, size, channels) uint8. */
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
    bool strict;
    bool skip_unreadable; /* an unreadable folder is a warning; false: an error */
    bool list_first;      /* report an unreadable folder in dg_dataset_judge, after skipped files were listed */
    bool take_made;       /* include single images made by dcgan; its grids and curves never */
    int least;            /* min good training images, fewer: DG_DATA; 0: no check */
    int limit;            /* use only the first `limit` images, corrupt ones counted; with classes: per part, spread
                           * evenly; 0: all */
    bool fixed_shape;     /* the model fixes size and channels: advise no other ones */
    bool labelled;        /* load classes and the test part; false: training images only */
    const char *test;     /* test part: folder, or share of each class such as "0.5" ("0": none); NULL: the source's */
    bool any_part;        /* if the source has only a test part, load it as training part; false: DG_DATA */
    uint64_t seed;
    const char *cache;   /* cache file or NULL; key: settings, and path, size and mtime of every file */
    const char *skipped; /* where to write skipped.txt, NULL: nowhere; not written when nothing was skipped */
    const dg_directory *skipped_dir; /* open directory of skipped.txt; NULL: use the path */
    uint64_t known; /* fingerprint of the dataset that the present skipped.txt describes; a load of another dataset
                     * leaves the list unchanged, unless files could not be read. 0: always write the list */
    void (*progress)(void *context, long done, long total); /* may be NULL; called from one thread */
    void *context;
    volatile sig_atomic_t *stop;
    bool (*cancelled)(void *cancel_arg);
    void *cancel_arg;
} dg_dataset_options;

enum { DG_PATH_BYTES = 4096 };

typedef struct {
    char *name; /* path below dir, unescaped */
    char *reason;
    bool bad;    /* an unusable image; false: not an image */
    bool unread; /* reading failed now but may succeed later */
    int folder;  /* errno of an unreadable folder (or an entry that may be one), else 0 */
} dg_skip;

typedef struct {
    int count, size, channels;
    uint8_t *pixels; /* (count, size, size, channels) */
    char **name;
    int *width, *height;
    uint8_t *kind;
    uint8_t *did; /* what decoding changed: bits 1u << dg_did */
    dg_skip *skip;
    int skips;
    int made, hidden;     /* left out: images made by dcgan (made.h); hidden files and folders */
    uint64_t fingerprint; /* of the pixels in order; with `labelled` also of labels and parts */
    bool cached;
    int train;      /* images 0 ... train - 1 are the training part, the rest is the test part */
    int usable;     /* good images, including those left out by `limit` or part */
    int aside;      /* without `labelled`: images of the test part, not loaded */
    int32_t *label; /* class of each image, NULL: no classes */
    int classes;
    char **class_name;
    char *unclassified; /* why folders or labels give no classes; NULL: there are no folders or labels */
} dg_dataset;

/* Load a folder of IDX files (MNIST; gzipped or not), of CIFAR-10 or CIFAR-100 .bin files, or of images; the kind is
 * detected from the contents. A damaged IDX or .bin file is DG_DATA; the message has the offset of the error.
 *
 * Images: if every image is in a direct subfolder, the subfolders are the classes, in bytewise order. If the direct
 * subfolders are train/ and test/, each with class folders, they are the two parts. valid/ is left out if there is a
 * test/, otherwise it is the test part. Folders are read recursively, in bytewise order of paths. */
dg_err dg_dataset_load(const dg_dataset_options *o, dg_dataset *out);
/* Like dg_dataset_load, without the rules of dg_dataset_judge and without skipped.txt. */
dg_err dg_dataset_read(const dg_dataset_options *o, dg_dataset *out);
/* DG_DATA: `strict` and an unusable image; more than 10% or 1,000 unusable images; fewer good ones than `least`. */
dg_err dg_dataset_judge(const dg_dataset_options *o, const dg_dataset *d);
/* Skipped files by reason, most frequent first: "PNG: cut off after N bytes (9), JPEG: ... (3)". Returns out. */
char *dg_skip_summary(const dg_dataset *d, bool bad_only, int most, char *out, size_t size);
/* True if reading some files failed but may succeed later. */
bool dg_dataset_unread(const dg_dataset *d);
/* True if o->skipped lists the skipped files of this dataset. */
bool dg_dataset_listed(const dg_dataset_options *o, const dg_dataset *d);
/* "12 images that dcgan made and 1 hidden file or folder", or "" when nothing was left out. Returns out. */
char *dg_left_out(const dg_dataset *d, char *out, size_t size);
void dg_dataset_free(dg_dataset *d);
/* Option `test` as a number, or -1: it is a folder. */
double dg_test_share(const char *test);
const char *dg_dataset_unclassified(const dg_dataset *d);
/* DG_DATA: the number of classes in the folder is not that of the model. */
dg_err dg_dataset_check_classes(const dg_dataset *d, const char *dir, const char *model, int classes);
/* Mean and standard deviation of each channel of the training images, in 0 ... 1. */
void dg_dataset_statistics(const dg_dataset *d, double mean[4], double std[4]);
uint64_t dg_dataset_fingerprint(const dg_dataset *d, int threads);

#endif
