/* libdcgan: train a DCGAN, and make images with a trained one.
 *
 *     #include <dcgan.h>                                   cc x.c $(pkg-config --cflags --libs dcgan)
 *
 *     dcgan_backend *backend;                              images of a checkpoint:
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
 *     e = dcgan_train(backend, &t, &(dcgan_images){pixels, 1000, 32, 3}, &job);
 *     while (!e && dcgan_info_of(job).epoch < 300) e = dcgan_step(job, 1);
 *     if (!e) e = dcgan_save(job, "checkpoint.safetensors");
 *
 * What a job computes is the same bytes as the program's run with the same values, and depends neither on the number of
 * threads nor on other jobs. Every function that can fail returns a code and leaves a message; nothing is printed, no
 * signal is caught, and the process is never ended. Handles become NULL where a call fails, and may be NULL where they
 * are freed. Settings of the host program change no result and stay as they are: locale, rounding mode, flushing of
 * denormal numbers, floating-point traps and flags, number of OpenMP threads. Threads of the library block signals, and
 * the function for warnings is called with the default settings. A backend and its jobs are for one thread at a time;
 * different backends are independent. */
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

/* Of the library, "dcgan 0.1.0 (commit)"; DCGAN_VERSION is the header's. */
DCGAN_API const char *dcgan_version(void);

typedef enum {
    DCGAN_OK = 0,
    DCGAN_FAILED = 1, /* it ran, but the result is not what was asked for */
    DCGAN_USAGE = 2,  /* a value, a name or a model file is wrong */
    DCGAN_DATA = 3,   /* the images are */
    DCGAN_IO = 4,     /* reading or writing a file */
    DCGAN_DEVICE = 5, /* device, memory or threads */
    DCGAN_NUMBERS = 6 /* NaN or infinity */
} dcgan_error;

/* What is wrong and what to do, after the last call of this thread that failed; valid until the next one. */
DCGAN_API const char *dcgan_message(void);

/* What is done with warnings, of which any thread may have one: f is called with each. NULL, which is the default: they
 * are dropped. For the whole process; not to be changed while jobs are at work. */
typedef void dcgan_on_warning(void *context, const char *text);
DCGAN_API void dcgan_set_warnings(dcgan_on_warning *f, void *context);

/* ---- Minimal: load and sample ---- */

typedef struct dcgan_backend dcgan_backend; /* an open device */
typedef struct dcgan_job dcgan_job;         /* a network on it */

/* All zeros: the defaults. */
typedef struct {
    const char *device; /* "auto" (the default), "cpu", "cuda" or "cuda:N" */
    const char
        *precision; /* "fp32", "fp64", "tf32", "bf16" or "fp16"; by default bf16 on GPUs since sm_80, else fp32 */
    int threads;    /* of the CPU; 0: OMP_NUM_THREADS, else every core that the process may use */
} dcgan_device;

DCGAN_API dcgan_error dcgan_open(const dcgan_device *d, dcgan_backend **out); /* d NULL: the defaults */
DCGAN_API const char *dcgan_backend_name(const dcgan_backend *b);             /* "cpu, 2 threads, avx512" */
DCGAN_API void dcgan_close(dcgan_backend *b);                                 /* after its jobs have been freed */

/* A trained network that makes images: a checkpoint, or a generator's weights. It cannot go on training. */
DCGAN_API dcgan_error dcgan_load(dcgan_backend *b, const char *checkpoint, dcgan_job **out);
DCGAN_API void dcgan_free(dcgan_job *job);

typedef struct {
    const char *model;    /* name of its model; valid as long as the job */
    int size, channels;   /* of its images, which are size x size */
    uint64_t seed;        /* it was or is trained with */
    uint64_t step, epoch; /* done so far */
} dcgan_info;
DCGAN_API dcgan_info dcgan_info_of(const dcgan_job *job);

/* Images number first to first + n - 1, (n, size, size, channels) bytes: those that `dcgan generate` gives to these
 * seeds. Also of a job that trains. */
DCGAN_API dcgan_error dcgan_sample(dcgan_job *job, uint64_t first, int n, uint8_t *pixels);

/* An image of 1 (grey), 3 (RGB) or 4 (RGB and alpha) channels as a PNG file, which is written whole or not at all. */
DCGAN_API dcgan_error dcgan_write_png(const char *path, const uint8_t *pixels, int width, int height, int channels);

/* ---- Training ---- */

typedef struct {
    const char *model;        /* a built-in model's name or a file; the default is "dcgan64-paper" */
    int batch;                /* 64 */
    int flip, drop_last;      /* 1: mirror images at random; leave a short batch at an epoch's end out */
    uint64_t seed;            /* 1 */
    double lr;                /* 0.0002 */
    double beta1, beta2, eps; /* 0.5, 0.999, 1e-8 */
} dcgan_training;
DCGAN_API dcgan_training dcgan_training_defaults(void);

/* The data set. The memory stays the caller's, and as it is for as long as the job. */
typedef struct {
    const uint8_t *pixels; /* (count, size, size, channels) */
    int count, size, channels;
} dcgan_images;
typedef dcgan_images dcgan_pictures; /* the name before 0.1.0 */

/* A new network. t NULL: the defaults. */
DCGAN_API dcgan_error dcgan_train(dcgan_backend *b, const dcgan_training *t, const dcgan_images *p, dcgan_job **out);

/* Go on with a checkpoint, whose model and seed are not those of t. Images other than it was trained with are a
 * warning. */
DCGAN_API dcgan_error dcgan_resume(dcgan_backend *b, const char *checkpoint, const dcgan_training *t,
                                   const dcgan_images *p, dcgan_job **out);

/* n more optimiser steps; every image is in one step of an epoch, in an order of its own. DCGAN_NUMBERS: a loss or a
 * weight is not a number any more, and what was saved before is what is left. */
DCGAN_API dcgan_error dcgan_step(dcgan_job *job, int n);

/* A number of the last step by its name, which is that of a column in the program's log: "loss_d". */
DCGAN_API dcgan_error dcgan_metric(const dcgan_job *job, const char *name, double *value);
DCGAN_API const char *dcgan_metric_name(const dcgan_job *job, int i); /* NULL: there are no more */

/* A checkpoint, which the program and dcgan_resume() go on with bit for bit. Written whole or not at all. */
DCGAN_API dcgan_error dcgan_save(dcgan_job *job, const char *path);

#ifdef __cplusplus
}
#endif
#endif
