/* Tests the advice for archives, Git LFS pointers and Apple's PNG variant: each error has the command that helps. */
#include "record_files.h"

#include <sys/stat.h>
#include <zip.h>

static const char pointer[] = "version https://git-lfs.example.org/spec/v1\noid sha256:00\nsize 12345\n";

static void save_head(const char *name, const char *head, size_t n, size_t offset)
{
    blob b = {0};
    for (size_t i = 0; i < 600; i++) blob_put(&b, &(uint8_t){(uint8_t)(i * 7)}, 1);
    memcpy(b.data + offset, head, n);
    save(name, b);
}

static void archives(void)
{
    static const struct {
        const char *name, *head;
        size_t n, offset;
        const char *alone, *inside;
    } row[] = {
        {"my set.tar.gz", "\x1f\x8b\b", 3, 0, "mkdir '%s/my set' && tar xf '%s/my set.tar.gz' -C '%s/my set'",
         "tar xf '%s/my set.tar.gz' -C %s"},
        {"x.tgz", "\x1f\x8b\b", 3, 0, "mkdir %s/x && tar xf %s/x.tgz -C %s/x, then", "tar xf %s/x.tgz -C %s"},
        {"x.tar.bz2", "BZh9", 4, 0, "tar xf %s/x.tar.bz2 -C %s/x", "tar xf %s/x.tar.bz2 -C %s"},
        {"x.tar.xz", "\xfd\x37zXZ", 5, 0, "tar xf %s/x.tar.xz -C %s/x", "tar xf %s/x.tar.xz -C %s"},
        {"x.tar.zst", "\x28\xb5\x2f\xfd", 4, 0, "tar xf %s/x.tar.zst -C %s/x", "tar xf %s/x.tar.zst -C %s"},
        {"x", "ustar", 5, 257, "tar xf %s/x -C %s/x-unpacked", "tar xf %s/x -C %s"},
        {"x.7z", "7z\xbc\xaf\x27\x1c", 6, 0, "7z x %s/x.7z -o%s/x", "7z x %s/x.7z -o%s"},
        {"x.rar", "Rar!\x1a\7", 6, 0, "unrar x %s/x.rar %s/x/", "unrar x %s/x.rar %s/"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        begin();
        save_head(row[i].name, row[i].head, row[i].n, row[i].offset);
        dg_dataset_options o = options();
        char want[4000];
        snprintf(want, sizeof want, row[i].inside, root, root);
        fails(&o, DG_DATA, want);
        o.dir = at(row[i].name);
        snprintf(want, sizeof want, row[i].alone, root, root, root);
        fails(&o, DG_DATA, want);
        end();
    }
}

static void not_archives(void)
{
    begin();
    dg_dataset_options o = options();
    save_head("values.csv.gz", "\x1f\x8b\b", 3, 0);
    fails(&o, DG_DATA, "no images; skipped: a gzip archive (1)");
    DG_CHECK(!strstr(dg_message(), "unpack"));
    o.dir = at("values.csv.gz");
    fails(&o, DG_DATA, "values.csv.gz: not a folder of images");
    save("cat.png", png_noise(8, 8, 1));
    o.dir = at("cat.png");
    fails(&o, DG_DATA, "a single image");
    save_text("text", "a text");
    o.dir = at("text");
    fails(&o, DG_DATA, "text: not a folder of images");
    end();
}

static void save_zip(const char *path, const char *name, const blob *b)
{
    int code;
    zip_t *z = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    DG_CHECK(zip_file_add(z, name, zip_source_buffer(z, b->data, b->bytes, 0), ZIP_FL_OVERWRITE) >= 0);
    DG_CHECK(!zip_close(z));
}

static void nested_zips(void)
{
    begin();
    blob image = png_noise(8, 8, 1), inner = {0};
    save_zip(at("inner.zip"), "a.png", &image);
    FILE *f = fopen(at("inner.zip"), "rb");
    for (int c; f && (c = fgetc(f)) != EOF;) blob_put(&inner, &(uint8_t){(uint8_t)c}, 1);
    if (f) fclose(f);
    dg_dataset_options o = options();
    fails(&o, DG_DATA, temp_text("unzip -q %s/inner.zip -d %s, then", root, root));
    save_zip(at("outer.zip"), "part/inner.zip", &inner);
    o.dir = at("outer.zip");
    fails(
        &o, DG_DATA,
        temp_text("unzip -q %s/outer.zip -d %s/outer && unzip -q %s/outer/part/inner.zip -d %s/outer, then use {data} "
                  "%s/outer",
                  root, root, root, root, root));
    blob_free(&image);
    blob_free(&inner);
    end();
}

static void pointers(void)
{
    begin();
    for (int i = 0; i < 3; i++) save_text(temp_text("%d.jpg", i), pointer);
    dg_dataset_options o = options();
    fails(&o, DG_DATA,
          "pointer, not the file itself (3). The report lists them: fetch the files of Git LFS pointers: ");
    o.dir = at("0.jpg");
    fails(&o, DG_DATA, "0.jpg: a Git LFS pointer, not the file itself; fetch the file: git lfs pull");
    end();
    begin();
    o.dir = root;
    save_text("images", pointer);
    fails(&o, DG_DATA, temp_text("git -C %s lfs pull", root));
    end();
    begin();
    save_text(train_images, pointer);
    fails(&o, DG_DATA, temp_text("%s/%s: a Git LFS pointer", root, train_images));
    end();
}

static void apple(void)
{
    static const uint8_t start[] = "\x89PNG\r\n\x1a\n\0\0\0\4CgBI\x50\0\x20\2\x2b\xd5\xb3\x7f";
    begin();
    blob whole = png_noise(8, 8, 1), b = blob_of(start, sizeof start - 1);
    blob_put(&b, whole.data + 8, whole.bytes - 8);
    blob_free(&whole);
    save("icon.png", b);
    const dg_dataset_options o = options();
    fails(&o, DG_DATA, "pngcrush -revert-iphone-optimizations FILE FILE.png");
    end();
}

DG_TESTS(archives, not_archives, nested_zips, pointers, apple)
