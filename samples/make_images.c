/* Generates images with a trained network:
 *     cc -o make_images make_images.c $(pkg-config --cflags --libs dcgan)
 *     ./make_images checkpoint.safetensors 16 images
 * The second command writes images/0000.png to images/0015.png; the folder must exist. */
#include <dcgan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void warn(void *program, const char *text) { fprintf(stderr, "%s: %s\n", (const char *)program, text); }

static dcgan_error make(dcgan_job *job, int n, const char *folder)
{
    const dcgan_info info = dcgan_info_of(job);
    const size_t each = (size_t)info.size * (size_t)info.size * (size_t)info.channels;
    uint8_t *pixels = malloc((size_t)n * each);
    if (!pixels) return DCGAN_DEVICE;
    dcgan_error e = dcgan_sample(job, 0, n, pixels);
    int length = (int)strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    for (int i = 0; i < n && !e; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%.*s/%04d.png", length, folder, i);
        e = dcgan_write_png(path, pixels + (size_t)i * each, info.size, info.size, info.channels);
    }
    free(pixels);
    return e;
}

int main(int argc, char **argv)
{
    const int n = argc == 4 ? atoi(argv[2]) : 0;
    if (n < 1) {
        fprintf(stderr, "usage: %s CHECKPOINT NUMBER FOLDER\n", argv[0]);
        return DCGAN_USAGE;
    }
    dcgan_backend *backend = NULL;
    dcgan_job *job = NULL;
    dcgan_set_warnings(warn, argv[0]);
    dcgan_error e = dcgan_open(NULL, &backend);
    if (!e) e = dcgan_load(backend, argv[1], &job);
    if (!e) e = make(job, n, argv[3]);
    if (e) fprintf(stderr, "%s: %s\n", argv[0], dcgan_message());
    dcgan_free(job);
    dcgan_close(backend);
    return e;
}
