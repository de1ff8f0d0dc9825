/* Loads the images of a folder as uint8 values (count, height, width, channels), into memory or into a file. */
#pragma once

#include <signal.h>
#include "core/base/file_io.h"
#include "core/base/image_size.h"
#include "host/data/images.h"
#include "host/image/image.h"

typedef struct {
    const char *dir; /* folder, zip file, or several of them (host/data/dirs.h) */
    dg_size size;
    int channels;
    dg_fit fit;
    dg_resize resize;
    dg_decode_options decode;
    int threads;
    bool strict;
    bool skip_unreadable; /* unreadable folders cause a warning instead of an error */
    bool list_first;      /* only dg_dataset_judge, not dg_dataset_read, fails for unreadable folders */
    bool take_made;       /* include single images that dcgan generated, but no grids */
    int least;            /* fewer valid training images than `least` are an error (DG_DATA) */
    int limit;            /* max number of training images and of test images, or 0 for no limit */
    bool fixed_shape;     /* the model fixes size and channels, so printed advice suggests no other values */
    bool labelled;        /* load classes and test images in addition to training images */
    bool hash_labels;     /* without `labelled`: the fingerprint also depends on the labels */
    const char *test;     /* folder of test images, or a share of each class, such as "0.5"; may be NULL */
    bool any_part;        /* if the dataset has only test images, train on these instead of returning DG_DATA */
    uint64_t seed;
    const char *cache;
    bool may_stay;          /* images that are too many for memory may stay in a file: the cache, or a temporary one */
    double most_mb;         /* of images in memory, in MB, or 0 for half of the free memory */
    bool keep_file;         /* keep a file of the images open, for dg_dataset_shared_path */
    const char *other_file; /* path of the file of another process of this machine that has decoded the images, in which
                            the images stay if `may_stay` is set */
    const char *skipped;    /* path of the list of skipped files, skipped.txt, or NULL */
    const dg_directory *skipped_dir; /* open directory for writing skipped.txt, or NULL */
    uint64_t known; /* fingerprint of a resumed run's dataset, or 0. If the loaded dataset differs, skipped.txt is
                       written only if dg_dataset_unread() is true */
    void (*progress)(void *context, long done, long total); /* progress callback, called by one thread, or NULL */
    void *context;
    volatile sig_atomic_t *stop;
    bool (*cancelled)(void *cancel_arg);
    void *cancel_arg;
} dg_dataset_options;

enum { DG_PATH_BYTES = 4096, DG_GREY = 1 << 7 /* the three channels of each pixel are equal */ };

typedef struct {
    char *name; /* path relative to the dataset's directory, unescaped */
    char *reason;
    bool bad;    /* the file is an unusable image, not a file of another kind */
    bool unread; /* reading the file failed, but may succeed later */
    int folder;  /* errno of an unreadable directory entry that may be a folder, otherwise 0 */
} dg_skip;

typedef struct {
    int count;
    dg_size size;
    int channels;
    uint8_t *pixels;     /* (count, height, width, channels), or NULL if the images are in `file` */
    dg_image_file *file; /* of images in a file, or with the option `keep_file`; otherwise NULL */
    bool in_cache;       /* `file` is the file of the option `cache` */
    int32_t *slot;       /* of each image in the file */
    uint64_t *hash;      /* dg_hash of each image, or NULL if not computed yet */
    char **name;
    int *width, *height;
    uint8_t *kind;
    uint8_t *did; /* changes that decoding made to each image, as bits 1u << dg_did, and DG_GREY */
    dg_skip *skip;
    int skips;
    int made, hidden;     /* made: number of ignored images made by dcgan; hidden: number of hidden files and folders */
    uint64_t fingerprint; /* hash of all pixels in image order and, with the option `labelled`, of all labels */
    bool cached;
    int train;      /* images 0 ... train - 1 are training images, the others are test images */
    int usable;     /* number of valid images, including images that the options leave out */
    int aside;      /* number of test images that are not loaded without the option `labelled` */
    int32_t *label; /* class index of each image, or NULL without classes */
    int classes;
    char **class_name;
    const char *labels; /* name of the label file in the dataset's folder, or NULL without such a file */
    bool single;        /* all images are in one class, so `classes` is 0 */
    char *unclassified; /* reason why folders or labels define no classes, or NULL without folders and labels */
} dg_dataset;

/* Load a folder of IDX files (MNIST), CIFAR .bin files or images, detected from its contents. A folder of images is
 * read recursively, in bytewise order of paths. If every image is below a subfolder, the direct subfolders are the
 * classes, in bytewise order. Direct subfolders train/ and test/, each with a folder per class, have the training
 * and test images. If test/ is missing, valid/ has the test images. The classes in a file labels.csv, or in a file
 * dataset.json of the StyleGAN tools, replace class folders. */
dg_err dg_dataset_load(const dg_dataset_options *o, dg_dataset *out);
/* Like dg_dataset_load, but without calling dg_dataset_judge and without writing skipped.txt. */
dg_err dg_dataset_read(const dg_dataset_options *o, dg_dataset *out);
/* Returns DG_DATA if unusable images exceed 10% or 1,000, or if usable images are fewer than `least`. With `strict`,
 * one unusable image is DG_DATA. */
dg_err dg_dataset_judge(const dg_dataset_options *o, const dg_dataset *d);
/* Write the reasons for skipped files to out, most frequent first: "PNG: cut off after N bytes (9), JPEG: ... (3)".
 * Returns out. */
char *dg_skip_summary(const dg_dataset *d, bool bad_only, int most, char *out, size_t size);
/* True if reading some files of the dataset failed, but may succeed later. */
bool dg_dataset_unread(const dg_dataset *d);
bool dg_dataset_listed(const dg_dataset_options *o, const dg_dataset *d);
/* Write the number of ignored images and files to out, or "" if there are none. Returns out. */
char *dg_left_out(const dg_dataset *d, char *out, size_t size);
void dg_dataset_free(dg_dataset *d);
/* Returns the value of the option `test` as a share of the images, or -1 if the value is a folder. */
double dg_test_share(const char *test);
const char *dg_dataset_unclassified(const dg_dataset *d);
dg_err dg_dataset_check_classes(const dg_dataset *d, const char *dir, const char *model, int classes);
/* Find the first class that has another name in `names`, the text of a checkpoint with one class per line, in which
 * spaces replace newlines of names. Returns its line and sets *which, or returns NULL. */
const char *dg_dataset_other_class(const dg_dataset *d, const char *names, int *which);
/* Name a folder for each class: by the class, with '_' instead of slashes and of a leading dot. Returns DG_DATA if two
 * classes get the same folder; the message begins with `to`. Free *folder with dg_class_folders_free even after errors.
 */
dg_err dg_class_folders(const char *const *class_name, int classes, const char *to, char ***folder);
void dg_class_folders_free(char **folder, int classes);
dg_images dg_dataset_images(const dg_dataset *d);
/* Compute mean and standard deviation of each channel of the training images, scaled to 0 ... 1. */
dg_err dg_dataset_statistics(const dg_dataset *d, int threads, double mean[4], double std[4]);
/* Write the path to out by which another process of this machine can open the dataset's file while this process keeps
 * it, for its option `other_file`, or "" without a file. Returns out. */
char *dg_dataset_shared_path(const dg_dataset *d, char *out, size_t size);
uint64_t dg_dataset_fingerprint(const dg_dataset *d, int threads);
/* Write the images as PNG files into the directory `to`, in one folder per class, and in the folders train/ and test/
 * if there are test images. Returns DG_USAGE if `to` is inside of the dataset's directory `from`, or has other files
 * than images that this function wrote for the same dataset (unless dg_replaces_all()). */
dg_err dg_dataset_write(const dg_dataset *d, const char *from, const char *to, int threads,
                        void (*progress)(void *context, long done, long total), void *context);
