/* Tests the precedence of command line, environment and config.ini, and the messages for invalid values. */
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command_line.h"
#include "host/options/option_table.h"
#include "tempdir.h"
#include "test.h"

static dg_options o;
static dg_err code;

static void parse(const char *line)
{
    dg_options_free(&o);
    code = parse_line(line, &o);
}

static void accepts(const char *line)
{
    parse(line);
    DG_CHECKF(code == DG_OK, "'%s' gave %d: %s", line, (int)code, dg_message());
}

static void refuses(const char *line, const char *words)
{
    parse(line);
    DG_CHECKF(code == DG_USAGE && strstr(dg_message(), words), "'%s' gave %d: %s\n  wanted: %s", line, (int)code,
              dg_message(), words);
}

static void write_text(const char *path, const char *text) { temp_put(path, text, strlen(text)); }

static void test_built_in(void)
{
    accepts("--data somewhere");
    DG_CHECK(o.command == DG_CMD_TRAIN && !strcmp(o.data, "somewhere") && !strcmp(o.model, "dcgan64-paper"));
    DG_CHECK(o.epochs == 0 && o.sample_every == -1 && o.batch == 64 && o.seed == 1 && o.keep == 1 &&
             o.checkpoint_every == 1);
    DG_CHECK(o.lr == 0.0002 && o.lr_d == 0 && o.job.beta1 == 0.5 && o.job.beta2 == 0.999 && o.job.eps == 1e-8);
    DG_CHECK(!o.job.flip && !o.resume && o.precision == DG_PRECISION_AUTO && o.exif && o.fit == DG_FIT_CROP &&
             o.alpha == DG_ALPHA_WHITE && o.filter == DG_RESIZE_BILINEAR);
    DG_CHECK(o.grid_rows == 8 && o.grid_cols == 8 && !strcmp(o.device, "auto") && o.threads == 0);
    DG_CHECK(!strcmp(o.out, "samples/somewhere-dcgan64-paper"));
    for (const dg_option *t = dg_option_table; t->name; t++) {
        DG_CHECKF(dg_option_find(t->name), "%s", t->name);
        for (const dg_option *u = t + 1; u->name; u++)
            DG_CHECKF(strcmp(t->name, u->name) != 0 || !(t->commands & u->commands), "%s is there twice", t->name);
        for (const dg_option *u = t + 1; u->name; u++)
            DG_CHECKF(!t->letter || t->letter != u->letter || !(t->commands & u->commands), "-%c", t->letter);
        DG_CHECKF(t->commands && *t->help && *t->text && *t->group, "%s is not described", t->name);
    }
}

static void test_help(void)
{
    char text[200];
    for (const dg_option *t = dg_option_table; t->name; t++) {
        dg_help_option(t, DG_CMD_TRAIN, text, sizeof text);
        DG_CHECKF(strlen(text) <= 80, "--%s: %zu characters: %s", t->name, strlen(text), text);
        DG_CHECKF(t->text[strlen(t->text) - 1] == '.', "--%s: %s", t->name, t->text);
    }
    for (int c = 0; c < DG_CMDS; c++) {
        const dg_command_info *info = &dg_commands[c];
        DG_CHECKF(*info->help && strlen(info->help) <= 64 && *info->text && info->example[0], "%s", info->name);
    }
}

static void test_old_names(void)
{
    static const char *const old[][3] = {{"from", "min-batch", "9"},
                                         {"most", "max-batch", "70"},
                                         {"least-steps", "min-steps", "5"}};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        char line[100], variable[64], now[20];
        const dg_option *t = dg_option_find(old[i][1]);
        DG_CHECK(t && t == dg_option_find(old[i][0]) && !strcmp(dg_option_alias(t), old[i][0]));
        snprintf(line, sizeof line, "batch --data a --%s %s", old[i][0], old[i][2]);
        accepts(line);
        dg_option_get(&o, t, now, sizeof now);
        DG_CHECKF(!strcmp(now, old[i][2]), "%s: %s", line, now);
        setenv(dg_option_variable(old[i][0], variable), old[i][2], 1);
        accepts("batch --data a");
        dg_option_get(&o, t, now, sizeof now);
        DG_CHECKF(!strcmp(now, old[i][2]), "%s: %s", variable, now);
        setenv(dg_option_variable(old[i][1], line), "64", 1); /* the new name takes precedence over the old name */
        accepts("batch --data a");
        dg_option_get(&o, t, now, sizeof now);
        DG_CHECKF(!strcmp(now, "64"), "%s: %s", line, now);
        unsetenv(variable);
        unsetenv(line);
    }
    accepts("--data a --allow-data-change");
    DG_CHECK(o.allow_data_change);
    refuses("batch --data a --min-steps 0", "--min-steps 0: out of range");
}

static void test_checkpoints(void)
{
    accepts("--data somewhere");
    DG_CHECK(o.checkpoint_every == 1 && o.checkpoint_auto);
    accepts("--data somewhere --checkpoint-every 1");
    DG_CHECK(o.checkpoint_every == 1 && !o.checkpoint_auto);
    accepts("--data somewhere --checkpoint-every 0");
    DG_CHECK(o.checkpoint_every == 0 && !o.checkpoint_auto);
    static const char *const wrong[] = {"-1", "1.5", "1000001", "often", "5x", "99999999999999999999", "autos"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        refuses(temp_text("--data somewhere --checkpoint-every %s", wrong[i]),
                "a number of epochs from 0 to 1000000, or auto");
    }
}

static void test_values(void)
{
    accepts("train -d a -e 300 -b 32 -s 18446744073709551615 --lr 1e-3 --beta1=0 --grid 3x5 --flip --steps 7");
    DG_CHECK(o.epochs == 300 && o.batch == 32 && o.seed == UINT64_MAX && o.lr == 1e-3 && o.job.beta1 == 0);
    DG_CHECK(o.grid_rows == 3 && o.grid_cols == 5 && o.job.flip && o.steps == 7);
    accepts("-d a --flip --flip=no --fit stretch --alpha black --orient ignore --precision fp64 --device cuda:1 -q");
    DG_CHECK(!o.job.flip && o.fit == DG_FIT_STRETCH && o.alpha == DG_ALPHA_BLACK && !o.exif &&
             o.precision == DG_PRECISION_FP64 && o.quiet);
    accepts("-d a --epoch 3");
    DG_CHECK(o.epochs == 3);

    accepts("-d a --loss ralsgan --ema 0.995 --augment cutout,color");
    DG_CHECK(o.job.loss == DG_LOSS_RALSGAN && o.job.ema == 0.995 &&
             o.job.augment == (DG_AUGMENT_CUTOUT | DG_AUGMENT_COLOR));
    refuses("-d a --ema 0.99999999", "--ema 0.99999999: would be 1 in fp32");

    refuses("-d a --epochs 3x", "--epochs 3x: not a whole number");
    refuses("-d a --epochs=", "--epochs : not a whole number");
    refuses("-d a --epochs 99999999999999999999999", "out of range");
    refuses("-d a --seed 18446744073709551616", "--seed 18446744073709551616: out of range");
    refuses("-d a --lr 0", "--lr 0: out of range; allowed: above 0 to 10");
    refuses("-d a --lr nan", "not a number");
    refuses("-d a --lr inf", "not a number");
    refuses("-d a --lr 0x1p-3", "not a number");
    refuses("-d a --lr 1e999", "not a number");
    refuses("-d a --beta2 1", "--beta2 1: out of range; allowed: 0 to below 1");
    refuses("-d a --grid 8", "--grid 8: not of the form RxC");
    refuses("-d a --grid 0x8", "out of range; allowed: 1x1 to 64x64");
    refuses("-d a --flip=maybe", "neither yes nor no");
    refuses("-d a --device gpu", "--device gpu: unknown; allowed: auto, cpu, cuda or cuda:N");
    refuses("-d a --device cuda:", "--device cuda:: unknown");
    refuses("-d a --epochs", "--epochs needs a value: --epochs N");
    refuses("--data=", "must not be empty");
}

static void test_unknown(void)
{
    refuses("--data a --batch-size 3", "did you mean --batch?");
    refuses("--data a --learning-rate 3", "did you mean --lr?");
    refuses("--data a --zebra", "unknown option --zebra; see: dcgan help train");
    refuses("--data a -z", "unknown option -z");
    refuses("--data a --beta 3", "--beta: ambiguous; it could be --beta1, --beta2");
    refuses("generate x --epochs 3", "--epochs: not an option of 'generate'");
    refuses("--data a b", "unexpected 'b'");
    refuses("--help=3", "accepts no value");
    refuses("-q", "missing --data DIR (the dataset)");
}

static void test_other_commands(void)
{
    accepts("generate x.safetensors -n 3");
    DG_CHECK(o.command == DG_CMD_GENERATE && o.operands == 1 && !strcmp(o.operand[0], "x.safetensors"));
    DG_CHECK(o.count == 3 && o.seed_first == 0 && o.seed_last == 2);
    accepts("generate --seeds 7-9 x");
    DG_CHECK(o.count == 3 && o.seed_first == 7 && o.seed_last == 9 && !strcmp(o.operand[0], "x"));
    accepts("generate x --seeds 5");
    DG_CHECK(o.count == 1 && o.seed_first == 5 && o.seed_last == 5);
    refuses("generate x --seeds 9-7", "first number is larger");
    refuses("generate x --seeds 1-", "not of the form A-B");
    refuses("generate x --seeds 0-1000000", "at most 1000000");
    refuses("generate", "usage: dcgan generate RUN|CHECKPOINT");
    refuses("generate x y", "unexpected 'y'; usage: dcgan generate RUN|CHECKPOINT");
    accepts("interpolate x");
    DG_CHECK(o.seed_first == 1 && o.seed_last == 5 && o.steps_between == 16);
    refuses("interpolate x --seeds 4", "needs at least two");
    accepts("data cats --sheet s.png");
    DG_CHECK(!strcmp(o.data, "cats") && !o.synthesize && !strcmp(o.sheet, "s.png"));
    accepts("data --synthesize toy --count 12");
    DG_CHECK(o.synthesize && !strcmp(o.data, "toy") && o.count == 12);
    refuses("data", "data: missing DIR");
    refuses("data a --channels 2", "--channels 2");
    accepts("plan m.cfg -b 7");
    DG_CHECK(!strcmp(o.model, "m.cfg") && o.batch == 7);
    accepts("plan");
    DG_CHECK(!strcmp(o.model, "dcgan64-paper"));
    accepts("--data cats --size 28 --channels 1");
    DG_CHECK(!strcmp(o.model, "dcgan-28x1") && !strcmp(o.out, "samples/cats-dcgan-28x1"));
    DG_CHECK(strstr(o.resolved, "\nmodel = dcgan-28x1\n"));
    DG_CHECK(strstr(o.resolved, "\nversion = dcgan ") && strstr(o.resolved, "; command: dcgan --data "));
    accepts("--data cats --norm-d spectral");
    DG_CHECK(!strcmp(o.model, "dcgan64-paper-spectral") && !strcmp(o.out, "samples/cats-dcgan64-paper-spectral"));
    DG_CHECK(strstr(o.resolved, "\nmodel = dcgan64-paper-spectral\n") && !strstr(o.resolved, "\nnorm"));
    accepts("plan --norm-d spectral --size 32 --channels 4");
    DG_CHECK(!strcmp(o.model, "dcgan-32x4-spectral"));
    accepts("--data cats --norm-d spectral --model dcgan32-spectral");
    DG_CHECK(!strcmp(o.model, "dcgan32-spectral"));
    accepts("--data cats --norm-d none");
    DG_CHECK(!strcmp(o.model, "dcgan64-paper-nonorm"));
    refuses("plan dcgan32 --norm-d none", "give the model MODEL-nonorm");
    accepts("--data a/cats.zip");
    DG_CHECK(!strcmp(o.out, "samples/cats-dcgan64-paper"));
    accepts("plan --size 256");
    DG_CHECK(!strcmp(o.model, "dcgan-256x3"));
    accepts("batch --channels 1 --data cats");
    DG_CHECK(!strcmp(o.model, "dcgan-64x1"));
    accepts("data cats --size 28");
    DG_CHECK(!strcmp(o.model, "dcgan64-paper") && dg_same_size(o.size, dg_square(28)));
    refuses("--data cats --size 28 --model dcgan28", "give one or the other");
    refuses("plan dcgan28 --size 28", "give one or the other");
    accepts("plan m.cfg --fit --arch h200");
    DG_CHECK(o.largest && o.fit == DG_FIT_CROP);
    accepts("batch m.cfg --data cats");
    DG_CHECK(o.command == DG_CMD_BATCH && !strcmp(o.model, "m.cfg") && o.min_batch == 8 && o.max_batch == 65536);
    DG_CHECK(o.within == 3 && o.min_steps == 32 && o.rule == 0 && !o.sweep && o.seconds == 0 && !o.steps);
    accepts("batch m.cfg --data cats --rule usage");
    DG_CHECK(o.min_batch == 32 && o.rule == 1);
    accepts("batch --data cats --sweep 10-500:10");
    DG_CHECK(!strcmp(o.model, "dcgan64-paper") && !strcmp(o.sweep, "10-500:10"));
    DG_CHECK(o.min_batch == 10 && o.max_batch == 500 && o.sweep_step == 10);
    accepts("batch --data cats --sweep 8-65536");
    DG_CHECK(o.min_batch == 8 && o.max_batch == 65536 && !o.sweep_step);
    accepts("batch --data cats --sweep 1-256:1");
    static const char *const sweeps[] = {"8",    "8-",    "8-7",    "0-4",  "1-65537", "1-9:",    "1-9:0",
                                         "-1-9", "1-9:x", "1-9:1x", "1--9", "1-9:-1",  "1-257:1", "1-655379"};
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        char line[80];
        snprintf(line, sizeof line, "batch --data cats --sweep=%s", sweeps[i]);
        refuses(line, "not of the form A-B");
    }
    refuses("batch m.cfg", "batch: missing --data DIR (the dataset): dcgan batch m.cfg --data DIR");
    refuses("batch --data cats --sweep 1-5 --rule usage", "--rule: cannot be combined with --sweep");
    refuses("batch --data cats --within 100", "allowed: 0 to below 100");
    refuses("interpolate run --seeds 1-1001", "too many for an interpolation");
    refuses("data --synthesize cats --augment color --aug-preview seen.png", "requires --augment and a dataset");
    accepts("--data cats --batch auto");
    DG_CHECK(o.batch == 0 && strstr(o.resolved, "\nbatch = auto\n") && o.min_batch == 8);
    DG_CHECK(strstr(o.resolved, "\nepochs = auto\n") && strstr(o.resolved, "\nsample-every = auto\n"));
    accepts("--data cats --seed 9007199254740993 --lr 0.00012345678901234567 --grid 3x4");
    DG_CHECK(strstr(o.resolved, "\nseed = 9007199254740993\n") && strstr(o.resolved, "\ngrid = 3x4\n"));
    DG_CHECKF(strstr(o.resolved, "\nlr = 0.00012345678901234567\n"), "%s", o.resolved);
    accepts("--data cats --epochs 7 --sample-every 0");
    DG_CHECK(strstr(o.resolved, "\nepochs = 7\n") && strstr(o.resolved, "\nsample-every = 0\n"));
    accepts("--data cats --model cnn-mnist");
    DG_CHECK(o.epochs == 5); /* the value in the model's section [train] */
    accepts("--data cats --model tests/eyes16.cfg");
    DG_CHECK(o.epochs == 25);
    accepts("--data cats --model tests/eyes16.cfg --epochs auto");
    DG_CHECK(o.epochs == 0);
    refuses("--data cats --epochs 0", "--epochs 0: out of range; allowed: 1 to 1000000, or auto");
    refuses("--data cats --batch 0", "--batch 0: out of range; allowed: 1 to 65536, or auto");
    bool else_fp32;
    accepts("replay f --precision auto");
    DG_CHECK(o.precision == DG_PRECISION_FP32 && o.tol == 1e-3);
    accepts("check");
    DG_CHECK(o.precision == DG_PRECISION_FP32);
    accepts("bench");
    DG_CHECK(!strcmp(dg_options_precision(&o, &else_fp32)->name, "bf16") && else_fp32);
    accepts("bench --precision bf16");
    DG_CHECK(!strcmp(dg_options_precision(&o, &else_fp32)->name, "bf16") && !else_fp32);
    accepts("replay f --precision bf16");
    DG_CHECK(o.precision == DG_PRECISION_BF16 && o.tol == 1);
    accepts("replay f --precision fp64");
    DG_CHECK(o.tol == 1e-9);
    accepts("replay f");
    DG_CHECK(o.tol == 1e-3);
    accepts("export a b");
    DG_CHECK(!strcmp(o.out, "b"));
    accepts("export a -o b");
    DG_CHECK(!strcmp(o.out, "b"));
    accepts("import a b");
    DG_CHECK(!o.model && !strcmp(o.out, "b"));
    refuses("export a", "missing --out FILE");
    refuses("export a b -o c", "both name the output");
}

static void test_environment(void)
{
    setenv("DCGAN_EPOCHS", "12", 1);
    setenv("DCGAN_LR_D", "0.5", 1);
    setenv("DCGAN_BATCH", "", 1);
    accepts("-d a");
    DG_CHECK(o.epochs == 12 && o.lr_d == 0.5 && o.batch == 64);
    accepts("-d a --epochs 13");
    DG_CHECK(o.epochs == 13);
    accepts("plan dcgan32"); /* `plan` has no option --epochs and ignores DCGAN_EPOCHS */
    setenv("DCGAN_EPOCHS", "many", 1);
    refuses("-d a", "DCGAN_EPOCHS=many: not a whole number");
    unsetenv("DCGAN_EPOCHS");
    unsetenv("DCGAN_LR_D");
    unsetenv("DCGAN_BATCH");
}

static void test_config(void)
{
    char line[PATH_MAX + 100], path[PATH_MAX];
    snprintf(path, sizeof path, "%s/c.ini", temp_dir);
    snprintf(line, sizeof line, "--config %s", path);
    write_text(path, "# mine\n[run]\n  data = a b\n  epochs = 7 ; few\nfit= pad\r\nflip: yes\n");
    accepts(line);
    DG_CHECK(!strcmp(o.data, "a b") && o.epochs == 7 && o.fit == DG_FIT_PAD && o.job.flip);
    snprintf(line, sizeof line, "--config %s --epochs 9 --data x --flip=no", path);
    setenv("DCGAN_EPOCHS", "8", 1);
    setenv("DCGAN_FIT", "stretch", 1);
    accepts(line);
    DG_CHECK(!strcmp(o.data, "x") && o.epochs == 9 && o.fit == DG_FIT_STRETCH && !o.job.flip);
    unsetenv("DCGAN_EPOCHS");
    unsetenv("DCGAN_FIT");

    snprintf(line, sizeof line, "--config %s", path);
    /* the invalid line follows lines that are longer than inih's buffer */
    char text[2000] = "[run]\n; ";
    memset(text + strlen(text), 'c', 600);
    strcat(text, "\ncache = /");
    memset(text + strlen(text), 'd', 600);
    strcat(text, "\nepochs\n");
    write_text(path, text);
    refuses(line, "c.ini:4: neither");
    parse(temp_text("--config %s/none.ini", temp_dir));
    DG_CHECK(code == DG_IO);
}

static void test_runs(void)
{
    char here[PATH_MAX], line[PATH_MAX + 64];
    if (!DG_CHECK(getcwd(here, sizeof here) && !chdir(temp_dir))) return;
    accepts("-d . -m models/dcgan32.cfg");
    const char *base = strrchr(temp_dir, '/') + 1;
    snprintf(line, sizeof line, "samples/%s-dcgan32", base);
    DG_CHECKF(!strcmp(o.out, line), "%s, not %s", o.out, line);
    DG_CHECK(!mkdir("samples", 0777) && !mkdir("cats", 0777) && !mkdir("samples/cats-dcgan32", 0777));
    accepts("-d cats/ -m dcgan32");
    DG_CHECKF(!strcmp(o.out, "samples/cats-dcgan32-2"), "%s", o.out);
    refuses("-d cats/ -m dcgan32 --resume", "samples/cats-dcgan32 is not a run directory");
    refuses("--resume", "missing --out DIR (the run)");
    refuses("--resume -d dogs", "there is no run directory samples/dogs-dcgan64-paper");

    write_text("samples/cats-dcgan32/config.ini", "[run]\ndata = /cats\nmodel = dcgan32\nepochs = 300\nlr = 0.001\n");
    write_text("samples/cats-dcgan32/checkpoint-0007.safetensors", "");
    static const char *const same[] = {"--resume --out samples/cats-dcgan32", "--resume samples/cats-dcgan32",
                                       "--resume=samples/cats-dcgan32", "-d cats -m dcgan32 -r",
                                       "--resume samples/cats-dcgan32/checkpoint-0007.safetensors"};
    for (int i = 0; i < 5; i++) {
        snprintf(line, sizeof line, "%s --epochs 400", same[i]);
        accepts(line);
        DG_CHECKF(o.resume && o.out && !strcmp(o.out, "samples/cats-dcgan32"), "%s: %s", line, o.out ? o.out : "none");
        DG_CHECKF(o.epochs == 400 && o.lr == 0.001 && o.batch == 64, "%s: not the run's values", line);
        DG_CHECKF(!o.resume_from == (i < 4), "%s: %s", line, o.resume_from ? o.resume_from : "none");
    }
    refuses("--resume samples/cats-dcgan32 --seed 2", "--seed 2: this run was started with 1, which cannot change");
    refuses("--resume samples/cats-dcgan32 --model dcgan64", "--model dcgan64: this run was started with dcgan32");
    refuses("--resume samples/cats-dcgan32 --precision fp64", "--precision fp64: this run was started with fp32");
    refuses("--resume samples/cats-dcgan32 --precision bf16", "--precision bf16: this run was started with fp32");
    accepts("--resume samples/cats-dcgan32 --precision auto");
    DG_CHECK(o.precision == DG_PRECISION_FP32 && strstr(o.resolved, "\nprecision = fp32\n"));
    accepts("--resume samples/cats-dcgan32 --model dcgan32 --lr 0.1");
    DG_CHECK(o.lr == 0.1);
    refuses("--resume samples/cats-dcgan32/checkpoint-0007.safetensors --out cats", "leave out --out cats");
    accepts("--resume samples/cats-dcgan32/checkpoint-0007.safetensors --out ./samples//cats-dcgan32/");
    parse("--resume nowhere");
    DG_CHECK(code == DG_IO);
    DG_CHECK(!unlink("samples/cats-dcgan32/config.ini") && !unlink("samples/cats-dcgan32/checkpoint-0007.safetensors"));
    DG_CHECK(!rmdir("samples/cats-dcgan32") && !rmdir("samples") && !rmdir("cats") && !chdir(here));
}

DG_TESTS_IN("options", test_built_in, test_help, test_old_names, test_checkpoints, test_values, test_unknown,
            test_other_commands, test_environment, test_config, test_runs)
