/* Implementations of the metrics. */
#pragma once

#include "host/judge/judge.h"

dg_err dg_judge_class_distance(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out);
dg_err dg_judge_left_out(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out);
dg_err dg_judge_sureness(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out);
dg_err dg_judge_two_sample(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out);

/* True if the Laplacian pyramid of size x size images has level `level`. */
bool dg_sliced_level(dg_size size, int level);

dg_err dg_judged_neighbours(const dg_jury *j, dg_judged *x);
dg_err dg_beside_neighbours(const dg_jury *j, const dg_judged *reals, const dg_judged *held, dg_judged *other);
dg_err dg_beside_sliced(const dg_jury *j, const dg_judged *reals, dg_judged *other);
