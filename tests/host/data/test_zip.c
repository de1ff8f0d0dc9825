/* Tests that a zip file gives the same dataset as a folder with its images. Loading writes no file. */
#include "host/data/dataset_internal.h"
#include "record_files.h"

#include <sys/stat.h>
#include <zip.h>

static char inside[700], file[700]; /* inside: folder for temporary files; file: the zip file */

static void add(zip_t *z, const char *name, const blob *b)
{
    const zip_int64_t i = zip_file_add(z, name, zip_source_buffer(z, b->data, b->bytes, 0), ZIP_FL_OVERWRITE);
    DG_CHECK(i >= 0);
    zip_file_set_mtime(z, (zip_uint64_t)i, 1700000000, 0);
}

/* Writes a zip file with three images in nested folders and a text file. */
static void make(const char *path, const char *odd)
{
    int code;
    zip_t *z = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    static blob b[4];
    for (int i = 0; i < 3; i++) {
        blob_free(&b[i]);
        b[i] = png_noise(8, 8, (uint32_t)i);
    }
    b[3].bytes = 0;
    blob_put(&b[3], "a letter", 8);
    zip_dir_add(z, "empty", 0);
    add(z, "a/0.png", &b[0]);
    add(z, "a/b/1.png", &b[1]);
    add(z, "2.png", &b[2]);
    add(z, "letter.txt", &b[3]);
    if (odd) add(z, odd, &b[2]);
    DG_CHECK(!zip_close(z));
}

static int files_in(const char *dir) { return temp_count(dir, "") - 2; }

static void test_same_as_folder(void)
{
    dg_dataset d, z;
    dg_dataset_options o = options();
    mkdir(at("set"), 0700), mkdir(at("set/a"), 0700), mkdir(at("set/a/b"), 0700);
    save("set/a/0.png", png_noise(8, 8, 0));
    save("set/a/b/1.png", png_noise(8, 8, 1));
    save("set/2.png", png_noise(8, 8, 2));
    save_text("set/letter.txt", "a letter");
    o.dir = at("set");
    if (!loads(&o, &d)) return;
    make(at("set.zip"), NULL);
    o.dir = at("set.zip");
    o.cache = cache;
    for (int again = 0; again < 2; again++) {
        if (!loads(&o, &z)) return;
        DG_CHECK(z.count == 3 && z.fingerprint == d.fingerprint && z.skips == 1 && z.cached == again);
        for (int i = 0; i < 3 && i < z.count; i++) DG_CHECKF(!strcmp(z.name[i], d.name[i]), "%s", z.name[i]);
        DG_CHECK(files_in(inside) == 0);
        dg_dataset_free(&z);
    }
    dg_dataset_free(&d);
}

static void test_names_that_lead_out(void)
{
    static const char *const odd[] = {"../out.png", "a/../../out.png", "/tmp/dcgan-out.png",
                                      "a/..",       "a/0.png/x.png",   "./2.png"};
    dg_dataset_options o = options();
    dg_dataset d;
    static char long_name[4200];
    memset(long_name, 'x', sizeof long_name - 1);
    snprintf(file, sizeof file, "%s/odd.zip", root);
    o.dir = file;
    make(file, long_name);
    LOADS(&o, d, d.count == 3);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        make(file, odd[i]);
        const dg_err e = dg_dataset_load(&o, &d);
        DG_CHECKF(e == DG_IO || (!e && d.count == 3), "%s: %d %s", odd[i], (int)e, dg_message());
        if (!e) dg_dataset_free(&d);
        DG_CHECKF(access(at("out.png"), F_OK) && access("/tmp/dcgan-out.png", F_OK) && !files_in(inside), "%s", odd[i]);
    }
}

/* With a limit, the images of a zip file with train and test folders are the first of both, as of a folder. */
static void test_parts(void)
{
    static const char *const name[] = {"train/a/0.png", "train/b/1.png", "test/a/2.png", "test/b/3.png"};
    dg_dataset d, z;
    dg_dataset_options o = options();
    int code;
    zip_t *packed = zip_open(at("parts.zip"), ZIP_CREATE, &code);
    blob b[4];
    mkdir(at("parts"), 0700), mkdir(at("parts/train"), 0700), mkdir(at("parts/test"), 0700);
    mkdir(at("parts/train/a"), 0700), mkdir(at("parts/train/b"), 0700);
    mkdir(at("parts/test/a"), 0700), mkdir(at("parts/test/b"), 0700);
    for (int i = 0; i < 4; i++) {
        b[i] = png_noise(8, 8, (uint32_t)i);
        add(packed, name[i], &b[i]);
        DG_CHECK(!blob_save(&b[i], at(temp_text("parts/%s", name[i]))));
    }
    DG_CHECK(!zip_close(packed));
    for (int i = 0; i < 4; i++) blob_free(&b[i]);
    o.limit = 1;
    o.dir = at("parts");
    if (!loads(&o, &d)) return;
    o.dir = at("parts.zip");
    LOADS(&o, z, z.train == d.train && z.count == d.count && z.fingerprint == d.fingerprint);
    dg_dataset_free(&d);
}

static void test_records_inside(void)
{
    static const char *const name[] = {"data_batch_1.bin", "test_batch.bin", "batches.meta.txt"};
    static const char classes[] = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
    dg_dataset d, z;
    dg_dataset_options o = {.dir = at("batches"), .size = dg_square(32), .channels = 3, .threads = 1, .labelled = true};
    int code;
    mkdir(o.dir, 0700);
    blob b[] = {cifar(10, 3, 1), cifar(10, 2, 9), blob_of(classes, sizeof classes - 1)};
    for (int files = 2; files < 4; files++) { /* without and with names of the classes */
        zip_t *packed = zip_open(at("batches.zip"), ZIP_CREATE | ZIP_TRUNCATE, &code);
        for (int i = 0; i < files; i++) {
            add(packed, name[i], &b[i]);
            DG_CHECK(!blob_save(&b[i], at(temp_text("batches/%s", name[i]))));
        }
        DG_CHECK(!zip_close(packed));
        o.dir = at("batches");
        if (!loads(&o, &d)) return;
        o.dir = at("batches.zip");
        LOADS(&o, z,
              z.train == 3 && z.count == 5 && z.classes == 10 && z.fingerprint == d.fingerprint &&
                  !strcmp(z.class_name[9], files == 2 ? "9" : "j"));
        dg_dataset_free(&d);
    }
    for (int i = 0; i < 3; i++) blob_free(&b[i]);
}

/* A zip file with an empty image, and with images in two hidden folders. */
static void test_odd_images(void)
{
    static const char *const odd[][3] = {{"0.png", "empty.png", "1.png"}, {"0.png", ".a/2.png", ".b/3.png"}};
    dg_dataset_options o = options();
    dg_dataset d;
    blob b = png_noise(8, 8, 1), none = {0};
    int code;
    for (int i = 0; i < 2; i++) {
        zip_t *z = zip_open(at("odd.zip"), ZIP_CREATE | ZIP_TRUNCATE, &code);
        for (int k = 0; k < 3; k++) add(z, odd[i][k], strstr(odd[i][k], "empty") ? &none : &b);
        DG_CHECK(!zip_close(z));
        o.dir = at("odd.zip");
        if (i) LOADS(&o, d, d.count == 1 && !d.skips && d.hidden == 2);
        else fails(&o, DG_DATA, "1 of 3 images cannot be read, more than 10% or 1,000: empty file (1)");
    }
    dg_folder folder;
    dg_lost lost = 0;
    uint8_t head[9];
    size_t bytes;
    if (!DG_CHECK(!dg_open_folder(at("odd.zip"), &folder))) return;
    DG_REFUSED(dg_file_head(&folder, "none.png", &lost, head, sizeof head, &bytes), DG_IO, "vanished");
    dg_close_folder(&folder);
    blob_free(&b);
}

/* The zip file becomes shorter after it was opened. */
static void test_changes(void)
{
    dg_zip *z;
    uint8_t got[8192];
    int error;
    make(at("later.zip"), NULL);
    if (!DG_CHECK(!dg_zip_open(at("later.zip"), &z))) return;
    const dg_zip_file *one = dg_zip_find(z, "2.png");
    DG_CHECK(one && one->bytes <= sizeof got && dg_zip_read(z, one, got, (size_t)one->bytes, &error) == DG_OK);
    DG_CHECK(!truncate(at("later.zip"), 9) && dg_zip_read(z, one, got, (size_t)one->bytes, &error) == DG_IO);
    DG_CHECKF(error == -1 && strstr(dg_message(), "became shorter"), "%d %s", error, dg_message());
    dg_zip_close(z);
}

/* Appends little-endian integers, given as {value, number of bytes}. */
static void put(blob *b, const uint32_t (*field)[2], int n)
{
    for (int i = 0; i < n; i++) tiff_number(b, 0, field[i][0], (int)field[i][1]);
}

/* Writes a hostile zip file whose n directory entries share one file of 100 bytes. Each entry declares an unpacked
 * size of `bytes`. */
static void directory(const char *name, int n, uint32_t bytes, int method, int flags)
{
    const uint32_t f = (uint32_t)flags, m = (uint32_t)method, N = (uint32_t)n;
    const uint32_t local[][2] = {{0x04034b50, 4}, {20, 2},  {f, 2},     {m, 2}, {0, 4},
                                 {0, 4},          {100, 4}, {bytes, 4}, {5, 2}, {0, 2}};
    const uint32_t central[][2] = {{0x02014b50, 4}, {20, 2}, {20, 2}, {f, 2}, {m, 2}, {0, 4}, {0, 4}, {100, 4},
                                   {bytes, 4},      {5, 2},  {0, 2},  {0, 2}, {0, 2}, {0, 2}, {0, 4}, {0, 4}};
    blob b = {0};
    put(&b, local, 10);
    blob_put(&b, "0.png", 5);
    for (int i = 0; i < 100; i++) blob_put(&b, "", 1);
    const uint32_t begins = (uint32_t)b.bytes;
    for (int i = 0; i < n; i++) {
        put(&b, central, 16);
        blob_put(&b, (char[]){(char)('0' + i), '.', 'p', 'n', 'g'}, 5);
    }
    const uint32_t end[][2] = {{0x06054b50, 4}, {0, 4}, {N, 2}, {N, 2}, {(uint32_t)b.bytes - begins, 4},
                               {begins, 4},     {0, 2}};
    put(&b, end, 7);
    save(name, b);
}

static void test_limits(void)
{
    static const struct {
        int n;
        uint32_t bytes;
        int method, flags;
        const char *why;
    } one[] = {
        {9, 100, 0, 0, "hostile.zip: "},      {1, 4000000000u, 8, 0, "unpack to more"},
        {1, 100, 0, 1, "password"},           {1, 100, 97, 0, "not supported by libzip"},
        {1, 100, 8, 0, "damaged zip file ("}, {1, 101, 0, 0, "damaged zip file ("},
    };
    snprintf(file, sizeof file, "%s/hostile.zip", root);
    dg_dataset_options o = options();
    o.dir = file;
    o.least = 1;
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        directory("hostile.zip", one[i].n, one[i].bytes, one[i].method, one[i].flags);
        fails(&o, DG_DATA, one[i].why);
    }
}

/* Loads a zip file with 2,000 nested folders. */
static void test_depth(void)
{
    static char deep[4050];
    for (size_t i = 0; i < sizeof deep - 6; i++) deep[i] = i % 2 ? '/' : 'a';
    memcpy(deep + sizeof deep - 6, "a.txt", 6);
    snprintf(file, sizeof file, "%s/deep.zip", root);
    make(file, deep);
    dg_dataset_options o = options();
    dg_dataset d;
    o.dir = file;
    if (loads(&o, &d)) DG_CHECKF(d.count == 3 && d.skips == 2, "%d images, %d skipped", d.count, d.skips);
    dg_dataset_free(&d);
}

static void make_folder(void)
{
    begin();
    snprintf(inside, sizeof inside, "%s/inside", root);
    mkdir(inside, 0700);
    setenv("TMPDIR", inside, 1);
}

DG_TESTS(make_folder, test_same_as_folder, test_names_that_lead_out, test_parts, test_records_inside, test_odd_images,
         test_changes, test_limits, test_depth, end)
