/* Runs commands while the k-th call of one kind fails, alone or with all later calls. Of calls with the same call
 * stack, only the first one fails, with SOAK the first two. A command must fail with a message, succeed with unchanged
 * results, or print a warning. Commands must leave no temporary file and no open file. */
#include "failing.h"

#include "test.h"

#if DG_FAILING
#include <omp.h>
#include <unwind.h>
#include <zlib.h>
#include <zip.h>

#include "host/data/record_files.h"
#include "kernels/ops/ops.h"
#include "run_command.h"

static const char *const lines[] = {
    "report net --out out",
    "report run --out out",
    "report run run/log.csv --out out",
    "doctor run --json",
    "info run --json",
    "verify two",
    "info net/checkpoint.safetensors",
    "generate run --count 3 --out out",
    "generate run --read-z z --write-z out/z --out out",
    "generate run --z 1+2 --out out",
    "generate run --count 2 --raw /dev/null",
    "interpolate run --frames 2 --raw /dev/null --raw-format rgb",
    "interpolate run --seeds 1-2 --frames 2 --out out",
    "interpolate run --direction 2 --frames 1 --out out",
    "find run in/a/3.png --starts 1 --steps 1 --fit pad --out out",
    "classify net shapes --json",
    "export run --out out",
    "export run --onnx --out out",
    "export net --onnx --out out",
    "export run --c out --weights fp16",
    "export run --html out --weights int8",
    "import generator --out out",
    "info in/a/1.png",
    "info run/config.ini",
    "data cats --model tiny.cfg --sheet out --json",
    "data in --size 8 --limit 3 --channels 4 --test 0.5 --json",
    "data in --size 8 --test other --json",
    "data in --size 8 --cache out --json",
    "data in --size 8 --cache cache --json",
    "data mnist --size 8 --channels 1 --json",
    "data mnist --size 8 --channels 1 --limit 2 --json",
    "data cifar10 --size 32 --json",
    "data cifar100 --size 16 --json",
    "data in.zip --size 8 --json",
    "data one --size 8 --test 0.5 --json",
    "data one --size 8 --write out",
    "data shapes --size 8 --test 0.5 --limit 2 --write out",
    "data --synthesize out --count 2 --size 16",
    "data cats --size 16 --augment color --aug-preview out",
    "replay oracle --steps 1 --json",
    "plan tiny.cfg --json",
    "plan c.cfg --json",
    "plan tiny.cfg --arch h200",
    "plan tiny.cfg --fit --device-memory 1",
    "profile tiny.cfg --predict h200",
    "tune --merge a.tune a.tune --out out",
};

enum { CALLS = 1 << 16, DEPTH = 12 };
static uint64_t place[KINDS][CALLS]; /* hash of each call's call stack in a run without failures */

typedef struct {
    uint64_t hash;
    int depth;
} callers;

static _Unwind_Reason_Code add_caller(struct _Unwind_Context *at, void *to)
{
    callers *c = to;
    c->hash = (c->hash ^ _Unwind_GetIP(at)) * 0x9e3779b97f4a7c15u;
    return ++c->depth < DEPTH ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void note_place(int kind, long k)
{
    callers c = {0, 0};
    if (k >= CALLS) return;
    spared = true; /* exclude calls of the stack unwinder */
    _Unwind_Backtrace(add_caller, &c);
    spared = false;
    place[kind][k] = c.hash;
}

/* Returns the number of calls before call k that have the same call stack. */
static int like(int kind, long k)
{
    int n = 0;
    for (long i = 1; i < k; i++) n += place[kind][i] == place[kind][k];
    return n;
}

static int warnings;
static long failures;

static void count_warning(void *context, const char *text)
{
    (void)context;
    warnings += *text != 0;
}

/* Runs `dcgan LINE` with its output in the file "said" and returns its exit code. The k-th call of a kind fails.
 * With `more`, all later calls fail, too. Sets *there to true if there was a k-th call. */
static int dcgan_with(const char *line, int kind, long k, bool more, bool *there)
{
    const int said = open("said", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    output_to(said);
    close(said);
    warnings = 0;
    arm(kind, k, more);
    const int code = run_command(line);
    *there = disarm();
    output_to(standard_out);
    return code;
}

static int dcgan(const char *line)
{
    bool there;
    return dcgan_with(line, MEMORY, __LONG_MAX__, false, &there);
}

static uLong of_file(uLong crc, const char *path)
{
    size_t n = 0;
    char *bytes = temp_slurp(path, &n);
    crc = bytes ? crc32_z(crc, (unsigned char *)bytes, n) : crc;
    free(bytes);
    return crc;
}

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

/* Returns a checksum of the command's output and of the files that it wrote. */
static uLong results(void)
{
    struct dirent **file;
    char path[600];
    uLong crc = of_file(0, "said");
    const int n = scandir("out", &file, NULL, by_name);
    if (n < 0) return of_file(crc, "out");
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "out/%s", file[i]->d_name);
        crc = crc32_z(crc, (unsigned char *)file[i]->d_name, strlen(file[i]->d_name));
        if (file[i]->d_name[0] != '.') crc = of_file(crc, path);
        free(file[i]);
    }
    free(file);
    return crc;
}

/* Removes the temporary directories of `verify`. Returns their number. */
static int left_over(void)
{
    struct dirent **file;
    int left = 0;
    const int n = scandir(".", &file, NULL, by_name);
    for (int i = 0; i < n; i++) {
        const bool found = !strncmp(file[i]->d_name, "dcgan-verify-", 13);
        if (found) temp_remove(file[i]->d_name);
        left += found;
        free(file[i]);
    }
    free(file);
    return left;
}

static int opened(void) { return temp_count("/proc/self/fd", ""); }

static void judge(int kind, int code, uLong want, int files)
{
    DG_CHECKF(code ? *dg_message() != 0 : results() == want || warnings || kind == STAT,
              "exit code %d, \"%s\", %d warnings", code, code ? dg_message() : "", warnings);
    DG_CHECKF(kind != MEMORY || code == 0 || code == DG_DEVICE, "no memory: exit code %d, %s", code, dg_message());
    DG_CHECKF(temp_count(".", "dcgan-tmp") + temp_count("out", "dcgan-tmp") == 0, "something temporary is left");
    DG_CHECKF(opened() == files, "%d files are open, not %d", opened(), files);
}

static void try(const char *line)
{
    temp_remove("out");
    watch = note_place;
    int code = dcgan(line);
    watch = NULL;
    if (!DG_CHECKF(code == 0, "%s: exit code %d: %s", line, code, dg_message())) return;
    long number[KINDS];
    for (int kind = 0; kind < KINDS; kind++) number[kind] = atomic_load(&calls[kind]);
    const uLong want = results();
    const int files = opened(), alike = getenv("SOAK") ? 2 : 1;
    /* tests/torture lets the calls of a training fail */
    const bool verifies = !strncmp(line, "verify", 6);
    const long stride = verifies ? 7 : 1;
    for (int i = 0; i < 2 * KINDS; i++) {
        const int kind = i / 2;
        for (long k = 1; k <= number[kind] && k < CALLS; k += stride) {
            const int wrong = dg_test_failed_;
            bool there;
            if (like(kind, k) >= alike) continue;
            temp_remove("out");
            code = dcgan_with(line, kind, k, i % 2, &there);
            failures += there;
            judge(kind, code, want, files);
            DG_CHECKF(!verifies || !left_over() || warnings, "a temporary directory is left without a warning");
            if (dg_test_failed_ > wrong) printf("    %s: %s %ld%s\n", line, kinds[kind].name, k, i % 2 ? "+" : "");
        }
    }
}

static void save_datasets(void)
{
    static const char *const folders[] = {"one",     "one/a",   "in",    "in/a",    "in/b",    "other",
                                          "other/a", "other/b", "mnist", "cifar10", "cifar100"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) mkdir(folders[i], 0777);
    snprintf(root, sizeof root, ".");
    save("one/a/1.png", png_noise(9, 7, 1));
    save("in/a/1.png", png_noise(9, 7, 1));
    save("in/a/2.jpg", jpeg_smooth(11, 13, 2));
    save("in/a/3.png", png_noise(8, 8, 3));
    save("in/b/1.png", png_noise(5, 9, 4));
    save("in/b/2.jpg", jpeg_smooth(9, 9, 5));
    save_text("in/b/note.txt", "text");
    save("other/a/1.png", png_noise(9, 7, 6));
    save("other/b/1.png", png_noise(9, 7, 7));
    save("cifar10/data_batch_1.bin", cifar(10, 2, 1));
    save("cifar10/test_batch.bin", cifar(10, 2, 9));
    save_text("cifar10/batches.meta.txt", "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck");
    save("cifar100/train.bin", cifar(100, 3, 1));
    snprintf(root, sizeof root, "mnist");
    make_mnist(true);
    int code;
    zip_t *z = zip_open("in.zip", ZIP_CREATE, &code);
    zip_dir_add(z, "empty", 0);
    zip_file_add(z, "below/1.png", zip_source_file(z, "in/a/1.png", 0, -1), 0);
    zip_file_add(z, "2.jpg", zip_source_file(z, "in/a/2.jpg", 0, -1), 0);
    DG_CHECK(zip_close(z) == 0);
}

int main(void)
{
    static const char tuning[] = "; measured\n[sm_90 fp32]\nadam n=1100224 : vector block=512 ; 6.11 us\n";
    static const char classifier[] =
        "[model]\nname = c\nsize = 8\ninput = zca\n[train]\noptimizer = sgd\nlr = 0.1\n"
        "[C.1]\nfilters = 4\nkernel = 3\nnorm = batch\nrepeat = 2\ntorch = f.{0+3} f.{1+3}\n"
        "[C.2]\nop = dense\nfilters = 4\n";
    static const char *const made[] = {
        "--data cats --model tiny.cfg --batch 4 --epochs 1 --ema 0.9 --out run",
        "--data shapes --test 0.25 --model c.cfg --batch 4 --epochs 1 --out net",
        "--data cats --model tiny.cfg --batch 4 --epochs 2 --checkpoint-every 1 --sample-every 0 --no-report --out two",
        "export run --out generator",
        "generate run --count 2 --write-z z --out samples",
        NULL,
    };
    if (!enter_directory("command-faults", "cpu")) return 1;
    temp_put("a.tune", tuning, sizeof tuning - 1);
    temp_put("c.cfg", classifier, sizeof classifier - 1);
    save_datasets();
    setenv("TMPDIR", ".", 1);
    setenv("OMP_NUM_THREADS", "1", 1); /* waiting OpenMP threads would slow down other tests */
    omp_set_num_threads(1);
    spare_openmp();
    dg_ops_use(dg_op_table);
    dg_set_warnings(count_warning, NULL);
    make_inputs(dcgan, made);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) try(lines[i]);
    DG_CHECKF(failures > 5000, "only %ld calls failed", failures);
    return leave_directory();
}
#else
int main(void) { return dg_test_without_failing(); }
#endif
