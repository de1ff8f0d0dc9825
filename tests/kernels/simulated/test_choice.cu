/* The CUDA backend and a plan for an absent GPU must select the same variants. */
#include "tests/all_ops.h"
#include "tests/devtest.h"
extern "C" {
#include "core/tune/machine.h"
#include "kernels/cuda/planner.h"
#include "tests/machine.h"
#include "tests/tempdir.h"
#include "core/tune/tune.h"
}

#include <string>

static dg_model model;
static const int BATCH = 3;

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

static void file_is_not_for_fp64()
{
    static const char row[] = "conv_dw N=6 H=8 W=8 C=8>16 K=4 S=2 P=1 : direct block=64\n";
    std::string said;
    temp_put(temp_path("row.tune"), row, sizeof row - 1);
    dg_set_warnings([](void *to, const char *warning) { *(std::string *)to += warning; }, &said);
    dg_backend *b = open_cuda(temp_path("row.tune"), DG_F64);
    dg_set_warnings(nullptr, nullptr);
    DG_CHECKF(said.find("not used in fp64") != std::string::npos && plan_text(b).find("row.tune") == std::string::npos,
              "%s", said.c_str());
    b->close(b);
}

int main()
{
    static char text[DG_MODEL_TEXT_MAX];
    if (dg_model_stock(text, "tiny", dg_square(16), 3, 12, 8, 8) || dg_model_parse(text, "tiny", &model)) return 1;
    temp_make("choice");
    planner_agrees(DG_F32, 90, 227 << 10);
    planner_agrees(DG_F32, 75, 64 << 10);
    planner_agrees(DG_F32, 120, 99 << 10);
    planner_agrees(DG_F64, 80, 163 << 10);
    file_is_not_for_fp64();
    temp_remove(temp_dir);
    DG_CHECK(sim::live_handles() == 0 && sim::live_allocations() == 0);
    return dg_test_report();
}
