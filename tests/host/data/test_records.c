/* Tests datasets of IDX and CIFAR files. Errors name the byte offset of the damage. */
#include "record_files.h"
#include "host/data/records.h"

#include <sys/resource.h>

static dg_dataset_options wanted(int size, int channels)
{
    dg_dataset_options o = options();
    o.size = dg_square(size);
    o.channels = channels;
    o.labelled = true;
    return o;
}

static void check_mnist(const dg_dataset *d)
{
    static const int label[] = {1, 2, 0, 1, 2, 2, 2}; /* indices into the classes 0, 2 and 7 */
    DG_CHECK(d->count == TRAIN + TEST && d->train == TRAIN && d->classes == 3 && d->skips == 0);
    for (int i = 0; i < d->count && d->label; i++)
        DG_CHECKF(d->label[i] == label[i] && d->width[i] == W && d->height[i] == H, "image %d", i);
    DG_CHECK(d->classes == 3 && !strcmp(d->class_name[0], "0") && !strcmp(d->class_name[1], "2") &&
             !strcmp(d->class_name[2], "7"));
    DG_CHECK(!strcmp(d->name[1], "train/00001") && !strcmp(d->name[TRAIN], "test/00000"));
}

static void same_as_png(const dg_dataset *d, const dg_dataset_options *o, int i)
{
    uint8_t grey[H * W];
    for (int k = 0; k < H * W; k++) grey[k] = (uint8_t)(1 + 7 * (i * H * W + k));
    dg_image im = {W, H, 3, malloc(3 * H * W)}, fitted;
    for (int k = 0; k < 3 * H * W && im.pixels; k++) im.pixels[k] = grey[k / 3];
    if (o->channels == 1) dg_image_grey(&im);
    DG_CHECK(!dg_image_fit(&im, o->size, o->fit, DG_RESIZE_BILINEAR, &fitted));
    const size_t bytes = dg_size_values(o->size, o->channels);
    DG_CHECKF(!memcmp(d->pixels + (size_t)i * bytes, fitted.pixels, bytes), "image %d of %d channels", i, o->channels);
    dg_image_free(&im);
    dg_image_free(&fitted);
}

static void idx(bool packed)
{
    begin();
    make_mnist(packed);
    dg_dataset d;
    for (int channels = 1; channels <= 3; channels += 2) {
        dg_dataset_options o = wanted(5, channels);
        o.fit = channels == 1 ? DG_FIT_PAD : DG_FIT_CROP;
        if (!loads(&o, &d)) continue;
        check_mnist(&d);
        for (int i = 0; i < TRAIN; i++) same_as_png(&d, &o, i);
        const uint64_t fingerprint = d.fingerprint;
        dg_dataset_free(&d);
        o.threads = 1;
        LOADS(&o, d, d.fingerprint == fingerprint);
        o.labelled = false;
        LOADS(&o, d, d.count == TRAIN && d.train == TRAIN && d.aside == TEST && d.usable == TRAIN);
    }
    end();
}

static void idx_faults(void)
{
    static const struct {
        const char *file;
        int byte, value; /* value: new value of the byte. -1 ends the file at `byte`, and -2 appends a byte. */
        const char *why;
    } fault[] = {
        {train_images, 0, 1, "/train-images-idx3-ubyte: byte 0: 01"},
        {train_labels, 2, 9, "/train-labels-idx1-ubyte: byte 2: 09"},
        {test_labels, 3, 2, "/t10k-labels-idx1-ubyte: byte 3: 02"},
        {train_images, 9, -1, "/train-images-idx3-ubyte: byte 9: "},
        {train_images, 39, -1, "/train-images-idx3-ubyte: byte 39: "},
        {test_images, 0, -2, "/t10k-images-idx3-ubyte: byte 34: "},
        {train_images, 7, 0, "/train-images-idx3-ubyte: byte 4: "},
        {train_images, 10, 0x77, "/train-images-idx3-ubyte: byte 8: "},
        {train_images, 15, 0, "/train-images-idx3-ubyte: byte 12: "},
        {test_labels, 9, 1, "/t10k-labels-idx1-ubyte: byte 9: label 1"},
    };
    for (size_t i = 0; i < sizeof fault / sizeof *fault; i++) {
        begin();
        make_mnist(false);
        FILE *f = fopen(at(fault[i].file), "r+b");
        if (fault[i].value >= 0) {
            fseek(f, fault[i].byte, SEEK_SET);
            fputc(fault[i].value, f);
        }
        if (fault[i].value == -1 && ftruncate(fileno(f), fault[i].byte)) abort();
        if (fault[i].value == -2 && (fseek(f, 0, SEEK_END) || fputc(0, f) == EOF)) abort();
        fclose(f);
        const dg_dataset_options o = wanted(4, 1);
        fails(&o, DG_DATA, fault[i].why);
        end();
    }
}

/* Loads IDX files that are incomplete or do not match. */
static void idx_sets(void)
{
    dg_dataset_options o = wanted(4, 1);
    dg_dataset d;
    begin();
    save(train_images, idx_images(TRAIN, 1));
    LOADS(&o, d, !d.classes && *dg_dataset_unclassified(&d));
    save(train_labels, idx_labels(3, "012"));
    fails(&o, DG_DATA, "/train-labels-idx1-ubyte: byte 4: 3 labels");
    save(train_labels, idx_labels(TRAIN, "0120"));
    /* ignored, because there is an uncompressed file */
    save("train-labels-idx1-ubyte.gz", gzip(idx_labels(TRAIN, "3333")));
    save(test_labels, idx_labels(TEST, "012"));
    fails(&o, DG_DATA, "/t10k-labels-idx1-ubyte: ");
    unlink(at(test_labels));
    LOADS(&o, d, d.classes == 3 && d.train == TRAIN && d.count == TRAIN);
    save("train-more", idx_images(2, 1)); /* the content determines that this is an IDX file */
    fails(&o, DG_DATA, "train-images-idx3-ubyte and train-more");
    unlink(at("train-more"));
    unlink(at(train_labels));
    unlink(at("train-labels-idx1-ubyte.gz"));
    save("notes.txt", idx_labels(TRAIN, "1122")); /* the content determines that these are labels */
    LOADS(&o, d, d.classes == 2 && d.label[3] == 1);
    save("a.png", png_noise(4, 4, 1)); /* with an image file, the folder is a folder of images */
    LOADS(&o, d, d.count == 1 && !d.classes);
    end();
    begin();
    save(test_images, idx_images(TEST, 1));
    save(test_labels, idx_labels(TEST, "012"));
    fails(&o, DG_DATA, "no training images");
    save("more-test-labels", idx_labels(TEST, "012"));
    fails(&o, DG_DATA, "more-test-labels and t10k-labels-idx1-ubyte");
    unlink(at("more-test-labels"));
    o.labelled = false;
    fails(&o, DG_DATA, "no training images");
    end();
}

static void limited(void)
{
    begin();
    make_mnist(true);
    dg_dataset_options o = wanted(4, 3);
    dg_dataset d;
    o.limit = 2;
    LOADS(&o, d, d.train == 2 && d.count == 4 && d.classes == 3 && d.label[2] == 2);
    o.limit = TRAIN + 1;
    LOADS(&o, d, d.train == TRAIN && d.count == TRAIN + TEST);
    o.limit = 2;
    end();
    begin(); /* with labels, the limit selects equally many images per class */
    make_mnist(false);
    save(train_labels, idx_labels(TRAIN, "2270"));
    for (int labelled = 0; labelled < 2; labelled++) {
        o.labelled = labelled;
        if (loads(&o, &d))
            DG_CHECKF(d.train == 2 && !strcmp(d.name[0], "train/00000") &&
                          !strcmp(d.name[1], labelled ? "train/00002" : "train/00001"),
                      "%s and %s", d.name[0], d.name[1]);
        if (labelled) DG_CHECK(d.label[0] == 1 && d.label[1] == 2);
        dg_dataset_free(&d);
    }
    end();
}

static blob gzip_zeros(uint32_t count, uint32_t side, size_t bytes)
{
    blob head = {0}, b = {0};
    put_number(&head, 0x803), put_number(&head, count), put_number(&head, side), put_number(&head, side);
    deflate_zeros(&b, &head, bytes, 31);
    blob_free(&head);
    return b;
}

static void make_sparse(const char *name, const blob *begin, off_t bytes)
{
    FILE *f = fopen(at(name), "wb");
    if (!f) abort();
    if (begin) fwrite(begin->data, 1, begin->bytes, f);
    if (fflush(f) || ftruncate(fileno(f), bytes)) abort();
    fclose(f);
}

/* Sizes are checked before memory for the declared size is allocated. */
static void promises(void)
{
    const dg_dataset_options o = wanted(4, 1);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    begin();
    save("train-images-idx3-ubyte.gz", gzip_zeros(5200000, 28, 0));
    fails(&o, DG_DATA, "/train-images-idx3-ubyte.gz: byte 4 ");
    save("train-images-idx3-ubyte.gz", gzip_zeros(1, 3, 80 << 20)); /* bytes after the images are not decompressed */
    fails(&o, DG_DATA, "/train-images-idx3-ubyte.gz: byte 25: ");
    end();
    begin();
    blob few = idx_images(TRAIN, 1);
    make_sparse(train_images, &few, (off_t)9 << 30);
    fails(&o, DG_DATA, "/train-images-idx3-ubyte: a file of 9663676416 bytes, the limit is 67108904");
    for (int i = 4; i < 8; i++) few.data[i] = (uint8_t)(i > 4 ? 0xff : 0);
    for (int i = 8; i < 16; i++) few.data[i] = i % 4 == 2 ? 16 : 0;
    make_sparse(train_images, &few, (off_t)1 << 40);
    fails(&o, DG_DATA, "/train-images-idx3-ubyte: byte 4: ");
    blob_free(&few);
    end();
    begin();
    make_sparse("data_batch_1.bin", NULL, (off_t)RECORD << 21);
    fails(&o, DG_DATA, "/data_batch_1.bin: a file of 6444548096 bytes, the limit is 268435456");
    end();
    getrusage(RUSAGE_SELF, &after);
    DG_CHECKF(after.ru_maxrss - before.ru_maxrss < 64 << 10, "%ld KB more", after.ru_maxrss - before.ru_maxrss);
}

static void is_told(void *context, long done, long total)
{
    ((long *)context)[0] = done;
    ((long *)context)[1] = total;
}
static bool always(void *unused) { return !unused; }

/* Tests unusual options: alpha channel, progress calls, cancellation, and only test images. */
static void odd_wishes(void)
{
    dg_dataset d;
    long told[2] = {0};
    volatile sig_atomic_t stop = 1;
    begin();
    make_mnist(false);
    dg_dataset_options o = wanted(5, 4);
    o.progress = is_told;
    o.context = told;
    if (loads(&o, &d)) {
        check_mnist(&d);
        for (int i = 3; i < d.count * 5 * 5 * 4; i += 4) DG_CHECK(d.pixels[i] == 255);
        DG_CHECKF(told[0] == TRAIN + TEST && told[1] == TRAIN + TEST, "%ld of %ld", told[0], told[1]);
    }
    dg_dataset_free(&d);
    o.stop = &stop;
    fails(&o, DG_FAILED, "stopped");
    stop = 0;
    o.cancelled = always;
    fails(&o, DG_FAILED, "stopped");
    end();
    begin();
    save(test_images, idx_images(TEST, 1));
    save(test_labels, idx_labels(TEST, "012"));
    o = wanted(4, 1);
    o.any_part = true;
    LOADS(&o, d, d.train == TEST && d.count == TEST && d.classes == 3);
    end();
    begin();
    save("data_batch_1.bin", cifar(10, 3, 1));
    o = wanted(32, 4);
    LOADS(&o, d, d.count == 3 && d.pixels[3] == 255);
    end();
}

/* Loads a changed file. An error must name the file and a byte offset. Loading must fail unless may_load is true. */
static void survives(const char *what, size_t byte, bool may_load)
{
    const dg_dataset_options o = wanted(4, 3);
    char dir[sizeof root + 1];
    dg_dataset d;
    const dg_err e = dg_dataset_load(&o, &d);
    snprintf(dir, sizeof dir, "%s/", root);
    if (e)
        DG_CHECKF(e == DG_DATA && !strncmp(dg_message(), dir, strlen(dir)) && strstr(dg_message(), "-ubyte") &&
                      (strstr(dg_message(), "byte ") || strstr(dg_message(), "empty file")),
                  "%s %zu: %d %s", what, byte, (int)e, dg_message());
    else DG_CHECKF(may_load && d.count == TRAIN + TEST && d.train == TRAIN, "%s %zu: loads", what, byte);
    dg_dataset_free(&d);
}

/* True if a change of byte n of a gzipped file must be detected. The 10-byte header and the last compressed byte
 * have bits without effect. */
static bool guarded(const blob *whole, size_t n, bool packed) { return packed && n >= 10 && n + 9 != whole->bytes; }

static void damage(const char *name, const blob *whole, bool packed)
{
    for (size_t n = 0; n < whole->bytes; n++) {
        save(name, blob_of(whole->data, n));
        survives("cut at", n, false);
        static const uint8_t change[] = {0xff, 0x01, 0x80};
        for (size_t i = 0; i < sizeof change; i++) {
            blob b = blob_of(whole->data, whole->bytes);
            b.data[n] ^= change[i];
            save(name, b);
            survives("changed at", n, !guarded(whole, n, packed));
        }
    }
}

static void every_byte_of_idx(bool packed)
{
    const char *const plain[] = {train_images, train_labels};
    for (int i = 0; i < 2; i++) {
        begin();
        make_mnist(packed);
        char name[64];
        snprintf(name, sizeof name, "%s%s", plain[i], packed ? ".gz" : "");
        blob whole = i ? idx_labels(TRAIN, "2702") : idx_images(TRAIN, 1);
        if (packed) whole = gzip(whole);
        damage(name, &whole, packed);
        blob_free(&whole);
        end();
    }
}

static void check_cifar(const dg_dataset *d, int classes)
{
    DG_CHECK(d->train == 5 && d->count == 7 && d->classes == classes);
    for (int i = 0; i < d->count && d->label; i++) {
        const int file = i < 2 ? 1 : i < 5 ? 2 : 9, k = i < 2 ? i : i < 5 ? i - 2 : i - 5;
        DG_CHECKF(d->label[i] == (file + 3 * k) % classes, "image %d: label %d", i, d->label[i]);
        for (int p = 0; p < 1024; p += 341)
            for (int c = 0; c < 3; c++) {
                const uint8_t want = (uint8_t)(file + k + 5 * (1024 * c + p) + c);
                DG_CHECKF(d->pixels[(size_t)i * 3072 + (size_t)(3 * p + c)] == want, "image %d, pixel %d", i, p);
            }
    }
}

static void cifar_sets(void)
{
    const dg_dataset_options o = wanted(32, 3);
    dg_dataset d;
    begin();
    save("data_batch_1.bin", cifar(10, 2, 1));
    save("data_batch_2.bin", cifar(10, 3, 2));
    save("test_batch.bin", cifar(10, 2, 9));
    if (loads(&o, &d)) check_cifar(&d, 10), DG_CHECK(!strcmp(d.class_name[9], "9"));
    dg_dataset_free(&d);
    save_text("batches.meta.txt", "airplane\nautomobile\r\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n");
    LOADS(&o, d, !strcmp(d.class_name[1], "automobile") && !strcmp(d.class_name[9], "truck"));
    save_text("batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\nc\nj\n");
    fails(&o, DG_DATA, "batches.meta.txt:9: ");
    save_text("batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\n\r\n\nj\nk\n");
    fails(&o, DG_DATA, "batches.meta.txt:13: more than 10 classes");
    save_text("batches.meta.txt", "a\nb\n");
    fails(&o, DG_DATA, "batches.meta.txt: names 2 classes");
    unlink(at("batches.meta.txt"));
    DG_CHECK(!symlink("batches.meta.txt", at("batches.meta.txt")));
    fails(&o, DG_IO, "batches.meta.txt: cannot check whether it exists: ");
    unlink(at("batches.meta.txt"));
    blob b = cifar(10, 3, 2);
    b.data[RECORD] = 10;
    save("data_batch_2.bin", b);
    fails(&o, DG_DATA, "/data_batch_2.bin: byte 3073: label 10; the labels of CIFAR-10 are 0 to 9");
    b = cifar(10, 3, 2);
    b.bytes--;
    save("data_batch_2.bin", b);
    fails(&o, DG_DATA, "/data_batch_2.bin: byte 9218: the file ends within a record");
    end();
    begin();
    save("train.bin", cifar(100, 5, 1));
    save("test.bin", cifar(100, 2, 9));
    LOADS(&o, d, d.classes == 100 && d.train == 5 && d.label[4] == 13 && d.label[5] == 9);
    b = cifar(100, 5, 1);
    b.data[RECORD_100] = 20;
    save("train.bin", b);
    fails(&o, DG_DATA, "/train.bin: byte 3074: coarse label 20");
    end();
}

static void every_byte_of_cifar(int classes)
{
    blob whole = cifar(classes, 3, 4);
    const size_t record = dg_cifar_record(classes);
    dg_records r;
    DG_CHECK(record == (classes == 10 ? RECORD : RECORD_100));
    for (size_t n = 0; n <= whole.bytes; n++) {
        uint8_t *cut = malloc(n ? n : 1);
        memcpy(cut, whole.data, n);
        const dg_err e = dg_cifar_records(cut, n, classes, &r);
        DG_CHECKF(n && n % record == 0 ? !e && r.count == (int)(n / record)
                                       : e == DG_DATA && !strncmp(dg_message(), "byte ", 5),
                  "CIFAR-%d cut at %zu", classes, n);
        free(cut);
        if (n == whole.bytes) break;
        for (int change = 1; change < 256; change *= 4) {
            whole.data[n] ^= (uint8_t)change;
            const size_t in = n % record;
            const bool label = in + 3072 < record, coarse = classes == 100 && !in;
            const bool good = !label || whole.data[n] < (coarse ? 20 : classes);
            DG_CHECKF(!dg_cifar_records(whole.data, whole.bytes, classes, &r) == good, "byte %zu is %d", n,
                      whole.data[n]);
            whole.data[n] ^= (uint8_t)change;
        }
    }
    blob_free(&whole);
}

int main(void)
{
    idx(false);
    idx(true);
    idx_faults();
    idx_sets();
    limited();
    promises();
    odd_wishes();
    every_byte_of_idx(false);
    every_byte_of_idx(true);
    cifar_sets();
    every_byte_of_cifar(10);
    every_byte_of_cifar(100);
    return dg_test_report();
}
