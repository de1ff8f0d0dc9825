/* Runs commands while the k-th call of one kind fails, alone or with all later calls. Of calls with the same call
 * stack, only the first two fail. A command must fail with a message, succeed with unchanged results, or print a
 * warning. Commands must leave no temporary file and no open file. */
#include "failing.h"

#include "test.h"

#if DG_FAILING
#include <omp.h>
#include <unwind.h>
#include <zlib.h>

#include "command_line.h"
#include "host/cli/commands.h"
#include "kernels/ops/ops.h"
#include "tempdir.h"

typedef int command(const dg_options *);
static command *const commands[DG_CMDS] = {
    [DG_CMD_TRAIN] = dg_cmd_train,       [DG_CMD_GENERATE] = dg_cmd_generate, [DG_CMD_INTERPOLATE] = dg_cmd_interpolate,
    [DG_CMD_CLASSIFY] = dg_cmd_classify, [DG_CMD_DATA] = dg_cmd_data,         [DG_CMD_REPLAY] = dg_cmd_replay,
    [DG_CMD_PLAN] = dg_cmd_plan,         [DG_CMD_PROFILE] = dg_cmd_profile,   [DG_CMD_TUNE] = dg_cmd_tune,
    [DG_CMD_INFO] = dg_cmd_info,         [DG_CMD_EXPORT] = dg_cmd_export,     [DG_CMD_IMPORT] = dg_cmd_import,
    [DG_CMD_REPORT] = dg_cmd_report,     [DG_CMD_DOCTOR] = dg_cmd_doctor,
};

static const char *const lines[] = {
    "report net --out out",
    "report run --out out",
    "report run run/log.csv --out out",
    "doctor run --json",
    "info run --json",
    "info net/checkpoint.safetensors",
    "generate run --count 3 --out out",
    "interpolate run --seeds 1-2 --frames 2 --out out",
    "classify net shapes --json",
    "export run --out out",
    "export run --onnx --out out",
    "export net --onnx --out out",
    "import generator --out out",
    "data cats --model tiny.cfg --sheet out --json",
    "data --synthesize out --count 2 --size 16",
    "data cats --size 16 --augment color --aug-preview out",
    "replay oracle --steps 1 --json",
    "plan tiny.cfg --json",
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

static int standard_out, warnings;
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
    dg_options o;
    const int said = open("said", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    fflush(stdout);
    dup2(said, 1);
    close(said);
    warnings = 0;
    arm(kind, k, more);
    dg_err code = parse_line(line, &o);
    if (!code) code = (dg_err)commands[o.command](&o);
    dg_options_free(&o);
    *there = disarm();
    fflush(stdout);
    dup2(standard_out, 1);
    return (int)code;
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
    const int files = opened();
    for (int i = 0; i < 2 * KINDS; i++) {
        const int kind = i / 2;
        for (long k = 1; k <= number[kind] && k < CALLS; k++) {
            const int wrong = dg_test_failed_;
            bool there;
            if (like(kind, k) > 1) continue;
            temp_remove("out");
            code = dcgan_with(line, kind, k, i % 2, &there);
            failures += there;
            judge(kind, code, want, files);
            if (dg_test_failed_ > wrong) printf("    %s: %s %ld%s\n", line, kinds[kind].name, k, i % 2 ? "+" : "");
        }
    }
}

int main(void)
{
    static const char *const made[] = {
        "data --synthesize cats --count 9 --size 16",
        "data --synthesize many --count 32 --size 16",
        "data --synthesize shapes --classes 4 --count 16 --size 16",
        "--data cats --model tiny.cfg --batch 4 --epochs 1 --out run",
        "--data shapes --test 0.25 --model dropout.cfg --batch 4 --epochs 1 --out net",
        "export run --out generator",
    };
    static const char tuning[] = "; measured\n[sm_90 fp32]\nadam n=1100224 : vector block=512 ; 6.11 us\n";
    temp_make("command-faults");
    temp_copy("tests/tiny.cfg", "tiny.cfg");
    temp_copy("tests/oracles/adagrad-dropout.cfg", "dropout.cfg");
    temp_copy("tests/golden/oracle16.safetensors", "oracle");
    temp_put(temp_path("a.tune"), tuning, sizeof tuning - 1);
    if (chdir(temp_dir) || setenv("DCGAN_DEVICE", "cpu", 1) || setenv("DCGAN_THREADS", "1", 1)) return 1;
    setenv("OMP_NUM_THREADS", "1", 1); /* waiting OpenMP threads would slow down other tests */
    omp_set_num_threads(1);
    spare_openmp();
    dg_ops_use(dg_op_table);
    dg_set_warnings(count_warning, NULL);
    standard_out = dup(1);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        const int code = dcgan(made[i]);
        DG_CHECKF(code == 0, "%s: %s", made[i], dg_message());
    }
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) try(lines[i]);
    DG_CHECKF(failures > 5000, "only %ld calls failed", failures);
    if (chdir("/")) return 1;
    temp_remove(temp_dir);
    return dg_test_report();
}
#else
int main(void) { return dg_test_without_failing(); }
#endif
