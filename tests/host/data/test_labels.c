/* Tests label files: labels.csv (RFC 4180) and dataset.json of the StyleGAN tools. */
#include "failing.h"

#include "dataset_folder.h"
#include "host/data/label_rows.h"

#include <sys/stat.h>

static void image(const char *name)
{
    uint32_t seed = 1;
    for (const char *p = name; *p; p++) seed = 31 * seed + (uint8_t)*p;
    char path[700];
    snprintf(path, sizeof path, "%s", at(name));
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = 0;
        mkdir(path, 0777);
    }
    save(name, png_noise(8, 8, seed));
}

static dg_dataset_options labelled(void)
{
    dg_dataset_options o = options();
    o.labelled = true;
    return o;
}

/* Returns "CLASS CLASS: IMAGE=CLASS ...". "|" precedes the first test image. */
static const char *text_of(const dg_dataset *d)
{
    static char out[2048];
    size_t n = 0;
    *out = 0;
    for (int i = 0; i < d->classes; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s", i ? " " : "", d->class_name[i]);
    n += (size_t)snprintf(out + n, sizeof out - n, ":");
    for (int i = 0; i < d->count; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, " %s%s=%s", i == d->train ? "| " : "", d->name[i],
                              d->label ? d->class_name[d->label[i]] : "");
    return out;
}

static void labels_are(const dg_dataset_options *o, const char *want)
{
    dg_dataset d;
    if (loads(o, &d)) DG_CHECKF(!strcmp(text_of(&d), want), "\"%s\" expected, got \"%s\"", want, text_of(&d));
    dg_dataset_free(&d);
}

static void no_classes(const dg_dataset_options *o, const char *why)
{
    dg_dataset d;
    if (loads(o, &d))
        DG_CHECKF(!d.classes && strstr(dg_dataset_unclassified(&d), why), "\"%s\" expected, got \"%s\"", why,
                  dg_dataset_unclassified(&d));
    dg_dataset_free(&d);
}

static int warnings;
static char warning[2048];
static void on_warning(void *context, const char *text)
{
    (void)context;
    warnings++;
    snprintf(warning, sizeof warning, "%s", text);
}

static void small_folder(void)
{
    begin();
    image("a.png");
    image("b/1.png");
    image("b/2.png");
    image("c/1.png");
}

static void csv(void)
{
    small_folder();
    const dg_dataset_options o = labelled();
    no_classes(&o, "a.png is not in a folder");
    save_text("labels.csv", "\xef\xbb\xbfpath,class\r\na.png,10\r\n./b/2.png,\"2\"\r\n\"b/1.png\",10\r\nc/1.png,x\"\"");
    no_classes(&o, "labels.csv: line 5: quotes");
    save_text("labels.csv",
              "\xef\xbb\xbfpath,class\r\na.png,10\r\n./b/2.png,\"2\"\r\n\r\n\"b/1.png\",10\r\nc/1.png,\" x, \"\"y");
    no_classes(&o, "labels.csv: line 6: a quoted field does not end");
    save_text("labels.csv",
              "\xef\xbb\xbfpath,class\r\na.png,10\r\n./b/2.png,\"2\"\r\n\"b/1.png\",10\r\nc/1.png,\" x, \"\"y\"\"\"\r");
    labels_are(&o, "2 10  x, \"y\": a.png=10 b/1.png=10 b/2.png=2 c/1.png= x, \"y\"");
    save_text("labels.csv", "c/1.png,007\nb/1.png,7\nb/2.png,30\na.png,cat\n"); /* the order of rows does not matter */
    labels_are(&o, "007 7 30 cat: a.png=cat b/1.png=7 b/2.png=30 c/1.png=007");
    dg_dataset d;
    LOADS(&o, d, !strcmp(d.labels, "labels.csv") && d.skips == 0 && !d.unclassified);
    warnings = 0;
    dg_set_warnings(on_warning, NULL);
    save_text("bad.png", "no image"); /* listed as skipped, so its row causes no warning */
    save_text("labels.csv", "path,class\na.png,x\nb/1.png,y\nb/2.png,y\nc/1.png,y\nbad.png,y\nd/1.png,z\ne.png,q\n");
    dg_dataset_options few = o;
    dg_dataset_read(&few, &d);
    DG_CHECKF(!strcmp(text_of(&d), "x y: a.png=x b/1.png=y b/2.png=y c/1.png=y"), "%s", text_of(&d));
    DG_CHECKF(warnings == 1 && strstr(warning, "2 rows") && strstr(warning, "line 7: d/1.png"), "%s", warning);
    dg_dataset_free(&d);
    few.labelled = false;
    warnings = 0;
    dg_dataset_read(&few, &d);
    DG_CHECK(!warnings && d.classes == 2);
    dg_dataset_free(&d);
    dg_set_warnings(NULL, NULL);
    end();
}

static void refused_csv(void)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"a.png,x\n", "no row for 3 of 4 images, the first is b/1.png"},
        {"a.png;x\n", "line 1: has 1 field; a row has two"},
        {"a.png,x\nb/1.png,x,y\n", "line 2: has 3 fields"},
        {"a.png,x\nb/1.png,y\na.png,x\n", "line 1 and line 3 both have the path a.png"},
        {"\"a\n.png\",x\nb/1.png,\n", "line 3: the class is empty"},
        {"a.png,\"x\ty\"\n", "line 1: the class has a control character"},
        {",x\n", "line 1: the path is empty"},
        {"./,x\n", "line 1: the path is empty"},
        {"\"a.png\"b,x\n", "line 1: quotes"},
        {"", "labels.csv: empty file"},
    };
    small_folder();
    const dg_dataset_options o = labelled();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        save_text("labels.csv", wrong[i].text);
        no_classes(&o, wrong[i].why);
    }
    char *row = temp_text("a.png,%0256d\n", 1);
    save_text("labels.csv", row);
    no_classes(&o, "more than 255 bytes");
    save("labels.csv", blob_of("a\0.\0", 4));
    no_classes(&o, "zero byte");
    unlink(at("labels.csv"));
    mkdir(at("labels.csv"), 0777); /* a folder of this name is ignored */
    no_classes(&o, "a.png is not in a folder");
    rmdir(at("labels.csv"));
    FILE *f = fopen(at("labels.csv"), "w");
    DG_CHECK(f && !ftruncate(fileno(f), (256 << 20) + 1) && !fclose(f));
    no_classes(&o, "the limit is 268435456");
    end();
}

static void json(void)
{
    small_folder();
    const dg_dataset_options o = labelled();
    save_text("dataset.json", "\xef\xbb\xbf{\"labels\": [[\"b/1.png\", 6], [\"a.png\", 10], [\"c/1.png\", \"x\"], "
                              "[\"b/2.png\", 10]], \"other\": {}}\n");
    labels_are(&o, "6 10 x: a.png=10 b/1.png=6 b/2.png=10 c/1.png=x");
    dg_dataset d;
    LOADS(&o, d, !strcmp(d.labels, "dataset.json") && d.skips == 0);
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"{\"labels\": null}", "dataset.json has no labels"},
        {"{\"labels\": {\"a\": 1}}", "\"labels\" is not a list"},
        {"{\"labels\": [[\"a.png\", 1], [\"b/1.png\", 1.5]]}", "labels[1]: must be"},
        {"{\"labels\": [[\"a.png\", -1]]}", "labels[0]: must be"},
        {"{\"labels\": [[\"a.png\", 3e9]]}", "labels[0]: must be"},
        {"{\"labels\": [[\"a.png\", [0.5, 0.5]]]}", "labels[0]: must be"},
        {"{\"labels\": [[\"a.png\", 1, 2]]}", "labels[0]: must be"},
        {"{\"labels\": [[1, 1]]}", "labels[0]: must be"},
        {"{\"labels\": [1]}", "labels[0]: must be"},
        {"{\"labels\": []}", "no row for 4 of 4 images, the first is a.png"},
        {"{\"labels\": [[\"a.png\", 1], [\"./a.png\", 1]]}", "labels[0] and labels[1] both have the path a.png"},
        {"{\"labels\": [[\"a.png\", 1]", "not valid JSON"},
        {"{\"labels\": []} x", "byte 15: not valid JSON"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        save_text("dataset.json", wrong[i].text);
        no_classes(&o, wrong[i].why);
    }
    save_text("labels.csv", "a.png,1\nb/1.png,2\nb/2.png,2\nc/1.png,1\n"); /* labels.csv precedes dataset.json */
    labels_are(&o, "1 2: a.png=1 b/1.png=2 b/2.png=2 c/1.png=1");
    unlink(at("labels.csv"));
    unlink(at("a.png"));
    save_text("dataset.json", "{\"images\": []}"); /* not a label file: class folders */
    labels_are(&o, "b c: b/1.png=b b/2.png=b c/1.png=c");
    end();
}

/* Only labels change, so the cached pixels stay valid. */
static void cached(void)
{
    small_folder();
    dg_dataset_options o = labelled();
    dg_dataset d;
    uint64_t fingerprint = 0;
    struct stat before, after;
    o.cache = cache;
    for (int i = 0; i < 3; i++) {
        save_text("labels.csv",
                  i < 2 ? "a.png,1\nb/1.png,2\nb/2.png,2\nc/1.png,1\n" : "a.png,1\nb/1.png,2\nb/2.png,3\nc/1.png,1\n");
        const struct timespec same[2] = {{.tv_sec = 1}, {.tv_sec = 1}}; /* equal size and time of change */
        DG_CHECK(!utimensat(AT_FDCWD, at("labels.csv"), same, 0));
        if (!loads(&o, &d)) continue;
        DG_CHECK(d.cached == (i > 0) && d.classes == (i < 2 ? 2 : 3) && d.skips == 0);
        DG_CHECK(i == 0 || (fingerprint == d.fingerprint) == (i == 1));
        fingerprint = d.fingerprint;
        dg_dataset_free(&d);
    }
    DG_CHECK(!stat(cache, &before));
    save_text("labels.csv", "a.png,class\nb/1.png,2\nb/2.png,2\nc/1.png,class\n"); /* another key of the folder */
    LOADS(&o, d, d.cached && d.classes == 2 && !strcmp(d.class_name[1], "class") && d.skips == 0);
    DG_CHECK(!stat(cache, &after) && before.st_ino == after.st_ino);
    end();
}

static void parts(void)
{
    static const char *const name[] = {"train/a.png", "train/b.png", "test/a.png"};
    begin();
    for (int i = 0; i < 3; i++) image(name[i]);
    dg_dataset_options o = labelled();
    save_text("labels.csv", "test/a.png,9\ntrain/a.png,9\ntrain/b.png,10\n");
    labels_are(&o, "9 10: train/a.png=9 train/b.png=10 | test/a.png=9");
    o.limit = 1;
    labels_are(&o, "9 10: train/a.png=9 | test/a.png=9");
    o.limit = 0;
    o.labelled = false;
    dg_dataset d;
    LOADS(&o, d, d.count == 2 && d.aside == 1);
    o.labelled = true;
    save_text("labels.csv", "test/a.png,8\ntrain/a.png,9\ntrain/b.png,10\n");
    fails(&o, DG_DATA, "/test/a.png: ");
    image("more.png"); /* an image outside of the parts: all images are training images */
    save_text("labels.csv", "test/a.png,9\ntrain/a.png,9\ntrain/b.png,10\nmore.png,9\n");
    labels_are(&o, "9 10: more.png=9 test/a.png=9 train/a.png=9 train/b.png=10");
    o.test = "0.5";
    LOADS(&o, d, d.train == 3 && d.count == 4);
    end();
}

/* The folder of --test has its own label file, which may use other rows and another kind of file. */
static void other_folder(void)
{
    begin();
    image("all/a.png");
    image("all/b.png");
    image("t/x.png");
    image("t/y.png");
    char dir[700], other[700];
    snprintf(dir, sizeof dir, "%s/all", root);
    snprintf(other, sizeof other, "%s/t", root);
    save_text("all/labels.csv", "a.png,2\nb.png,10\n");
    save_text("t/dataset.json", "{\"labels\": [[\"x.png\", 10], [\"y.png\", 2]]}");
    dg_dataset_options o = labelled();
    o.dir = dir;
    o.test = other;
    dg_dataset d;
    LOADS(&o, d, d.train == 2 && d.count == 4 && d.label[2] == 1 && d.label[3] == 0);
    save_text("t/dataset.json", "{\"labels\": [[\"x.png\", 10], [\"y.png\", 3]]}");
    fails(&o, DG_DATA, "class 3 is not a training class");
    save_text("t/dataset.json", "{\"labels\": [[\"x.png\", 10]]}");
    fails(&o, DG_DATA, "dataset.json has no row for 1 of 2 images");
    end();
}

#if DG_FAILING
static dg_dataset loaded;
static void nothing(void) {}
static dg_err load_labelled(void)
{
    dg_dataset_options o = labelled();
    o.threads = 1;
    return dg_dataset_load(&o, &loaded);
}
static void check_loaded(dg_err e)
{
    DG_CHECKF(e == DG_IO || e == DG_DEVICE || e == DG_DATA || loaded.classes == 2, "%d, %d classes: %s", (int)e,
              loaded.classes, loaded.unclassified ? loaded.unclassified : "");
    dg_dataset_free(&loaded);
}

/* A label file that cannot be read is an error, never a dataset without classes. */
static void faults(void)
{
    small_folder();
    spare_openmp();
    save_text("labels.csv", "a.png,1\nb/1.png,2\nb/2.png,2\nc/1.png,1\n");
    DG_CHECK(each_call("labels.csv", nothing, load_labelled, check_loaded) > 50);
    unlink(at("labels.csv"));
    save_text("dataset.json", "{\"labels\": [[\"a.png\", 1], [\"b/1.png\", 2], [\"b/2.png\", 2], [\"c/1.png\", 1]]}");
    DG_CHECK(each_call("dataset.json", nothing, load_labelled, check_loaded) > 50);
    end();
}
#else
static void faults(void) { dg_test_skip("allocations are the sanitizer's"); }
#endif

DG_TESTS(csv, refused_csv, json, cached, parts, other_folder, faults)
