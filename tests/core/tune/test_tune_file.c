/* Tests writing and merging of tuning files. A merge keeps sections, headers and the faster of two measured rows.
 * Errors name file and line of an invalid row. */
#include "core/tune/tune_file.h"

#include "all_ops.h"
#include "tempdir.h"
#include "test.h"
#include "core/tune/tune.h"

static const char a_text[] = "; device A\n"
                             "adam n=100 : direct block=64 ; 9.00 us for all\n"
                             "[sm_90]\n"
                             "; a remark between rows is not kept\n"
                             "gan_loss n=64 : direct block=32 ; 2.50 us (3.00 before, direct 3.0) D.loss\n"
                             "noise n=6400 : direct block=64 ; 1.00 us\n"
                             "act n=4096 : vector block=64\n"
                             "[sm_80]\n"
                             "gan_loss n=64 : direct block=256 ; 1.00 us\n";
static const char b_text[] = "\xef\xbb\xbf; device B\r\n"
                             "\r\n"
                             "[sm_90]\r\n"
                             "  gan_loss   n=64:direct block=96 ; 2.40 us\r\n"
                             "noise n=6400 : direct block=128 ; 1.10 us\r\n"
                             "act n=4096 : vector block=128\r\n"
                             "act n=8192 : vector block=512 ; 7.00 us\r\n";

static void check_merge(void)
{
    temp_put(temp_path("a.tune"), a_text, strlen(a_text));
    temp_put(temp_path("b.tune"), b_text, strlen(b_text));
    dg_tune_file f = {0};
    DG_CHECKF(!dg_tune_file_read(&f, temp_path("a.tune")) && !dg_tune_file_read(&f, temp_path("b.tune")), "%s",
              dg_message());
    DG_WORKS(dg_tune_file_write(&f, temp_path("c.tune")));
    dg_tune_file_free(&f);
    static const char want[] = "; device A\n; device B\n"
                               "adam n=100 : direct block=64 ; 9.00 us for all\n"
                               "[sm_90]\n"
                               "gan_loss   n=64:direct block=96 ; 2.40 us\n" /* the new row is faster */
                               "noise n=6400 : direct block=64 ; 1.00 us\n"  /* the old row is faster */
                               /* without measured times, the last row is kept */
                               "act n=4096 : vector block=128\n"
                               "act n=8192 : vector block=512 ; 7.00 us\n"
                               "[sm_80]\n"
                               "gan_loss n=64 : direct block=256 ; 1.00 us\n";
    char *got = temp_slurp(temp_path("c.tune"), NULL);
    DG_CHECKF(got && !strcmp(got, want), "%s", got ? got : "nothing");
    free(got);
    const dg_gpu gpu = {.arch = 90, .shared = 232448};
    dg_tune_table t = {0};
    DG_CHECKF(!dg_tune_read(&t, temp_path("c.tune"), DG_F32, &gpu) && t.rows == 6, "%s", dg_message());
    dg_op op = {.kind = DG_OP_gan_loss, .u.gan_loss.n = 64};
    const dg_tune_row *r = dg_tune_find(&t, &op, 90);
    DG_CHECK(r && r->tune.block == 96);
    dg_tune_free(&t);
}

static void check_measured_first(void)
{
    static const char *const rows[] = {"gan_loss n=64 : direct block=32", "gan_loss n=64 : direct block=64 ; 5 us",
                                       "gan_loss n=64 : direct block=96 ; by hand",
                                       "gan_loss n=64 : direct block=128 ; 5 us",
                                       "gan_loss n=64 : direct block=160 ; 6 us"};
    static const int kept[] = {32, 64, 64, 128, 128};
    dg_tune_file f = {0};
    for (int i = 0; i < 5; i++) {
        DG_CHECK(!dg_tune_file_row(&f, "sm_90", rows[i]));
        DG_CHECKF(f.lines == 1 && strstr(f.line[0].text, temp_text("block=%d", kept[i])), "after '%s': %s", rows[i],
                  f.line[0].text);
    }
    dg_tune_file_free(&f);
}

static void refused(const char *text, size_t bytes, const char *why)
{
    dg_tune_file f = {0};
    temp_put(temp_path("bad.tune"), text, bytes);
    DG_CHECK(dg_tune_file_read(&f, temp_path("bad.tune")) == DG_USAGE);
    DG_CHECKF(strstr(dg_message(), why) && strstr(dg_message(), "bad.tune"), "%s", dg_message());
    DG_CHECK(f.lines == 0 && !f.head);
    dg_tune_file_free(&f);
}

int main(void)
{
    temp_make("tune-file");
    check_merge();
    check_measured_first();
    static const char wrong[] = "; head\n[sm_90]\ngan_loss n=64 : direct block=33\n";
    refused(wrong, strlen(wrong), "bad.tune:3: block=33");
    static const char section[] = "[turing]\ngan_loss n=64 : direct\n";
    refused(section, strlen(section), "bad.tune:1: [turing]");
    refused("x\0y", 3, "not a text file");
    dg_tune_file f = {0};
    DG_CHECK(dg_tune_file_read(&f, temp_path("none.tune")) == DG_IO);
    DG_CHECK(!dg_tune_file_head(&f, "alone"));
    DG_CHECK(dg_tune_file_write(&f, temp_path("none/x.tune")) == DG_IO);
    dg_tune_file_free(&f);
    temp_remove(temp_dir);
    return dg_test_report();
}
