/* Loads datasets while one call fails, alone or with all later calls. A missing image requires a warning. */
#include "failing.h"

#include "test.h"

#if DG_FAILING
#include "record_files.h"

static dg_dataset_options o;
static dg_dataset d, whole; /* whole: the dataset as loaded without failing calls */
static char folder[700], other[700];
static int warnings, failing; /* failing: kind of the failing call */
static long failures;

static void count_warning(void *context, const char *text)
{
    (void)context;
    warnings += *text != 0;
}

static void nothing(void) { warnings = 0; }

static void cached(void)
{
    dg_dataset made;
    if (!dg_dataset_load(&o, &made)) dg_dataset_free(&made);
    nothing();
}

static void uncached(void)
{
    unlink(cache);
    nothing();
}

static dg_err load(void)
{
    failing = counter;
    return dg_dataset_load(&o, &d);
}

static void is_loaded(dg_err e)
{
    const bool same = !e && d.count == whole.count && d.train == whole.train && d.classes == whole.classes &&
                      d.fingerprint == whole.fingerprint && d.skips == whole.skips;
    DG_CHECKF(e ? *dg_message() != 0 : same || warnings, "returned %d, %d of %d images, no warning", (int)e, d.count,
              whole.count);
    DG_CHECKF(failing != MEMORY || !e || e == DG_DEVICE, "no memory is %d: %s", (int)e, dg_message());
    DG_CHECK(!e || (!d.pixels && !d.name && !d.skip && !d.label && !d.class_name));
    dg_dataset_free(&d);
    /* the list of skipped files is correct or absent, and the cache gives the same dataset */
    char *list = o.skipped && failing == MEMORY ? temp_slurp(skipped, NULL) : NULL;
    DG_CHECKF(!list || (strstr(list, "b/note.txt\tneither") == list && strchr(list, '\n') == strrchr(list, '\n')), "%s",
              list);
    free(list);
    if (!o.cache || access(cache, F_OK) || failing != MEMORY) return;
    LOADS(&o, d, d.count == whole.count && d.fingerprint == whole.fingerprint);
}

static void tried(const char *what, void (*before)(void))
{
    if (loads(&o, &whole)) failures += each_call(what, before, load, is_loaded);
    dg_dataset_free(&whole);
}

static void folders(void)
{
    static const char *const name[] = {"in", "in/a", "in/b", "other", "other/a", "other/b"};
    begin();
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) mkdir(at(name[i]), 0777);
    snprintf(folder, sizeof folder, "%s/in", root);
    snprintf(other, sizeof other, "%s/other", root);
    save("in/a/1.png", png_noise(9, 7, 1));
    save("in/a/2.jpg", jpeg_smooth(11, 13, 2));
    save("in/a/3.png", png_noise(8, 8, 3));
    save("in/b/1.png", png_noise(5, 9, 4));
    save("in/b/2.jpg", jpeg_smooth(9, 9, 5));
    save_text("in/b/note.txt", "text");
    save("other/a/1.png", png_noise(9, 7, 6));
    save("other/b/1.png", png_noise(9, 7, 7));
    o = (dg_dataset_options){.dir = folder, .size = 8, .channels = 3, .threads = 1, .skipped = skipped};
    tried("a folder", nothing);
    o.limit = 3;
    o.channels = 4;
    tried("some of a folder", nothing);
    o.labelled = true;
    o.test = "0.5";
    tried("some of a folder, in two parts", nothing);
    o.limit = 0;
    o.test = other;
    tried("a folder for training, one for testing", nothing);
    o.test = NULL;
    o.cache = cache;
    tried("a folder and a cache that is made", uncached);
    tried("a cache", cached);
    end();
}

static void records(bool labelled)
{
    begin();
    make_mnist(true);
    o = (dg_dataset_options){.dir = root, .size = 5, .channels = 1, .threads = 1, .labelled = labelled};
    tried("MNIST", nothing);
    o.limit = 2;
    tried("some of MNIST", nothing);
    unlink(at("train-labels-idx1-ubyte.gz"));
    tried("MNIST without labels", nothing);
    end();
    begin();
    save("data_batch_1.bin", cifar(10, 2, 1));
    save("test_batch.bin", cifar(10, 2, 9));
    save_text("batches.meta.txt", "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck");
    o = (dg_dataset_options){.dir = root, .size = 32, .channels = 3, .threads = 1, .labelled = labelled};
    tried("CIFAR-10", nothing);
    end();
    begin();
    save("train.bin", cifar(100, 3, 1));
    o.size = 16;
    tried("CIFAR-100", nothing);
    end();
}

int main(void)
{
    dg_set_warnings(count_warning, NULL);
    spare_openmp();
    folders();
    records(true);
    records(false);
    DG_CHECKF(failures > 2000, "only %ld calls failed", failures);
    return dg_test_report();
}
#else
int main(void) { return dg_test_without_failing(); }
#endif
