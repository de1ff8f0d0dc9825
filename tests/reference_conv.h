/* Convolution by its specification (core/plan/ops.h): plain loops in double. Each result comes with the sum of |a||b|
 * over its terms and their number, from which tests compute tolerances. */
#ifndef DG_REFERENCE_CONV_H
#define DG_REFERENCE_CONV_H

typedef struct {
    int N, H, W, Ci, Ho, Wo, Co, K, S, P;
} dg_ref_conv;

/* Computes Ho and Wo from the other dimensions. */
dg_ref_conv dg_ref_conv_shape(int N, int H, int W, int Ci, int Co, int K, int S, int P);

/* Each result has its sum of |a||b| (mass) and number of terms. Shapes: x (N,H,W,Ci), w (Co,K,K,Ci), y (N,Ho,Wo,Co). */
void dg_ref_conv_fwd(double *y, double *mass, int *terms, const double *x, const double *w, const dg_ref_conv *s);
void dg_ref_conv_dx(double *x, double *mass, int *terms, const double *y, const double *w, const dg_ref_conv *s);
void dg_ref_conv_dw(double *w, double *mass, int *terms, const double *x, const double *y, const dg_ref_conv *s);

#endif
