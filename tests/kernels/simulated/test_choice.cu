/* The CUDA backend and a plan for an absent GPU must select the same variants. Rows of a tuning file take precedence
 * over the selection by shape, and each op reports the source of its variant. An invalid tuning file only causes a
 * warning. */
#include "tests/all_ops.h"
#include "tests/devtest.h"
extern "C" {
#include "core/tune/machine.h"
#include "kernels/cuda/planner.h"
#include "tests/machine.h"
#include "tests/tempdir.h"
#include "host/measure/trial.h"
#include "core/tune/tune.h"
}

#include <fcntl.h>
#include <string>
#include <unistd.h>

static dg_model model;
static const int BATCH = 3;

template <class F> static std::string said_by(F f)
{
    std::string text;
    dg_set_warnings([](void *to, const char *warning) { *(std::string *)to += std::string(warning) + "\n"; }, &text);
    f();
    dg_set_warnings(nullptr, nullptr);
    return text;
}

static dg_backend *open_cuda(const char *tuning, dg_type real)
{
    dg_backend *b;
    dg_cuda_options o = {};
    o.real = real;
    o.tuning = tuning;
    if (dg_cuda_open(&o, &b) == DG_OK) return b;
    fprintf(stderr, "%s\n", dg_message());
    exit(1);
}

static const dg_job_options training = machine_training(BATCH, 2, 4, BATCH);

/* Returns all variants of the three plans and the memory size, as text. */
static std::string plan_text(dg_backend *b)
{
    dg_job job;
    if (!DG_CHECKF(dg_job_build(&job, &model, &training, b) == DG_OK, "%s", dg_message())) return "";
    std::string all;
    const dg_plan *plan[] = {&job.plan[DG_PLAN_TRAIN], &job.plan[DG_PLAN_TRAIN_SHORT], &job.plan[DG_PLAN_SAMPLE]};
    for (const dg_plan *p : plan)
        for (int i = 0; i < p->ops; i++) {
            char line[300];
            all += std::string(p->op[i].name) + " " + dg_tune_text(line, sizeof line, &p->op[i], &p->op[i].tune) +
                   " because " + p->op[i].tune.why + "\n";
        }
    all += std::to_string(job.arena.bytes) + " bytes\n";
    dg_job_free(&job);
    return all;
}

static void planner_agrees(dg_type real, int arch, size_t shared)
{
    sim::device.major = arch / 10;
    sim::device.minor = arch % 10;
    sim::device.shared_optin = shared;
    dg_machine m;
    dg_backend *p, *b = open_cuda(nullptr, real);
    DG_CHECK(!dg_machine_arch(std::to_string(arch).c_str(), real, &m) && m.arch == arch && m.shared == shared);
    DG_CHECK(!dg_planner_open(&m, nullptr, 0, &p));
    const std::string there = plan_text(p), here = plan_text(b);
    DG_CHECKF(there == here && here.size() > 2000, "planned:\n%s\nchosen:\n%s", there.c_str(), here.c_str());
    p->close(p);
    b->close(b);
    sim::device.major = 9, sim::device.minor = 0, sim::device.shared_optin = 227 << 10;
}

/* Returns the content of the memory after two training steps. */
static std::string train(const char *tuning)
{
    dg_backend *b = open_cuda(tuning, DG_F32);
    dg_trial t;
    double ms;
    std::string left;
    DG_CHECKF(!dg_trial_open(&t, &model, BATCH, b) && !dg_trial_steps(&t, 2, &ms), "%s", dg_message());
    left.resize(t.job.arena.persistent);
    DG_CHECK(!b->get(b, &left[0], t.job.arena.base, left.size()));
    dg_trial_close(&t);
    b->close(b);
    return left;
}

static std::string put(const char *name, const std::string &text)
{
    const std::string path = std::string(temp_dir) + "/" + name;
    FILE *f = fopen(path.c_str(), "wb");
    if (!f || fwrite(text.data(), 1, text.size(), f) != text.size()) exit(1);
    fclose(f);
    return path;
}

static void rubbish_changes_nothing()
{
    std::string junk = "conv_fwd N=3 H=16 W=16 C=3>8 K=4 S=2 P=1 : direct block=77\n";
    unsigned long long seed = 11;
    for (int i = 0; i < 900; i++) junk += (char)(1 + (unsigned)((dg_test_random(&seed) + 1) * 120));
    const std::string file = put("junk.tune", junk);
    dg_backend *b = nullptr, *plain = open_cuda(nullptr, DG_F32);
    const std::string said = said_by([&] { b = open_cuda(file.c_str(), DG_F32); });
    DG_CHECKF(said.find(file + ":1: block=77: must be a multiple of 32") == 0 &&
                  said.find("rows with errors are left out") != std::string::npos,
              "%s", said.c_str());
    DG_CHECK(plan_text(b) == plan_text(plain));
    b->close(b);
    plain->close(plain);
    std::string with;
    (void)said_by([&] { with = train(file.c_str()); });
    DG_CHECKF(with == train(nullptr), "rubbish in a tuning file changes results");
}

static void rows_come_first()
{
    const std::string file = put("row.tune", "; one good row, one for another shape, one that this device refuses\n"
                                             "conv_dw N=6 H=8 W=8 C=8>16 K=4 S=2 P=1 : direct block=64\n"
                                             "conv_fwd N=5 H=8 W=8 C=8>16 K=4 S=2 P=1 : direct\n");
    dg_backend *b = open_cuda(file.c_str(), DG_F32);
    const std::string with = plan_text(b);
    b->close(b);
    b = open_cuda(nullptr, DG_F32);
    const std::string without = plan_text(b);
    b->close(b);
    const size_t at = with.find("D.2.conv.dw conv_dw N=6 H=8 W=8 C=8>16 K=4 S=2 P=1 : direct block=64 because " + file +
                                ":2\n");
    DG_CHECKF(at != std::string::npos && without.find("direct block=64") == std::string::npos, "%s", with.c_str());
    size_t lines = 0, same = 0;
    for (size_t i = 0, k = 0; i < with.size() && k < without.size(); lines++) {
        const size_t n = with.find('\n', i) - i, m = without.find('\n', k) - k;
        same += with.substr(i, n) == without.substr(k, m);
        i += n + 1, k += m + 1;
    }
    /* the line of the tuned op differs, and perhaps the line with the memory size */
    DG_CHECKF(lines - same <= 2 && lines > same, "%zu of %zu lines differ", lines - same, lines);
    const std::string said = said_by([&] { b = open_cuda(file.c_str(), DG_F64); });
    DG_CHECKF(said.find("not used in fp64") != std::string::npos && plan_text(b).find(file) == std::string::npos, "%s",
              said.c_str());
    b->close(b);
}

int main()
{
    static char text[DG_MODEL_TEXT_MAX];
    if (dg_model_stock(text, "tiny", 16, 3, 12, 8, 8) || dg_model_parse(text, "tiny", &model)) return 1;
    temp_make("choice");
    planner_agrees(DG_F32, 90, 227 << 10);
    planner_agrees(DG_F32, 75, 64 << 10);
    planner_agrees(DG_F32, 120, 99 << 10);
    planner_agrees(DG_F64, 80, 163 << 10);
    rows_come_first();
    if (!dev_small()) rubbish_changes_nothing();
    temp_remove(temp_dir);
    DG_CHECK(sim::live_handles() == 0 && sim::live_allocations() == 0);
    return dg_test_report();
}
