/* libdcgan: trains a DCGAN, and generates images with a trained one.
 *     #include <dcgan.h>                                   cc x.c $(pkg-config --cflags --libs dcgan)
 *
 *     dcgan_backend *backend;                              images from a checkpoint:
 *     dcgan_job *job;
 *     dcgan_error e = dcgan_open(NULL, &backend);
 *     if (!e) e = dcgan_load(backend, "checkpoint.safetensors", &job);
 *     if (!e) e = dcgan_sample(job, 0, 16, pixels);        16 x size x size x channels bytes
 *     if (e) fprintf(stderr, "%s\n", dcgan_message());
 *     dcgan_free(job);
 *     dcgan_close(backend);
 *
 *     dcgan_training t = dcgan_training_defaults();        training:
 *     t.model = "dcgan32";
 *     dcgan_images p = {.pixels = pixels, .count = 1000, .size = 32, .channels = 3};
 *     e = dcgan_train(backend, &t, &p, &job);
 *     while (!e && dcgan_info_of(job).epoch < 300) e = dcgan_step(job, 1);
 *     if (!e) e = dcgan_save(job, "checkpoint.safetensors");
 *
 * The library computes the same bytes as the program dcgan with the same settings. The number of threads and other jobs
 * do not change the results. Every function that can fail returns an error code and stores a message. The library does
 * not print, catch signals or end the process. A failed call sets its output handle to NULL. Freeing NULL is allowed.
 * Locale, floating-point environment and number of OpenMP threads of the calling program stay unchanged and do not
 * affect the library. Threads of the library block signals. The warning handler runs with the locale "C" and the
 * default floating-point environment. Only one thread at a time may use a backend and its jobs. Different backends are
 * independent. */
#ifndef DCGAN_H
#define DCGAN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DCGAN_VERSION "0.1.0"
#if defined(__GNUC__)
#define DCGAN_API __attribute__((visibility("default")))
#else
#define DCGAN_API
#endif

/* Returns the version of the library, such as "dcgan 0.1.0 (commit)". DCGAN_VERSION is the version of the header. */
DCGAN_API const char *dcgan_version(void);

typedef enum {
    DCGAN_OK = 0,
    DCGAN_FAILED = 1, /* any error without a specific code */
    DCGAN_USAGE = 2,  /* invalid value, name or model file */
    DCGAN_DATA = 3,   /* invalid images */
    DCGAN_IO = 4,
    DCGAN_DEVICE = 5,
    DCGAN_NUMBERS = 6 /* NaN or infinity */
} dcgan_error;

/* Returns the error message of this thread's last failed call. The text is valid until the thread's next failed
 * call. */
DCGAN_API const char *dcgan_message(void);

/* Sets the process's warning handler f, while no job runs. Any thread may call f. NULL (default) drops warnings. */
typedef void dcgan_on_warning(void *context, const char *text);
DCGAN_API void dcgan_set_warnings(dcgan_on_warning *f, void *context);

/* ---- Minimal: load and sample ---- */

typedef struct dcgan_backend dcgan_backend; /* an open device */
typedef struct dcgan_job dcgan_job;         /* a network on a device */

/* Settings of a device. Zeros are the defaults. */
typedef struct {
    const char *device;    /* "auto" (the default), "cpu", "cuda" or "cuda:N" */
    const char *precision; /* "fp32", "fp64", "bf16" or "fp16"; default bf16 on GPUs since sm_80, else fp32 */
    int threads;           /* CPU threads; 0 means OMP_NUM_THREADS or, if unset, all available cores */
} dcgan_device;

DCGAN_API dcgan_error dcgan_open(const dcgan_device *d, dcgan_backend **out); /* if d is NULL, the defaults apply */
DCGAN_API const char *dcgan_backend_name(const dcgan_backend *b);             /* "cpu, 2 threads, avx512" */
DCGAN_API void dcgan_close(dcgan_backend *b);                                 /* free the backend's jobs first */

/* Loads a checkpoint or a generator's weights for sampling, not for further training. */
DCGAN_API dcgan_error dcgan_load(dcgan_backend *b, const char *checkpoint, dcgan_job **out);
DCGAN_API void dcgan_free(dcgan_job *job);

typedef struct {
    const char *model;  /* valid until the job is freed */
    int size, channels; /* size: width of the images, and the height of square images */
    uint64_t seed;
    uint64_t step, epoch; /* training steps and epochs so far */
    int classes;          /* of a conditional generator, or 0 */
    int height;           /* of the images */
} dcgan_info;
DCGAN_API dcgan_info dcgan_info_of(const dcgan_job *job);

/* Generates n images, (n, height, width, channels) bytes, as `dcgan generate` does with the seeds `first` to
 * `first` + n - 1. May be called during training. */
DCGAN_API dcgan_error dcgan_sample(dcgan_job *job, uint64_t first, int n, uint8_t *pixels);

/* Like dcgan_sample, but generates images of class `class_index`, 0 to classes - 1, as `dcgan generate --class` does.
 */
DCGAN_API dcgan_error dcgan_sample_class(dcgan_job *job, int class_index, uint64_t first, int n, uint8_t *pixels);

/* Writes a PNG file atomically. `channels` is 1 (grey), 3 (RGB) or 4 (RGB and alpha). */
DCGAN_API dcgan_error dcgan_write_png(const char *path, const uint8_t *pixels, int width, int height, int channels);

/* ---- Training ---- */

typedef struct {
    const char *model;   /* name of a built-in model, or a model file; default "dcgan64-paper" */
    int batch;           /* 64 */
    int flip, drop_last; /* flip 1 mirrors images at random; drop_last 1 omits a short last batch */
    uint64_t seed;
    double lr;
    double beta1, beta2, eps;
} dcgan_training;
DCGAN_API dcgan_training dcgan_training_defaults(void);

/* The dataset. The caller owns the memory, which must not change while the job exists. */
typedef struct {
    const uint8_t *pixels;     /* (count, height, width, channels) */
    int count, size, channels; /* size: width */
    const int32_t *labels;     /* (count) classes from 0 on, for a model with classes such as "dcgan32-10classes" */
    int height;                /* 0: size, for square images */
} dcgan_images;
typedef dcgan_images dcgan_pictures; /* the name before 0.1.0 */

/* Creates a new network. If t is NULL, the defaults apply. Section [train] of a model file is ignored. Options of the
 * program that dcgan_training lacks, such as --loss and --r1, have their defaults. */
DCGAN_API dcgan_error dcgan_train(dcgan_backend *b, const dcgan_training *t, const dcgan_images *p, dcgan_job **out);

/* Resumes training from a checkpoint, whose model and seed replace those in t. Options of the program that
 * dcgan_training lacks have their defaults. Warns if the images differ from the dataset of the checkpoint. */
DCGAN_API dcgan_error dcgan_resume(dcgan_backend *b, const char *checkpoint, const dcgan_training *t,
                                   const dcgan_images *p, dcgan_job **out);

/* Runs n optimizer steps. Each epoch uses every image once, in random order. Returns DCGAN_NUMBERS if a loss or a
 * weight is NaN or infinite. After this error, only earlier checkpoints are usable. */
DCGAN_API dcgan_error dcgan_step(dcgan_job *job, int n);

/* Stores a metric of the last step in *value. `name` is a column of the program's log.csv, such as "loss_d". */
DCGAN_API dcgan_error dcgan_metric(const dcgan_job *job, const char *name, double *value);
DCGAN_API const char *dcgan_metric_name(const dcgan_job *job, int i); /* NULL after the last metric */

/* Saves a checkpoint atomically. The program dcgan and dcgan_resume() can resume training from the file. */
DCGAN_API dcgan_error dcgan_save(dcgan_job *job, const char *path);

#ifdef __cplusplus
}
#endif
#endif
