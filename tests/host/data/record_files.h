/* Makes small MNIST and CIFAR files. */
#pragma once

#include "dataset_folder.h"

enum { TRAIN = 4, TEST = 3, W = 3, H = 2, RECORD = 3073, RECORD_100 = 3074 };

static const char train_images[] = "train-images-idx3-ubyte", train_labels[] = "train-labels-idx1-ubyte";
static const char test_images[] = "t10k-images-idx3-ubyte", test_labels[] = "t10k-labels-idx1-ubyte";

__attribute__((unused)) static void put_number(blob *b, uint32_t n)
{
    for (int i = 24; i >= 0; i -= 8) blob_put(b, &(uint8_t){(uint8_t)(n >> i)}, 1);
}

__attribute__((unused)) static blob idx_images(int count, int begins)
{
    blob b = {0};
    put_number(&b, 0x803);
    put_number(&b, (uint32_t)count);
    put_number(&b, H);
    put_number(&b, W);
    for (int i = 0; i < count * H * W; i++) blob_put(&b, &(uint8_t){(uint8_t)(begins + 7 * i)}, 1);
    return b;
}

__attribute__((unused)) static blob idx_labels(int count, const char *labels)
{
    blob b = {0};
    put_number(&b, 0x801);
    put_number(&b, (uint32_t)count);
    for (int i = 0; i < count; i++) blob_put(&b, &(uint8_t){(uint8_t)(labels[i] - '0')}, 1);
    return b;
}

__attribute__((unused)) static blob gzip(blob plain)
{
    blob b = {0};
    deflate_zeros(&b, &plain, 0, 31);
    blob_free(&plain);
    return b;
}

__attribute__((unused)) static blob cifar(int classes, int count, int begins)
{
    blob b = {0};
    for (int i = 0; i < count; i++) {
        if (classes == 100) blob_put(&b, &(uint8_t){(uint8_t)(i % 20)}, 1);
        blob_put(&b, &(uint8_t){(uint8_t)((begins + 3 * i) % classes)}, 1);
        for (int k = 0; k < 3072; k++) blob_put(&b, &(uint8_t){(uint8_t)(begins + i + 5 * k + k / 1024)}, 1);
    }
    return b;
}

__attribute__((unused)) static void make_mnist(bool packed)
{
    char name[4][64];
    const char *const plain[] = {train_images, train_labels, test_images, test_labels};
    for (int i = 0; i < 4; i++) snprintf(name[i], sizeof name[i], "%s%s", plain[i], packed ? ".gz" : "");
    const blob b[] = {idx_images(TRAIN, 1), idx_labels(TRAIN, "2702"), idx_images(TEST, 100), idx_labels(TEST, "777")};
    for (int i = 0; i < 4; i++) save(name[i], packed ? gzip(b[i]) : b[i]);
}
