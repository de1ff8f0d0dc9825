/* Tests that sparse files of 16 GB are refused without reading or allocating much. Commands run in child processes
 * that may allocate 64 MB. */
#include "host/checkpoint/checkpoint.h"
#include "child.h"
#include "host/cli/commands.h"
#include "tempdir.h"
#include "test.h"

#include <inttypes.h>

enum { MOST_KILOBYTES = 10 << 10, MOST_READ = 4 << 20, READ_TOO_MUCH = 99 };
static const uint64_t size = (uint64_t)16 << 30;

/* Returns the number of bytes that this process has read, or 0 if the system does not count them. */
static uint64_t bytes_read(void)
{
    uint64_t n = 0;
    FILE *f = fopen("/proc/self/io", "r");
    if (f && fscanf(f, "rchar: %" SCNu64, &n) != 1) n = 0;
    if (f) fclose(f);
    return n;
}

/* Makes a sparse file of 16 GB that begins with a length field and a header. Returns false if the file system cannot
 * store it. */
static bool sparse(const char *path, uint64_t length, const char *header)
{
    unsigned char field[8];
    for (int i = 0; i < 8; i++) field[i] = (unsigned char)(length >> 8 * i);
    FILE *f = fopen(path, "w");
    bool there = f && fwrite(field, 1, 8, f) == 8 && fputs(header, f) >= 0;
    if (f && fclose(f)) there = false;
    if (there && !truncate(path, (off_t)size)) return true;
    dg_test_skip("no sparse file of 16 GB can be made here");
    return false;
}

/* Makes a safetensors file of 16 GB with one tensor of type U8 or F32. */
static bool one_tensor(const char *path, const char *meta, const char *name, unsigned width)
{
    char header[1024];
    for (uint64_t h = 64;; h++) {
        const uint64_t count = (size - 8 - h) / width;
        const int n = snprintf(header, sizeof header,
                               "{\"__metadata__\":{%s},\"%s\":{\"dtype\":\"%s\",\"shape\":[%" PRIu64 "],"
                               "\"data_offsets\":[0,%" PRIu64 "]}}",
                               meta, name, width == 1 ? "U8" : "F32", count, count * width);
        if ((uint64_t)n > h || count * width != size - 8 - h) continue;
        snprintf(header + n, sizeof header - (size_t)n, "%*s", (int)(h - (uint64_t)n), "");
        return sparse(path, h, header);
    }
}

typedef dg_err use(const char *path);
static dg_err use_read(const char *path)
{
    dg_st *st;
    return dg_st_read(path, 0, &st);
}
static dg_err use_checkpoint(const char *path)
{
    dg_st *st;
    dg_checkpoint_info info;
    dg_model *model = malloc(sizeof *model);
    return dg_checkpoint_open(path, &st, model, &info);
}
static dg_err use_export(const char *path) { return dg_export(path, NULL, false, temp_path("out.safetensors")); }
static dg_err import_as(const char *path, const char *model)
{
    const dg_recipe *r;
    return dg_import(path, model, temp_path("out.safetensors"), &r);
}
static dg_err use_import(const char *path) { return import_as(path, NULL); }
static dg_err use_import_as(const char *path) { return import_as(path, "dcgan32"); }
static dg_err use_info(const char *path)
{
    return freopen("/dev/null", "w", stdout) ? dg_info(path, false) : DG_FAILED;
}
static dg_err use_replay(const char *path)
{
    char *operand[] = {(char *)path};
    return (dg_err)dg_cmd_replay(&(dg_options){.operand = operand, .operands = 1});
}

typedef struct {
    use *call;
    const char *path;
} job;

static int do_job(void *context, char *message)
{
    const job *j = context;
    const uint64_t before = bytes_read();
    const dg_err e = j->call(j->path);
    snprintf(message, 256, "%s", e ? dg_message() : "");
    return bytes_read() - before > MOST_READ ? READ_TOO_MUCH : (int)e;
}

static void ends(use *call, const char *path, dg_err want, const char *why)
{
    job j = {call, path};
    const child_result r = in_child(do_job, &j, (size_t)64 << 20);
    const bool right = r.code == (int)want && strstr(r.message, why);
    DG_CHECKF(right, "exit code %d instead of %d (%s): %s", r.code, (int)want, why, r.message);
    if (!DG_SANITIZED) DG_CHECKF(r.kilobytes < MOST_KILOBYTES, "%s: took %ld KB", why, r.kilobytes);
}

static void wrong_headers(const char *path)
{
    static const char small[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
    if (sparse(path, 0, "")) ends(use_read, path, DG_IO, "begin with {");
    if (sparse(path, UINT64_MAX, "")) ends(use_read, path, DG_IO, "limit 1,048,576");
    if (sparse(path, 1 << 20, "{")) ends(use_read, path, DG_IO, "header: ");
    if (sparse(path, sizeof small - 1, small)) ends(use_read, path, DG_IO, " bytes after the last tensor");
    if (one_tensor(path, "\"crc32\":\"00000000\"", "x", 1)) ends(use_read, path, DG_IO, "header is damaged");
}

static void wrong_tensors(const char *path)
{
    if (one_tensor(path, "\"format\":\"pt\"", "x", 1)) {
        ends(use_info, path, DG_OK, "");
        ends(use_checkpoint, path, DG_IO, "not those of a generator of PyTorch's DCGAN");
        ends(use_export, path, DG_IO, "not those of a generator of PyTorch's DCGAN");
        ends(use_import, path, DG_IO, "not those of a generator of PyTorch's DCGAN");
        ends(use_import_as, path, DG_IO, "model dcgan32");
        ends(use_replay, path, DG_USAGE, "format = pt");
    }
    if (one_tensor(path, "\"format\":\"pt\"", "main.0.weight", 4))
        ends(use_import_as, path, DG_IO, "tensor main.0.weight has shape (42949");
    if (one_tensor(path, "\"format\":\"dcgan-checkpoint-1\"", "x", 1))
        ends(use_checkpoint, path, DG_IO, "without checksums");
    static const char oracle[] =
        "\"format\":\"dcgan-oracle-1\",\"size\":\"16\",\"channels\":\"3\",\"latent\":\"4\",\"ngf\":\"4\",\"ndf\":\"4\","
        "\"batch\":\"2\",\"count\":\"4\",\"steps\":\"1\",\"lr\":\"0\",\"beta1\":\"0\",\"beta2\":\"0\",\"eps\":\"0\"";
    if (one_tensor(path, oracle, "images", 1)) ends(use_replay, path, DG_USAGE, "has no tensor z");
}

int main(void)
{
    temp_make("large");
    if (!bytes_read()) dg_test_skip("this system does not count what is read: memory alone is looked at");
    wrong_headers(temp_path("large.safetensors"));
    wrong_tensors(temp_path("large.safetensors"));
    temp_remove(temp_dir);
    return dg_test_report();
}
