/* What the rows of the table compute, a file each. */
#ifndef DG_JUDGE_INTERNAL_H
#define DG_JUDGE_INTERNAL_H

#include "host/judge/judge.h"

dg_err dg_judge_class_distance(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out);
dg_err dg_judge_left_out(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out);
dg_err dg_judge_sureness(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out);
dg_err dg_judge_frechet(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out);
dg_err dg_judge_two_sample(const dg_jury *j, const dg_judged *reals, const dg_judged *other, dg_measured *out);

#endif
