/* Tests that every value in config.ini is read back as it was written. */
#include "host/options/option_table.h"
#include "test.h"

#include <unistd.h>

enum { MOST = DG_CONFIG_VALUE };

static dg_options base;

/* True if config.ini returns `value` unchanged. Uses --device, because this option accepts any text. */
static bool survives(char *value)
{
    dg_options o = base, back = {.device = NULL};
    o.device = value;
    char *argv[] = {"dcgan", value, NULL}, *text = dg_config_text(&o, 2, argv);
    const bool read = text && dg_config_parse(text, "config.ini", &back) == DG_OK;
    const bool same = read && back.device && strcmp(back.device, value) == 0;
    if (!read) printf("%s\n", dg_message());
    dg_options_free(&back);
    free(text);
    return same;
}

/* Tests special bytes near the positions where config.ini splits a long value into lines. */
static void test_each_byte_at_every_cut(void)
{
    static const char odd[] = "#;[]=: \t\n\r\"'\\\x01\x7f\xff\xc3x";
    char value[MOST];
    for (const char *c = odd; *c; c++)
        for (int around = 150; around < 900; around++) {
            memset(value, 'a', (size_t)around);
            value[around] = *c;
            snprintf(value + around + 1, sizeof value - (size_t)around - 1, "%s", around % 3 ? "bcd" : "");
            if (!DG_CHECKF(survives(value), "byte 0x%02x at %d", (unsigned char)*c, around)) break;
        }
}

static void test_runs_of_one_byte(void)
{
    static const char odd[] = "#;[=  \"\\\n\xff";
    char value[MOST];
    for (const char *c = odd; *c; c++)
        for (int n = 1; n < MOST; n += n < 900 ? 7 : 177) {
            memset(value, *c, (size_t)n);
            value[n] = 0;
            if (!DG_CHECKF(survives(value), "%d bytes 0x%02x", n, (unsigned char)*c)) break;
        }
}

static const char *reads(const char *text)
{
    static dg_options o;
    dg_options_free(&o);
    return dg_config_parse(text, "config.ini", &o) == DG_OK ? o.device : dg_message();
}

/* Reads values and comments as a user would write them, in short and long lines. */
static void test_by_hand(void)
{
    char text[4000], want[1000];
    for (int n = 100; n < 700; n++) {
        memset(want, 'x', sizeof want);
        want[n] = 0;
        want[n / 2] = ' ';
        snprintf(text, sizeof text,
                 "[run]\ndevice =  %s  ; a comment, itself so long that it is cut: %s; %s\r\nepochs = 3\n", want, want,
                 want);
        if (!DG_CHECKF(strcmp(reads(text), want) == 0, "a value of %d bytes and a comment: %s", n, reads(text))) return;
        snprintf(text, sizeof text, "[run]\ndevice = %*s%s%*s\n", n, "", "y#;z", n, "");
        if (!DG_CHECKF(strcmp(reads(text), "y#;z") == 0, "%d blanks on both sides: %s", n, reads(text))) return;
    }
}

static void test_too_long(void)
{
    char value[MOST + 1];
    dg_options o = {.device = NULL};
    memset(value, 'v', MOST);
    value[MOST] = 0;
    DG_REFUSED(dg_option_set(&o, dg_option_find("device"), value, "--device v"), DG_USAGE, "longer than 4095");
    DG_CHECK(dg_option_set(&o, dg_option_find("device"), value + 1, "--device v") == DG_OK);
    dg_options_free(&o);
}

static void test_wrong_lines(void)
{
    static const char *const wrong[][2] = {
        {"[run]\nepoch = 3\n", "config.ini:2: unknown key 'epoch'"},
        {"[run]\n\nepocs = 3\n", "config.ini:3: unknown key 'epocs'; did you mean 'epochs'?"},
        {"[run]\nepochs = 0\n", "config.ini:2: epochs = 0: out of range; allowed: 1 to 1000000"},
        {"[run]\nzzzzzz = 3\n", "config.ini:2: unknown key 'zzzzzz'"},
        {"[run]\nresume = yes\n", "config.ini:2: this file cannot set option 'resume'"},
        {"[run]\nhelp = 3\n", "config.ini:2: unknown key 'help'"},
        {"[run]\nepochs = 3\nepochs = 4\n", "config.ini:3: 'epochs' is already set in line 2"},
        {"[run]\ndevice = \"cpu\n", "config.ini:2: device: no quotation mark at the end"},
        {"[run]\ndevice = \"\n", "config.ini:2: device"},
        {"[ran]\nepochs = 3\n", "config.ini:2: unknown section [ran]"},
        {"[run]\nepochs = 3\nepochs\n", "config.ini:3: neither [section] nor key = value"},
        {"[run]\nepochs = x\nepochs\n", "config.ini:2: epochs = x"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *said = reads(wrong[i][0]);
        DG_CHECKF(said && strstr(said, wrong[i][1]) && !strstr(said, "mean 'help'"), "\"%s\", not \"%s\"",
                  said ? said : "", wrong[i][1]);
    }
    DG_CHECK(!strcmp(reads("device = \"\\x41\\x4\\xg1\\y\"\n"), "A\\x4\\xg1\\y"));
    static char longest[8 * MOST];
    const size_t n = (size_t)snprintf(longest, sizeof longest, "[run]\ndevice = ");
    memset(longest + n, 'v', sizeof longest - n - 1);
    DG_CHECKF(strstr(reads(longest), "config.ini:2: value too long"), "%.200s", dg_message());
}

/* A file with a zero byte is refused, because the text after this byte would be ignored. */
static void test_zero_byte(void)
{
    char path[] = "/tmp/dcgan-config-XXXXXX";
    static const char text[] = "[run]\nepochs = 3\n\0batch = 4\n";
    dg_options o = {.device = NULL};
    const int fd = mkstemp(path);
    DG_CHECK(fd >= 0 && write(fd, text, sizeof text - 1) == sizeof text - 1 && !close(fd));
    DG_REFUSED(dg_config_read(path, &o), DG_USAGE, "has a NUL byte");
    DG_CHECK(!truncate(path, 17) && dg_config_read(path, &o) == DG_OK && o.epochs == 3);
    dg_options_free(&o);
    unlink(path);
}

static bool is_among(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name) != 0) list++;
    return *list;
}

/* Checkpoints store the options with DG_OPT_RESULT. `other` lists every other option that config.ini keeps. */
static void test_results(void)
{
    static const char *const other[] = {"data",          "model",
                                        "init",          "epochs",
                                        "steps",         "skip-unreadable",
                                        "strict",        "cache",
                                        "device",        "tuning",
                                        "fuse",          "image-memory",
                                        "device-memory", "threads",
                                        "sample-every",  "checkpoint-every",
                                        "keep",          "grid",
                                        "no-curves",     "no-report",
                                        "tensorboard",   "eval-every",
                                        "inception",     "inception-resize",
                                        "moments",       "stop-on-collapse",
                                        "preset",        NULL};
    char text[8192] = "[run]\nversion = x\n", want[8192] = "";
    for (const dg_option *t = dg_option_table; t->name; t++) {
        if (!(t->flags & DG_OPT_SAVED)) continue;
        const bool result = t->flags & DG_OPT_RESULT;
        DG_CHECKF(result != is_among(t->name, other),
                  "--%s: RESULT in options_table.c if other values train something else, or a place in this list",
                  t->name);
        char line[128];
        snprintf(line, sizeof line, "%s = v%zu\n", t->name, strlen(text));
        strcat(text, line);
        if (result) strcat(want, line);
    }
    for (const char *const *name = other; *name; name++) {
        const dg_option *t = dg_option_find(*name);
        DG_CHECKF(t && t->flags & DG_OPT_SAVED, "--%s is not an option that config.ini keeps", *name);
    }
    char *got = dg_config_results(text);
    DG_CHECKF(got && !strcmp(got, want), "%s", got ? got : "out of memory");
    free(got);
}

/* Checkpoints must store these options, because --resume compares them. */
static void test_old_results(void)
{
    static const char *const key[] = {"batch",     "lr",        "lr-d",     "lr-g",        "beta1",      "beta2",
                                      "eps",       "seed",      "flip",     "drop-last",   "fit",        "resize",
                                      "alpha",     "orient",    "limit",    "precision",   "conv",       "test",
                                      "optimizer", "momentum",  "nesterov", "rho",         "decay",      "accumulator",
                                      "schedule",  "smoothing", "start",    "start-sigma", "start-bias", "loss",
                                      "ema",       "augment"};
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
        const dg_option *t = dg_option_find(key[i]);
        DG_CHECKF(t && t->flags & DG_OPT_RESULT, "--%s is not in checkpoints any more", key[i]);
    }
}

/* A run saves every training option, because --resume would lose an option that is not saved. */
static void test_saved(void)
{
    static const char *const given_anew[] = {NULL};
    for (const dg_option *t = dg_option_table; t->name; t++) {
        const bool of_training = t->commands >> DG_CMD_TRAIN & 1 &&
                                 (!strcmp(t->group, "Training") || !strcmp(t->group, "Images"));
        if (!of_training || t->flags & (DG_OPT_SAVED | DG_OPT_ARGV_ONLY)) continue;
        DG_CHECKF(is_among(t->name, given_anew), "--%s: SAVED or RESULT in options_table.c, for --resume", t->name);
    }
}

int main(void)
{
    char *argv[] = {"dcgan", "--data", "/cats", "--out", "/run", NULL};
    bool done;
    DG_CHECK(dg_options_parse(5, argv, &base, &done) == DG_OK);
    test_each_byte_at_every_cut();
    test_runs_of_one_byte();
    test_by_hand();
    test_too_long();
    test_wrong_lines();
    test_zero_byte();
    test_results();
    test_old_results();
    test_saved();
    dg_options_free(&base);
    return dg_test_report();
}
