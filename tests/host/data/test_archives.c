/* Tests other forms of MNIST and CIFAR: CIFAR's Python archive, NumPy arrays, and EMNIST, which is stored by columns.
 */
#include "record_files.h"
#include "damage.h"
#include "host/data/records.h"

#include <sys/stat.h>
#include <zip.h>

enum { PIXELS = 3072 };

static dg_dataset_options wanted(int size)
{
    dg_dataset_options o = options();
    o.size = dg_square(size);
    o.labelled = true;
    return o;
}

static void put(blob *b, const char *text) { blob_put(b, text, strlen(text)); }

static void put_text(blob *b, const char *text)
{
    blob_put(b, "U", 1);
    blob_put(b, &(uint8_t){(uint8_t)strlen(text)}, 1);
    put(b, text);
    blob_put(b, "q\7", 2);
}

static void put_list(blob *b, const char *key, int count, int (*value)(int))
{
    put_text(b, key);
    put(b, "]q\1(");
    for (int i = 0; i < count; i++) {
        if (i && i % 2 == 0) put(b, "e("); /* in batches of two instead of a thousand */
        blob_put(b, &(uint8_t[]){'K', (uint8_t)value(i)}, 2);
    }
    put(b, "e");
}

static int ten(int i) { return 3 * (i + 1) % 10; }
static int hundred(int i) { return 97 - 7 * i; }
static int twenty(int i) { return i % 20; }
static uint8_t value(int i, int p) { return (uint8_t)(i + 1 + 5 * p + p / 1024); }

static void put_array(blob *b, int count, bool by_column)
{
    static const char begin[] = "cnumpy.core.multiarray\n_reconstruct\nq\1cnumpy\nndarray\nq\2K\0\x85U\1b\x87R(K\1M",
                      middle[] = "M\0\x0c\x86q\3cnumpy\ndtype\nU\2u1K\0K\1\x87Rr\1\0\0\0(K\3U\1|q\4NNNJ\xff\xff\xff\xff"
                                 "J\xff\xff\xff\xffK\0tb";
    put_text(b, "data");
    blob_put(b, begin, sizeof begin - 1);
    blob_put(b, &(uint8_t[]){(uint8_t)count, 0}, 2);
    blob_put(b, middle, sizeof middle - 1);
    const uint32_t bytes = (uint32_t)count * PIXELS;
    blob_put(b, by_column ? "\x88T" : "\x89T", 2);
    blob_put(b, &(uint8_t[]){(uint8_t)bytes, (uint8_t)(bytes >> 8), (uint8_t)(bytes >> 16), 0}, 4);
    for (int i = 0; i < count * PIXELS; i++) {
        const uint8_t v = by_column ? value(i % count, i / count) : value(i / PIXELS, i % PIXELS);
        blob_put(b, &v, 1);
    }
    put(b, "tq\5b");
}

static blob batch(int classes, int count, bool by_column)
{
    blob b = {0};
    put(&b, "\x80\2}q\1(");
    put_text(&b, "batch_label");
    put_text(&b, "training batch 1 of 5");
    put_list(&b, classes == 10 ? "labels" : "fine_labels", count, classes == 10 ? ten : hundred);
    if (classes == 100) put_list(&b, "coarse_labels", count, twenty);
    put_array(&b, count, by_column);
    put(&b, "u.");
    return b;
}

static blob meta(int classes)
{
    blob b = {0};
    char name[16];
    put(&b, "\x80\2}(");
    put_text(&b, "num_vis");
    blob_put(&b, "M\0\x0c", 3);
    put_text(&b, classes == 10 ? "label_names" : "fine_label_names");
    put(&b, "](");
    for (int i = 0; i < classes; i++) {
        snprintf(name, sizeof name, "name %d", i);
        put_text(&b, name);
    }
    put(&b, "eu.");
    return b;
}

static void check_images(const dg_dataset *d, int first, int n, int (*label)(int))
{
    for (int i = 0; i < n && d->label; i++) {
        DG_CHECKF(d->label[first + i] == label(i), "image %d: label %d", first + i, d->label[first + i]);
        for (int p = 0; p < 1024; p += 11)
            for (int c = 0; c < 3; c++)
                DG_CHECKF(d->pixels[(size_t)(first + i) * PIXELS + (size_t)(3 * p + c)] == value(i, 1024 * c + p),
                          "image %d, pixel %d", first + i, p);
    }
}

static void cifar_pickles(void)
{
    const dg_dataset_options o = wanted(32);
    dg_dataset d;
    begin();
    save("data_batch_1", batch(10, 5, false));
    save("test_batch", batch(10, 3, true)); /* in Fortran order */
    save_text("readme.html", "a text");
    if (loads(&o, &d)) {
        DG_CHECK(d.train == 5 && d.count == 8 && d.classes == 10 && !strcmp(d.class_name[9], "9"));
        check_images(&d, 0, 5, ten);
        check_images(&d, 5, 3, ten);
    }
    dg_dataset_free(&d);
    save("batches.meta", meta(10));
    LOADS(&o, d, d.classes == 10 && !strcmp(d.class_name[3], "name 3"));
    save("batches.meta", batch(10, 1, false));
    fails(&o, DG_DATA, "/batches.meta: byte ");
    unlink(at("batches.meta"));
    save("data_batch_2.bin", cifar(10, 3, 2));
    fails(&o, DG_DATA, "binary and Python archives");
    end();
    begin();
    save("train", batch(100, 4, false));
    save("test", batch(100, 2, false));
    save("meta", meta(100));
    if (loads(&o, &d)) {
        DG_CHECK(d.train == 4 && d.count == 6 && d.classes == 100 && !strcmp(d.class_name[97], "name 97"));
        check_images(&d, 0, 4, hundred);
    }
    dg_dataset_free(&d);
    end();
}

/* True if byte n is in a name that the pickle imports, or is the opcode of a call. */
static bool is_code(const blob *b, size_t n)
{
    static const char *const code[] = {"cnumpy.core.multiarray\n_reconstruct\n", "cnumpy\nndarray\n", "cnumpy\ndtype\n",
                                       "\x87R"};
    for (size_t i = 0; i < sizeof code / sizeof *code; i++)
        for (size_t k = strlen(code[i]), back = 0; back < k && back <= n; back++)
            if (n - back + k <= b->bytes && !memcmp(b->data + n - back, code[i], k)) return true;
    return false;
}

/* A changed file is refused, with a byte offset, unless the byte is a value. */
static void every_byte_of_a_pickle(void)
{
    blob whole = batch(10, 1, false);
    size_t pixels = 0;
    while (memcmp(whole.data + pixels, "\x89T", 2) != 0) pixels++;
    for (size_t n = 0; n < whole.bytes; n++) {
        if (n > pixels + 16 && n + 16 < pixels + PIXELS) continue;
        for (int change = -1; change < 256; change++) {
            size_t bytes = change < 0 ? n : whole.bytes;
            uint8_t *data = malloc(bytes ? bytes : 1);
            memcpy(data, whole.data, bytes);
            if (change >= 0) data[n] = (uint8_t)change;
            const uint8_t original = whole.data[n];
            const dg_err e = dg_cifar_unpickle(&data, &bytes);
            const bool same = change == original,
                       other_file = n < 3 || (change < 0 && n < 4); /* not a pickle: stays unchanged */
            if (e) DG_CHECKF(e == DG_DATA && !same && !strncmp(dg_message(), "byte ", 5), "%zu: %s", n, dg_message());
            else if (!other_file)
                DG_CHECKF(change >= 0 && bytes == 3073, "byte %zu is %d: %zu bytes", n, change, bytes);
            if (is_code(&whole, n)) DG_CHECKF(e || same, "byte %zu is %d", n, change);
            free(data);
        }
    }
    blob_free(&whole);
}

static void hostile_pickles(void)
{
    static const struct {
        const char *data;
        size_t n;
        const char *why;
    } row[] = {
        {BYTES("\x80\2}q\1(U\1acos\nsystem\n(U\2lstRu."), "byte 10: opcode 6f"},
        {BYTES("\x80\2}q\1(U\1acnumpy.core.multiarray\n_reconstruct\nq\1cos\nsystem\n"), "opcode 6f"},
        {BYTES("\x80\2}q\1(U\1aiposix\nsystem\n"), "opcode 69"},
        {BYTES("\x80\2}q\1(U\xff"
               "a"),
         "ends within its pickle"},
        {BYTES("\x80\2}q\1(T\xff\xff\xff\xff"
               "a"),
         "ends within its pickle"},
        {BYTES("\x80\2}q\1(u.x"), "data after the end"},
        {BYTES("\x80\2}q\1(u."), "without an array"},
        {BYTES("\x80\2}q\1(U\6labels](K\12eu."), "label 10; it must be 0 to 9"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint8_t *data = malloc(row[i].n);
        size_t bytes = row[i].n;
        memcpy(data, row[i].data, row[i].n);
        const dg_err e = dg_cifar_unpickle(&data, &bytes);
        DG_CHECKF(e == DG_DATA && strstr(dg_message(), row[i].why), "%zu: %d %s", i, (int)e, dg_message());
        free(data);
    }
}

/* Makes an array with the header `pairs`, padded as NumPy does. */
static blob npy(const char *pairs, const blob *values, size_t from)
{
    blob b = {0};
    put(&b, "\x93NUMPY");
    blob_put(&b, "\1\0\x76\0", 4);
    char header[0x77];
    snprintf(header, sizeof header, "{%-115s}\n", pairs);
    blob_put(&b, header, 0x76);
    blob_put(&b, values->data + from, values->bytes - from);
    return b;
}

#define ARRAY(type, shape) "'descr': '" type "', 'fortran_order': False, 'shape': " shape ", "

static void save_array(const char *name, const char *pairs, blob idx, size_t from)
{
    save(name, npy(pairs, &idx, from));
    blob_free(&idx);
}

static void make_arrays(void)
{
    save_array("x_train.npy", ARRAY("|u1", "(4, 2, 3)"), idx_images(TRAIN, 1), 16);
    save_array("y_train.npy", ARRAY("|u1", "(4,)"), idx_labels(TRAIN, "2702"), 8);
    save_array("x_test.npy", ARRAY("|u1", "(3, 2, 3, 1)"), idx_images(TEST, 100), 16);
    save_array("y_test.npy", ARRAY("|u1", "(3, 1)"), idx_labels(TEST, "777"), 8);
}

/* Arrays, and EMNIST files, have the same images as MNIST files. */
static void numpy_arrays(void)
{
    dg_dataset_options o = wanted(5);
    dg_dataset d = {0};
    begin();
    make_mnist(false);
    if (!loads(&o, &d)) return;
    const uint64_t fingerprint = d.fingerprint;
    dg_dataset_free(&d);
    end();
    begin();
    make_arrays();
    LOADS(&o, d, d.fingerprint == fingerprint && d.classes == 3 && d.kind[0] == DG_KIND_NPY && d.train == TRAIN);
    o.limit = 2;
    LOADS(&o, d, d.train == 2 && d.count == 4);
    o.limit = 0;
    save_array("x_val.npy", ARRAY("|u1", "(3, 2, 3)"), idx_images(TEST, 50), 16); /* left out */
    LOADS(&o, d, d.fingerprint == fingerprint);
    save_array("y_test.npy", ARRAY(">i2", "(3,)"), idx_labels(6, "070707"), 8);
    LOADS(&o, d, d.fingerprint == fingerprint);
    save_array("y_test.npy", ARRAY("<i2", "(3,)"), idx_labels(6, "707070"), 8);
    LOADS(&o, d, d.fingerprint == fingerprint);
    save_array("y_test.npy", ARRAY("<i2", "(3,)"), idx_labels(6, "707071"), 8);
    fails(&o, DG_DATA, "/y_test.npy: byte 132: a label must be 0 to 255");
    save_array("y_test.npy", ARRAY("|u1", "(3,)"), idx_labels(3, "771"), 8);
    fails(&o, DG_DATA, "/y_test.npy: byte 130: label 1, which no training image has");
    save_array("y_test.npy", ARRAY("|u1", "(2,)"), idx_labels(2, "77"), 8);
    fails(&o, DG_DATA, "/y_test.npy: byte 0: 2 labels for 3 images");
    unlink(at("x_test.npy"));
    rename(at("x_val.npy"), at("val_images.npy.old"));
    fails(&o, DG_DATA, "/y_test.npy: the array of the images of these labels is missing");
    unlink(at("y_test.npy"));
    rename(at("val_images.npy.old"), at("val_images.npy"));
    LOADS(&o, d, d.train == TRAIN && d.count == TRAIN + TEST && d.width[TRAIN] == W); /* without labels */
    save_array("train_images.npy", ARRAY("|u1", "(3, 2, 3)"), idx_images(TEST, 50), 16);
    fails(&o, DG_DATA, "train_images.npy and x_train.npy both contain the images for training");
    end();
}

static void numpy_colour(void)
{
    dg_dataset_options o = wanted(2);
    dg_dataset d;
    begin();
    save_array("images.npy", ARRAY("|u1", "(2, 2, 2, 3)"), idx_images(4, 1), 16);
    if (loads(&o, &d))
        for (int i = 0; i < 24; i++) DG_CHECKF(d.pixels[i] == (uint8_t)(1 + 7 * i), "value %d", i);
    dg_dataset_free(&d);
    o.channels = 4;
    LOADS(&o, d, d.pixels[2] == 15 && d.pixels[3] == 255 && d.pixels[4] == 22);
    end();
}

static void npz(void)
{
    static const char *const name[] = {"x_train.npy", "y_train.npy", "x_test.npy", "y_test.npy"};
    dg_dataset_options o = wanted(5);
    dg_dataset d, z;
    int code;
    begin();
    make_arrays();
    zip_t *file = zip_open(temp_path("mnist.npz"), ZIP_CREATE | ZIP_TRUNCATE, &code);
    for (int i = 0; i < 4; i++) DG_CHECK(zip_file_add(file, name[i], zip_source_file(file, at(name[i]), 0, 0), 0) >= 0);
    DG_CHECK(!zip_close(file));
    if (loads(&o, &d)) {
        for (int i = 0; i < 4; i++) unlink(at(name[i]));
        fails(&o, DG_DATA, temp_text("use {data} %s/mnist.npz", root)); /* begin() uses the folder of temp_path */
        o.dir = temp_path("mnist.npz");
        LOADS(&o, z, z.fingerprint == d.fingerprint && z.classes == 3);
    }
    dg_dataset_free(&d);
    end();
}

static void wrong_headers(void)
{
    static const struct {
        const char *pairs, *why;
    } row[] = {
        {ARRAY("<f4", "(4, 2, 3)"), "type <f4"},
        {ARRAY("|u1", "(4, 2, 3, 4)"), "(4, 2, 3, 4)"},
        {ARRAY("|u1", "(24,)"), "1 dimensions"},
        {ARRAY("|u1", "(0, 2, 3)"), "the limit is 128"},
        {ARRAY("|u1", "(4, 2, 9999)"), "9999"},
        {ARRAY("|u1", "(5, 2, 3)"), "byte 152: the file ends; its header declares 158 bytes"},
        {ARRAY("|u1", "(3, 2, 3)"), "a file of 152 bytes, the limit is 146"},
        {ARRAY("|u1", "(4294967296, 4294967296, 4294967296)"), "more than 8 GiB"},
        {"'descr': '|u1', 'fortran_order': True, 'shape': (4, 2, 3), ", "Fortran order"},
    };
    const dg_dataset_options o = wanted(4);
    begin();
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        save_array("x_train.npy", row[i].pairs, idx_images(TRAIN, 1), 16);
        fails(&o, DG_DATA, row[i].why);
    }
    end();
    dg_npy a;
    static const char *const refused[] = {"",
                                          "'descr': '|u1', 'shape': (4, 2, 3), ",
                                          "'descr': '|u1', 'descr': '|u1', 'fortran_order': False, ",
                                          "'descr': [('a', '|u1')], 'fortran_order': False, 'shape': (4,), ",
                                          ARRAY("|u1", "(4 5)"),
                                          ARRAY("|u1", "(4,"),
                                          ARRAY("|u1", "(1, 2, 3, 4, 5)"),
                                          ARRAY("|u1", "(-4,)"),
                                          ARRAY("|u1", "(4,)") "'more': 1, "};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        blob none = {0}, b = npy(refused[i], &none, 0);
        DG_CHECKF(dg_npy_head(b.data, b.bytes, &a) == DG_DATA && !strncmp(dg_message(), "byte ", 5), "%s", refused[i]);
        blob_free(&b);
    }
    blob none = {0}, b = npy("'shape': (60000L, 28),'fortran_order':False , 'descr':'|u1'", &none, 0);
    DG_CHECK(!dg_npy_head(b.data, b.bytes, &a) && a.rank == 2 && a.dim[0] == 60000 && a.begin == 128);
    for (size_t n = 0; n < b.bytes; n++) {
        uint8_t *cut = malloc(n ? n : 1);
        memcpy(cut, b.data, n);
        DG_CHECKF(dg_npy_head(cut, n, &a) == DG_DATA, "cut at %zu", n);
        free(cut);
    }
    blob_free(&b);
}

static void emnist(void)
{
    const dg_dataset_options o = wanted(5);
    dg_dataset d, e;
    begin();
    save(train_images, idx_images(TRAIN, 1));
    if (!loads(&o, &d)) return;
    unlink(at(train_images));
    blob b = idx_images(TRAIN, 1), turned = blob_of(b.data, b.bytes);
    turned.data[11] = W, turned.data[15] = H;
    for (int i = 0; i < TRAIN * H * W; i++) {
        const int k = i / (H * W), p = i % (H * W);
        turned.data[16 + k * H * W + p % W * H + p / W] = b.data[16 + i];
    }
    blob_free(&b);
    save("EMNIST-letters-train-images-idx3-ubyte.gz", gzip(turned));
    LOADS(&o, e, e.fingerprint == d.fingerprint && e.width[0] == W && e.height[0] == H);
    dg_dataset_free(&d);
    end();
}

DG_TESTS(cifar_pickles, every_byte_of_a_pickle, hostile_pickles, numpy_arrays, numpy_colour, npz, wrong_headers, emnist)
